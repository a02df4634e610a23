//! Makes machine code of one function: a native function for each of its regions.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::AtomicU64;

use atoll_code::ModuleCode;
use atoll_operations::bit_simple::Simple;
use atoll_platform::executable::{CodeSpace, Executable};
use atoll_runtime::mark::{self, Gates};
use atoll_term::Word;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::flowgraph::ControlFlowGraph;
use cranelift_codegen::ir::types::{I32, I64};
use cranelift_codegen::ir::{
    AbiParam, Block as IrBlock, ExternalName, Function, Inst, Opcode, Signature, UserExternalNameRef, UserFuncName,
    Value,
};
use cranelift_codegen::isa::{CallConv, OwnedTargetIsa};
use cranelift_codegen::{Context, FinalizedRelocTarget, binemit::Reloc};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};

use crate::emit::{Emitter, WORDS};
use crate::flow::{Flow, Head};
use crate::kept::{self, Code, Kept, Region};
use crate::processor::processor;

/// Whether native code looks at instructions that build lists and tuples: they are allocation sites, and another
/// handler may stand there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SiteChecks {
    /// It does not: nothing changes them.
    Never,
    /// In functions where a site has changed.
    Changed,
    /// It always does.
    Always,
}

/// What code depends on for the whole run.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Stack and heap share a block.
    pub united: bool,
    /// Collect at allocation points.
    pub stress: bool,
    /// Whether it looks at allocation sites.
    pub site_checks: SiteChecks,
    /// One in so many instructions is lent to the first engine, though native code could do it; 0: none. For tests.
    pub exits: u32,
}

/// The code generator for this machine.
pub struct Compiler {
    isa: OwnedTargetIsa,
    pub(crate) settings: Settings,
    pub(crate) gates: Gates,
    space: CodeSpace,
    /// Code that is kept between runs.
    pub(crate) kept: Option<Kept>,
    context: Context,
    builder: FunctionBuilderContext,
}

/// What a function is compiled from, beside its instructions.
pub struct Piece<'p> {
    /// The function's module.
    pub parent: &'p ModuleCode,
    /// First word of the function's code for the first engine.
    pub words: *const u64,
    /// For each instruction: the first word of its code there, behind its mark.
    pub places: &'p [u32],
    /// For each instruction: how often native code left in front of it.
    pub exits: &'p [AtomicU64],
    /// Instructions that left often: they are made for all types.
    pub general: &'p HashSet<usize>,
    /// For each head but the function's entry: the first word of its mark.
    pub marks: &'p BTreeMap<usize, u32>,
    /// Native code looks at its allocation sites.
    pub checks_sites: bool,
}

/// A function whose instructions code is made of.
pub struct Source<'p, 'l> {
    /// Its instructions.
    pub flow: Flow<'l>,
    /// Its code for the first engine.
    pub piece: Piece<'p>,
}

/// Segments of bitstrings that code builds, at addresses that the code has.
pub type Plans = Vec<Box<[Simple]>>;

/// The instruction `int3`, which stands between regions.
const BREAKPOINT: u8 = 0xcc;

/// Machine code of a function's regions.
pub struct Compiled {
    /// The code.
    pub block: Executable,
    /// For each head: where its code begins, in bytes.
    pub heads: BTreeMap<usize, usize>,
    /// Bytes of code.
    pub size: usize,
    /// What the code refers to.
    pub plans: Plans,
}

impl Compiler {
    /// The code generator for this machine's processor. `None`: it has none.
    pub fn new(settings: Settings, gates: Gates, space: CodeSpace, kept: Option<Kept>) -> Option<Compiler> {
        let isa = processor()?;
        let (context, builder) = (Context::new(), FunctionBuilderContext::new());
        Some(Compiler { isa, settings, gates, space, kept, context, builder })
    }

    /// Compiles the first of these functions; calls of the others are written in place. `None`: it is beyond the code
    /// generator, or there is no memory.
    pub fn compile(&mut self, sources: &[Source<'_, '_>]) -> Option<Compiled> {
        let has_floats = sources.iter().any(|source| source.flow.has_floats);
        let linked = sources.first()?.flow.linked;
        let highest = linked.atoms.iter().map(|atom| atom.atom_index()).max().unwrap_or(0);
        let module = (linked.module.md5, highest);
        let mut code: Vec<u8> = Vec::new();
        let mut heads = BTreeMap::new();
        let mut jumps: Vec<(usize, usize)> = Vec::new();
        let mut plans = Plans::new();
        for (&head, &kind) in &sources.first()?.flow.heads {
            // Arithmetic that has met other operands than small integers has floats in machine registers for a moment.
            // None of them is expected to live over a call; where the code generator has it so, it is asked again.
            let (mut region, mut words) = self.region(sources, &mut plans, (head, kind), has_floats, module)?;
            if region == Region::KeepsFloats {
                (region, words) = self.region(sources, &mut plans, (head, kind), true, module)?;
            }
            let Region::Code(made) = region else { return None };
            code.resize(code.len().next_multiple_of(16), BREAKPOINT);
            let start = code.len();
            code.extend_from_slice(&made.bytes);
            for (place, number) in made.words {
                let word = words.get(self.symbol(number, Some(WORDS))?)?;
                code.get_mut(start + place..start + place + 8)?.copy_from_slice(&word.to_le_bytes());
            }
            heads.insert(head, start + made.begins);
            for (place, number) in made.jumps {
                jumps.push((start + place, self.symbol(number, None)?));
            }
        }
        // Jumps between regions are relative to the instruction behind them.
        for (place, head) in jumps {
            let distance = *heads.get(&head)? as i64 - (place as i64 + 4);
            code.get_mut(place..place + 4)?.copy_from_slice(&i32::try_from(distance).ok()?.to_le_bytes());
        }
        if let Some(kept) = &mut self.kept {
            kept.compiled(module.0, sources.first()?.flow.function);
        }
        let size = code.len();
        Some(Compiled { block: self.space.put(&code)?, heads, size, plans })
    }

    /// The code of one region, whose intermediate code stands in the context then, and the words that its symbols stand
    /// for. `keeps_floats`: floats are kept in machine registers over calls of helpers. `None`: it is beyond the code
    /// generator.
    fn region(
        &mut self,
        sources: &[Source<'_, '_>],
        plans: &mut Plans,
        (head, kind): (usize, Head),
        keeps_floats: bool,
        (module, highest): (kept::Module, u32),
    ) -> Option<(Region, Vec<Word>)> {
        self.context.clear();
        let signature = native_signature(parameters(&sources.first()?.flow, kind));
        self.context.func = Function::with_name_signature(UserFuncName::user(0, head as u32), signature);
        let builder = FunctionBuilder::new(&mut self.context.func, &mut self.builder);
        let thunk = if keeps_floats { mark::help as *const () } else { mark::help_without_floats as *const () };
        let words = Emitter::new(builder, self.settings, self.gates, sources, plans, (head, kind)).region(thunk);
        let Some(kept) = &mut self.kept else { return Some((self.code(keeps_floats)?, words)) };
        let key = kept::key(&self.context.func);
        if let Some(region) = kept.find(module, &key) {
            return Some((region, words));
        }
        let region = self.code(keeps_floats)?;
        if let Some(kept) = &mut self.kept {
            kept.keep(module, highest, key, region.clone());
        }
        Some((region, words))
    }

    /// Has code made of the context's intermediate code.
    fn code(&mut self, keeps_floats: bool) -> Option<Region> {
        if let Err(error) = self.context.compile(&*self.isa, &mut ControlPlane::default()) {
            debug_assert!(false, "{:?}\n{}", error.inner, error.func.display());
            return None;
        }
        if !keeps_floats && float_lives_over_call(&self.context.func) {
            return Some(Region::KeepsFloats);
        }
        let leaving = jumps(&self.context.func);
        let compiled = self.context.compiled_code()?;
        let mut bytes = compiled.code_buffer().to_vec();
        let ends = compiled.buffer.get_srclocs_sorted().iter().filter(|range| !range.loc.is_default());
        let ends: Vec<usize> = ends.map(|range| range.end as usize).collect();
        let Frameless { start: begins, moved } = frameless(&mut bytes, &ends, leaving)?;
        let mut code = Code { bytes, begins, jumps: Vec::new(), words: Vec::new() };
        for relocation in compiled.buffer.relocs() {
            let FinalizedRelocTarget::ExternalName(ExternalName::User(name)) = &relocation.target else { return None };
            let place = relocation.offset as usize;
            match (relocation.kind, relocation.addend) {
                // Each is that of a jump to another region.
                (Reloc::X86CallPCRel4, -4) => code.jumps.push((place - moved, name.as_u32())),
                (Reloc::Abs8, 0) => code.words.push((place, name.as_u32())),
                _ => return None,
            }
        }
        Some(Region::Code(code))
    }

    /// What a symbol of the context's intermediate code is the number of.
    fn symbol(&self, symbol: u32, namespace: Option<u32>) -> Option<usize> {
        let name = self.context.func.params.user_named_funcs().get(UserExternalNameRef::from_u32(symbol))?;
        (name.namespace == namespace.unwrap_or(0)).then_some(name.index as usize)
    }
}

/// Whether a float is in use while a function is called that returns.
fn float_lives_over_call(function: &Function) -> bool {
    let is_float = |value: &Value| function.dfg.value_type(*value).is_float();
    if !function.dfg.values().any(|value| is_float(&value)) {
        return false;
    }
    let flow = ControlFlowGraph::with_function(function);
    let blocks: Vec<IrBlock> = function.layout.blocks().collect();
    let mut live: HashMap<IrBlock, HashSet<Value>> = HashMap::new();
    loop {
        let mut changed = false;
        for block in blocks.iter().rev().copied() {
            let mut values: HashSet<Value> =
                flow.succ_iter(block).filter_map(|next| live.get(&next)).flatten().copied().collect();
            for instruction in function.layout.block_insts(block).rev() {
                for result in function.dfg.inst_results(instruction) {
                    values.remove(result);
                }
                let opcode = function.dfg.insts[instruction].opcode();
                if opcode.is_call() && !opcode.is_terminator() && !values.is_empty() {
                    return true;
                }
                let used = function.dfg.inst_values(instruction).map(|value| function.dfg.resolve_aliases(value));
                values.extend(used.filter(is_float));
            }
            for parameter in function.dfg.block_params(block) {
                values.remove(parameter);
            }
            if live.get(&block).map_or(0, HashSet::len) != values.len() {
                live.insert(block, values);
                changed = true;
            }
        }
        if !changed {
            return false;
        }
    }
}

/// How many jumps to other code a function has, without those that can never be reached.
fn jumps(function: &Function) -> usize {
    let instructions = function.layout.blocks().flat_map(|block| function.layout.block_insts(block));
    let leaves = |instruction: &Inst| {
        matches!(function.dfg.insts[*instruction].opcode(), Opcode::ReturnCall | Opcode::ReturnCallIndirect)
    };
    instructions.filter(leaves).count()
}

/// What [`frameless`] made of a region's code.
#[derive(Debug, PartialEq, Eq)]
struct Frameless {
    /// Where the code begins now.
    start: usize,
    /// By how many bytes each jump to other code has moved to the front.
    moved: usize,
}

/// Takes what saves and restores registers out of a region's code, whose jumps to other code end at these places.
/// What native code changes was saved when it was entered (`atoll_runtime::mark`). Nothing reads the frame pointer, and
/// a processor waits for each to be read back before it can save it again: regions are short, so that took more than
/// half of the time. `None`: the code does not look as expected.
fn frameless(code: &mut [u8], ends: &[usize], leaving: usize) -> Option<Frameless> {
    // push rbp; mov rbp, rsp
    const SAVES: [u8; 4] = [0x55, 0x48, 0x89, 0xe5];
    // mov rsp, rbp; pop rbp
    const RESTORES: [u8; 4] = [0x48, 0x89, 0xec, 0x5d];
    if !code.starts_with(&SAVES) || ends.len() != leaving {
        return None;
    }
    // sub rsp, bytes; then one store for each register.
    let taken = SAVES.len();
    let room = match code[taken..] {
        [0x48, 0x83, 0xec, ..] => 4,
        [0x48, 0x81, 0xec, ..] => 7,
        _ => 0,
    };
    let first = taken + room;
    let mut behind = first;
    while room > 0
        && let Some(length) = length_of_save(&code[behind..])
    {
        behind += length;
    }
    let saved = behind - first;
    // The same instructions with what loads a register in the place of what stores it, and `add` for `sub`.
    let mut expected = code[first..behind].to_vec();
    let mut next = 0;
    while let Some(length) = length_of_save(&expected[next..]) {
        expected[next + 1] = 0x8b;
        next += length;
    }
    expected.extend_from_slice(&code[taken..first]);
    if room > 0 {
        expected[saved + 2] = 0xc4;
    }
    expected.extend_from_slice(&RESTORES);
    for &end in ends {
        // jmp to an address; jmp to one in a register from R8 on, or before it.
        let jump = match code.get(..end)? {
            [.., 0xe9, _, _, _, _] => 5,
            [.., 0x41, 0xff, 0xe0..=0xe7] => 3,
            [.., 0xff, 0xe0..=0xe7] => 2,
            _ => return None,
        };
        let place = end.checked_sub(jump + expected.len())?;
        if code[place..end - jump] != expected {
            return None;
        }
        let kept = [&expected[saved..saved + room], &code[end - jump..end]].concat();
        code[place..place + kept.len()].copy_from_slice(&kept);
        code[place + kept.len()..end].fill(BREAKPOINT);
    }
    // The frame is made behind what has been taken out.
    code.copy_within(taken..first, behind - room);
    Some(Frameless { start: behind - room, moved: saved + RESTORES.len() })
}

/// Bytes of the instruction at the beginning of this code, if it stores a register that a function has to save on the
/// native stack.
fn length_of_save(code: &[u8]) -> Option<usize> {
    match code {
        // RBX; R12, R13, R14: at the stack pointer, at one byte or four bytes from it.
        [0x48, 0x89, 0x1c, 0x24, ..] | [0x4c, 0x89, 0x24 | 0x2c | 0x34, 0x24, ..] => Some(4),
        [0x48, 0x89, 0x5c, 0x24, _, ..] | [0x4c, 0x89, 0x64 | 0x6c | 0x74, 0x24, _, ..] => Some(5),
        [0x48, 0x89, 0x9c, 0x24, _, _, _, _, ..] | [0x4c, 0x89, 0xa4 | 0xac | 0xb4, 0x24, _, _, _, _, ..] => Some(8),
        _ => None,
    }
}

/// Parameters of a region's code: X2, heap top, stack pointer, reductions, X0, X1. The first is anything where X2 is
/// not passed.
pub(crate) fn parameters(flow: &Flow<'_>, kind: Head) -> usize {
    4 + match kind {
        Head::Function => usize::from(flow.linked.module.functions[flow.function].arity).min(2),
        Head::Return => 1,
        Head::Point => 0,
    }
}

/// The signature of native code with so many parameters.
pub(crate) fn native_signature(parameters: usize) -> Signature {
    let mut signature = Signature::new(CallConv::Tail);
    signature.params.resize(parameters, AbiParam::new(I64));
    signature.returns.push(AbiParam::new(I32));
    signature
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frame_pointers_are_taken_out_of_code_that_looks_as_expected_alone() {
        // push rbp; mov rbp, rsp; mov rsp, rbp; pop rbp; jmp r10
        let code = [0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xec, 0x5d, 0x41, 0xff, 0xe2];
        let mut good = code;
        assert_eq!(frameless(&mut good, &[11], 1), Some(Frameless { start: 4, moved: 4 }));
        assert_eq!(good, [0x55, 0x48, 0x89, 0xe5, 0x41, 0xff, 0xe2, 0xcc, 0xcc, 0xcc, 0xcc]);
        assert_eq!(frameless(&mut code.clone(), &[11], 2), None, "a jump that was not reported");
        assert_eq!(frameless(&mut code.clone(), &[10], 1), None, "no jump at the place");
        assert_eq!(frameless(&mut code.clone(), &[999], 1), None, "a place outside of the code");
        for changed in [0, 3, 4, 7, 9] {
            let mut other = code;
            other[changed] ^= 0x10;
            assert_eq!(frameless(&mut other, &[11], 1), None, "byte {changed} is another");
        }
    }

    #[test]
    fn registers_are_not_saved_and_the_frame_is_made_where_they_were() {
        let code = [
            &[0x55, 0x48, 0x89, 0xe5][..],
            // sub rsp, 20h; mov [rsp+8], rbx; mov [rsp+10h], r13
            &[0x48, 0x83, 0xec, 0x20, 0x48, 0x89, 0x5c, 0x24, 0x08, 0x4c, 0x89, 0x6c, 0x24, 0x10],
            // mov [rsp], rsi: of the body
            &[0x48, 0x89, 0x34, 0x24],
            // mov rbx, [rsp+8]; mov r13, [rsp+10h]; add rsp, 20h; mov rsp, rbp; pop rbp
            &[0x48, 0x8b, 0x5c, 0x24, 0x08, 0x4c, 0x8b, 0x6c, 0x24, 0x10, 0x48, 0x83, 0xc4, 0x20],
            &[0x48, 0x89, 0xec, 0x5d],
            // jmp to an address
            &[0xe9, 1, 2, 3, 4],
        ]
        .concat();
        let mut good = code.clone();
        assert_eq!(frameless(&mut good, &[45], 1), Some(Frameless { start: 14, moved: 14 }));
        let body = [0x48, 0x83, 0xec, 0x20, 0x48, 0x89, 0x34, 0x24, 0x48, 0x83, 0xc4, 0x20, 0xe9, 1, 2, 3, 4, 0xcc];
        assert_eq!(good[14..32], body);
        for changed in [7, 12, 16, 22, 24, 27, 34, 36, 39] {
            let mut other = code.clone();
            other[changed] ^= 0x08;
            assert_eq!(frameless(&mut other, &[45], 1), None, "byte {changed} is another");
        }
    }
}
