//! Hash maps whose elements come in the same order in each run that does the same to them: the order in which a process
//! tells others of its end, or names are listed, is part of what a program does.

use std::hash::{BuildHasherDefault, DefaultHasher};

/// A map.
pub type HashMap<K, V> = std::collections::HashMap<K, V, BuildHasherDefault<DefaultHasher>>;
/// A map whose keys are words that no stranger chooses: its hash is a multiplication.
pub type QuickMap<K, V> = rustc_hash::FxHashMap<K, V>;
/// A set.
pub type HashSet<K> = std::collections::HashSet<K, BuildHasherDefault<DefaultHasher>>;
