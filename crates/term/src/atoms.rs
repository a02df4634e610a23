//! The atom table: names to indices and back, for the life of the machine. Reading a name takes no lock.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, RwLock};

use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::word::Term;

/// Longest name, in characters.
pub const MAX_ATOM_CHARACTERS: usize = 255;
/// Default limit of the table, as in OTP.
pub const DEFAULT_ATOM_LIMIT: usize = 1_048_576;

// Miri's time for a reference grows with what it refers to.
const CHUNK_BITS: u32 = if cfg!(miri) { 6 } else { 12 };
const CHUNK: usize = 1 << CHUNK_BITS;
const CHUNKS: usize = if cfg!(miri) { 1 << 7 } else { 1 << 14 };

/// Why a name cannot become an atom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtomError {
    /// More than [`MAX_ATOM_CHARACTERS`] characters.
    TooLong,
    /// The table has reached its limit.
    TableFull,
}

impl std::fmt::Display for AtomError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            AtomError::TooLong => "an atom's name has more than 255 characters",
            AtomError::TableFull => "no more atoms can be created: the atom table has reached its limit",
        })
    }
}

impl std::error::Error for AtomError {}

type Chunk = [OnceLock<&'static str>; CHUNK];

type Indices = HashMap<&'static str, u32, BuildHasherDefault<DefaultHasher>>;

struct Table {
    indices: RwLock<Indices>,
    /// Names that have an index and are no atoms yet.
    reserved: Mutex<FxHashMap<&'static str, u32>>,
    /// Indices that are taken or reserved, apart from those of well-known atoms before the first use.
    ends: AtomicU32,
    names: [OnceLock<Box<Chunk>>; CHUNKS],
    limit: OnceLock<usize>,
}

static TABLE: Table = Table {
    indices: RwLock::new(HashMap::with_hasher(BuildHasherDefault::new())),
    reserved: Mutex::new(FxHashMap::with_hasher(FxBuildHasher)),
    ends: AtomicU32::new(WELL_KNOWN.len() as u32),
    names: [const { OnceLock::new() }; CHUNKS],
    limit: OnceLock::new(),
};

impl Table {
    fn limit(&self) -> usize {
        (*self.limit.get_or_init(|| DEFAULT_ATOM_LIMIT)).min(CHUNK * CHUNKS)
    }

    fn set_name(&self, index: usize, name: &'static str) {
        let chunk = self.names[index >> CHUNK_BITS].get_or_init(|| {
            let slots: Vec<OnceLock<&'static str>> = (0..CHUNK).map(|_| OnceLock::new()).collect();
            slots.into_boxed_slice().try_into().expect("a chunk of slots")
        });
        let _ = chunk[index & (CHUNK - 1)].set(name);
    }
}

/// Sets the highest number of atoms; has effect once, before the first atom is made.
pub fn set_atom_limit(limit: usize) {
    let _ = TABLE.limit.set(limit);
}

/// The table's limit and how many atoms there are.
pub fn atom_limit_and_count() -> (usize, usize) {
    (TABLE.limit(), read_indices().len().max(WELL_KNOWN.len()))
}

/// One more than the highest index that an atom may have now.
pub fn atom_indices() -> usize {
    TABLE.ends.load(Ordering::Acquire) as usize
}

/// Has these names, in this order, take the next indices when they become atoms; until then there are no such atoms. It
/// is for names that had these indices in an earlier run. False, and without effect: an atom was made already that is
/// not well-known.
pub fn reserve_atoms(names: impl Iterator<Item = &'static str>) -> bool {
    // No atom is made meanwhile.
    let _indices = read_indices();
    let mut reserved = TABLE.reserved.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if atom_indices() > WELL_KNOWN.len() {
        return false;
    }
    let first = WELL_KNOWN.len();
    let most = CHUNK * CHUNKS - first;
    reserved.reserve(names.size_hint().0);
    let mut count = 0;
    for name in names.take(most) {
        // That of a well-known atom would never be asked for here.
        reserved.insert(name, (first + count) as u32);
        count += 1;
    }
    TABLE.ends.store((first + count) as u32, Ordering::Release);
    true
}

fn read_indices() -> std::sync::RwLockReadGuard<'static, Indices> {
    let guard = TABLE.indices.read().unwrap_or_else(|poisoned| poisoned.into_inner());
    if !guard.is_empty() {
        return guard;
    }
    drop(guard);
    let mut writer = TABLE.indices.write().unwrap_or_else(|poisoned| poisoned.into_inner());
    if writer.is_empty() {
        for (index, name) in WELL_KNOWN.iter().enumerate() {
            TABLE.set_name(index, name);
            writer.insert(name, index as u32);
        }
    }
    drop(writer);
    TABLE.indices.read().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// The atom of this name, if it exists already.
pub fn existing_atom(name: &str) -> Option<Term> {
    read_indices().get(name).map(|index| Term::atom(*index))
}

/// The atom of this name.
pub fn atom(name: &str) -> Result<Term, AtomError> {
    if let Some(found) = existing_atom(name) {
        return Ok(found);
    }
    if name.chars().count() > MAX_ATOM_CHARACTERS {
        return Err(AtomError::TooLong);
    }
    let mut indices = TABLE.indices.write().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(index) = indices.get(name) {
        return Ok(Term::atom(*index));
    }
    if indices.len() >= TABLE.limit() {
        return Err(AtomError::TableFull);
    }
    let reserved = TABLE.reserved.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).remove_entry(name);
    if let Some((kept, index)) = reserved {
        TABLE.set_name(index as usize, kept);
        indices.insert(kept, index);
        return Ok(Term::atom(index));
    }
    let index = atom_indices();
    if index >= CHUNK * CHUNKS {
        return Err(AtomError::TableFull);
    }
    let kept: &'static str = Box::leak(name.into());
    TABLE.set_name(index, kept);
    indices.insert(kept, index as u32);
    TABLE.ends.store(index as u32 + 1, Ordering::Release);
    Ok(Term::atom(index as u32))
}

/// The atom of a name that the machine itself uses; `undefined` when the atom table is full.
pub fn known_atom(name: &str) -> Term {
    atom(name).unwrap_or(UNDEFINED)
}

/// An atom that the machine itself uses, and looks up once.
pub struct LazyAtom {
    name: &'static str,
    /// The atom's index plus one; 0 before the first use.
    index: AtomicU32,
}

impl LazyAtom {
    /// The atom of this name.
    pub const fn new(name: &'static str) -> LazyAtom {
        LazyAtom { name, index: AtomicU32::new(0) }
    }

    /// The atom; `undefined` when the atom table is full.
    pub fn get(&self) -> Term {
        match self.index.load(Ordering::Relaxed) {
            0 => {
                let atom = known_atom(self.name);
                self.index.store(atom.atom_index() + 1, Ordering::Relaxed);
                atom
            }
            index => Term::atom(index - 1),
        }
    }
}

/// Whether there is this atom: its index is not only reserved ([`reserve_atoms`]).
pub fn is_made(atom: Term) -> bool {
    existing_atom(atom_name(atom)) == Some(atom)
}

/// The name of an atom. A word that is no atom of the table has the empty name, and so has one that is only reserved.
pub fn atom_name(atom: Term) -> &'static str {
    let index = atom.atom_index() as usize;
    if let Some(name) = WELL_KNOWN.get(index) {
        return name;
    }
    TABLE
        .names
        .get(index >> CHUNK_BITS)
        .and_then(OnceLock::get)
        .and_then(|chunk| chunk[index & (CHUNK - 1)].get())
        .map_or("", |name| name)
}

/// The name of an atom; empty for any other term.
pub fn name_if_atom(term: Term) -> &'static str {
    if term.is_atom() { atom_name(term) } else { "" }
}

/// Declares the atoms that the machine itself speaks: a constant for each, numbered in order.
macro_rules! well_known {
    ($($constant:ident = $name:literal,)*) => {
        #[expect(non_camel_case_types, clippy::upper_case_acronyms, reason = "the variants only number the constants")]
        #[repr(u32)]
        enum Number { $($constant,)* }
        /// Names of the atoms that exist from the start, by index.
        pub const WELL_KNOWN: &[&str] = &[$($name,)*];
        $(
            #[doc = concat!("The atom `", $name, "`.")]
            pub const $constant: Term = Term::atom(Number::$constant as u32);
        )*
    };
}

include!("atoms_well_known.rs");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn well_known_atoms_have_their_names() {
        assert_eq!(atom("true"), Ok(TRUE));
        assert_eq!(atom_name(FALSE), "false");
        let mut names = WELL_KNOWN.to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), WELL_KNOWN.len(), "a name stands twice in the list");
    }

    #[test]
    fn new_atoms_are_found_again() {
        let made = atom("räksmörgås").unwrap();
        assert_eq!(atom("räksmörgås"), Ok(made));
        assert_eq!(atom_name(made), "räksmörgås");
        assert_eq!(existing_atom("never made so far"), None);
        assert_eq!(atom(&"a".repeat(256)), Err(AtomError::TooLong));
        assert!(atom(&"å".repeat(255)).is_ok());
    }

    #[test]
    fn many_threads_agree() {
        const NAMES: usize = if cfg!(miri) { 15 } else { 5_000 };
        let made: Vec<Vec<Term>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|_| scope.spawn(|| (0..NAMES).map(|i| atom(&format!("shared_{i}")).unwrap()).collect()))
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(made.iter().all(|one| *one == made[0]));
        assert_eq!(atom_name(made[0][NAMES - 1]), format!("shared_{}", NAMES - 1));
    }
}
