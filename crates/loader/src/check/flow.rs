//! What is known on each of the ways behind an instruction.

use super::Checker;
use super::effects::Room;
use super::imports::Guard;
use super::state::State;
use super::types::Type;
use super::values::Value;
use crate::error::Result;
use crate::instruction::{Comparison, HeapNeed, ImportIndex, Instruction, Label, Register, Source, TypeTest};
use crate::module::Function;

/// What is known of a value that passes a test, and of which kinds one that fails is not.
fn tested(test: TypeTest) -> (Type, Type) {
    match test {
        TypeTest::Integer => (Type::INTEGER, Type::INTEGER),
        TypeTest::Float => (Type::FLOAT, Type::FLOAT),
        TypeTest::Number => (Type::NUMERIC, Type::NUMERIC),
        TypeTest::Atom => (Type::ATOM, Type::ATOM),
        TypeTest::Pid | TypeTest::Reference | TypeTest::Port => (Type::OTHER, Type::NOTHING),
        TypeTest::Nil => (Type::NIL, Type::NIL),
        TypeTest::Binary => (Type::BITS, Type::NOTHING),
        TypeTest::Bitstring => (Type::BITS, Type::BITS),
        TypeTest::List => (Type::LIST, Type::LIST),
        TypeTest::NonemptyList => (Type::CONS, Type::CONS),
        TypeTest::Tuple => (Type::TUPLE, Type::TUPLE),
        TypeTest::Map => (Type::MAP, Type::MAP),
        TypeTest::Function => (Type::FUN, Type::FUN),
        TypeTest::Boolean => (Type::ATOM, Type::NOTHING),
        TypeTest::NativeRecord => (Type::TERM, Type::NOTHING),
    }
}

impl Checker<'_> {
    /// Takes the heap room that an instruction fills, and gives what is left behind it. In the state is then what is
    /// left if it fails.
    pub(super) fn room(&self, index: usize, instruction: &Instruction, state: &mut State) -> Result<HeapNeed> {
        let allocates = || match instruction {
            Instruction::Bif { bif, .. } => self.guard_of(*bif).is_none_or(|guard| guard.allocates),
            _ => true,
        };
        let place = &mut state.place;
        let after = match Room::of(instruction, allocates) {
            Room::Keeps => return Ok(place.room),
            Room::Takes(need) => {
                if !place.take(need) {
                    return Err(self.error(index, "no heap room was asked for what is built"));
                }
                return Ok(place.room);
            }
            Room::KeepsUnlessFails => place.room,
            Room::Gives(room) => room,
            Room::Loses => HeapNeed::default(),
        };
        place.room = HeapNeed::default();
        Ok(after)
    }

    pub(super) fn guard_of(&self, bif: ImportIndex) -> Option<Guard> {
        self.imports[bif.0 as usize].guard
    }

    /// Notes what the function may return here.
    fn returns(&mut self, instruction: &Instruction, state: &State) {
        use Instruction as I;
        let returned = match instruction {
            I::Return => state.registers.value(Register::X(0)),
            I::CallLast { target, arity, .. } | I::CallOnly { target, arity } => {
                match self.layout.entry(&self.decoded.labels, *target) {
                    Some(called) => self.values.result(called, *arity),
                    None => return,
                }
            }
            // The machine may have other code for a native function.
            I::CallExtLast { .. } | I::CallExtOnly { .. } | I::ApplyLast { .. } | I::NifStart => {
                Value::unnamed(Type::TERM)
            }
            _ => return,
        };
        let function = self.function;
        self.values.give(function, self.layout.functions[function].arity, returned);
    }

    /// Notes what is known where an instruction may jump to; the state is then that of a value that passed its test.
    pub(super) fn targets(
        &mut self,
        function: &Function,
        index: usize,
        instruction: &Instruction,
        state: &mut State,
    ) -> Result<()> {
        use Instruction as I;
        self.returns(instruction, state);
        match instruction {
            I::Test { fail, test, value } => {
                let (passes, fails) = tested(*test);
                self.branch(function, index, *fail, *value, |old| old.without(fails), state)?;
                state.refine(*value, passes);
            }
            I::TestFunctionArity { fail, value, .. } => {
                self.reach(function, index, *fail, state)?;
                state.refine(*value, Type::FUN);
            }
            I::TestArity { fail, value, arity } | I::TestTaggedTuple { fail, value, arity, .. } => {
                self.reach(function, index, *fail, state)?;
                state.refine(*value, Type::tuple_of(*arity));
            }
            I::Compare { fail, comparison, left, right } => {
                self.compare(function, index, *fail, *comparison, [*left, *right], state)?;
            }
            I::SelectValue { value, fail, cases } => {
                for &(key, label) in cases {
                    let known = state.type_of(key, &self.literals);
                    self.branch(function, index, label, *value, |old| old.meet(known), state)?;
                }
                self.reach(function, index, *fail, state)?;
            }
            I::SelectTupleArity { value, fail, cases } => {
                for &(arity, label) in cases {
                    self.branch(function, index, label, *value, |old| old.meet(Type::tuple_of(arity)), state)?;
                }
                self.reach(function, index, *fail, state)?;
            }
            I::BsStartMatch { fail, value, .. } => {
                const MATCHED: Type = Type::BITS.with(Type::CONTEXT);
                if *fail != Label::NONE {
                    self.branch(function, index, *fail, *value, |old| old.without(MATCHED), state)?;
                }
                state.refine(*value, MATCHED);
            }
            // Some may be written when it fails at a later one.
            I::BsMatch { fail, .. } | I::GetMapElements { fail, .. } => {
                if *fail != Label::NONE {
                    let mut failed = state.clone();
                    instruction.for_each_destination(|destination| {
                        let joined = failed.registers.get(destination).join(Type::TERM);
                        failed.registers.set(destination, self.values.name(joined));
                    });
                    failed.publish();
                    self.reach(function, index, *fail, &failed)?;
                }
            }
            // Woken by a message, it may be run again with whatever the register then holds; it does not look at it
            // because its timer is running.
            I::WaitTimeout { fail, time: time @ Source::X(register) }
                if self.decoded.firsts[fail.0 as usize] as usize == index =>
            {
                let register = Register::X(*register);
                let old = state.value_of(*time, &self.literals);
                state.registers.set(register, Value::unnamed(Type::TERM));
                self.reach(function, index, *fail, state)?;
                state.registers.set(register, old);
            }
            _ => {
                let mut result = Ok(());
                instruction.for_each_target(|target| {
                    if result.is_ok() {
                        result = self.reach(function, index, target, state);
                    }
                });
                result?;
            }
        }
        Ok(())
    }

    /// A way to a label on which more is known of a value.
    fn branch(
        &mut self,
        function: &Function,
        index: usize,
        label: Label,
        value: Source,
        narrow: impl Fn(Type) -> Type,
        state: &mut State,
    ) -> Result<()> {
        let register = match value {
            Source::X(index) => Register::X(index),
            Source::Y(index) => Register::Y(index),
            _ => return self.reach(function, index, label, state),
        };
        let mut undo = std::mem::take(&mut self.undo);
        state.registers.narrow(register, narrow, Some(&mut undo));
        self.reach(function, index, label, state)?;
        state.registers.restore(&undo);
        undo.clear();
        self.undo = undo;
        Ok(())
    }

    fn compare(
        &mut self,
        function: &Function,
        index: usize,
        fail: Label,
        comparison: Comparison,
        [left, right]: [Source; 2],
        state: &mut State,
    ) -> Result<()> {
        let (a, b) = (state.type_of(left, &self.literals), state.type_of(right, &self.literals));
        let (register, constant) = match (left, right) {
            (Source::X(_) | Source::Y(_), Source::X(_) | Source::Y(_)) => (None, right),
            (Source::X(_) | Source::Y(_), constant) => (Some((left, a)), constant),
            (constant, _) => (Some((right, b)), constant),
        };
        let known = state.type_of(constant, &self.literals);
        let differs = |old: Type| if constant == Source::Nil { old.without(Type::NIL) } else { old };
        match (comparison, register) {
            (Comparison::ExactlyEqual, Some((value, _))) => {
                self.branch(function, index, fail, value, differs, state)?;
                state.refine(value, known);
            }
            (Comparison::NotExactlyEqual, Some((value, old))) => {
                self.branch(function, index, fail, value, |old| old.meet(known), state)?;
                if old.is_present() && constant == Source::Nil {
                    state.refine(value, old.without(Type::NIL));
                }
            }
            (Comparison::ExactlyEqual, None) => {
                self.reach(function, index, fail, state)?;
                state.refine(left, b);
                state.refine(right, a);
            }
            _ => self.reach(function, index, fail, state)?,
        }
        Ok(())
    }

    /// Writes what an instruction gives that did not fail. `asked` is the first argument of a function.
    pub(super) fn results(
        &mut self,
        index: usize,
        instruction: &Instruction,
        asked: Type,
        state: &mut State,
    ) -> Result<()> {
        use Instruction as I;
        match instruction {
            I::Move { source, destination } => {
                let moved = state.value_of(*source, &self.literals);
                state.registers.set(*destination, moved);
            }
            I::Swap { first, second } => {
                let (one, other) = (state.registers.value(*first), state.registers.value(*second));
                state.registers.set(*first, other);
                state.registers.set(*second, one);
            }
            I::CallExt { target, .. } if self.imports[target.0 as usize].sets_element => {
                let least = asked.known_integer().unwrap_or(1);
                state.registers.set(Register::X(0), Value::unnamed(Type::tuple_of_least(least).fresh()));
                state.place.fresh = true;
            }
            I::Bif { bif, arguments, destination, .. } | I::GcBif { bif, arguments, destination, .. } => {
                let guard = match self.guard_of(*bif) {
                    Some(guard) if guard.allocates <= matches!(instruction, I::GcBif { .. }) => guard,
                    _ => return Err(self.error(index, "no guard function of that kind")),
                };
                match guard.which {
                    // It may be a match context, which stays one.
                    _ if guard.arguments == Type::BITS => {}
                    0 => arguments.iter().for_each(|value| state.refine(*value, guard.arguments)),
                    which => {
                        // Of `element` it is known how many there must be.
                        let least = asked.known_integer().filter(|_| guard.arguments == Type::TUPLE);
                        let known = least.map_or(guard.arguments, Type::tuple_of_least);
                        state.refine(arguments[arguments.len() - which], known);
                    }
                }
                state.registers.set(*destination, self.values.name(guard.result));
            }
            I::Call { arity, target } => {
                if let Some(called) = self.layout.entry(&self.decoded.labels, *target) {
                    state.registers.set(Register::X(0), self.values.call(called, *arity));
                }
            }
            I::GetTupleElement { source, position, destination } => {
                let element = self.values.element(state.registers.value(*source), *position);
                state.registers.set(*destination, element);
            }
            I::PutTuple { elements, destination } => {
                let kind = Type::tuple_of(elements.len() as u32);
                let known = elements.iter().map(|element| state.value_of(*element, &self.literals));
                let tuple = self.values.tuple(kind, known);
                state.registers.set(*destination, tuple);
            }
            other => {
                state.write_results(other, &mut self.values);
                state.place.looking |= matches!(other, I::LoopRec { destination: Register::X(_), .. });
                state.place.building |= matches!(other, I::BsInit { .. } | I::BsAppend { .. } | I::BsPut { .. });
            }
        }
        Ok(())
    }
}
