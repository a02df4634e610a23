//! Calls, returns and frames.

use std::mem::offset_of;

use atoll_loader::instruction::{HeapNeed, Instruction, Source};
use atoll_runtime::core::Core;
use atoll_term::{Export, FunEntry, Header, Kind, Term, Word};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{Block, InstBuilder, MemFlags, Value};

use super::test::KIND;
use super::{Emitter, x_offset};
use crate::flow::{Head, first, passed};
use crate::{help, leave};

/// Words of a boxed float.
const FLOAT_WORDS: u32 = 2;
/// Words of a fun without its free variables.
const FUN_WORDS: u32 = 3;

/// What is called.
enum Callee {
    /// This function.
    Itself,
    /// The function at a code address, which has so many arguments.
    Function(Value),
}

fn words(need: HeapNeed) -> i64 {
    i64::from(need.words + need.floats * FLOAT_WORDS + need.funs * FUN_WORDS)
}

impl Emitter<'_, '_> {
    pub(super) fn call_or_return(&mut self, index: usize) {
        use Instruction as I;
        match self.flow.instruction(index) {
            I::Return => self.return_(),
            I::Call { arity, target } => self.call_local(index, (*arity).into(), *target, None),
            I::CallOnly { arity, target } => self.call_local(index, (*arity).into(), *target, Some(0)),
            I::CallLast { arity, target, deallocate } => {
                self.call_local(index, (*arity).into(), *target, Some(*deallocate));
            }
            I::CallExt { arity, target } => self.call_remote(index, (*arity).into(), target.0, None),
            I::CallExtOnly { arity, target } => self.call_remote(index, (*arity).into(), target.0, Some(0)),
            I::CallExtLast { arity, target, deallocate } => {
                self.call_remote(index, (*arity).into(), target.0, Some(*deallocate));
            }
            I::CallFun { arity } => self.call_fun(index, (*arity).into(), Source::X((*arity).into())),
            I::CallFun2 { arity, fun, .. } => self.call_fun(index, (*arity).into(), *fun),
            other => unreachable!("{other:?} is no call"),
        }
    }

    fn call_local(&mut self, index: usize, arity: usize, target: atoll_loader::instruction::Label, tail: Option<u16>) {
        let functions = &self.flow.linked.module.functions;
        let callee = functions.iter().position(|function| function.entry == target).unwrap_or(self.flow.function);
        let small_y = self.small_y;
        self.frame_of_call(index, tail);
        let address = self.piece.parent.address(self.piece.parent.entries[callee]) as Word;
        let in_place = if tail.is_none() { self.in_place(callee) } else { None };
        if let Some(source) = in_place {
            self.count_entry(&Callee::Itself, address, arity);
            self.begin_in_place(source, (index, arity), small_y);
        } else if callee == self.sources[0].flow.function && self.calls[self.call].source == 0 {
            self.enter(Callee::Itself, address, arity, tail.is_some());
        } else {
            let address_value = self.varying(address);
            self.enter(Callee::Function(address_value), address, arity, tail.is_some());
        }
    }

    fn call_remote(&mut self, index: usize, arity: usize, import: u32, tail: Option<u16>) {
        let export = self.flow.linked.imports[import as usize];
        self.frame_of_call(index, tail);
        let place = self.varying(std::ptr::from_ref(export) as Word);
        let address = self.load(place, offset_of!(Export, address));
        self.enter(Callee::Function(address), 0, arity, tail.is_some());
    }

    /// Gives the frame back, or puts the address to return to below it.
    fn frame_of_call(&mut self, index: usize, tail: Option<u16>) {
        let e = self.b.use_var(self.e);
        let e = match tail {
            Some(0) => return,
            Some(slots) => self.b.ins().iadd_imm(e, i64::from(slots) * 8),
            None => {
                let e = self.b.ins().iadd_imm(e, -8);
                let mark = self.piece.marks[&(index + 1)];
                let address = self.varying(self.piece.words as Word + Word::from(mark) * 8);
                self.store(address, e, 0);
                e
            }
        };
        self.b.def_var(self.e, e);
        self.forget_frame();
    }

    /// Enters a function with its arguments, unless the time slice is used up.
    fn enter(&mut self, callee: Callee, own: Word, arity: usize, tail: bool) {
        self.count_entry(&callee, own, arity);
        match callee {
            Callee::Itself if tail && self.kind == Head::Function && self.call == 0 => {
                let start = self.block_of(self.head);
                self.b.ins().jump(start, &[]);
            }
            Callee::Itself => self.depart(self.flow.entry),
            Callee::Function(address) => {
                self.unless_interpreted(address, arity);
                let arguments = self.arguments(arity, address);
                let place = self.b.ins().iadd_imm(address, -8);
                let code = self.load(place, 0);
                let signature = self.signature(true, arguments.len());
                self.jump_to(signature, code, &arguments);
            }
        }
    }

    /// Counts a call of a function, in front of which the time slice may end.
    fn count_entry(&mut self, callee: &Callee, own: Word, arity: usize) {
        let go = self.count_call();
        let address = match callee {
            Callee::Itself => self.varying(own),
            Callee::Function(address) => *address,
        };
        let live = self.constant(arity as Word);
        self.pause(address, live, arity);
        self.b.switch_to_block(go);
    }

    /// Ends the time slice in front of the function at an address, with so many X registers in use, of which these
    /// are not in the core yet.
    fn pause(&mut self, address: Value, live: Value, arity: usize) {
        self.write_to_core(first(arity));
        self.leave(leave::pause, address, &[live]);
    }

    /// Counts a call. The code that follows is for when the time slice is used up; the block for when it is not.
    fn count_call(&mut self) -> Block {
        let reds = self.b.use_var(self.reds);
        let left = self.b.ins().iadd_imm(reds, -1);
        self.b.def_var(self.reds, left);
        let (go, pause) = (self.b.create_block(), self.b.create_block());
        let some = self.b.ins().icmp_imm(IntCC::SignedGreaterThan, reds, 1);
        self.b.ins().brif(some, go, &[], pause, &[]);
        self.b.set_cold_block(pause);
        self.b.switch_to_block(pause);
        go
    }

    fn call_fun(&mut self, index: usize, arity: usize, fun: Source) {
        let tail = self.flow.tail_of_fun_call(index);
        let fun = self.read(fun);
        let other = self.b.create_block();
        self.boxed(fun, other);
        let header = self.load_boxed(fun, 0);
        let is_fun = self.has_tag(header, KIND, Header::new(Kind::Fun, 0).word());
        self.unless(is_fun, other);
        let entry = self.entry_of_fun(fun);
        let expected = self.arity_of_fun(fun);
        let same = self.equals(expected, arity as Word);
        self.unless(same, other);
        let free = self.free_variables(fun, header, arity);
        let address = self.load(entry, offset_of!(FunEntry, address));
        self.frame_of_call(index, tail);
        self.enter_fun(address, free, arity);

        // What is no local fun of this arity.
        self.b.switch_to_block(other);
        self.b.set_cold_block(other);
        self.write_to_core(first(arity));
        let count = self.constant(arity as Word);
        let address = self.help(help::fun_address, &[fun, count]);
        let exit = self.exit(index);
        self.unless(address, exit);
        self.frame_of_call(index, tail);
        let go = self.count_call();
        let core = self.core();
        let live = self.load(core, offset_of!(Core, live));
        self.leave(leave::pause, address, &[live]);
        self.b.switch_to_block(go);
        self.leave(leave::leave, address, &[]);
    }

    /// Address of a local fun's entry.
    fn entry_of_fun(&mut self, fun: Value) -> Value {
        let entry = self.load_boxed(fun, 1);
        self.b.ins().ushr_imm(entry, 4)
    }

    /// Arguments of a local fun.
    pub(super) fn arity_of_fun(&mut self, fun: Value) -> Value {
        let entry = self.entry_of_fun(fun);
        let place = offset_of!(FunEntry, arity) as i32;
        self.b.ins().uload8(I64, MemFlags::trusted(), entry, place)
    }

    /// Puts a fun's free variables behind the arguments in the core, and the fun behind them; returns how many there
    /// are.
    fn free_variables(&mut self, fun: Value, header: Value, arity: usize) -> Value {
        let words = self.b.ins().ushr_imm(header, 6);
        // Behind the header stand the entry and the creator.
        let free = self.b.ins().iadd_imm(words, -2);
        let core = self.core();
        let (test, count) = self.joined(I64);
        let (copy, done) = (self.b.create_block(), self.b.create_block());
        let none = self.constant(0);
        self.b.ins().jump(test, &[none.into()]);
        self.b.switch_to_block(test);
        let more = self.b.ins().icmp(IntCC::UnsignedLessThan, count, free);
        self.b.ins().brif(more, copy, &[], done, &[]);
        self.b.switch_to_block(copy);
        let offset = self.b.ins().ishl_imm(count, 3);
        let from = self.b.ins().iadd(fun, offset);
        let value = self.load_boxed(from, 3);
        let to = self.b.ins().iadd(core, offset);
        self.store(value, to, x_offset(arity as u16));
        let next = self.b.ins().iadd_imm(count, 1);
        self.b.ins().jump(test, &[next.into()]);
        self.b.switch_to_block(done);
        let offset = self.b.ins().ishl_imm(free, 3);
        let behind = self.b.ins().iadd(core, offset);
        self.store(fun, behind, x_offset(arity as u16));
        free
    }

    /// Goes on here if the function at this address is native code now, with the arguments in the core that are not
    /// passed in registers; dispatches to it if not.
    fn unless_interpreted(&mut self, address: Value, arity: usize) {
        let handler = self.load(address, 0);
        let native = self.equals_varying(handler, self.gates.function);
        let (direct, other) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(native, direct, &[], other, &[]);
        self.b.set_cold_block(other);
        self.b.switch_to_block(other);
        match arity {
            0 => self.leave(leave::leave, address, &[]),
            1 => {
                let x0 = self.x(0);
                self.leave(leave::leave_with_one, address, &[x0]);
            }
            _ => {
                let given = [self.x(0), self.x(1)];
                self.write_to_core(first(arity) & !first(2));
                self.leave(leave::leave_with_two, address, &given);
            }
        }
        self.b.switch_to_block(direct);
        self.write_to_core(first(arity) & !first(passed(arity)));
    }

    /// Enters the code of a fun, whose free variables stand in the core.
    fn enter_fun(&mut self, address: Value, free: Value, arity: usize) {
        let go = self.count_call();
        let live = self.b.ins().iadd_imm(free, arity as i64 + 1);
        self.pause(address, live, arity);
        self.b.switch_to_block(go);
        self.unless_interpreted(address, arity);
        // What is no argument is a free variable, or nothing that the code would read.
        let core = self.core();
        let [x0, x1, x2] =
            [0, 1, 2].map(|x| if usize::from(x) < arity { self.x(x) } else { self.load(core, x_offset(x)) });
        let [hp, e, reds] = self.carried();
        let place = self.b.ins().iadd_imm(address, -8);
        let code = self.load(place, 0);
        let signature = self.signature(true, 6);
        self.jump_to(signature, code, &[x2, hp, e, reds, x0, x1]);
    }

    pub(super) fn return_(&mut self) {
        let below = self.b.use_var(self.e);
        let e = self.b.ins().iadd_imm(below, 8);
        self.b.def_var(self.e, e);
        if self.call > 0 {
            return self.end_in_place();
        }
        let address = self.load(below, 0);
        let value = self.x(0);
        let handler = self.load(address, 0);
        let native = self.equals_varying(handler, self.gates.return_);
        let (direct, other) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(native, direct, &[], other, &[]);
        self.b.set_cold_block(other);
        self.b.switch_to_block(other);
        self.leave(leave::leave_with_one, address, &[value]);
        self.b.switch_to_block(direct);
        let code = self.load(address, 8);
        let arguments = self.arguments(1, address);
        let signature = self.signature(true, arguments.len());
        self.jump_to(signature, code, &arguments);
    }

    pub(super) fn frame(&mut self, index: usize) {
        use Instruction as I;
        let (hp, e) = (self.b.use_var(self.hp), self.b.use_var(self.e));
        match self.flow.instruction(index) {
            I::Allocate { slots, need, .. } => {
                let exit = self.exit(index);
                let (frame, heap) = (i64::from(*slots) * 8, words(*need) * 8);
                if self.settings.united {
                    // Room for both, and one word below the frame.
                    let top = self.b.ins().iadd_imm(hp, heap + frame + 8);
                    let fits = self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, top, e);
                    self.unless(fits, exit);
                } else {
                    if heap > 0 {
                        self.heap_room(hp, heap, exit);
                    }
                    let low = self.b.ins().iadd_imm(e, -(frame + 8));
                    let core = self.core();
                    let limit = self.load(core, offset_of!(Core, stack_limit));
                    let fits = self.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, low, limit);
                    self.unless(fits, exit);
                }
                let e = self.b.ins().iadd_imm(e, -frame);
                self.b.def_var(self.e, e);
                self.forget_frame();
            }
            I::TestHeap { need, .. } => {
                let exit = self.exit(index);
                self.room(words(*need) * 8, exit);
            }
            I::Deallocate { slots } | I::Trim { slots, .. } => {
                let e = self.b.ins().iadd_imm(e, i64::from(*slots) * 8);
                self.b.def_var(self.e, e);
                self.forget_frame();
            }
            I::InitYregs(slots) => {
                let nil = self.constant(Term::NIL.word());
                for slot in slots {
                    self.store(nil, e, usize::from(*slot) * 8);
                    self.set_small(Source::Y(*slot), false);
                }
            }
            other => unreachable!("{other:?} has nothing to do with frames"),
        }
    }

    /// Goes elsewhere unless so many bytes of heap are free.
    pub(super) fn room(&mut self, bytes: i64, otherwise: Block) {
        let hp = self.b.use_var(self.hp);
        if !self.settings.united {
            return self.heap_room(hp, bytes, otherwise);
        }
        let (top, e) = (self.b.ins().iadd_imm(hp, bytes + 8), self.b.use_var(self.e));
        let fits = self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, top, e);
        self.unless(fits, otherwise);
    }

    fn heap_room(&mut self, hp: Value, bytes: i64, exit: Block) {
        let top = self.b.ins().iadd_imm(hp, bytes);
        let core = self.core();
        let limit = self.load(core, offset_of!(Core, heap_limit));
        let fits = self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, top, limit);
        self.unless(fits, exit);
    }
}
