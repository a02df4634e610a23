//! Maps of which all keys stand in the file: `#{a => X, b => Y}`, and structs, which add values to a literal map. Their
//! keys are one tuple among the module's literals, which all maps of such an instruction have, so a map takes the words
//! of its values and two more.

use std::collections::{HashMap, HashSet};

use atoll_loader::Module;
use atoll_loader::instruction::{Instruction, Source};
use atoll_term::{Build, FLAT_MAP_LIMIT, Term, Word, compare_exact, exactly_equal, map};

/// What an instruction makes a new map of.
#[derive(Clone, Debug)]
pub struct NewMap {
    /// The tuple of keys.
    pub keys: Term,
    /// The values in the order of the keys.
    pub values: Box<[NewValue]>,
}

/// A value of a new map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewValue {
    /// That of the instruction's pair with this index.
    Given(usize),
    /// One of the literal map that the instruction adds to.
    Kept(Term),
}

/// New maps by the indices of the instructions that make them.
pub type NewMaps = HashMap<usize, NewMap>;

/// Keys in their order, each with its value.
type Pairs = Vec<(Term, NewValue)>;

/// The words of keys in their order.
type Keys = Box<[Word]>;

/// The new maps of a file, whose tuples of keys stand behind its literals.
pub(crate) fn new_maps(file: &Module, atoms: &[Term], literals: &[Term]) -> NewMaps {
    let tuples = literals.get(file.literals.len()..).unwrap_or_default();
    let elements = |tuple: &Term| tuple.tuple_elements().unwrap_or_default().iter().map(|key| key.word()).collect();
    let tuples: HashMap<Keys, Term> = tuples.iter().map(|tuple| (elements(tuple), *tuple)).collect();
    let made = sites(file, atoms, literals).into_iter().filter_map(|(index, pairs)| {
        let keys = *tuples.get(&keys_of(&pairs))?;
        Some((index, NewMap { keys, values: pairs.into_iter().map(|(_, value)| value).collect() }))
    });
    made.collect()
}

/// Words of the tuples of keys that a file needs.
pub(crate) fn words_of_keys(file: &Module, atoms: &[Term], literals: &[Term]) -> usize {
    let all: HashSet<Keys> = sites(file, atoms, literals).iter().map(|(_, pairs)| keys_of(pairs)).collect();
    all.iter().map(|keys| keys.len() + 1).sum()
}

/// Builds the tuples of keys that a file needs, behind its literals.
pub(crate) fn add_keys(file: &Module, atoms: &[Term], literals: &mut Vec<Term>, heap: &mut impl Build) {
    let mut made = HashSet::new();
    for (_, pairs) in sites(file, atoms, literals) {
        if made.insert(keys_of(&pairs)) {
            let keys: Vec<Term> = pairs.iter().map(|(key, _)| *key).collect();
            literals.push(heap.tuple(&keys));
        }
    }
}

fn keys_of(pairs: &Pairs) -> Keys {
    pairs.iter().map(|(key, _)| key.word()).collect()
}

/// The instructions of a file that make new maps, by their indices, with what these consist of.
fn sites(file: &Module, atoms: &[Term], literals: &[Term]) -> Vec<(usize, Pairs)> {
    let site = |(index, instruction): (usize, &Instruction)| match instruction {
        Instruction::PutMap { exact: false, map, pairs, .. } => {
            Some((index, pairs_of(constant(*map, atoms, literals)?, pairs, atoms, literals)?))
        }
        _ => None,
    };
    file.code.iter().enumerate().filter_map(site).collect()
}

fn pairs_of(from: Term, pairs: &[(Source, Source)], atoms: &[Term], literals: &[Term]) -> Option<Pairs> {
    let (keys, values) = if from.is_map() { map::flat_parts(&from)? } else { return None };
    let mut made: Pairs = keys.iter().copied().zip(values.iter().map(|value| NewValue::Kept(*value))).collect();
    for (index, (key, _)) in pairs.iter().enumerate() {
        // Of numbers that are equal the last one is the key: such keys are left to the usual way.
        let key = constant(*key, atoms, literals).filter(|key| key.is_immediate() || key.is_bitstring())?;
        let place = made.partition_point(|(other, _)| compare_exact(*other, key).is_lt());
        match made.get_mut(place) {
            Some((other, value)) if exactly_equal(*other, key) => *value = NewValue::Given(index),
            _ => made.insert(place, (key, NewValue::Given(index))),
        }
        if made.len() > FLAT_MAP_LIMIT {
            return None;
        }
    }
    Some(made)
}

fn constant(source: Source, atoms: &[Term], literals: &[Term]) -> Option<Term> {
    match source {
        Source::Small(value) => Some(Term::small(value)),
        Source::Atom(atom) => atoms.get(atom.0 as usize).copied(),
        Source::Nil => Some(Term::NIL),
        Source::Literal(literal) => literals.get(literal.0 as usize).copied(),
        Source::X(_) | Source::Y(_) => None,
    }
}
