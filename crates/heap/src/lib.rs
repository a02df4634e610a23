//! The contract between the machine and its heap architectures. Nothing here knows an architecture by name.
//!
//! * [`Mutator`] is what an engine sees of a process's heap: bump pointer, limit, stack.
//! * [`Architecture`] is what an architecture implements.
//! * [`RootSet`] and [`World`] are what the machine gives a collector.
//! * [`Fragment`] is a block of words on its way: a message, or what a built-in function made when the heap was full.
//! * [`Stored`] is a term that belongs to no process: a row of a table.
//! * [`BuildWindow`] is where an engine builds objects that all processes share.
//! * [`Sites`] are the instructions of an engine that build objects.
//! * [`debt`] counts work done for a process, which it pays for in reductions.
//! * [`immovable`] is the range of addresses that no collector moves: literals, and the message area.

mod architecture;
mod build_window;
pub mod debt;
mod fragment;
pub mod immovable;
mod kept;
mod lone;
mod mutator;
mod records;
mod sites;
pub mod statistics;
mod stored;

pub use architecture::{
    Architecture, Asker, Claim, Collection, HeapFull, HeapOptions, HeapSizes, KeptPlace, RootSet, StackPlacement,
    StoppedWorld, World, architecture, install, pid_of, set_world, world,
};
pub use build_window::{BuildWindow, GROUP_WORDS, build_window};
pub use fragment::{
    Fragment, each_off_heap, join_off_heap, link_off_heap, off_heap_bytes, off_heap_link, out_of_memory,
    release_off_heap_list,
};
pub use lone::LoneHeap;
pub use mutator::{Mutator, OFF_HEAP_BYTES_AT_LEAST, STATE_WORDS, StackReader};
pub use sites::{Site, Sites, install_sites, sites};
pub use stored::Stored;
