//! The cache of atoms on both sides of a connection, and the part of a distribution header that changes it.
//!
//! ```text
//!   count, flags (4 bits an atom, then 4 bits for all), for each atom: index, and if it is new its text
//!   flags of an atom: 8 = new, the rest = which of 8 segments of 256 places;  of all: 1 = lengths have 2 bytes
//! ```

use atoll_term::Term;
use atoll_term::atoms::{AtomError, atom, atom_name};

/// Places of a cache.
pub const PLACES: usize = 2048;
const SEGMENT: usize = 256;
const NEW: u8 = 8;
const LONG: u8 = 1;

/// The atoms at the places of one side's cache.
pub struct AtomCache(Box<[Term; PLACES]>);

impl Default for AtomCache {
    fn default() -> AtomCache {
        AtomCache(Box::new([Term::NONE; PLACES]))
    }
}

/// Why a header cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadHeader {
    /// It is cut off, or contradicts itself.
    Malformed,
    /// The atom table is full.
    TooManyAtoms,
}

/// The place of an atom in the cache of the side that sends it.
pub fn place_of(atom: Term) -> usize {
    atom.atom_index() as usize % PLACES
}

impl AtomCache {
    /// Writes the part of a header that names these atoms (255 at most), and remembers them.
    pub fn write(&mut self, atoms: &[Term], to: &mut Vec<u8>) {
        to.push(atoms.len() as u8);
        if atoms.is_empty() {
            return;
        }
        let is_long = atoms.iter().any(|atom| atom_name(*atom).len() > usize::from(u8::MAX));
        let flags_at = to.len();
        to.resize(flags_at + atoms.len() / 2 + 1, 0);
        let set = |to: &mut Vec<u8>, number: usize, bits: u8| to[flags_at + number / 2] |= bits << (number % 2 * 4);
        set(to, atoms.len(), if is_long { LONG } else { 0 });
        for (number, atom) in atoms.iter().enumerate() {
            let place = place_of(*atom);
            let is_new = self.0[place] != *atom;
            set(to, number, (place / SEGMENT) as u8 | if is_new { NEW } else { 0 });
            to.push((place % SEGMENT) as u8);
            if is_new {
                self.0[place] = *atom;
                let name = atom_name(*atom).as_bytes();
                match is_long {
                    true => to.extend((name.len() as u16).to_be_bytes()),
                    false => to.push(name.len() as u8),
                }
                to.extend_from_slice(name);
            }
        }
    }

    /// Reads what [`AtomCache::write`] writes: the atoms, and how many bytes they took.
    ///
    /// # Errors
    /// The bytes are no such header.
    pub fn read(&mut self, bytes: &[u8]) -> Result<(Vec<Term>, usize), BadHeader> {
        let (count, rest) = bytes.split_first().ok_or(BadHeader::Malformed)?;
        let count = usize::from(*count);
        if count == 0 {
            return Ok((Vec::new(), 1));
        }
        let (flags, mut rest) = rest.split_at_checked(count / 2 + 1).ok_or(BadHeader::Malformed)?;
        let flag = |number: usize| flags[number / 2] >> (number % 2 * 4) & 0xf;
        let is_long = flag(count) & LONG != 0;
        let mut atoms = Vec::with_capacity(count);
        for number in 0..count {
            let (index, behind) = rest.split_first().ok_or(BadHeader::Malformed)?;
            rest = behind;
            let place = usize::from(flag(number) & (NEW - 1)) * SEGMENT + usize::from(*index);
            if flag(number) & NEW != 0 {
                let length = if is_long { 2 } else { 1 };
                let (length, behind) = rest.split_at_checked(length).ok_or(BadHeader::Malformed)?;
                let length = length.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
                let (name, behind) = behind.split_at_checked(length).ok_or(BadHeader::Malformed)?;
                rest = behind;
                let name = std::str::from_utf8(name).map_err(|_| BadHeader::Malformed)?;
                self.0[place] = atom(name).map_err(|error| match error {
                    AtomError::TooLong => BadHeader::Malformed,
                    AtomError::TableFull => BadHeader::TooManyAtoms,
                })?;
            }
            if self.0[place].is_none() {
                return Err(BadHeader::Malformed);
            }
            atoms.push(self.0[place]);
        }
        Ok((atoms, bytes.len() - rest.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(names: &[&str]) -> Vec<Term> {
        names.iter().map(|name| atom(name).expect("room for an atom")).collect()
    }

    #[test]
    fn what_one_side_writes_the_other_reads() {
        let (mut one, mut other) = (AtomCache::default(), AtomCache::default());
        let long = "ä".repeat(200);
        for names in [&["a_first", "b_second", "c_third"][..], &["b_second"], &[], &["a_first", &long], &[&long, "x_y"]]
        {
            let atoms = named(names);
            let mut bytes = Vec::new();
            one.write(&atoms, &mut bytes);
            bytes.push(7);
            assert_eq!(other.read(&bytes), Ok((atoms, bytes.len() - 1)));
        }
    }

    #[test]
    fn an_atom_that_is_known_takes_one_byte() {
        let mut cache = AtomCache::default();
        let atoms = named(&["some_atom_to_be_known"]);
        let (mut first, mut second) = (Vec::new(), Vec::new());
        cache.write(&atoms, &mut first);
        cache.write(&atoms, &mut second);
        assert_eq!((first.len(), second.len()), (3 + 1 + "some_atom_to_be_known".len(), 3));
    }

    #[test]
    fn atoms_may_meet_at_one_place() {
        let (mut one, mut other) = (AtomCache::default(), AtomCache::default());
        let place = |atom: Term| atom.atom_index() as usize % PLACES;
        let made = |number: usize| atom(&format!("meet_{number}")).expect("room");
        let first = made(0);
        // Other tests make atoms at the same time.
        let last =
            (1..=8 * PLACES).map(made).find(|atom| place(*atom) == place(first)).expect("another round of places");
        for atoms in [vec![first, last], vec![last, first], vec![first, last]] {
            let mut bytes = Vec::new();
            one.write(&atoms, &mut bytes);
            assert_eq!(other.read(&bytes), Ok((atoms, bytes.len())));
        }
    }

    #[test]
    fn headers_that_are_cut_off_or_name_nothing_are_refused() {
        let mut bytes = Vec::new();
        AtomCache::default().write(&named(&["some_name", "another_name"]), &mut bytes);
        for length in 0..bytes.len() {
            assert_eq!(AtomCache::default().read(&bytes[..length]), Err(BadHeader::Malformed), "{length} bytes");
        }
        // A place that was never filled.
        assert_eq!(AtomCache::default().read(&[1, 0, 5]), Err(BadHeader::Malformed));
        // A name that is no text.
        assert_eq!(AtomCache::default().read(&[1, 8, 5, 1, 0xff]), Err(BadHeader::Malformed));
    }
}
