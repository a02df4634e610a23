//! The contract between the machine and its heap architectures. Nothing here knows an architecture by name.
//!
//! * [`Mutator`] is what an engine sees of a process's heap: bump pointer, limit, stack.
//! * [`Architecture`] is what an architecture implements; [`capabilities`] is what it may offer beside.
//! * [`RootSet`] and [`World`] are what the machine gives a collector.
//! * [`Message`] is a term on its way, in a [`Fragment`]: a block of words that a heap can take over as a whole.
//! * [`Stored`] is a term that belongs to no process: a row of a table.
//! * [`BuildWindow`] is where an engine builds objects that all processes share.
//! * [`Sites`] are the instructions of an engine that build objects.
//! * [`Part`] is the heap of one machine, which holds all of this; [`Settings`] are what a user chose for it.
//! * [`debt`] counts work done for a process, which it pays for in reductions.
//! * [`immovable`] is the range of addresses that no collector moves: literals, and the message area.

#![deny(clippy::dbg_macro, clippy::print_stderr, clippy::print_stdout)]

mod architecture;
mod base;
mod body;
mod build_window;
pub mod capabilities;
pub mod counters;
pub mod debt;
mod fragment;
pub mod immovable;
mod kept;
pub mod lanes;
mod lone;
mod message;
mod mutator;
mod part;
mod records;
mod roots;
mod settings;
mod sites;
mod stored;

pub use architecture::{Architecture, Collection, HeapFull, HeapOptions, HeapSizes, StackPlacement};
pub use base::Base;
pub use build_window::{BuildWindow, GROUP_WORDS, build_window};
pub use capabilities::{
    AllocationSites, ConcurrentRoots, FirstBlocks, IdleWork, MessageBuilder, StackMarkers, allocation_sites,
    concurrent_roots, first_blocks, idle_work, message_builder, stack_markers,
};
pub use fragment::{
    Fragment, each_off_heap, join_off_heap, link_off_heap, next_off_heap, off_heap_bytes, out_of_memory,
    release_off_heap_list, set_next_off_heap,
};
pub use kept::RoomToKeep;
pub use lone::LoneHeap;
pub use message::{Composer, Message};
pub use mutator::{Mutator, OFF_HEAP_BYTES_AT_LEAST, STATE_WORDS, StackReader};
pub use part::{Part, architecture, known, part, pid_of, settings, sites, world};
pub use roots::{Asker, Claim, KeptPlace, RootSet, StoppedWorld, World};
pub use settings::{BuildInArea, Settings};
pub use sites::{Site, Sites};
pub use stored::{Incoming, Stored};
