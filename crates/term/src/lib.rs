//! Erlang terms: tagged words, the layout of boxed objects, views, construction, order, hashes and text.
//!
//! Nothing here allocates on its own: a heap is whatever implements [`Allocate`].

#![deny(clippy::dbg_macro, clippy::print_stderr, clippy::print_stdout)]

pub mod atoms;
mod bit_order;
mod build;
mod compare;
mod entry;
mod equal;
pub mod hash;
mod header;
mod immediate;
pub mod known;
pub mod map;
mod number;
mod off_heap;
mod part;
mod row;
mod scratch;
mod short;
mod size;
pub mod text;
mod view;
mod word;

pub use build::{Allocate, Build, HEAP_BINARY_LIMIT};
pub use compare::{compare, compare_exact};
pub use entry::{Export, FunEntry};
pub use equal::{equal, exactly_equal};
pub use header::{Header, Kind, MAX_ARITY};
pub use immediate::{AtomicImmediate, Immediate};
pub use off_heap::{HeldBinary, HeldBytes, HeldPart, KnownText, MagicValue, OffHeapBinary, release_off_heap_part};
pub use part::{Part, enter, release, set_release, set_this_node, this_node};
pub use row::skip_elements;
pub use scratch::{MeasuringHeap, ScratchHeap};
pub use short::copy_short;
pub use size::{each_off_heap_binary, flat_words, shared_words};
pub use view::{Big, Bits, External, ExternalKind, Fun, Reference, View};
pub use word::{PID_NUMBER_BITS, SMALL_MAX, SMALL_MIN, Term, WORD_BYTES, Word, is_pointer_among, pid_parts};

/// Pairs up to which a map is flat.
pub const FLAT_MAP_LIMIT: usize = 32;
