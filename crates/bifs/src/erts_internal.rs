//! Questions that OTP's own libraries ask of the runtime, and facilities that this machine answers for without
//! having them: dynamic trace tags, native libraries.

use std::sync::OnceLock;

use atoll_process::{BuiltIn, Caller, Outcome, System};
use atoll_term::text::to_string;
use atoll_term::{Build, Term, atoms};

use crate::process_support::{badarg, badopt, name, text};
use crate::spawn::boolean;

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn { module: "erts_internal", name: "get_dflags", arity: 0, function: get_dflags },
    BuiltIn { module: "erts_internal", name: "no_aux_work_threads", arity: 0, function: aux_work_threads },
    BuiltIn { module: "erts_internal", name: "is_system_process", arity: 1, function: is_system_process },
    BuiltIn { module: "erts_internal", name: "is_process_executing_dirty", arity: 1, function: not_a_process },
    BuiltIn { module: "erts_internal", name: "dirty_process_handle_signals", arity: 1, function: not_dirty },
    BuiltIn { module: "erts_internal", name: "check_dirty_process_code", arity: 2, function: not_a_process },
    BuiltIn { module: "erts_internal", name: "scheduler_wall_time", arity: 1, function: scheduler_wall_time },
    BuiltIn { module: "erts_internal", name: "system_check", arity: 1, function: system_check },
    BuiltIn { module: "erts_internal", name: "process_display", arity: 2, function: process_display },
    BuiltIn { module: "erlang", name: "process_display", arity: 2, function: process_display },
    BuiltIn { module: "erts_literal_area_collector", name: "release_area_switch", arity: 0, function: never },
    BuiltIn { module: "erlang", name: "load_nif", arity: 2, function: load_nif },
    BuiltIn { module: "erlang", name: "dt_get_tag", arity: 0, function: undefined },
    BuiltIn { module: "erlang", name: "dt_get_tag_data", arity: 0, function: undefined },
    BuiltIn { module: "erlang", name: "dt_put_tag", arity: 1, function: undefined },
    BuiltIn { module: "erlang", name: "dt_spread_tag", arity: 1, function: always },
    BuiltIn { module: "erlang", name: "dt_restore_tag", arity: 1, function: always },
    BuiltIn { module: "erlang", name: "dt_append_vm_tag_data", arity: 1, function: same },
    BuiltIn { module: "erlang", name: "dt_prepend_vm_tag_data", arity: 1, function: same },
];

fn undefined(_: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Ok(atoms::UNDEFINED)
}

fn always(_: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Ok(atoms::TRUE)
}

fn never(_: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Ok(atoms::FALSE)
}

fn same(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(arguments[0])
}

/// The record of distribution flags that OTP 25 has; nothing is connected, but libraries read it at their start.
fn get_dflags(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    const FLAGS: [i64; 5] = [55_966_662_588, 17_239_956, 55_966_662_588, 8_396_866, 8_192];
    let mut record = vec![name("erts_dflags")];
    record.extend(FLAGS.map(Term::small));
    Ok(caller.heap().tuple(&record))
}

fn aux_work_threads(_: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Ok(Term::small(System::get().schedulers as i64 + 1))
}

/// `is_system_process(Pid)`: of others it is not known without asking them, and none of this machine's is one that
/// programs could meet.
fn is_system_process(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    if !arguments[0].is_local_pid() {
        return Err(badarg());
    }
    Ok(Term::boolean(arguments[0] == caller.process.pid && caller.own.flags.system))
}

/// No process runs native functions aside.
fn not_a_process(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    if arguments[0].is_local_pid() { Ok(atoms::FALSE) } else { Err(badarg()) }
}

fn not_dirty(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    if arguments[0].is_local_pid() { Ok(name("normal")) } else { Ok(atoms::FALSE) }
}

/// A measurement that is off and stays off.
fn scheduler_wall_time(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let on = boolean(arguments[0]).ok_or_else(badarg)?;
    Ok(Term::boolean(System::get().schedule().measure_wall_time(on)))
}

fn system_check(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    if arguments[0] == atoms::SCHEDULERS { Ok(atoms::OK) } else { Err(badarg()) }
}

/// `process_display(Pid, backtrace)`: on standard error.
fn process_display(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let pid = arguments[0];
    if arguments[1] != atoms::BACKTRACE {
        return Err(badopt(caller));
    }
    if !pid.is_local_pid() {
        return Err(badarg());
    }
    if pid != caller.process.pid && !System::get().table.contains(pid) {
        return Err(badarg());
    }
    eprintln!("=proc:{}", to_string(pid));
    for address in atoll_process::inspect::return_addresses(caller.own, 64) {
        if pid == caller.process.pid
            && let Some(frame) = atoll_code::frame_of(address)
        {
            let (module, function) = (to_string(frame.module), to_string(frame.name));
            eprintln!("Return addr ({module}:{function}/{})", frame.arity);
        }
    }
    Ok(atoms::TRUE)
}

static NATIVE_MODULES: OnceLock<&'static [&'static str]> = OnceLock::new();

/// Sets the modules whose native functions the machine has in it; the first call counts.
pub fn install_native_modules(modules: &'static [&'static str]) {
    let _ = NATIVE_MODULES.set(modules);
}

/// Whether the functions of a module that are built in are what OTP calls NIFs.
pub fn is_native_module(module: Term) -> bool {
    NATIVE_MODULES.get().is_some_and(|modules| modules.contains(&atoms::atom_name(module)))
}

/// `load_nif(Path, Info)`: nothing is left to do for libraries that are part of the machine; others cannot be loaded.
fn load_nif(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let path = text(arguments[0]).ok_or_else(badarg)?;
    if NATIVE_MODULES.get().is_some_and(|modules| modules.contains(&path.as_str())) {
        return Ok(atoms::OK);
    }
    let heap = caller.heap();
    let text = heap.string("Failed to load NIF library: this machine loads no native libraries");
    let reason = heap.tuple(&[name("load_failed"), text]);
    Ok(heap.tuple(&[atoms::ERROR, reason]))
}
