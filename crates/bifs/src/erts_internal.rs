//! Questions that OTP's own libraries ask of the runtime, and facilities that this machine answers for without
//! having them: dynamic trace tags, native libraries.

use std::sync::OnceLock;

use atoll_operations::guards::as_boolean;
use atoll_process::{BuiltIn, Caller, Outcome, System, badarg};
use atoll_term::atoms::known_atom;
use atoll_term::text::to_string;
use atoll_term::{Build, Term, atoms};

use crate::errors::badopt;

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("erts_internal", "get_dflags", 0, get_dflags),
    BuiltIn::new("erts_internal", "no_aux_work_threads", 0, aux_work_threads),
    BuiltIn::new("erts_internal", "is_system_process", 1, is_system_process),
    BuiltIn::new("erts_internal", "is_process_executing_dirty", 1, not_a_process),
    BuiltIn::new("erts_internal", "dirty_process_handle_signals", 1, not_dirty),
    BuiltIn::new("erts_internal", "check_dirty_process_code", 2, not_a_process),
    BuiltIn::new("erts_internal", "scheduler_wall_time", 1, scheduler_wall_time),
    BuiltIn::new("erts_internal", "system_check", 1, system_check),
    BuiltIn::new("erts_internal", "process_display", 2, process_display),
    BuiltIn::new("erlang", "process_display", 2, process_display),
    BuiltIn::new("erts_literal_area_collector", "release_area_switch", 0, never),
    BuiltIn::new("erlang", "dt_get_tag", 0, undefined),
    BuiltIn::new("erlang", "dt_get_tag_data", 0, undefined),
    BuiltIn::new("erlang", "dt_put_tag", 1, undefined),
    BuiltIn::new("erlang", "dt_spread_tag", 1, always),
    BuiltIn::new("erlang", "dt_restore_tag", 1, always),
    BuiltIn::new("erlang", "dt_append_vm_tag_data", 1, same),
    BuiltIn::new("erlang", "dt_prepend_vm_tag_data", 1, same),
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
    let mut record = vec![known_atom("erts_dflags")];
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
    Ok(Term::boolean(arguments[0] == caller.process.pid && caller.own.flags.system()))
}

/// No process runs native functions aside.
fn not_a_process(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    if arguments[0].is_local_pid() { Ok(atoms::FALSE) } else { Err(badarg()) }
}

fn not_dirty(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    if arguments[0].is_local_pid() { Ok(known_atom("normal")) } else { Ok(atoms::FALSE) }
}

/// A measurement that is off and stays off.
fn scheduler_wall_time(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let on = as_boolean(arguments[0]).ok_or_else(badarg)?;
    Ok(Term::boolean(System::get().schedule().measure_wall_time(on)))
}

fn system_check(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    if arguments[0] == atoms::SCHEDULERS { Ok(atoms::OK) } else { Err(badarg()) }
}

/// `process_display(Pid, backtrace)`: on standard error; nothing of a sensitive process.
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
    if pid == caller.process.pid && caller.own.flags.sensitive() {
        return Ok(atoms::TRUE);
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
