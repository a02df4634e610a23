//! Operators, guard functions, comparisons and floating-point registers.

use atoll_code::registry;
use atoll_loader::instruction::{Comparison, FloatOperation, Instruction, Label, Register, Source};
use atoll_term::{Export, Term, Word, atoms};

use super::Writer;
use crate::handlers::{arithmetic, float, test};
use crate::operand::{Any, Operand, X, any_register};
use crate::pick::{
    by_arithmetic, by_destination, by_flag_destination, by_flag_source, by_order, by_source, by_two_sources,
};
use atoll_runtime::core::{Core, Handler};
use atoll_runtime::stubs::native_of;

/// The operand of a floating-point register: its offset.
fn float_register(index: u16) -> Word {
    std::mem::offset_of!(Core, floats) as Word + u64::from(index) * 8
}

/// Where the operands of most operators are: these have handlers of their own, all others one for any.
macro_rules! by_common_operands {
    ($handler:ident, [$($flag:literal)?], $a:expr, $b:expr, $d:expr) => {
        match ($a, $b, $d) {
            (Operand::X(_), Operand::X(_), Operand::X(_)) => {
                (arithmetic::$handler::<$($flag,)? X, X, X> as Handler, [$a.word(), $b.word(), $d.word()])
            }
            (Operand::X(_), Operand::K(_), Operand::X(_)) => {
                (arithmetic::$handler::<$($flag,)? X, crate::operand::K, X> as Handler, [$a.word(), $b.word(), $d.word()])
            }
            _ => (arithmetic::$handler::<$($flag,)? Any, Any, Any> as Handler, [$a.any(), $b.any(), $d.any()]),
        }
    };
}

impl Writer<'_> {
    pub(super) fn float(&mut self, instruction: &Instruction) -> bool {
        match instruction {
            Instruction::FloatLoad { source, destination } => {
                let s = self.operand(*source);
                self.emit(by_source!(float::float_load, s), &[s.word(), float_register(*destination)]);
            }
            Instruction::FloatStore { source, destination } => {
                let d = self.register(*destination);
                self.emit(by_destination!(float::float_store, d), &[float_register(*source), d.word()]);
            }
            Instruction::FloatConvert { source, destination } => {
                let s = self.operand(*source);
                self.emit(by_source!(float::float_convert, s), &[s.word(), float_register(*destination)]);
            }
            Instruction::FloatArithmetic { operation, left, right, destination } => {
                let chosen: Handler = match operation {
                    FloatOperation::Add => float::float_arithmetic::<0>,
                    FloatOperation::Subtract => float::float_arithmetic::<1>,
                    FloatOperation::Multiply => float::float_arithmetic::<2>,
                    FloatOperation::Divide => float::float_arithmetic::<3>,
                };
                self.emit(chosen, &[*left, *right, *destination].map(float_register));
            }
            Instruction::FloatNegate { source, destination } => {
                self.emit(float::float_negate, &[*source, *destination].map(float_register));
            }
            _ => return false,
        }
        true
    }

    pub(super) fn compare(&mut self, fail: Label, comparison: Comparison, left: Source, right: Source) {
        let (mut a, mut b) = (self.operand(left), self.operand(right));
        let symmetric = !matches!(comparison, Comparison::Less | Comparison::GreaterOrEqual);
        if symmetric && matches!(a, Operand::K(_)) {
            std::mem::swap(&mut a, &mut b);
        }
        let immediate = matches!(b, Operand::K(term) if term.is_immediate());
        let chosen = match comparison {
            Comparison::ExactlyEqual if immediate => by_flag_source!(test::compare_immediate, true, a),
            Comparison::NotExactlyEqual if immediate => by_flag_source!(test::compare_immediate, false, a),
            Comparison::ExactlyEqual => by_two_sources!(test::compare_exact, true, a, b),
            Comparison::NotExactlyEqual => by_two_sources!(test::compare_exact, false, a, b),
            Comparison::Less => by_order!(true, a, b),
            Comparison::GreaterOrEqual => by_order!(false, a, b),
            Comparison::Equal | Comparison::NotEqual => {
                let chosen: Handler = match comparison {
                    Comparison::Equal => test::compare_equal::<true>,
                    _ => test::compare_equal::<false>,
                };
                return self.emit_with_label(chosen, fail, &[a.any(), b.any()]);
            }
        };
        self.emit_with_label(chosen, fail, &[a.word(), b.word()]);
    }

    /// A guard function or operator: the common ones have handlers of their own.
    pub(super) fn guard(&mut self, fail: Label, export: &'static Export, arguments: &[Source], destination: Register) {
        let d = self.register(destination);
        let name = export.name;
        let erlang = export.module == atoms::ERLANG;
        if erlang && name == atoms::SELF && arguments.is_empty() {
            return self.emit(by_destination!(arithmetic::self_, d), &[d.word()]);
        }
        if let (true, [left, right]) = (erlang, arguments) {
            let (a, b) = (self.operand(*left), self.operand(*right));
            let no_small = |operand| matches!(operand, Operand::K(term) if !term.is_small());
            let specialised = match name {
                _ if no_small(a) || no_small(b) => None,
                atoms::OP_PLUS => Some(by_arithmetic!(true, a, b, d)),
                atoms::OP_MINUS => Some(by_arithmetic!(false, a, b, d)),
                _ => None,
            };
            if let Some(chosen) = specialised {
                // OTP has an instruction that counts a register up or down: the operator is not in the trace when
                // this fails.
                let is_constant = |operand| matches!(operand, Operand::K(_));
                let counts = is_constant(a) != is_constant(b) && (name == atoms::OP_PLUS || is_constant(b));
                let shown = if counts { Term::NONE } else { name };
                return self.emit_with_label(chosen, fail, &[a.word(), b.word(), d.word(), shown.word()]);
            }
            let general = match name {
                atoms::OP_PLUS => Some(by_common_operands!(add_subtract, [true], a, b, d)),
                atoms::OP_MINUS => Some(by_common_operands!(add_subtract, [false], a, b, d)),
                atoms::OP_TIMES => Some(by_common_operands!(multiply, [], a, b, d)),
                atoms::OP_DIVIDE => Some(by_common_operands!(divide_floats, [], a, b, d)),
                atoms::DIV => Some(by_common_operands!(divide, [false], a, b, d)),
                atoms::REM => Some(by_common_operands!(divide, [true], a, b, d)),
                atoms::BAND => Some(by_common_operands!(bitwise, [0], a, b, d)),
                atoms::BOR => Some(by_common_operands!(bitwise, [1], a, b, d)),
                atoms::BXOR => Some(by_common_operands!(bitwise, [2], a, b, d)),
                atoms::BSL => Some(by_common_operands!(shift, [false], a, b, d)),
                atoms::BSR => Some(by_common_operands!(shift, [true], a, b, d)),
                atoms::ELEMENT => Some(by_common_operands!(element, [], a, b, d)),
                _ => None,
            };
            if let Some((chosen, [a, b, d])) = general {
                return self.emit_with_label(chosen, fail, &[a, b, d, name.word()]);
            }
        }
        if let (true, [list]) = (erlang, arguments) {
            let chosen = match name {
                atoms::HD => Some(by_flag_destination!(arithmetic::list_half, 0, d)),
                atoms::TL => Some(by_flag_destination!(arithmetic::list_half, 1, d)),
                _ => None,
            };
            if let Some(chosen) = chosen {
                return self.emit_with_label(chosen, fail, &[self.any(*list), d.word(), name.word()]);
            }
        }
        let number = registry().built_in_number(export.module, export.name, export.arity);
        let function = number.map_or_else(atoll_runtime::stubs::missing_guard, native_of);
        let address = std::ptr::from_ref(export) as Word;
        let chosen: Handler = match (erlang, name, arguments.len()) {
            (true, atoms::ABS, 1) => arithmetic::quick_guard::<{ arithmetic::ABS }>,
            (true, atoms::BYTE_SIZE, 1) => arithmetic::quick_guard::<{ arithmetic::BYTE_SIZE }>,
            (true, atoms::TUPLE_SIZE, 1) => arithmetic::quick_guard::<{ arithmetic::TUPLE_SIZE }>,
            (true, atoms::LENGTH, 1) => arithmetic::quick_guard::<{ arithmetic::LENGTH }>,
            _ => arithmetic::guard,
        };
        self.emit_with_label(chosen, fail, &[function, address, arguments.len() as Word]);
        for argument in arguments {
            self.words.push(self.any(*argument));
        }
        self.words.push(any_register(destination));
    }
}
