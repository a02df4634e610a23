//! Loaded code: which modules there are, in which versions, what they export, and what stands at a code address.
//!
//! An engine turns a loaded file into words ([`Translate`]); everything here is the same for all engines.

#![deny(clippy::dbg_macro, clippy::print_stderr, clippy::print_stdout)]

mod breakpoints;
mod built_in_points;
mod export_table;
mod new_maps;
mod part;
mod places;
mod ranges;
mod registry;
mod retired;
mod server;

pub use breakpoints::{
    Breakpoint, Duty, INTERPRETED, TracedFunction, breakpoint_at, entry_of, export_key, has_native, hold_entries,
    set_breakpoint, set_breakpoint_handler, set_export_breakpoint, set_native, take_over, traced_function,
};
pub use built_in_points::{set_built_in_breakpoints, set_built_in_handlers};
pub use new_maps::{NewMap, NewMaps, NewValue};
pub use part::{Part, enter};
pub use places::Places;
pub use ranges::{
    Files, Frame, Library, LineEntry, ModuleCode, Pieces, backtrace_depth, find_code, frame_at, frame_of,
    is_same_place, loaded_versions, note_built_in_place, set_backtrace_depth, shown_stack_depth,
};
pub use registry::{Registry, Resolver, Stubs, registry};
pub use retired::{Holds, Unused, find_unused, is_look_due, retire_terms};
pub use server::{
    CodeError, Linked, LoadedModule, Prepared, Source, TakesOver, Translate, Translated, TranslatedFunction, add_piece,
    delete_module, finish_on_load, has_old_code, is_loaded, load, loaded_modules, module, prepare,
    prepare_without_lines, purge, second_engine, set_second_engine, set_translator, version_at,
};
