//! What a call of a built-in function reads and changes of what processes share; signals are noted where they are sent.
//! A function that is not known here touches everything: that costs a search time, not bugs.

use atoll_process::touches::{How, Object, Touches};
use atoll_term::{Export, Term, atoms};

/// Functions of `erlang` that touch no more than the signals that they send, and the process itself.
const OWN: [&str; 20] = [
    "alias",
    "display",
    "exit",
    "exit_signal",
    "group_leader",
    "link",
    "monitor",
    "monitor_node",
    "nodes",
    "process_flag",
    "resume_process",
    "send",
    "suspend_process",
    "system_info",
    "unlink",
    "yield",
    "!",
    "statistics",
    "memory",
    "system_flag",
];

/// Functions of `erlang` whose result depends on which messages have arrived.
const POLLS: [&str; 4] = ["demonitor", "process_info", "spawn_request_abandon", "unalias"];

const TIMERS: [&str; 4] = ["cancel_timer", "read_timer", "send_after", "start_timer"];
const SPAWNS: [&str; 4] = ["spawn", "spawn_link", "spawn_monitor", "spawn_opt"];
const NAMES: [&str; 2] = ["registered", "whereis"];
const CODE: [&str; 4] = ["check_old_code", "function_exported", "loaded", "module_loaded"];

/// Functions of `ets` that change nothing.
const READS: [&str; 18] = [
    "first",
    "info",
    "last",
    "lookup",
    "lookup_element",
    "match",
    "match_object",
    "match_spec_compile",
    "match_spec_run_r",
    "member",
    "next",
    "prev",
    "select",
    "select_count",
    "select_reverse",
    "slot",
    "is_compiled_ms",
    "internal_select",
];

/// Modules of which no function touches what other processes notice.
const NOBODYS: [&str; 4] = ["atoll_simulate", "net_kernel", "os", "persistent_term_info"];

/// The first argument of a call, as text.
fn first_argument(call: &str) -> &str {
    let arguments = call.split_once('(').map_or("", |(_, rest)| rest);
    arguments.split([',', ')']).next().unwrap_or_default()
}

fn name(atom: Term) -> &'static str {
    atoms::atom_name(atom)
}

/// Notes what a call touched. `call` and `result` are text.
pub(crate) fn note(touches: &Touches, pid: Term, export: &Export, call: &str, result: &str) {
    let mail = Object::Mail(pid.immediate_data());
    match (name(export.module), name(export.name)) {
        ("erlang", function) if POLLS.contains(&function) => touches.add(mail, How::Reads),
        ("erlang", function) if SPAWNS.contains(&function) => touches.add(Object::Pids, How::Writes),
        ("erlang", function) if NAMES.contains(&function) => touches.add(Object::Names, How::Reads),
        ("erlang", "send" | "!") => touches.add(Object::Names, How::Reads),
        ("erlang", "register" | "unregister") => touches.add(Object::Names, How::Writes),
        ("erlang", function) if TIMERS.contains(&function) => touches.add(Object::Timers, How::Writes),
        ("erlang", function) if CODE.contains(&function) => touches.add(Object::Code, How::Reads),
        ("code", "ensure_loaded" | "is_loaded" | "which") => touches.add(Object::Code, How::Reads),
        ("erlang", "is_process_alive") => {
            let number = first_argument(call).split('.').nth(1).and_then(|number| number.parse().ok());
            touches.add(number.map_or(Object::Everything, Object::Watch), How::Adds);
        }
        ("erlang", function) if OWN.contains(&function) => {}
        ("ets", "new") => touches.own(pid, Object::named("ets", result)),
        ("ets", "whereis" | "all" | "rename" | "give_away" | "setopts") => {
            touches.add(Object::Everything, How::Writes);
        }
        ("ets", function) => {
            let how = if READS.contains(&function) { How::Reads } else { How::Writes };
            touches.add(Object::named("ets", first_argument(call)), how);
        }
        ("atomics" | "counters" | "erts_internal", function) if name(export.module) != "erts_internal" => {
            let how = if function == "get" { How::Reads } else { How::Writes };
            touches.add(Object::named("cells", first_argument(call)), how);
        }
        ("persistent_term", function) => {
            let how = if function == "get" { How::Reads } else { How::Writes };
            touches.add(Object::named("persistent_term", ""), how);
        }
        (module, _) if NOBODYS.contains(&module) => {}
        (module, _) if module.starts_with("atoll_") => {}
        _ => touches.add(Object::Everything, How::Writes),
    }
}
