//! Operations that other processes can notice: messages, and calls of built-in functions that read or change what
//! processes share. A slice may end behind a given number of them (`Engine::set_slice` of the schedulers), which is
//! how a simulated scheduler runs processes in any order that matters: what a process does between two of its
//! operations, no other process can see.

use std::collections::HashSet;

use atoll_code::registry;
use atoll_process::touches::{How, Object};
use atoll_process::{BuiltIn, Interrupt, System};
use atoll_term::atoms::known_atom;
use atoll_term::{Export, Term, View, Word};

use crate::built_in::invoke_native;
use crate::core::Core;
use crate::part::part;
use crate::refusals::{Refused, guards};
use crate::story::{self, Story, What};
use crate::touched;

/// Modules whose built-in functions concern nobody but their caller.
const SILENT_MODULES: [&str; 11] =
    ["binary", "erl_debugger", "erts_debug", "lists", "maps", "math", "re", "records", "string", "unicode", "zlib"];

/// The functions of `erlang` that concern others, or that depend on what others do. Those that only ask for the time
/// or for a number that was never given before are none of them: the clock of a simulation shows the same to each.
const HEARD: [&str; 53] = [
    "alias",
    "cancel_timer",
    "check_old_code",
    "delete_module",
    "demonitor",
    "display",
    "exit",
    "exit_signal",
    "function_exported",
    "group_leader",
    "halt",
    "is_process_alive",
    "link",
    "loaded",
    "memory",
    "module_loaded",
    "monitor",
    "monitor_node",
    "nodes",
    "open_port",
    "port_call",
    "port_close",
    "port_command",
    "port_connect",
    "port_control",
    "port_info",
    "ports",
    "process_display",
    "process_flag",
    "process_info",
    "processes",
    "read_timer",
    "register",
    "registered",
    "resume_process",
    "send",
    "send_after",
    "setnode",
    "spawn",
    "spawn_link",
    "spawn_monitor",
    "spawn_opt",
    "spawn_request_abandon",
    "start_timer",
    "statistics",
    "suspend_process",
    "system_flag",
    "system_info",
    "unalias",
    "unlink",
    "unregister",
    "whereis",
    "yield",
];

/// Those of `erts_internal` that concern nobody else.
const SILENT_INTERNAL: [&str; 8] = [
    "binary_to_integer",
    "cmp_term",
    "list_to_integer",
    "map_next",
    "map_to_tuple_keys",
    "term_to_string",
    "term_type",
    "time_unit",
];

fn is_silent(row: &BuiltIn) -> bool {
    match row.module {
        "erlang" => !HEARD.contains(&row.name),
        "erts_internal" => SILENT_INTERNAL.contains(&row.name),
        module => SILENT_MODULES.contains(&module),
    }
}

/// The exports of the functions that no other process notices, by their addresses.
pub(crate) fn silent(built_ins: &[BuiltIn]) -> HashSet<usize> {
    let silent = built_ins.iter().filter(|row| is_silent(row));
    silent
        .map(|row| {
            let export: *const Export = registry().export(known_atom(row.module), known_atom(row.name), row.arity);
            export.addr()
        })
        .collect()
}

impl Core {
    /// Sets how many reductions the next slices have, and behind how many operations they end. From now on nothing
    /// else ends one.
    pub fn set_slice(&mut self, reductions: i64, operations: i64) {
        self.slice = reductions;
        self.counted = operations;
        self.operations = operations;
        if self.silent.is_none() {
            self.silent = Some(part().silent.get_or_init(|| silent(part().built_ins)));
            self.guards = guards();
        }
        // A story may begin in the middle of a run.
        let is_wanted = |story: &&Story| story.is_told() || self.system.touches.is_on();
        self.story = Some(&part().story).filter(is_wanted);
    }

    /// How many operations there were since then.
    pub fn operations(&self) -> i64 {
        self.counted - self.operations
    }

    /// Counts an operation; whether the slice ends behind it.
    pub(crate) fn count_operation(&mut self) -> bool {
        self.operations -= 1;
        self.operations <= 0
    }

    /// Counts a message that could not be sent because nobody has the name: that can be noticed as well. The slice
    /// does not end before the next operation.
    #[cold]
    #[inline(never)]
    pub(crate) fn count_failed_send(&mut self) {
        if self.silent.is_some() {
            self.operations -= 1;
            self.system.touches.add(Object::Names, How::Reads);
        }
    }

    /// Counts a message that this process has sent; whether the slice ends behind it.
    #[cold]
    #[inline(never)]
    pub(crate) fn count_send(&mut self, destination: Term, message: Term, at: *const Word) -> bool {
        if let Some(story) = self.story {
            let receiver = match destination.view() {
                View::Atom(name) => System::get().whereis(name),
                _ => destination.is_local_pid().then_some(destination),
            };
            // SAFETY: a process runs on this core.
            let pid = unsafe { (*self.process).pid };
            let is_late = receiver.is_some_and(|receiver| System::get().held_back.is_late(receiver));
            let what = What::Sends(story::show(destination), receiver, story::show(message), is_late);
            story.add(pid, what, Some(at));
            if destination.is_atom() {
                System::get().touches.add(Object::Names, How::Reads);
            }
        }
        self.count_operation()
    }

    fn is_silent(&self, export: *const Export) -> bool {
        self.silent.is_some_and(|silent| silent.contains(&export.addr()))
    }

    /// The call at `ip` as text, if it is an operation and somebody wants to read of it.
    fn told_call(&self, ip: *const Word, arity: usize) -> Option<String> {
        // SAFETY: the caller's: these are the operands of an instruction that calls a built-in function.
        let export = unsafe { *ip.add(3) } as *const Export;
        self.story.filter(|_| !self.is_silent(export))?;
        // SAFETY: exports live for ever.
        Some(story::show_call(unsafe { &*export }, &self.x[..arity]))
    }
}

/// As [`crate::built_in::invoke`], where operations are counted.
#[cold]
#[inline(never)]
pub(crate) unsafe fn invoke_counted(ip: *const Word, reds: i64, c: *mut Core) -> i64 {
    // SAFETY: the process runs on this core; these are the operands of an instruction that calls a built-in function.
    unsafe {
        let arity = *ip.add(2) as usize;
        if (*c).operations <= 0 && !(*c).is_silent(*ip.add(3) as *const Export) {
            // Behind an operation that raised an exception the slice could not end.
            (*c).interrupt = Some(Interrupt::Again((&(*c).x)[..arity].to_vec()));
            return reds;
        }
        let call = (*c).told_call(ip, arity);
        let refused = (*c).refuse(*ip.add(3) as *const Export, arity);
        let reds = match refused {
            Some(Refused::Call) => reds,
            _ => invoke_native(*ip.add(1), arity, ip, reds, c),
        };
        let core = &mut *c;
        if let Some(Refused::Result(name)) = refused
            && core.interrupt.is_none()
        {
            core.fail(name);
        }
        if let (Some(call), Some(story)) = (call, core.story) {
            let result = match &core.interrupt {
                None => story::show(core.x[0]),
                Some(Interrupt::Raise(exception)) => format!("raises {}", story::show(exception.reason)),
                Some(_) => String::new(),
            };
            if core.system.touches.is_on() {
                let export = &*(*ip.add(3) as *const Export);
                touched::note(&core.system.touches, (*core.process).pid, export, &call, &result);
            }
            story.add((*core.process).pid, What::Calls(call, result), Some(ip));
        }
        let is_silent = core.is_silent(*ip.add(3) as *const Export);
        if !is_silent && matches!(core.interrupt, None | Some(Interrupt::Raise(_))) {
            let is_over = core.count_operation();
            if is_over && core.interrupt.is_none() {
                core.interrupt = Some(Interrupt::Yield(core.x[0]));
            }
        }
        reds
    }
}
