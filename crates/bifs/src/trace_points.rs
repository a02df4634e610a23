//! What breakpoints on functions are for, and where they stand.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use atoll_code::Breakpoint;
use atoll_ets::match_spec::KeptProgram;
use atoll_term::{Export, Term, Word};

use crate::trace_time::{Count, Times};

/// What a breakpoint is for.
#[derive(Clone, Default)]
pub struct CallTracing {
    /// Traced processes report all calls, or those that the match specification accepts.
    pub calls: Option<Arc<Pattern>>,
    /// They report only calls through the export.
    pub global: bool,
    /// All processes report their calls to one process or port.
    pub meta: Option<Meta>,
    /// Calls are counted.
    pub count: Option<Arc<Count>>,
    /// Their time is measured.
    pub time: Option<Arc<Times>>,
    /// The function does not run: the process's error handler is called in its place.
    pub interpreted: bool,
}

impl CallTracing {
    /// Whether it is for nothing.
    pub fn is_empty(&self) -> bool {
        !self.interpreted && self.is_untraced()
    }

    /// Whether calls are neither reported, nor counted, nor measured.
    pub fn is_untraced(&self) -> bool {
        self.calls.is_none() && self.meta.is_none() && self.count.is_none() && self.time.is_none()
    }

    /// What the breakpoint is for.
    pub fn of(point: &Breakpoint) -> Option<&CallTracing> {
        let duty: &(dyn Any + Send + Sync) = &*point.duty;
        duty.downcast_ref()
    }
}

/// The meta tracer of a function: it gets trace messages for calls by any process.
#[derive(Clone)]
pub struct Meta {
    /// Which calls are reported.
    pub pattern: Arc<Pattern>,
    /// Local pid or port.
    pub tracer: Term,
    /// Whether a process found it gone when it sent a trace message.
    pub gone: Arc<AtomicBool>,
}

/// Which calls are reported: those that a match specification accepts, or all.
pub struct Pattern(pub Option<KeptProgram>);

/// What stands for a function in [`atoll_code::breakpoint_at`]: its first instruction, or the export of a built-in one.
pub fn place_of(module: Term, name: Term, arity: u8) -> Option<*const Word> {
    if let Some(export) = built_in(module, name, arity) {
        return Some(atoll_code::export_key(export));
    }
    let code = atoll_code::module(module)?.current?;
    let index = code.functions.iter().position(|(_, own, own_arity)| *own == name && *own_arity == arity)?;
    atoll_code::entry_of(&code, index)
}

/// The export of a built-in function.
pub fn built_in(module: Term, name: Term, arity: u8) -> Option<&'static Export> {
    let registry = atoll_code::registry();
    registry.built_in_number(module, name, arity).map(|_| registry.export(module, name, arity))
}
