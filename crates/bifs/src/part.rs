//! What the built-in functions of one machine keep between calls.

use atoll_heap::HeapOptions;

use crate::code::Failed;
use crate::display::Printer;
use crate::heap_figures::Cleared;
use crate::heap_settings::Defaults;
use crate::internal_state::InternalState;
use crate::memory_and_statistics::Told;
use crate::persistent_term::PersistentTerms;
use crate::spawn::Reports;
use crate::system_info::Flags;
use crate::trace_events::Choices;
use crate::trace_pattern::OnLoad;
use crate::{
    code, display, heap_figures, heap_settings, internal_state, memory_and_statistics, persistent_term, spawn,
    system_info, trace_events, trace_pattern,
};

/// The built-in functions' part of a machine.
pub struct Part {
    defaults: Defaults,
    persistent_terms: PersistentTerms,
    failed: Failed,
    flags: Flags,
    choices: Choices,
    on_load: OnLoad,
    reports: Reports,
    printer: Printer,
    cleared: Cleared,
    internal_state: InternalState,
    told: Told,
}

impl Part {
    /// Of a machine whose processes have such heaps when they are made without other options; sizes are in words.
    pub fn new(default_heap: HeapOptions) -> Part {
        Part {
            defaults: Defaults::new(default_heap),
            persistent_terms: PersistentTerms::default(),
            failed: Failed::default(),
            flags: Flags::default(),
            choices: Choices::default(),
            on_load: OnLoad::default(),
            reports: Reports::default(),
            printer: Printer::default(),
            cleared: Cleared::default(),
            internal_state: InternalState::default(),
            told: Told::now(),
        }
    }
}

/// This thread's machine has this part.
pub fn enter(part: &'static Part) {
    heap_settings::enter(&part.defaults);
    persistent_term::enter(&part.persistent_terms);
    code::enter(&part.failed);
    system_info::enter(&part.flags);
    heap_figures::enter(&part.cleared);
    internal_state::enter(&part.internal_state);
    memory_and_statistics::enter(&part.told);
    trace_events::enter(&part.choices);
    trace_pattern::enter(&part.on_load);
    spawn::enter(&part.reports);
    display::enter(&part.printer);
}
