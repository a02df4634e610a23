//! Operators and guard functions. What is small stays in machine registers; everything else is a call of the function
//! that the first engine calls too.

use std::mem::offset_of;

use atoll_code::registry;
use atoll_loader::instruction::{Comparison, Instruction, Label, Register, Source};
use atoll_operations::arithmetic;
use atoll_process::Process;
use atoll_runtime::core::{Core, Slow};
use atoll_runtime::stubs::{missing_guard, native_of};
use atoll_term::{Export, Header, Kind, OffHeapBinary, Term, Word, atoms};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{Block, InstBuilder, Value};

use super::test::KIND;
use super::{Emitter, x_offset};
use crate::help;

impl Emitter<'_, '_> {
    pub(super) fn guard(&mut self, index: usize) {
        let (fail, bif, arguments, destination) = match self.flow.instruction(index) {
            Instruction::Bif { fail, bif, arguments, destination }
            | Instruction::GcBif { fail, bif, arguments, destination, .. } => (*fail, *bif, arguments, *destination),
            other => unreachable!("{other:?} is no guard"),
        };
        let export = self.flow.linked.imports[bif.0 as usize];
        if export.module == atoms::ERLANG {
            let done = match **arguments {
                [] if export.name == atoms::SELF => {
                    let core = self.core();
                    let process = self.load(core, offset_of!(Core, process));
                    let pid = self.load(process, offset_of!(Process, pid));
                    self.write(destination, pid);
                    true
                }
                [one] => self.of_one(index, export.name, fail, one, destination),
                [left, right] => self.of_two(index, export.name, fail, left, right, destination),
                _ => false,
            };
            if done {
                return;
            }
        }
        let arguments: Vec<Value> = arguments.iter().map(|argument| self.read(*argument)).collect();
        let result = self.call_guard(index, fail, export, &arguments);
        self.write(destination, result);
    }

    /// Calls a function that asks for nothing, but may fail.
    pub(super) fn call_guard(&mut self, index: usize, fail: Label, export: &Export, arguments: &[Value]) -> Value {
        for (place, argument) in arguments.iter().enumerate() {
            let core = self.core();
            self.store(*argument, core, x_offset((help::ARGUMENTS + place) as u16));
        }
        let number = registry().built_in_number(export.module, export.name, export.arity);
        let function = self.varying(number.map_or_else(missing_guard, native_of));
        let count = self.constant(arguments.len() as Word);
        let [hp, e, reds] = self.carried();
        let result = self.help(help::guard, &[hp, e, reds, function, count]);
        self.helped(index, fail, result)
    }

    /// Where an operation fails: at its label, or in the first engine, which raises.
    pub(super) fn failure(&mut self, index: usize, fail: Label) -> Block {
        if fail == Label::NONE { self.exit(index) } else { self.label(fail) }
    }

    /// The result of a helper that may have used heap, or have failed.
    pub(super) fn helped(&mut self, index: usize, fail: Label, result: Value) -> Value {
        let core = self.core();
        let top = self.load(core, offset_of!(Core, next) + offset_of!(NextPlace, 1));
        self.b.def_var(self.hp, top);
        let reds = self.load(core, offset_of!(Core, next) + offset_of!(NextPlace, 3));
        self.b.def_var(self.reds, reds);
        let failure = self.failure(index, fail);
        self.unless(result, failure);
        result
    }

    fn of_one(&mut self, index: usize, name: Term, fail: Label, one: Source, destination: Register) -> bool {
        if name == atoms::BNOT {
            return self.complement(index, one, destination);
        }
        if matches!(name, atoms::ABS | atoms::OP_MINUS) {
            return self.negate_or_abs(index, name, one, destination);
        }
        match name {
            atoms::BYTE_SIZE | atoms::BIT_SIZE => return self.size_of_bits(index, name, fail, one, destination),
            atoms::MAP_SIZE => return self.size_of_map(index, fail, one, destination),
            _ => {}
        }
        if !matches!(name, atoms::HD | atoms::TL | atoms::TUPLE_SIZE) {
            return false;
        }
        let failure = self.failure(index, fail);
        let value = self.read(one);
        let low = self.tag(value, 3);
        if name == atoms::TUPLE_SIZE {
            let boxed = self.equals(low, 0b10);
            self.unless(boxed, failure);
            let header = self.load_boxed(value, 0);
            let kind = self.tag(header, 0x3f);
            let is_tuple = self.equals(kind, Header::new(Kind::Tuple, 0).word());
            self.unless(is_tuple, failure);
            // The arity stands in bits 6 and up; a tuple has no extra bits.
            let shifted = self.b.ins().ushr_imm(header, 2);
            let size = self.b.ins().bor_imm(shifted, 0xf);
            self.write(destination, size);
            self.set_small(destination.into(), true);
        } else {
            let cons = self.equals(low, 0b01);
            self.unless(cons, failure);
            let half = self.load_cons(value, usize::from(name == atoms::TL));
            self.write(destination, half);
        }
        true
    }

    /// `byte_size` or `bit_size`.
    fn size_of_bits(&mut self, index: usize, name: Term, fail: Label, one: Source, destination: Register) -> bool {
        let failure = self.failure(index, fail);
        let value = self.read(one);
        let (_, kind) = self.header_and_kind(value, failure);
        let (done, bits) = self.joined(I64);
        self.where_kind(kind, Kind::HeapBits, |of| {
            let length = of.load_boxed(value, 1);
            of.b.ins().jump(done, &[length.into()]);
        });
        self.where_kind(kind, Kind::SubBits, |of| {
            // First bit and the one behind the last are small integers.
            let (first, end) = (of.load_boxed(value, 1), of.load_boxed(value, 2));
            let between = of.b.ins().isub(end, first);
            let length = of.b.ins().ushr_imm(between, 4);
            of.b.ins().jump(done, &[length.into()]);
        });
        self.where_kind(kind, Kind::BinaryHandle, |of| {
            let binary = of.load_boxed(value, 1);
            let bytes = of.load(binary, OffHeapBinary::USED);
            let length = of.b.ins().ishl_imm(bytes, 3);
            of.b.ins().jump(done, &[length.into()]);
        });
        self.b.ins().jump(failure, &[]);
        self.b.switch_to_block(done);
        let size = if name == atoms::BYTE_SIZE {
            let up = self.b.ins().iadd_imm(bits, 7);
            self.b.ins().ushr_imm(up, 3)
        } else {
            bits
        };
        self.write_small(size, destination);
        true
    }

    fn size_of_map(&mut self, index: usize, fail: Label, one: Source, destination: Register) -> bool {
        let failure = self.failure(index, fail);
        let value = self.read(one);
        let (header, kind) = self.header_and_kind(value, failure);
        let (done, size) = self.joined(I64);
        self.where_kind(kind, Kind::FlatMap, |of| {
            // The keys have one word of a flat map, each value one; such a header has no extra bits.
            let words = of.b.ins().ushr_imm(header, 6);
            let pairs = of.b.ins().iadd_imm(words, -1);
            of.b.ins().jump(done, &[pairs.into()]);
        });
        self.where_kind(kind, Kind::HashMapRoot, |of| {
            let count = of.load_boxed(value, 1);
            let pairs = of.b.ins().ushr_imm(count, 4);
            of.b.ins().jump(done, &[pairs.into()]);
        });
        self.b.ins().jump(failure, &[]);
        self.b.switch_to_block(done);
        self.write_small(size, destination);
        true
    }

    /// The header of an object, and the bits of it that say its kind; goes elsewhere if the value is not boxed.
    fn header_and_kind(&mut self, value: Value, otherwise: Block) -> (Value, Value) {
        self.boxed(value, otherwise);
        let header = self.load_boxed(value, 0);
        (header, self.tag(header, KIND))
    }

    /// Emits what is done where an object is of a kind, which ends in a jump; goes on where it is of another.
    fn where_kind(&mut self, kind: Value, wanted: Kind, emit: impl FnOnce(&mut Self)) {
        let (here, other) = (self.b.create_block(), self.b.create_block());
        let is = self.equals(kind, Header::new(wanted, 0).word());
        self.b.ins().brif(is, here, &[], other, &[]);
        self.b.switch_to_block(here);
        emit(self);
        self.b.switch_to_block(other);
    }

    /// Writes a machine integer that a small one can hold.
    fn write_small(&mut self, number: Value, destination: Register) {
        let shifted = self.b.ins().ishl_imm(number, 4);
        let term = self.b.ins().bor_imm(shifted, 0xf);
        self.write(destination, term);
        self.set_small(destination.into(), true);
    }

    fn complement(&mut self, index: usize, one: Source, destination: Register) -> bool {
        if !self.is_speculated(index) || self.known(one).is_some() {
            return false;
        }
        let value = self.small_or_exit(index, one);
        let result = self.b.ins().bxor_imm(value, !0xf);
        self.write(destination, result);
        self.set_small(destination.into(), true);
        true
    }

    /// The word of a small integer; another value leaves to the first engine.
    fn small_or_exit(&mut self, index: usize, source: Source) -> Value {
        let exit = self.exit(index);
        let value = self.read(source);
        if !self.is_small(source) {
            let low = self.tag(value, 0xf);
            let small = self.equals(low, 0xf);
            self.unless(small, exit);
            self.set_small(source, true);
        }
        value
    }

    fn negate_or_abs(&mut self, index: usize, name: Term, one: Source, destination: Register) -> bool {
        if !self.is_speculated(index) || self.known(one).is_some() {
            return false;
        }
        let exit = self.exit(index);
        let value = self.small_or_exit(index, one);
        let bits = self.b.ins().band_imm(value, !0xf);
        let zero = self.b.ins().iconst(I64, 0);
        // The smallest has no counterpart.
        let (negated, overflow) = self.b.ins().ssub_overflow(zero, bits);
        self.unless_set(overflow, exit);
        let negated = self.b.ins().bor_imm(negated, 0xf);
        let result = if name == atoms::ABS {
            let below = self.b.ins().icmp_imm(IntCC::SignedLessThan, value, 0);
            self.b.ins().select(below, negated, value)
        } else {
            negated
        };
        self.write(destination, result);
        self.set_small(destination.into(), true);
        true
    }

    /// The values of two floats; where one of them is none, control goes elsewhere.
    pub(super) fn both_floats(&mut self, a: Value, b: Value, otherwise: Block) -> (Value, Value) {
        for value in [a, b] {
            self.boxed(value, otherwise);
            let header = self.load_boxed(value, 0);
            let float = self.equals(header, Header::new(Kind::Float, 1).word());
            self.unless(float, otherwise);
        }
        (self.float_in(a), self.float_in(b))
    }

    /// An operation on two floats whose result is one; what is none, or does not fit, goes to `far`.
    fn on_floats(&mut self, name: Term, a: Value, b: Value, far: Block, done: Block) {
        let (a, b) = self.both_floats(a, b, far);
        let result = match name {
            atoms::OP_PLUS => self.b.ins().fadd(a, b),
            atoms::OP_MINUS => self.b.ins().fsub(a, b),
            atoms::OP_TIMES => self.b.ins().fmul(a, b),
            _ => self.b.ins().fdiv(a, b),
        };
        let finite = self.is_finite(result);
        self.unless(finite, far);
        let hp = self.b.use_var(self.hp);
        let top = self.b.ins().iadd_imm(hp, 16);
        let limit = self.limit();
        let fits = self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, top, limit);
        self.unless(fits, far);
        let header = self.constant(Header::new(Kind::Float, 1).word());
        self.store(header, hp, 0);
        self.store(result, hp, 8);
        self.b.def_var(self.hp, top);
        let term = self.b.ins().iadd_imm(hp, 0b10);
        self.b.ins().jump(done, &[term.into()]);
    }

    fn of_two(
        &mut self,
        index: usize,
        name: Term,
        fail: Label,
        left: Source,
        right: Source,
        destination: Register,
    ) -> bool {
        let odd = |source: Source| self.known(source).is_some_and(|term| !term.is_small());
        if name == atoms::ELEMENT && !odd(left) {
            return self.element(index, fail, left, right, destination);
        }
        if matches!(name, atoms::MAP_GET | atoms::IS_MAP_KEY) {
            return self.look_up(index, name, fail, left, right, destination);
        }
        if let Some((comparison, swapped)) = comparison(name) {
            let (left, right) = if swapped { (right, left) } else { (left, right) };
            self.truth(destination, |this, no| this.compare(index, comparison, left, right, no, None));
            return true;
        }
        if odd(left) || odd(right) {
            return false;
        }
        let slow: Slow = match name {
            atoms::OP_PLUS => arithmetic::add,
            atoms::OP_MINUS => arithmetic::subtract,
            atoms::OP_TIMES => arithmetic::multiply,
            atoms::OP_DIVIDE => arithmetic::divide,
            atoms::DIV => arithmetic::integer_divide,
            atoms::REM => arithmetic::remainder,
            atoms::BAND => arithmetic::band,
            atoms::BOR => arithmetic::bor,
            atoms::BXOR => arithmetic::bxor,
            atoms::BSL => arithmetic::bsl,
            atoms::BSR => arithmetic::bsr,
            _ => return false,
        };
        let (a, b) = (self.read(left), self.read(right));
        if name != atoms::OP_DIVIDE && self.is_speculated(index) {
            let exit = self.exit(index);
            if let Some(small) = self.both_small(left, right, a, b) {
                self.unless(small, exit);
                self.set_small(left, true);
                self.set_small(right, true);
            }
            let value = self.on_small(name, a, b, self.known(right), exit);
            self.write(destination, value);
            self.set_small(destination.into(), true);
            return true;
        }
        let far = self.b.create_block();
        self.b.set_cold_block(far);
        let (done, result) = self.joined(I64);
        let is_of_floats = matches!(name, atoms::OP_PLUS | atoms::OP_MINUS | atoms::OP_TIMES | atoms::OP_DIVIDE);
        let near = if is_of_floats { self.b.create_block() } else { far };
        if name == atoms::OP_DIVIDE {
            self.b.ins().jump(near, &[]);
        } else {
            if let Some(small) = self.both_small(left, right, a, b) {
                self.unless(small, near);
            }
            let value = self.on_small(name, a, b, self.known(right), far);
            self.b.ins().jump(done, &[value.into()]);
        }
        if is_of_floats {
            self.b.switch_to_block(near);
            self.on_floats(name, a, b, far, done);
        }
        self.b.switch_to_block(far);
        let carried = self.carried();
        let operation = self.varying(slow as *const () as Word);
        let value = self.help(help::arithmetic, &[carried[0], carried[1], carried[2], operation, a, b]);
        let value = self.helped(index, fail, value);
        self.b.ins().jump(done, &[value.into()]);
        self.b.switch_to_block(done);
        self.write(destination, result);
        true
    }

    /// An operation on two small integers; what does not fit goes to `far`.
    fn on_small(&mut self, name: Term, a: Value, b: Value, constant: Option<Term>, far: Block) -> Value {
        match name {
            atoms::OP_PLUS | atoms::OP_MINUS => {
                let b = self.b.ins().band_imm(b, !0xf);
                let (sum, overflow) = match name {
                    atoms::OP_PLUS => self.b.ins().sadd_overflow(a, b),
                    _ => self.b.ins().ssub_overflow(a, b),
                };
                self.unless_set(overflow, far);
                sum
            }
            atoms::OP_TIMES => {
                let a = self.b.ins().band_imm(a, !0xf);
                let b = self.b.ins().sshr_imm(b, 4);
                let (product, overflow) = self.b.ins().smul_overflow(a, b);
                self.unless_set(overflow, far);
                self.b.ins().bor_imm(product, 0xf)
            }
            atoms::DIV | atoms::REM => {
                let (a, b) = (self.b.ins().sshr_imm(a, 4), self.b.ins().sshr_imm(b, 4));
                if constant.is_none_or(|term| term.small_value() <= 0) {
                    let positive = self.b.ins().icmp_imm(IntCC::SignedGreaterThan, b, 0);
                    self.unless(positive, far);
                }
                let value = if name == atoms::DIV { self.b.ins().sdiv(a, b) } else { self.b.ins().srem(a, b) };
                self.small(value)
            }
            atoms::BAND => self.b.ins().band(a, b),
            atoms::BOR => self.b.ins().bor(a, b),
            atoms::BXOR => {
                let value = self.b.ins().bxor(a, b);
                self.b.ins().bor_imm(value, 0xf)
            }
            atoms::BSR => {
                let count = self.b.ins().sshr_imm(b, 4);
                // Counts below zero are large ones without their sign.
                let fits = self.b.ins().icmp_imm(IntCC::UnsignedLessThan, count, 60);
                self.unless(fits, far);
                let value = self.b.ins().sshr(a, count);
                self.b.ins().bor_imm(value, 0xf)
            }
            _ => {
                let count = self.b.ins().sshr_imm(b, 4);
                let fits = self.b.ins().icmp_imm(IntCC::UnsignedLessThan, count, 60);
                self.unless(fits, far);
                let bits = self.b.ins().band_imm(a, !0xf);
                let shifted = self.b.ins().ishl(bits, count);
                // Shifting back shows whether a bit was lost.
                let back = self.b.ins().sshr(shifted, count);
                let same = self.b.ins().icmp(IntCC::Equal, back, bits);
                self.unless(same, far);
                self.b.ins().bor_imm(shifted, 0xf)
            }
        }
    }

    /// `map_get` and `is_map_key`.
    fn look_up(
        &mut self,
        index: usize,
        name: Term,
        fail: Label,
        key: Source,
        map: Source,
        destination: Register,
    ) -> bool {
        let map = self.read(map);
        let failure = self.failure(index, fail);
        self.unless_map(map, failure);
        if name == atoms::MAP_GET {
            let value = self.found_in_map(map, key, failure);
            self.write(destination, value);
        } else {
            self.truth(destination, |this, no| {
                this.found_in_map(map, key, no);
            });
        }
        true
    }

    /// Writes `true` if the test goes on, `false` if it goes to the block that it is given.
    fn truth(&mut self, destination: Register, test: impl FnOnce(&mut Self, Block)) {
        let no = self.b.create_block();
        let (done, result) = self.joined(I64);
        test(self, no);
        let yes = self.constant(atoms::TRUE.word());
        self.b.ins().jump(done, &[yes.into()]);
        self.b.switch_to_block(no);
        let other = self.constant(atoms::FALSE.word());
        self.b.ins().jump(done, &[other.into()]);
        self.b.switch_to_block(done);
        self.write(destination, result);
    }

    /// The small integer of this value.
    pub(super) fn small(&mut self, value: Value) -> Value {
        let shifted = self.b.ins().ishl_imm(value, 4);
        self.b.ins().bor_imm(shifted, 0xf)
    }

    pub(super) fn unless_set(&mut self, flag: Value, otherwise: Block) {
        let follows = self.b.create_block();
        self.b.ins().brif(flag, otherwise, &[], follows, &[]);
        self.b.switch_to_block(follows);
    }

    fn element(&mut self, index: usize, fail: Label, position: Source, tuple: Source, destination: Register) -> bool {
        let failure = self.failure(index, fail);
        let (place, value) = (self.read(position), self.read(tuple));
        if !self.is_small(position) {
            let low = self.tag(place, 0xf);
            let small = self.equals(low, 0xf);
            self.unless(small, failure);
        }
        let low = self.tag(value, 3);
        let boxed = self.equals(low, 0b10);
        self.unless(boxed, failure);
        let header = self.load_boxed(value, 0);
        let kind = self.tag(header, 0x3f);
        let is_tuple = self.equals(kind, Header::new(Kind::Tuple, 0).word());
        self.unless(is_tuple, failure);
        let number = self.b.ins().sshr_imm(place, 4);
        let before = self.b.ins().iadd_imm(number, -1);
        let arity = self.b.ins().ushr_imm(header, 6);
        let inside = self.b.ins().icmp(IntCC::UnsignedLessThan, before, arity);
        self.unless(inside, failure);
        let offset = self.b.ins().ishl_imm(number, 3);
        let address = self.b.ins().iadd(value, offset);
        let element = self.load_boxed(address, 0);
        self.write(destination, element);
        true
    }
}

/// The comparison that an operator is, and whether its operands change places.
fn comparison(operator: Term) -> Option<(Comparison, bool)> {
    Some(match operator {
        atoms::OP_EQ => (Comparison::Equal, false),
        atoms::OP_NE => (Comparison::NotEqual, false),
        atoms::OP_EXACT_EQ => (Comparison::ExactlyEqual, false),
        atoms::OP_EXACT_NE => (Comparison::NotExactlyEqual, false),
        atoms::OP_LT => (Comparison::Less, false),
        atoms::OP_GT => (Comparison::Less, true),
        atoms::OP_GE => (Comparison::GreaterOrEqual, false),
        atoms::OP_LE => (Comparison::GreaterOrEqual, true),
        _ => return None,
    })
}

/// The shape of [`Core::next`], for the place of the heap top in it.
type NextPlace = (*const Word, *mut Word, *mut Word, i64);
