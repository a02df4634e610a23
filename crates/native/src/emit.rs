//! The code of one region: instructions become Cranelift's intermediate code.
//!
//! X registers are variables, so they live in machine registers; Y registers are words of the Erlang stack. Where
//! native code does not go on (a type that it does not handle, no room, an instruction that is lent to the first
//! engine) it writes the live X registers to the core and jumps to the first engine's code of the same instruction: a
//! side exit. An exit stands in front of an instruction, and nothing of the instruction has been done then.

use std::collections::{BTreeMap, HashMap};
use std::mem::offset_of;

use atoll_loader::instruction::{Instruction, Label};
use atoll_runtime::core::{Core, Helper};
use atoll_runtime::mark::{self, Gates};
use atoll_term::Word;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{
    Block, ExtFuncData, ExternalName, FuncRef, Inst, InstBuilder, SigRef, Signature, SourceLoc, UserExternalName, Value,
};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::{FunctionBuilder, Variable};

use crate::compile::{Piece, Plans, Settings, Source, native_signature, parameters};
use crate::flow::{Flow, Head, Registers, Way, first, passed};
use crate::leave;
use crate::ways::{Reason, reason};
use in_place::{InPlace, Place};

mod arithmetic;
mod bits;
mod build_bits;
mod catching;
mod control;
mod data;
mod floats;
mod in_place;
mod inlined;
mod maps;
mod masked;
mod test;
mod trie;
mod values;
mod varying;

pub use bits::short_string;
pub use inlined::is_inlined;
pub use maps::MOST_PAIRS;
pub use varying::{Varying, WORDS};

/// Writes the code of one region.
pub struct Emitter<'f, 'l> {
    b: FunctionBuilder<'f>,
    settings: Settings,
    gates: Gates,
    /// The function, and those whose calls are written in place.
    sources: &'f [Source<'f, 'l>],
    /// The one among them whose instructions are written.
    flow: &'f Flow<'l>,
    piece: &'f Piece<'f>,
    head: usize,
    kind: Head,
    /// Through what helpers are called: [`atoll_runtime::mark::help`], or the same without floats.
    thunk: *const (),
    hp: Variable,
    e: Variable,
    reds: Variable,
    x: HashMap<u16, Variable>,
    floats: HashMap<u16, Value>,
    /// Calls that are written in place; the first is the region itself.
    calls: Vec<InPlace>,
    /// The one among them whose instructions are written.
    call: usize,
    /// The instruction that is written.
    at: usize,
    /// How many have been written.
    written: usize,
    /// Blocks of instructions that are jumped to.
    blocks: BTreeMap<Place, Block>,
    /// Instructions whose blocks are yet to be filled.
    pending: Vec<Place>,
    /// Blocks that leave to another region.
    departures: BTreeMap<usize, Block>,
    /// Blocks that leave to the first engine, by functions and instructions.
    exits: BTreeMap<(usize, usize), Block>,
    /// X registers that are known to hold small integers here.
    small_x: Registers,
    /// As `small_x`, of the first Y registers.
    small_y: Registers,
    /// What is known of registers where an instruction is jumped to from one place alone.
    facts: HashMap<Place, (Registers, Registers)>,
    /// As `facts`, where a call in place begins and where it returns to.
    known: HashMap<Place, (Registers, Registers)>,
    /// Segments of bitstrings that the code builds.
    plans: &'f mut Plans,
    regions: HashMap<usize, FuncRef>,
    varying: Varying,
    signatures: HashMap<(bool, usize), SigRef>,
}

/// Whether code goes on behind an instruction.
#[derive(PartialEq, Eq)]
enum Next {
    Follows,
    Left,
}

impl<'f, 'l> Emitter<'f, 'l> {
    /// An emitter for the region with this head.
    pub fn new(
        mut b: FunctionBuilder<'f>,
        settings: Settings,
        gates: Gates,
        sources: &'f [Source<'f, 'l>],
        plans: &'f mut Plans,
        (head, kind): (usize, Head),
    ) -> Emitter<'f, 'l> {
        let Source { flow, piece } = &sources[0];
        let entry = b.create_block();
        b.append_block_params_for_function_params(entry);
        b.switch_to_block(entry);
        let (hp, e, reds) = (b.declare_var(I64), b.declare_var(I64), b.declare_var(I64));
        let arguments = b.block_params(entry).to_vec();
        b.def_var(hp, arguments[1]);
        b.def_var(e, arguments[2]);
        b.def_var(reds, arguments[3]);
        let mut emitter = Emitter {
            b,
            settings,
            gates,
            sources,
            flow,
            piece,
            head,
            kind,
            thunk: mark::help as *const (),
            hp,
            e,
            reds,
            x: HashMap::new(),
            floats: HashMap::new(),
            calls: vec![InPlace::default()],
            call: 0,
            at: head,
            written: 0,
            blocks: BTreeMap::new(),
            pending: Vec::new(),
            departures: BTreeMap::new(),
            exits: BTreeMap::new(),
            small_x: 0,
            small_y: 0,
            facts: HashMap::new(),
            known: HashMap::new(),
            plans,
            regions: HashMap::new(),
            varying: Varying::default(),
            signatures: HashMap::new(),
        };
        for (index, value) in arguments[4..].iter().enumerate() {
            emitter.set_x(index as u16, *value);
        }
        if kind == Head::Function && emitter.arity() > 2 {
            emitter.set_x(2, arguments[0]);
        }
        let from_core = match kind {
            Head::Function => {
                let arity = emitter.arity();
                first(arity) & !first(passed(arity))
            }
            // A handler of exceptions may stand behind a call.
            Head::Return => flow.live(head) & !1,
            Head::Point => flow.live(head),
        };
        for x in numbers(from_core) {
            let core = emitter.core();
            let value = emitter.load(core, x_offset(x));
            emitter.set_x(x, value);
        }
        emitter
    }

    /// Arguments of the function.
    fn arity(&self) -> usize {
        self.flow.linked.module.functions[self.flow.function].arity.into()
    }

    /// Writes the region, which calls helpers through `thunk`. Each jump to other code is marked by a source location.
    /// Returns the words that differ from run to run.
    pub fn region(mut self, thunk: *const ()) -> Vec<Word> {
        self.thunk = thunk;
        let start = self.block_of(self.head);
        self.b.ins().jump(start, &[]);
        while let Some(place) = self.next_place() {
            let block = self.blocks[&place];
            self.b.switch_to_block(block);
            let (call, index) = place;
            self.call = call;
            self.write_of(self.calls[call].source);
            (self.small_x, self.small_y) = match (self.known.get(&place), self.facts.get(&place)) {
                (Some(known), _) => *known,
                (None, Some(facts)) if self.flow.has_one_way_to(index) => *facts,
                _ => (0, 0),
            };
            self.floats.clear();
            self.straight(index);
        }
        self.write_of(0);
        for (target, block) in std::mem::take(&mut self.departures) {
            self.b.switch_to_block(block);
            self.depart(target);
        }
        for ((source, index), block) in std::mem::take(&mut self.exits) {
            self.b.switch_to_block(block);
            self.write_of(source);
            self.leave_at(index);
        }
        self.b.seal_all_blocks();
        self.b.finalize();
        self.varying.words
    }

    /// Writes instructions from this one on, up to where control leaves.
    fn straight(&mut self, from: usize) {
        let mut index = from;
        loop {
            let lent = matches!(self.flow.way(index), Way::Lent | Way::LentCall | Way::BuiltIn);
            self.at = index;
            self.written += 1;
            let next = if lent {
                let exit = self.exit(index);
                self.b.ins().jump(exit, &[]);
                Next::Left
            } else if let Some(last) = self.masked(index) {
                index = last;
                Next::Follows
            } else {
                self.instruction(index)
            };
            if next == Next::Left {
                return;
            }
            index += 1;
            let is_met = self.flow.heads.contains_key(&index) || self.blocks.contains_key(&(self.call, index));
            if is_met || self.is_joined(index) {
                let block = self.target(index);
                self.b.ins().jump(block, &[]);
                return;
            }
        }
    }

    /// Whether an instruction is a label, to which others may jump.
    fn is_joined(&self, index: usize) -> bool {
        matches!(self.flow.instruction(index), Instruction::Label(_))
    }

    fn instruction(&mut self, index: usize) -> Next {
        use Instruction as I;
        match self.flow.instruction(index) {
            I::Label(_) | I::Line(_) | I::NifStart | I::OnLoad => Next::Follows,
            I::Jump(label) => {
                let target = self.label(*label);
                self.b.ins().jump(target, &[]);
                Next::Left
            }
            I::CallExt { target, .. } | I::CallExtOnly { target, .. } | I::CallExtLast { target, .. }
                if is_inlined(self.flow.linked, target.0) =>
            {
                self.inlined(index)
            }
            I::Call { .. }
            | I::CallOnly { .. }
            | I::CallLast { .. }
            | I::CallExt { .. }
            | I::CallExtOnly { .. }
            | I::CallExtLast { .. }
            | I::CallFun { .. }
            | I::CallFun2 { .. }
            | I::Return => {
                self.call_or_return(index);
                Next::Left
            }
            I::SelectValue { value, fail, cases } => {
                self.select_value(*value, *fail, cases);
                Next::Left
            }
            I::SelectTupleArity { value, fail, cases } => {
                self.select_tuple_arity(*value, *fail, cases);
                Next::Left
            }
            I::Allocate { .. } | I::TestHeap { .. } | I::Deallocate { .. } | I::Trim { .. } | I::InitYregs(_) => {
                self.frame(index);
                Next::Follows
            }
            I::Expect { .. }
            | I::Test { .. }
            | I::TestArity { .. }
            | I::TestTaggedTuple { .. }
            | I::TestFunctionArity { .. }
            | I::Compare { .. } => {
                self.test(index);
                Next::Follows
            }
            I::HasMapFields { .. } | I::GetMapElements { .. } | I::PutMap { .. } => {
                self.maps(index);
                Next::Follows
            }
            I::Bif { .. } | I::GcBif { .. } => {
                self.guard(index);
                Next::Follows
            }
            I::FloatLoad { .. }
            | I::FloatStore { .. }
            | I::FloatConvert { .. }
            | I::FloatArithmetic { .. }
            | I::FloatNegate { .. } => {
                self.float(index);
                Next::Follows
            }
            I::BsStartMatch { .. }
            | I::BsGetInteger { .. }
            | I::BsGetFloat { .. }
            | I::BsGetBinary { .. }
            | I::BsGetTail { .. }
            | I::BsSkipBits { .. }
            | I::BsTestTail { .. }
            | I::BsTestUnit { .. }
            | I::BsMatchString { .. }
            | I::BsGetPosition { .. }
            | I::BsSetPosition { .. }
            | I::BsGetUtf { .. } => {
                self.bits(index);
                Next::Follows
            }
            I::BsCreateBin { .. } => {
                self.create_bits(index);
                Next::Follows
            }
            I::Catch { .. } | I::CatchEnd { .. } | I::Try { .. } | I::TryEnd { .. } | I::TryCase { .. } => {
                self.catching(index);
                Next::Follows
            }
            _ => {
                self.data(index);
                Next::Follows
            }
        }
    }

    // Places in the code

    /// The block to jump to for going on at a label. What is known of registers now has to hold there.
    fn label(&mut self, label: Label) -> Block {
        let index = self.flow.position(label);
        self.facts.insert((self.call, index), (self.small_x, self.small_y));
        self.target(index)
    }

    /// The block to jump to for going on at an instruction.
    fn target(&mut self, index: usize) -> Block {
        let is_here = index == self.head && self.call == 0;
        if is_here || !self.flow.heads.contains_key(&index) {
            return self.block_of(index);
        }
        self.departure(index)
    }

    /// The block that goes on in another region.
    fn departure(&mut self, index: usize) -> Block {
        if let Some(block) = self.departures.get(&index) {
            return *block;
        }
        let block = self.b.create_block();
        self.departures.insert(index, block);
        block
    }

    fn block_of(&mut self, index: usize) -> Block {
        self.block_at((self.call, index))
    }

    fn block_at(&mut self, place: Place) -> Block {
        if let Some(block) = self.blocks.get(&place) {
            return *block;
        }
        let block = self.b.create_block();
        self.blocks.insert(place, block);
        self.pending.push(place);
        block
    }

    /// The block that leaves to the first engine in front of an instruction.
    fn exit(&mut self, index: usize) -> Block {
        let place = (self.calls[self.call].source, index);
        if let Some(block) = self.exits.get(&place) {
            return *block;
        }
        let block = self.b.create_block();
        if !matches!(self.flow.way(index), Way::Lent | Way::LentCall | Way::BuiltIn) {
            self.b.set_cold_block(block);
        }
        self.exits.insert(place, block);
        block
    }

    /// Goes on in another region.
    fn depart(&mut self, target: usize) {
        let kind = self.flow.heads[&target];
        let arity = match kind {
            Head::Function => self.arity(),
            Head::Return => 1,
            Head::Point => 0,
        };
        match kind {
            Head::Function => self.write_to_core(first(arity) & !first(passed(arity))),
            Head::Return => self.write_to_core(self.flow.live(target) & !1),
            Head::Point => self.write_to_core(self.flow.live(target)),
        }
        let spare = self.b.use_var(self.e);
        let arguments = self.arguments(arity, spare);
        let region = self.region_of(target);
        self.mark_jump(|b| b.ins().return_call(region, &arguments));
    }

    fn region_of(&mut self, head: usize) -> FuncRef {
        if let Some(region) = self.regions.get(&head) {
            return *region;
        }
        let count = parameters(self.flow, self.flow.heads[&head]);
        let signature = self.signature(true, count);
        let name = self.b.func.declare_imported_user_function(UserExternalName { namespace: 0, index: head as u32 });
        let region = self.b.import_function(ExtFuncData {
            name: ExternalName::user(name),
            signature,
            colocated: true,
            patchable: false,
        });
        self.regions.insert(head, region);
        region
    }

    /// Leaves to the first engine's code of an instruction, or calls a built-in function.
    fn leave_at(&mut self, index: usize) {
        use Instruction as I;
        self.write_to_core(self.flow.live(index));
        let place = self.piece.places[index - self.flow.start];
        let address = self.varying(self.piece.words as Word + Word::from(place) * 8);
        match (self.flow.way(index), self.flow.instruction(index)) {
            (Way::BuiltIn, I::CallExt { .. }) => return self.leave(leave::call_built_in, address, &[]),
            (Way::BuiltIn, _) => return self.leave(leave::built_in_last, address, &[]),
            _ => {}
        }
        let counter = self.varying(self.piece.exits[index - self.flow.start].as_ptr() as Word);
        let way = match reason(self.flow.instruction(index), self.flow.way(index)) {
            Reason::Operands => leave::leave_counted_operands,
            _ => leave::leave_counted,
        };
        self.leave(way, address, &[counter]);
    }

    /// Goes on at a code address for the first engine, with what this way takes: see [`crate::leave`].
    fn leave(&mut self, way: unsafe extern "C" fn(), address: Value, given: &[Value]) {
        let [hp, e, reds] = self.carried();
        let arguments = [&[address, hp, e, reds], given].concat();
        let code = self.varying(way as *const () as Word);
        let signature = self.signature(true, arguments.len());
        self.jump_to(signature, code, &arguments);
    }

    /// Goes on in other code.
    fn jump_to(&mut self, signature: SigRef, code: Value, arguments: &[Value]) {
        self.mark_jump(|b| b.ins().return_call_indirect(signature, code, arguments));
    }

    fn mark_jump(&mut self, jump: impl FnOnce(&mut FunctionBuilder<'f>) -> Inst) {
        self.b.set_srcloc(SourceLoc::new(1));
        jump(&mut self.b);
        self.b.set_srcloc(SourceLoc::default());
    }

    /// The signature of native code, or of a helper, with so many parameters.
    fn signature(&mut self, native: bool, count: usize) -> SigRef {
        if let Some(known) = self.signatures.get(&(native, count)) {
            return *known;
        }
        let signature = if native { native_signature(count) } else { Signature::new(CallConv::PreserveAll) };
        let reference = self.b.import_signature(signature);
        self.signatures.insert((native, count), reference);
        reference
    }

    /// Calls a helper.
    fn help(&mut self, function: Helper, arguments: &[Value]) -> Value {
        let core = self.core();
        for (index, argument) in arguments.iter().enumerate() {
            self.store(*argument, core, offset_of!(Core, request.arguments) + index * 8);
        }
        let function = self.varying(function as usize as Word);
        self.store(function, core, offset_of!(Core, request.function));
        let address = self.varying(self.thunk as Word);
        let signature = self.signature(false, 0);
        self.b.ins().call_indirect(signature, address, &[]);
        let core = self.core();
        self.load(core, offset_of!(Core, request.result))
    }

    // Control inside of a region

    /// Goes on if the condition holds, else at `otherwise`.
    fn unless(&mut self, condition: Value, otherwise: Block) {
        let follows = self.b.create_block();
        self.b.ins().brif(condition, follows, &[], otherwise, &[]);
        self.b.switch_to_block(follows);
    }

    fn equals(&mut self, value: Value, word: Word) -> Value {
        let word = self.constant(word);
        self.b.ins().icmp(IntCC::Equal, value, word)
    }

    /// The low bits of a word.
    fn tag(&mut self, value: Value, mask: i64) -> Value {
        self.b.ins().band_imm(value, mask)
    }

    /// A value that two ways bring: the second is what the block that is current now has.
    fn joined(&mut self, kind: cranelift_codegen::ir::Type) -> (Block, Value) {
        let block = self.b.create_block();
        let value = self.b.append_block_param(block, kind);
        (block, value)
    }
}

fn bit(number: u16) -> Registers {
    if number < 64 { 1 << number } else { 0 }
}

/// Where an X register stands in the core, in bytes.
fn x_offset(x: u16) -> usize {
    offset_of!(Core, x) + usize::from(x) * 8
}

fn numbers(registers: Registers) -> impl Iterator<Item = u16> {
    (0..64).filter(move |x| registers & bit(*x) != 0)
}
