//! A real-time, non-moving, memory-thrifty garbage-collected heap.
mod area;
pub mod config;
mod copying;
mod error;
#[cfg(feature = "evaluation")]
pub mod evaluation;
mod finalizers;
mod heap;
pub mod list_sizes;
mod lists;
mod paged;
pub mod raw;
mod roots;
mod runtime;
mod space;
mod statistics;
mod sync;
mod trace;
mod typed;
mod world;

pub use config::{Collector, Config, Preset};
pub use error::{HeapError, OutOfMemory, Violation};
pub use statistics::{Cause, Collection, Pause, Statistics, Times, Usage};
pub use trace::{Edge, EdgeVisitor, ForeignEdge, Trace};
#[cfg(feature = "derive")]
pub use treadmill_derive::Trace;
pub use typed::{Global, Heap, Managed, Mutator, Root};
