//! Floating-point registers: values are kept in machine registers while they are used, and written to the core at once,
//! where the first engine finds them.

use std::mem::offset_of;

use atoll_loader::instruction::{FloatOperation, Instruction};
use atoll_runtime::core::Core;
use atoll_term::{Header, Kind};
use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::types::F64;
use cranelift_codegen::ir::{InstBuilder, MemFlags, Value};

use super::Emitter;

impl Emitter<'_, '_> {
    pub(super) fn float(&mut self, index: usize) {
        use Instruction as I;
        match self.flow.instruction(index) {
            I::FloatLoad { source, destination } => {
                let boxed = self.read(*source);
                let value = self.float_in(boxed);
                self.set_float(*destination, value);
            }
            I::FloatConvert { source, destination } => {
                let value = self.read(*source);
                let (done, result) = self.joined(F64);
                if self.is_small(*source) {
                    let number = self.b.ins().sshr_imm(value, 4);
                    let float = self.b.ins().fcvt_from_sint(F64, number);
                    return self.set_float(*destination, float);
                }
                let (small, other) = (self.b.create_block(), self.b.create_block());
                let low = self.tag(value, 0xf);
                let is_small = self.equals(low, 0xf);
                self.b.ins().brif(is_small, small, &[], other, &[]);
                self.b.switch_to_block(small);
                let number = self.b.ins().sshr_imm(value, 4);
                let float = self.b.ins().fcvt_from_sint(F64, number);
                self.b.ins().jump(done, &[float.into()]);
                self.b.switch_to_block(other);
                let exit = self.exit(index);
                let low = self.tag(value, 3);
                let boxed = self.equals(low, 0b10);
                self.unless(boxed, exit);
                let header = self.load_boxed(value, 0);
                let is_float = self.equals(header, Header::new(Kind::Float, 1).word());
                self.unless(is_float, exit);
                let float = self.float_in(value);
                self.b.ins().jump(done, &[float.into()]);
                self.b.switch_to_block(done);
                self.set_float(*destination, result);
            }
            I::FloatArithmetic { operation, left, right, destination } => {
                let (a, b) = (self.get_float(*left), self.get_float(*right));
                let result = match operation {
                    FloatOperation::Add => self.b.ins().fadd(a, b),
                    FloatOperation::Subtract => self.b.ins().fsub(a, b),
                    FloatOperation::Multiply => self.b.ins().fmul(a, b),
                    FloatOperation::Divide => self.b.ins().fdiv(a, b),
                };
                let exit = self.exit(index);
                let finite = self.is_finite(result);
                self.unless(finite, exit);
                self.set_float(*destination, result);
            }
            I::FloatNegate { source, destination } => {
                let value = self.get_float(*source);
                let value = self.b.ins().fneg(value);
                self.set_float(*destination, value);
            }
            I::FloatStore { source, destination } => {
                let value = self.get_float(*source);
                let header = self.constant(Header::new(Kind::Float, 1).word());
                self.build(&[header, value], 0b10, *destination);
            }
            other => unreachable!("{other:?} has nothing to do with floats"),
        }
    }

    /// Whether a result is one that Erlang has: neither infinite nor no number.
    pub(super) fn is_finite(&mut self, value: Value) -> Value {
        let magnitude = self.b.ins().fabs(value);
        let infinity = self.b.ins().f64const(f64::INFINITY);
        self.b.ins().fcmp(FloatCC::LessThan, magnitude, infinity)
    }

    pub(super) fn float_in(&mut self, boxed: Value) -> Value {
        self.b.ins().load(F64, MemFlags::trusted(), boxed, 8 - 2)
    }

    fn get_float(&mut self, register: u16) -> Value {
        if let Some(value) = self.floats.get(&register) {
            return *value;
        }
        let core = self.core();
        let value = self.b.ins().load(F64, MemFlags::trusted(), core, place(register));
        self.floats.insert(register, value);
        value
    }

    fn set_float(&mut self, register: u16, value: Value) {
        let core = self.core();
        self.b.ins().store(MemFlags::trusted(), value, core, place(register));
        self.floats.insert(register, value);
    }
}

fn place(register: u16) -> i32 {
    (offset_of!(Core, floats) + usize::from(register) * 8) as i32
}
