//! Tests of types and values, comparisons, selections.

use atoll_loader::instruction::{Comparison, Instruction, Label, Shape, Source, TypeTest};
use atoll_runtime::core::Helper;
use atoll_term::{Header, Kind, Term, Word, atoms};
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{Block, InstBuilder, Value};
use cranelift_frontend::Switch;

use super::Emitter;
use crate::help;

const SMALL: i64 = 0xf;
pub(super) const SPECIAL: i64 = 0x3f;
/// The bits of a header that are the kind of its object, with the tag.
pub(super) const KIND: i64 = 0x3f;

/// A comparison: of words where both sides are small integers, of values where both are floats, by a helper otherwise;
/// the outcome that goes on.
struct OnSmalls {
    condition: IntCC,
    of_floats: FloatCC,
    helper: Helper,
    wanted: bool,
}

impl Emitter<'_, '_> {
    pub(super) fn test(&mut self, index: usize) {
        use Instruction as I;
        match self.flow.instruction(index) {
            I::Expect { shape, value } => self.expect(index, *shape, *value),
            I::Test { fail, test, value } => {
                let fail = self.label(*fail);
                let value = self.read(*value);
                self.type_test(test, value, fail);
            }
            I::TestArity { fail, value, arity } => {
                let fail = self.label(*fail);
                let value = self.read(*value);
                let header = self.load_boxed(value, 0);
                let same = self.equals(header, Header::new(Kind::Tuple, *arity as usize).word());
                self.unless(same, fail);
            }
            I::TestTaggedTuple { fail, value, arity, tag } => {
                let fail = self.label(*fail);
                let value = self.read(*value);
                self.boxed(value, fail);
                let header = self.load_boxed(value, 0);
                let same = self.equals(header, Header::new(Kind::Tuple, *arity as usize).word());
                self.unless(same, fail);
                let first = self.load_boxed(value, 1);
                let same = self.equals(first, self.flow.linked.atoms[tag.0 as usize].word());
                self.unless(same, fail);
            }
            I::TestFunctionArity { fail, value, arity } => {
                let fail = self.label(*fail);
                let known = self.known(*arity).and_then(Term::as_small);
                let (value, arity) = (self.read(*value), self.read(*arity));
                let (follows, other) = (self.b.create_block(), self.b.create_block());
                if let Some(count) = known.and_then(|count| u8::try_from(count).ok()) {
                    // Most are funs of this node's code.
                    self.boxed(value, fail);
                    let header = self.load_boxed(value, 0);
                    let is_local = self.has_tag(header, KIND, Header::new(Kind::Fun, 0).word());
                    self.unless(is_local, other);
                    let expected = self.arity_of_fun(value);
                    let same = self.equals(expected, count.into());
                    self.b.ins().brif(same, follows, &[], fail, &[]);
                    self.b.switch_to_block(other);
                }
                let holds = self.help(help::is_fun_of_arity, &[value, arity]);
                self.b.ins().brif(holds, follows, &[], fail, &[]);
                self.b.switch_to_block(follows);
            }
            I::Compare { fail, comparison, left, right } => {
                let block = self.label(*fail);
                self.compare(index, *comparison, *left, *right, block, Some(*fail));
            }
            other => unreachable!("{other:?} is no test"),
        }
    }

    pub(super) fn has_tag(&mut self, value: Value, mask: i64, tag: Word) -> Value {
        let low = self.tag(value, mask);
        self.equals(low, tag)
    }

    /// Goes on if the value is boxed.
    pub(super) fn boxed(&mut self, value: Value, otherwise: Block) {
        let is = self.has_tag(value, 3, 0b10);
        self.unless(is, otherwise);
    }

    /// Goes on if a value has a shape; where it has not, the first engine raises.
    fn expect(&mut self, index: usize, shape: Shape, value: Source) {
        let exit = self.exit(index);
        let value = self.read(value);
        let header = match shape {
            Shape::Map => return self.unless_map(value, exit),
            Shape::Cons => {
                let is = self.has_tag(value, 3, 0b01);
                return self.unless(is, exit);
            }
            Shape::Tuple { .. } => Header::new(Kind::Tuple, 0),
            Shape::TupleOf { arity } => Header::new(Kind::Tuple, arity as usize),
            Shape::Float => Header::new(Kind::Float, 1),
        };
        self.boxed(value, exit);
        let present = self.load_boxed(value, 0);
        let Shape::Tuple { least } = shape else {
            let same = self.equals(present, header.word());
            return self.unless(same, exit);
        };
        let is_tuple = self.has_tag(present, KIND, header.word());
        self.unless(is_tuple, exit);
        // The arity stands above the kind.
        let least = Header::new(Kind::Tuple, least as usize).word();
        let enough = self.b.ins().icmp_imm(IntCC::UnsignedGreaterThanOrEqual, present, least as i64);
        self.unless(enough, exit);
    }

    fn type_test(&mut self, test: &TypeTest, value: Value, fail: Block) {
        let holds = match test {
            TypeTest::NonemptyList => self.has_tag(value, 3, 0b01),
            TypeTest::Nil => self.equals(value, Term::NIL.word()),
            TypeTest::Atom => self.has_tag(value, SPECIAL, Term::atom(0).word()),
            TypeTest::List => {
                let (cons, nil) = (self.has_tag(value, 3, 0b01), self.equals(value, Term::NIL.word()));
                self.b.ins().bor(cons, nil)
            }
            TypeTest::Boolean => {
                let yes = self.equals(value, atoms::TRUE.word());
                let no = self.equals(value, atoms::FALSE.word());
                self.b.ins().bor(yes, no)
            }
            TypeTest::Tuple | TypeTest::Float => {
                let kind = if *test == TypeTest::Tuple { Kind::Tuple } else { Kind::Float };
                self.boxed(value, fail);
                let header = self.load_boxed(value, 0);
                self.has_tag(header, KIND, Header::new(kind, 0).word())
            }
            TypeTest::Map => {
                self.boxed(value, fail);
                let header = self.load_boxed(value, 0);
                let flat = self.has_tag(header, KIND, Header::new(Kind::FlatMap, 0).word());
                let hashed = self.has_tag(header, KIND, Header::new(Kind::HashMapRoot, 0).word());
                self.b.ins().bor(flat, hashed)
            }
            TypeTest::Integer | TypeTest::Number => {
                // Most are small.
                let (follows, other) = (self.b.create_block(), self.b.create_block());
                let small = self.has_tag(value, SMALL, 0xf);
                self.b.ins().brif(small, follows, &[], other, &[]);
                self.b.switch_to_block(other);
                let kinds = [Kind::PositiveBig, Kind::NegativeBig, Kind::Float];
                let kinds = if *test == TypeTest::Number { &kinds[..] } else { &kinds[..2] };
                let holds = self.is_boxed_of(value, kinds, fail);
                self.b.ins().brif(holds, follows, &[], fail, &[]);
                self.b.switch_to_block(follows);
                return;
            }
            TypeTest::Function => self.is_boxed_of(value, &[Kind::Fun, Kind::ExternalFun], fail),
            TypeTest::Bitstring => self.is_boxed_of(value, &[Kind::HeapBits, Kind::SubBits, Kind::BinaryHandle], fail),
            TypeTest::Binary => return self.is_binary(value, fail),
            _ => self.ask_type(test, value),
        };
        self.unless(holds, fail);
    }

    /// Whether a value is boxed and of one of these kinds; goes elsewhere if it is not boxed.
    fn is_boxed_of(&mut self, value: Value, kinds: &[Kind], otherwise: Block) -> Value {
        self.boxed(value, otherwise);
        let header = self.load_boxed(value, 0);
        let kind = self.tag(header, KIND);
        let each = kinds.iter().map(|kind| Header::new(*kind, 0).word());
        let holds: Vec<Value> = each.map(|word| self.equals(kind, word)).collect();
        holds.into_iter().reduce(|one, other| self.b.ins().bor(one, other)).unwrap_or(kind)
    }

    /// Goes on if a value is a bitstring of whole bytes.
    fn is_binary(&mut self, value: Value, fail: Block) {
        let (follows, part, other) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        let handle = self.is_boxed_of(value, &[Kind::BinaryHandle], fail);
        self.b.ins().brif(handle, follows, &[], other, &[]);
        self.b.switch_to_block(other);
        let header = self.load_boxed(value, 0);
        let heap = self.has_tag(header, KIND, Header::new(Kind::HeapBits, 0).word());
        let (here, elsewhere) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(heap, here, &[], elsewhere, &[]);
        self.b.switch_to_block(here);
        let length = self.load_boxed(value, 1);
        let whole = self.has_tag(length, 7, 0);
        self.b.ins().brif(whole, follows, &[], fail, &[]);
        self.b.switch_to_block(elsewhere);
        let view = self.has_tag(header, KIND, Header::new(Kind::SubBits, 0).word());
        self.b.ins().brif(view, part, &[], fail, &[]);
        self.b.switch_to_block(part);
        // First bit and the one behind the last are small integers.
        let (first, end) = (self.load_boxed(value, 1), self.load_boxed(value, 2));
        let bits = self.b.ins().isub(end, first);
        let whole = self.has_tag(bits, 0x70, 0);
        self.b.ins().brif(whole, follows, &[], fail, &[]);
        self.b.switch_to_block(follows);
    }

    fn ask_type(&mut self, test: &TypeTest, value: Value) -> Value {
        let number = help::TESTS.iter().position(|one| one == test).unwrap_or(help::TESTS.len());
        let number = self.constant(number as Word);
        self.help(help::is_of_type, &[value, number])
    }

    pub(super) fn compare(
        &mut self,
        index: usize,
        comparison: Comparison,
        left: Source,
        right: Source,
        fail: Block,
        otherwise: Option<Label>,
    ) {
        let (a, b) = (self.read(left), self.read(right));
        let (constant_a, constant_b) = (self.known(left), self.known(right));
        match comparison {
            Comparison::ExactlyEqual | Comparison::NotExactlyEqual => {
                let wanted = comparison == Comparison::ExactlyEqual;
                let same = self.b.ins().icmp(IntCC::Equal, a, b);
                let immediate = |term: Option<Term>| term.is_some_and(Term::is_immediate);
                if immediate(constant_a) || immediate(constant_b) {
                    return self.branch(same, wanted, fail);
                }
                let (follows, other) = (self.b.create_block(), self.b.create_block());
                let (yes, no) = if wanted { (follows, fail) } else { (fail, follows) };
                self.b.ins().brif(same, yes, &[], other, &[]);
                self.b.switch_to_block(other);
                // Where one of them is an immediate, other words are other terms.
                let far = self.b.create_block();
                let either = self.is_immediate_either(a, b);
                self.b.ins().brif(either, no, &[], far, &[]);
                self.b.switch_to_block(far);
                let equal = self.help(help::exactly_equal, &[a, b]);
                self.b.ins().brif(equal, yes, &[], no, &[]);
                self.b.switch_to_block(follows);
            }
            Comparison::Equal | Comparison::NotEqual => {
                let wanted = comparison == Comparison::Equal;
                let smalls =
                    OnSmalls { condition: IntCC::Equal, of_floats: FloatCC::Equal, helper: help::equal, wanted };
                self.on_smalls(index, (left, right), (a, b), smalls, (fail, otherwise));
            }
            Comparison::Less | Comparison::GreaterOrEqual => {
                let wanted = comparison == Comparison::Less;
                let smalls = OnSmalls {
                    condition: IntCC::SignedLessThan,
                    of_floats: FloatCC::LessThan,
                    helper: help::less,
                    wanted,
                };
                self.on_smalls(index, (left, right), (a, b), smalls, (fail, otherwise));
            }
        }
    }

    fn branch(&mut self, condition: Value, wanted: bool, fail: Block) {
        let follows = self.b.create_block();
        let (yes, no) = if wanted { (follows, fail) } else { (fail, follows) };
        self.b.ins().brif(condition, yes, &[], no, &[]);
        self.b.switch_to_block(follows);
    }

    fn is_immediate_either(&mut self, a: Value, b: Value) -> Value {
        let (a, b) = (self.has_tag(a, 3, 0b11), self.has_tag(b, 3, 0b11));
        self.b.ins().bor(a, b)
    }

    /// A comparison that is one of words where both are small integers.
    fn on_smalls(
        &mut self,
        index: usize,
        (left, right): (Source, Source),
        (a, b): (Value, Value),
        OnSmalls { condition, of_floats, helper, wanted }: OnSmalls,
        (fail, otherwise): (Block, Option<Label>),
    ) {
        let Some(small) = self.both_small(left, right, a, b) else {
            let quick = self.b.ins().icmp(condition, a, b);
            return self.branch(quick, wanted, fail);
        };
        if self.is_speculated(index) {
            let exit = self.exit(index);
            self.unless(small, exit);
            self.set_small(left, true);
            self.set_small(right, true);
            if let Some(label) = otherwise {
                self.label(label);
            }
            let quick = self.b.ins().icmp(condition, a, b);
            return self.branch(quick, wanted, fail);
        }
        let (fast, slow, follows) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        let (yes, no) = if wanted { (follows, fail) } else { (fail, follows) };
        self.b.ins().brif(small, fast, &[], slow, &[]);
        self.b.switch_to_block(slow);
        let other = self.b.create_block();
        self.b.set_cold_block(other);
        let (left, right) = self.both_floats(a, b, other);
        let holds = self.b.ins().fcmp(of_floats, left, right);
        self.b.ins().brif(holds, yes, &[], no, &[]);
        self.b.switch_to_block(other);
        let holds = self.help(helper, &[a, b]);
        self.b.ins().brif(holds, yes, &[], no, &[]);
        self.b.switch_to_block(fast);
        let quick = self.b.ins().icmp(condition, a, b);
        self.b.ins().brif(quick, yes, &[], no, &[]);
        self.b.switch_to_block(follows);
    }

    /// Whether both are small integers; nothing if that is known.
    pub(super) fn both_small(&mut self, left: Source, right: Source, a: Value, b: Value) -> Option<Value> {
        let word = match (self.is_small(left), self.is_small(right)) {
            (true, true) => return None,
            (true, false) => b,
            (false, true) => a,
            (false, false) => self.b.ins().band(a, b),
        };
        Some(self.has_tag(word, SMALL, 0xf))
    }

    pub(super) fn select_value(&mut self, value: Source, fail: Label, cases: &[(Source, Label)]) {
        let word = self.read(value);
        let fail = self.label(fail);
        let mut switch = Switch::new();
        let keys: Vec<(Term, Label)> =
            cases.iter().filter_map(|(key, label)| Some((self.known(*key)?, *label))).collect();
        let smalls = keys.iter().all(|(key, _)| key.is_small());
        let mut seen = std::collections::HashSet::new();
        for (key, label) in &keys {
            let block = self.label(*label);
            let entry = if smalls { key.small_value() as u64 } else { key.word() };
            // The first of two that are alike counts.
            if seen.insert(entry) {
                switch.set_entry(entry.into(), block);
            }
        }
        let word = if smalls {
            if !self.is_small(value) {
                let small = self.has_tag(word, SMALL, 0xf);
                self.unless(small, fail);
            }
            self.b.ins().sshr_imm(word, 4)
        } else {
            word
        };
        switch.emit(&mut self.b, word, fail);
    }

    pub(super) fn select_tuple_arity(&mut self, value: Source, fail: Label, cases: &[(u32, Label)]) {
        let value = self.read(value);
        let fail = self.label(fail);
        self.boxed(value, fail);
        let header = self.load_boxed(value, 0);
        let mut switch = Switch::new();
        let mut seen = std::collections::HashSet::new();
        for (arity, label) in cases {
            let block = self.label(*label);
            if seen.insert(*arity) {
                switch.set_entry(Header::new(Kind::Tuple, *arity as usize).word().into(), block);
            }
        }
        switch.emit(&mut self.b, header, fail);
    }
}
