//! What newer releases ask of compiled code: coverage counted by the machine, a debugger, information for one. This
//! machine answers as a runtime without them: `cover` then counts in instrumented code, and `erl_debugger` is not
//! supported.

use atoll_process::{BuiltIn, Caller, Outcome, badarg};
use atoll_term::{Term, atoms};

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("code", "coverage_support", 0, no),
    BuiltIn::new("code", "get_coverage", 2, not_counted),
    BuiltIn::new("code", "get_coverage_mode", 0, none),
    BuiltIn::new("code", "get_coverage_mode", 1, none_of_module),
    BuiltIn::new("code", "reset_coverage", 1, not_counted),
    BuiltIn::new("code", "set_coverage_mode", 1, not_counted),
    BuiltIn::new("code", "get_debug_info", 1, none_of_module),
    BuiltIn::new("erl_debugger", "breakpoint", 3, undefined),
    BuiltIn::new("erl_debugger", "breakpoints", 1, undefined),
    BuiltIn::new("erl_debugger", "breakpoints", 3, undefined),
    BuiltIn::new("erl_debugger", "instrumentations", 0, undefined),
    BuiltIn::new("erl_debugger", "peek_stack_frame_slot", 4, undefined),
    BuiltIn::new("erl_debugger", "peek_xreg", 3, undefined),
    BuiltIn::new("erl_debugger", "register", 1, undefined),
    BuiltIn::new("erl_debugger", "stack_frames", 2, undefined),
    BuiltIn::new("erl_debugger", "supported", 0, no),
    BuiltIn::new("erl_debugger", "toggle_instrumentations", 1, undefined),
    BuiltIn::new("erl_debugger", "unregister", 2, undefined),
    BuiltIn::new("erl_debugger", "whereis", 0, undefined),
    BuiltIn::new("erl_debugger", "xregs_count", 1, undefined),
    BuiltIn::new("erts_internal", "notify_breakpoint_hit", 3, undefined),
    BuiltIn::new("erts_trace_cleaner", "check", 0, no),
    BuiltIn::new("erts_trace_cleaner", "send_trace_clean_signal", 1, no),
];

fn no(_: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Ok(atoms::FALSE)
}

fn none(_: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Ok(atoms::NONE)
}

fn not_counted(_: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Err(badarg())
}

/// For a module that is loaded.
fn none_of_module(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    if arguments[0].is_atom() && atoll_code::is_loaded(arguments[0]) { Ok(atoms::NONE) } else { Err(badarg()) }
}

/// As OTP's runtime when it was not started with `+D`.
fn undefined(_: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Err(atoll_operations::Exception::error(atoms::UNDEF).into())
}
