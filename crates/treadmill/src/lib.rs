//! A real-time, non-moving, memory-thrifty garbage-collected heap, for Rust programs and for language runtimes.
//!
//! It began as the collector of Lim, Pardyak and Bershad, *A Memory-Efficient Real-Time Non-Copying Garbage Collector*
//! (ISMM 1998), which improves Baker's Treadmill; all collectors of that paper are here as settings ([`Preset`]), and
//! one of its own, [`Preset::Best`]: objects have no headers and never move, any thread can mark while others run, and
//! no thread waits longer than for a bounded slice of work while memory lasts.
//!
//! * The safe interface: a [`Heap`] of values whose types are [`Trace`], which `#[derive(Trace)]` implements; a
//!   [`Mutator`] for each thread; [`Root`]s that keep objects alive; [`Edge`]s between objects.
//! * The raw interface for language runtimes: [`raw`].
//!
//! ```
//! use treadmill::{Config, Edge, Heap, Trace};
//!
//! #[derive(Trace)]
//! struct Node {
//!     value: u64,
//!     next: Edge<Node>,
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let heap = Heap::new(&Config::best(16 << 20))?;
//! let mutator = heap.mutator();
//! let first = mutator.allocate(Node { value: 1, next: Edge::null() })?;
//! let second = mutator.allocate(Node { value: 2, next: Edge::null() })?;
//! second.next.set(&mutator, Some(&first))?;
//! drop(first);
//! mutator.collect();
//! assert_eq!(second.next.get(&mutator).map(|node| node.value), Some(1));
//! # Ok(())
//! # }
//! ```
//!
//! What it promises, with the limits of each promise and measured figures, stands in the README. Sizes are in bytes, or
//! in words of 8 bytes where it says so; only 64-bit Linux is supported.
//!
//! Unsafe code is concentrated: `area` (memory from the operating system), `space::runs` (tags of free pages),
//! `lists::header` (links inside free blocks), `paged` (`memory` and `local`: the table of metadata), `copying`, `raw`,
//! and `typed` with `trace`, which make the raw interface safe.
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

pub use area::prefetch;
pub use config::{Collector, Config, Pace, Preset};
pub use error::{HeapError, OutOfMemory, Violation};
pub use statistics::{Cause, Collection, Disturbances, Effort, Pause, Statistics, Times, Usage};
pub use trace::{Edge, EdgeVisitor, ForeignEdge, Trace};
#[cfg(feature = "derive")]
pub use treadmill_derive::Trace;
pub use typed::{Global, Heap, Managed, Mutator, Root};
