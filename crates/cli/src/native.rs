//! Which functions are compiled to machine code, as the command line and the environment say it.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::ValueEnum;

use crate::arguments::Native;

/// Variable that says it, as `--native` does.
const NATIVE: &str = "ATOLL_NATIVE";

/// Variable that says where machine code is kept, as `--native-cache` does.
pub const CACHE: &str = "ATOLL_NATIVE_CACHE";

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

/// Where machine code is kept for later runs, if it is: in the folder that is given, in what the environment says, or
/// where the user's programs keep such things.
pub fn cache(given: Option<&OsStr>) -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    match given.map(OsString::from).or_else(|| variable(CACHE)) {
        Some(off) if off == "off" => None,
        Some(folder) => Some(folder.into()),
        None => {
            let home = || Some(PathBuf::from(variable("HOME")?).join(".cache"));
            let caches = variable("XDG_CACHE_HOME").map(PathBuf::from).filter(|folder| folder.is_absolute());
            caches.or_else(home).map(|folder| folder.join("atoll"))
        }
    }
}
