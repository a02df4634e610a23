//! Operations that other processes can notice: messages, and calls of built-in functions that read or change what
//! processes share. A slice may end behind a given number of them (`Engine::set_slice` of the schedulers), which is
//! how a simulated scheduler runs processes in any order that matters: what a process does between two of its
//! operations, no other process can see.

use std::collections::HashSet;

use atoll_code::registry;
use atoll_process::{BuiltIn, Interrupt};
use atoll_term::atoms::known_atom;
use atoll_term::{Export, Word};

use crate::core::Core;
use crate::part::part;

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
        }
    }

    /// How many operations there were since then.
    pub fn operations(&self) -> i64 {
        self.counted - self.operations
    }

    /// Counts an operation; whether the slice ends behind it.
    #[cold]
    #[inline(never)]
    pub(crate) fn count_operation(&mut self) -> bool {
        self.operations -= 1;
        self.operations == 0
    }

    /// Counts the call of a built-in function that has given a result; the interrupt by which the slice ends behind it
    /// is left, if it does.
    #[cold]
    #[inline(never)]
    pub(crate) fn count_call(&mut self, export: Word) {
        let is_silent = self.silent.is_some_and(|silent| silent.contains(&(export as usize)));
        if self.interrupt.is_none() && !is_silent && self.count_operation() {
            self.interrupt = Some(Interrupt::Yield(self.x[0]));
        }
    }
}
