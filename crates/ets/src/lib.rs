//! ETS: tables that processes share, and match specifications.
//!
//! * [`create`], [`find`], [`delete`] and their like: all tables, by name, reference and owner.
//! * [`Table`]: rows by key; traversals.
//!
//! Rows are [`atoll_heap::Stored`] terms: the architecture decides what storing and fetching one costs. Hashed tables
//! are segments with a lock each, ordered ones a B-tree under one lock; readers share locks, so readers never wait for
//! each other. No lock is held when a built-in function returns, so the world is never stopped while one is held.

#![deny(clippy::dbg_macro, clippy::print_stderr, clippy::print_stdout)]
#![forbid(unsafe_code)]

mod fault;
mod fixation;
mod garbage;
mod hashed;
mod locked;
#[cfg(all(test, loom))]
#[path = "tests/loom_model.rs"]
mod loom_model;
pub mod match_spec;
mod names;
mod ordered;
mod partial;
mod registry;
mod segment;
mod standing;
mod status;
mod table;
#[cfg(all(test, not(loom)))]
mod tests;
mod traversal;
mod update;

pub use fault::Fault;
pub use fixation::Since;
pub use garbage::Garbage;
pub use hashed::Spread;
pub use names::names_collide;
pub use registry::{
    Access, Handle, Known, Part, all, create, delete, enter, find, give_away, identifier, know, named, reference,
    rename, set_options,
};
pub use table::{Kind, Options, Protection, Table, WriteConcurrency};
pub use traversal::{Cursor, Portion};
