//! Loaded code: which modules there are, in which versions, what they export, and what stands at a code address.
//!
//! An engine turns a loaded file into words ([`Translate`]); everything here is the same for all engines.

mod breakpoints;
mod built_in_points;
mod export_table;
mod ranges;
mod registry;
mod retired;
mod server;

pub use breakpoints::{
    Breakpoint, Duty, INTERPRETED, TracedFunction, breakpoint_at, entry_of, export_key, set_breakpoint,
    set_breakpoint_handler, set_export_breakpoint, traced_function,
};
pub use built_in_points::{set_built_in_breakpoints, set_built_in_handlers};
pub use ranges::{
    Frame, LineEntry, ModuleCode, backtrace_depth, find_code, frame_at, frame_of, loaded_versions, set_backtrace_depth,
};
pub use registry::{Registry, Resolver, Stubs, registry};
pub use retired::{Holds, Unused, find_unused, is_look_due, retire_terms};
pub use server::{
    CodeError, Linked, LoadedModule, Prepared, Translate, Translated, delete_module, finish_on_load, has_old_code,
    is_loaded, load, loaded_modules, module, prepare, prepare_without_lines, purge, set_translator,
};
