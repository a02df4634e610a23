//! Maps: what a key stands for, and maps with other pairs. Flat maps are searched here for keys that are immediates.

use atoll_code::{NewMap, NewValue};
use atoll_loader::instruction::{Instruction, Label, Register, Source};
use atoll_term::{Header, Kind, Term, Word};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{Block, InstBuilder, Value};

use super::test::KIND;
use super::{Emitter, x_offset};
use crate::help;

/// Most pairs of an instruction that changes flat maps without a call.
const CHANGED_AT_MOST: usize = 4;
/// Most pairs that one instruction passes to [`help::put_map`].
pub const MOST_PAIRS: usize = 255;

impl Emitter<'_, '_> {
    pub(super) fn maps(&mut self, index: usize) {
        match self.flow.instruction(index) {
            Instruction::HasMapFields { fail, map, keys } => {
                let fail = self.label(*fail);
                let map = self.read(*map);
                for key in keys {
                    self.found_in_map(map, *key, fail);
                }
            }
            Instruction::GetMapElements { fail, map, pairs } => {
                // Some of them may have been written when a key is missing.
                for (_, destination) in pairs {
                    self.set_small((*destination).into(), false);
                }
                let fail = self.label(*fail);
                let map = self.read(*map);
                for (key, destination) in pairs {
                    let value = self.found_in_map(map, *key, fail);
                    self.write(*destination, value);
                }
            }
            Instruction::PutMap { fail, exact, map, destination, pairs, .. } => {
                match self.flow.linked.new_maps.get(&index) {
                    Some(new) => self.new_map(index, new, pairs, *destination),
                    None => self.put_map(index, *fail, *exact, *map, pairs, *destination),
                }
            }
            other => unreachable!("{other:?} has nothing to do with maps"),
        }
    }

    /// The value of a key in a term that is a map; goes elsewhere if it has none.
    pub(super) fn found_in_map(&mut self, map: Value, key: Source, missing: Block) -> Value {
        let word = self.read(key);
        let known = self.known(key);
        if known.is_some_and(|key| !key.is_immediate()) {
            let found = self.help(help::map_get, &[map, word]);
            self.unless(found, missing);
            return found;
        }
        let (done, result) = self.joined(I64);
        let (flat, other) = (self.b.create_block(), self.b.create_block());
        if known.is_none() {
            let is_immediate = self.has_tag(word, 3, 0b11);
            self.unless(is_immediate, other);
        }
        let header = self.load_boxed(map, 0);
        let is_flat = self.has_tag(header, KIND, Header::new(Kind::FlatMap, 0).word());
        if known.is_none() {
            // Keys that vary are mostly those of large maps.
            let large = self.b.create_block();
            self.b.ins().brif(is_flat, flat, &[], large, &[]);
            self.b.switch_to_block(large);
            let found = self.found_in_trie(map, header, word, missing, other);
            self.b.ins().jump(done, &[found.into()]);
        } else {
            self.b.ins().brif(is_flat, flat, &[], other, &[]);
        }

        self.b.switch_to_block(other);
        let found = self.help(help::map_get, &[map, word]);
        self.unless(found, missing);
        self.b.ins().jump(done, &[found.into()]);

        self.b.switch_to_block(flat);
        let offset = self.place_in_flat(map, header, word, missing);
        let at = self.b.ins().iadd(map, offset);
        let value = self.load_boxed(at, 1);
        self.b.ins().jump(done, &[value.into()]);

        self.b.switch_to_block(done);
        result
    }

    /// Where an immediate key stands in the tuple of a flat map's keys, in bytes from the header; the value is one word
    /// further from the map's. Goes elsewhere if the map does not have the key.
    fn place_in_flat(&mut self, map: Value, header: Value, key: Value, missing: Block) -> Value {
        // From the last key to the first. A map has one word more than its keys: their tuple.
        let keys = self.load_boxed(map, 1);
        let words = self.b.ins().ushr_imm(header, 6);
        let last = self.b.ins().iadd_imm(words, -1);
        let (next, place) = self.joined(I64);
        self.b.ins().jump(next, &[last.into()]);
        self.b.switch_to_block(next);
        self.unless(place, missing);
        let offset = self.b.ins().ishl_imm(place, 3);
        let at = self.b.ins().iadd(keys, offset);
        let candidate = self.load_boxed(at, 0);
        let before = self.b.ins().iadd_imm(place, -1);
        let same = self.b.ins().icmp(IntCC::Equal, candidate, key);
        let hit = self.b.create_block();
        self.b.ins().brif(same, hit, &[], next, &[before.into()]);
        self.b.switch_to_block(hit);
        offset
    }

    /// Other values for keys that a flat map has, without a call: what changes one element of a record or struct. The
    /// map itself if it has those very values. Goes elsewhere with what is not so.
    fn changed_flat(&mut self, map: Value, pairs: &[(Source, Source)], otherwise: Block) -> Value {
        self.boxed(map, otherwise);
        let header = self.load_boxed(map, 0);
        let is_flat = self.has_tag(header, KIND, Header::new(Kind::FlatMap, 0).word());
        self.unless(is_flat, otherwise);
        let mut places = Vec::with_capacity(pairs.len());
        for (key, value) in pairs {
            let is_known = self.known(*key).is_some();
            let (key, value) = (self.read(*key), self.read(*value));
            if !is_known {
                let is_immediate = self.has_tag(key, 3, 0b11);
                self.unless(is_immediate, otherwise);
            }
            places.push((self.place_in_flat(map, header, key, otherwise), value));
        }
        let (done, result) = self.joined(I64);
        let changes = self.b.create_block();
        for (place, value) in &places {
            let at = self.b.ins().iadd(map, *place);
            let old = self.load_boxed(at, 1);
            let same = self.b.ins().icmp(IntCC::Equal, old, *value);
            self.unless(same, changes);
        }
        self.b.ins().jump(done, &[map.into()]);

        self.b.switch_to_block(changes);
        let words = self.b.ins().ushr_imm(header, 6);
        let size = self.b.ins().ishl_imm(words, 3);
        let hp = self.b.use_var(self.hp);
        let last = self.b.ins().iadd(hp, size);
        let top = self.b.ins().iadd_imm(last, 8);
        let limit = self.limit();
        let fits = self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, top, limit);
        self.unless(fits, otherwise);
        self.copy_down(map, hp, size);
        for (place, value) in places {
            let at = self.b.ins().iadd(hp, place);
            self.store(value, at, 8);
        }
        self.b.def_var(self.hp, top);
        let made = self.b.ins().iadd_imm(hp, super::data::BOXED);
        self.b.ins().jump(done, &[made.into()]);
        self.b.switch_to_block(done);
        result
    }

    /// Goes elsewhere unless a term is a map.
    pub(super) fn unless_map(&mut self, value: Value, otherwise: Block) {
        self.boxed(value, otherwise);
        let header = self.load_boxed(value, 0);
        let flat = self.has_tag(header, KIND, Header::new(Kind::FlatMap, 0).word());
        let hashed = self.has_tag(header, KIND, Header::new(Kind::HashMapRoot, 0).word());
        let is_map = self.b.ins().bor(flat, hashed);
        self.unless(is_map, otherwise);
    }

    /// A map whose tuple of keys is a literal.
    fn new_map(&mut self, index: usize, new: &NewMap, pairs: &[(Source, Source)], destination: Register) {
        let count = new.values.len();
        let exit = self.exit(index);
        self.room((count as i64 + 2) * 8, exit);
        let mut words =
            vec![self.constant(Header::new(Kind::FlatMap, count + 1).word()), self.varying(new.keys.word())];
        for value in &new.values {
            words.push(match value {
                NewValue::Given(pair) => self.read(pairs[*pair].1),
                NewValue::Kept(term) => self.term(*term),
            });
        }
        self.build(&words, super::data::BOXED, destination);
    }

    fn put_map(
        &mut self,
        index: usize,
        fail: Label,
        exact: bool,
        map: Source,
        pairs: &[(Source, Source)],
        destination: Register,
    ) {
        let possible = |source: Source| self.known(source).is_none_or(Term::is_immediate);
        let is_short = pairs.len() <= CHANGED_AT_MOST && pairs.iter().all(|(key, _)| possible(*key));
        let (done, result) = self.joined(I64);
        if is_short {
            let slow = self.b.create_block();
            let source = self.read(map);
            let made = self.changed_flat(source, pairs, slow);
            self.b.ins().jump(done, &[made.into()]);
            self.b.switch_to_block(slow);
        }
        let terms = std::iter::once(map).chain(pairs.iter().flat_map(|(key, value)| [*key, *value]));
        for (place, term) in terms.enumerate() {
            let (core, value) = (self.core(), self.read(term));
            self.store(value, core, x_offset((help::ARGUMENTS + place) as u16));
        }
        let carried = self.carried();
        let (count, exact) = (self.constant(pairs.len() as Word), self.constant(exact.into()));
        let made = self.help(help::put_map, &[carried[0], carried[1], carried[2], count, exact]);
        let made = self.helped(index, fail, made);
        self.b.ins().jump(done, &[made.into()]);
        self.b.switch_to_block(done);
        self.write(destination, result);
    }
}
