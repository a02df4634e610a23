//! How native code carries each instruction out, and why it leaves to the first engine.

use atoll_code::{Linked, registry};
use atoll_loader::instruction::{Instruction, SegmentType, Source};
use atoll_operations::bit_simple;

use crate::compile::Settings;
use crate::emit;
use crate::flow::Way;

/// Why native code leaves to the first engine in front of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// There is not enough room on the heap or on the stack.
    Room,
    /// It is made for small integers, and met something else.
    Operands,
    /// The first engine carries the instruction out.
    Lent,
    /// It fails, and the first engine raises.
    Other,
}

/// Why native code leaves in front of this instruction, which is carried out so.
pub fn reason(instruction: &Instruction, way: Way) -> Reason {
    use Instruction as I;
    match instruction {
        _ if matches!(way, Way::Lent | Way::LentCall | Way::BuiltIn) => Reason::Lent,
        I::Allocate { .. } | I::TestHeap { .. } | I::BsCreateBin { .. } | I::PutMap { .. } => Reason::Room,
        I::CallExt { .. } | I::CallExtOnly { .. } | I::CallExtLast { .. } => Reason::Room,
        I::Compare { .. } | I::Bif { .. } | I::GcBif { .. } => Reason::Operands,
        _ => Reason::Other,
    }
}

/// How an instruction is carried out.
pub fn way(linked: &Linked, settings: Settings, lend_builds: bool, instruction: &Instruction) -> Way {
    use Instruction as I;
    let built_in = |import: u32| {
        let export = linked.imports[import as usize];
        registry().built_in_number(export.module, export.name, export.arity).is_some()
    };
    match instruction {
        I::CallExt { target, .. } if emit::is_inlined(linked, target.0) => Way::Native,
        I::CallExtOnly { target, .. } | I::CallExtLast { target, .. } if emit::is_inlined(linked, target.0) => {
            Way::Leaves
        }
        I::Call { .. } | I::CallFun { .. } | I::CallFun2 { .. } => Way::Calls,
        I::CallExt { target, .. } if !built_in(target.0) => Way::Calls,
        I::CallExt { .. } => Way::BuiltIn,
        I::CallExtOnly { target, .. } | I::CallExtLast { target, .. } if built_in(target.0) => Way::BuiltIn,
        I::Apply { .. } => Way::LentCall,
        I::CallOnly { .. } | I::CallLast { .. } | I::CallExtOnly { .. } | I::CallExtLast { .. } | I::Return => {
            Way::Leaves
        }
        I::Allocate { .. } | I::TestHeap { .. } if settings.stress => Way::Lent,
        I::BsCreateBin { .. } if settings.stress => Way::Lent,
        I::BsCreateBin { segments, .. } => match bit_simple::plan(segments, &linked.module.strings) {
            Some(_) => Way::Native,
            None => Way::Lent,
        },
        I::PutList { .. } | I::PutTuple { .. } if lend_builds => Way::Lent,
        I::PutMap { pairs, .. } if pairs.len() <= emit::MOST_PAIRS => Way::Native,
        I::SelectValue { cases, .. } => {
            let plain = |source: &Source| match source {
                Source::Literal(literal) => linked.literals[literal.0 as usize].is_immediate(),
                _ => true,
            };
            if cases.iter().all(|(key, _)| plain(key)) { Way::Native } else { Way::Lent }
        }
        I::Label(_)
        | I::Line(_)
        | I::NifStart
        | I::OnLoad
        | I::Allocate { .. }
        | I::TestHeap { .. }
        | I::Deallocate { .. }
        | I::Trim { .. }
        | I::InitYregs(_)
        | I::Move { .. }
        | I::Swap { .. }
        | I::PutList { .. }
        | I::PutTuple { .. }
        | I::SetTupleElement { .. }
        | I::UpdateRecord { .. }
        | I::GetList { .. }
        | I::GetHead { .. }
        | I::GetTail { .. }
        | I::GetTupleElement { .. }
        | I::MakeFun { .. }
        | I::Jump(_)
        | I::Expect { .. }
        | I::Test { .. }
        | I::TestFunctionArity { .. }
        | I::TestArity { .. }
        | I::TestTaggedTuple { .. }
        | I::Compare { .. }
        | I::SelectTupleArity { .. }
        | I::Bif { .. }
        | I::GcBif { .. }
        | I::FloatLoad { .. }
        | I::FloatStore { .. }
        | I::FloatConvert { .. }
        | I::FloatArithmetic { .. }
        | I::FloatNegate { .. }
        | I::HasMapFields { .. }
        | I::GetMapElements { .. }
        | I::Catch { .. }
        | I::CatchEnd { .. }
        | I::Try { .. }
        | I::TryEnd { .. }
        | I::TryCase { .. }
        | I::BsStartMatch { .. }
        | I::BsGetInteger { .. }
        | I::BsGetFloat { .. }
        | I::BsGetTail { .. }
        | I::BsGetPosition { .. }
        | I::BsSetPosition { .. }
        | I::BsGetBinary { .. }
        | I::BsGetUtf { encoding: SegmentType::Utf8, .. } => Way::Native,
        I::BsTestTail { bits, .. } if *bits < 1 << 32 => Way::Native,
        I::BsSkipBits { size: None, unit, .. } | I::BsTestUnit { unit, .. } if unit.is_power_of_two() => Way::Native,
        I::BsSkipBits { size: Some(_), .. } => Way::Native,
        I::BsMatchString { bits, offset, .. }
            if emit::short_string(&linked.module.strings, *offset, *bits).is_some() =>
        {
            Way::Native
        }
        _ => Way::Lent,
    }
}
