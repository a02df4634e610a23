//! Large maps: the way of an immediate key through the trie. What a node and the hash look like is said in
//! `atoll_term::map` and `atoll_term::hash`.

use atoll_term::hash::{ROUNDS, SALT_IMMEDIATE, START};
use atoll_term::{Header, Kind, Word};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I32, I64};
use cranelift_codegen::ir::{Block, InstBuilder, Value};

use super::Emitter;
use super::data::{BOXED, CONS};
use super::test::KIND;

/// Stands above the 32 bits of a hash. Where it alone is left, the levels of the hash are used up.
const END_OF_HASH: Word = 1 << 32;

impl Emitter<'_, '_> {
    /// The value of an immediate in a map that is not flat; goes elsewhere if it has none, or `deep` if the hash ends
    /// before a leaf is found.
    pub(super) fn found_in_trie(
        &mut self,
        map: Value,
        header: Value,
        key: Value,
        missing: Block,
        deep: Block,
    ) -> Value {
        let is_root = self.has_tag(header, KIND, Header::new(Kind::HashMapRoot, 0).word());
        self.unless(is_root, deep);
        let hash = self.hash_of_immediate(key);
        // The children of a root stand behind the map's size.
        let first = self.b.ins().iadd_imm(map, 2 * 8 - BOXED);
        let next = self.b.create_block();
        let [header_here, children, hash_here] = [I64; 3].map(|kind| self.b.append_block_param(next, kind));
        self.b.ins().jump(next, &[header.into(), first.into(), hash.into()]);

        self.b.switch_to_block(next);
        // The bitmap stands in the highest 16 bits.
        let bitmap = self.b.ins().ushr_imm(header_here, 48);
        let index = self.tag(hash_here, 0xf);
        let one = self.constant(1);
        let bit = self.b.ins().ishl(one, index);
        let present = self.b.ins().band(bitmap, bit);
        self.unless(present, missing);
        let below = self.b.ins().iadd_imm(bit, -1);
        let before = self.b.ins().band(bitmap, below);
        let place = self.b.ins().popcnt(before);
        let offset = self.b.ins().ishl_imm(place, 3);
        let at = self.b.ins().iadd(children, offset);
        let child = self.load_at(at, 0);
        let is_leaf = self.has_tag(child, 0b11, CONS as Word);
        let (leaf, inner) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(is_leaf, leaf, &[], inner, &[]);

        self.b.switch_to_block(inner);
        let header_below = self.load_boxed(child, 0);
        let children_below = self.b.ins().iadd_imm(child, 8 - BOXED);
        let hash_below = self.b.ins().ushr_imm(hash_here, 4);
        let is_left = self.b.ins().icmp_imm(IntCC::UnsignedGreaterThan, hash_below, 1);
        self.b.ins().brif(is_left, next, &[header_below.into(), children_below.into(), hash_below.into()], deep, &[]);

        self.b.switch_to_block(leaf);
        let found = self.load_cons(child, 0);
        let same = self.b.ins().icmp(IntCC::Equal, found, key);
        self.unless(same, missing);
        self.load_cons(child, 1)
    }

    /// The hash of an immediate for the first eight levels, and [`END_OF_HASH`].
    fn hash_of_immediate(&mut self, key: Value) -> Value {
        let low = self.b.ins().ireduce(I32, key);
        let high = self.b.ins().ushr_imm(key, 32);
        let high = self.b.ins().ireduce(I32, high);
        let mut a = self.b.ins().iadd_imm(low, i64::from(SALT_IMMEDIATE));
        let mut b = self.b.ins().iadd_imm(high, i64::from(SALT_IMMEDIATE));
        let mut c = self.b.ins().iconst(I32, i64::from(START));
        for (first, second, third) in ROUNDS {
            let shifted = self.b.ins().ushr_imm(c, i64::from(first));
            a = self.mixed(a, [b, c], shifted);
            let shifted = self.b.ins().ishl_imm(a, i64::from(second));
            b = self.mixed(b, [c, a], shifted);
            let shifted = self.b.ins().ushr_imm(b, i64::from(third));
            c = self.mixed(c, [a, b], shifted);
        }
        let hash = self.b.ins().uextend(I64, c);
        self.b.ins().bor_imm(hash, END_OF_HASH as i64)
    }

    fn mixed(&mut self, word: Value, others: [Value; 2], shifted: Value) -> Value {
        let less = others.into_iter().fold(word, |word, other| self.b.ins().isub(word, other));
        self.b.ins().bxor(less, shifted)
    }
}
