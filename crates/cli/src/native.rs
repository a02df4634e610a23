//! Which functions are compiled to machine code, as the command line and the environment say it.

use clap::ValueEnum;

use crate::arguments::Native;

/// Variable that says it, as `--native` does.
const NATIVE: &str = "ATOLL_NATIVE";

/// The machine's choice for the command line's.
pub fn of(native: Native) -> atoll_vm::Native {
    match native {
        Native::Off => atoll_vm::Native::Off,
        Native::On => atoll_vm::Native::On,
        Native::Eager => atoll_vm::Native::Eager,
    }
}

/// The machine's choice by its name.
///
/// # Errors
/// There is none of this name.
pub fn named(value: &str) -> Result<atoll_vm::Native, String> {
    let chosen = Native::from_str(value, false).map_err(|_| format!("--native {value}: choose on, off or eager"))?;
    Ok(of(chosen))
}

/// What the environment says.
///
/// # Errors
/// It says something else.
pub fn by_environment() -> Result<Option<atoll_vm::Native>, String> {
    let Some(native) = std::env::var_os(NATIVE).filter(|native| !native.is_empty()) else { return Ok(None) };
    named(&native.to_string_lossy()).map(Some).map_err(|error| format!("{NATIVE}: {error}"))
}
