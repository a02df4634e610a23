//! Messages that are looked at while they are in the mailbox.
//!
//! Between `loop_rec` and `remove_message` registers hold parts of a message that may not belong to the process's heap
//! yet. Compilers look at such a message, and when it does not match go on with the next by `loop_rec_end`. Then the
//! machine forgets that the process had pointers into the message, which is right if X registers alone held any. Where
//! the walk does not see that, it has `keep_message` put in front of the `loop_rec_end`.

use crate::instruction::{Instruction, Register, Source};

/// Whether after this instruction X registers alone may hold parts of the message that was looked at, if that was so in
/// front of it.
pub(super) fn looks_only(instruction: &Instruction) -> bool {
    use Instruction as I;
    let is_test = match instruction {
        I::InitYregs(_)
        | I::Move { source: Source::Small(_) | Source::Atom(_) | Source::Nil | Source::Literal(_), .. } => return true,
        I::Label(_)
        | I::Line(_)
        | I::TestHeap { .. }
        | I::Move { .. }
        | I::Swap { .. }
        | I::GetList { .. }
        | I::GetHead { .. }
        | I::GetTail { .. }
        | I::GetTupleElement { .. }
        | I::Jump(_)
        | I::Test { .. }
        | I::TestFunctionArity { .. }
        | I::TestArity { .. }
        | I::TestTaggedTuple { .. }
        | I::Compare { .. }
        | I::SelectValue { .. }
        | I::SelectTupleArity { .. }
        | I::Bif { .. }
        | I::GcBif { .. }
        | I::FloatLoad { .. }
        | I::FloatConvert { .. }
        | I::FloatArithmetic { .. }
        | I::FloatNegate { .. }
        | I::FloatStore { .. }
        | I::HasMapFields { .. }
        | I::GetMapElements { .. }
        | I::BsStartMatch { .. }
        | I::BsGetInteger { .. }
        | I::BsGetFloat { .. }
        | I::BsGetBinary { .. }
        | I::BsSkipBits { .. }
        | I::BsTestTail { .. }
        | I::BsTestUnit { .. }
        | I::BsMatchString { .. }
        | I::BsGetTail { .. }
        | I::BsGetPosition { .. }
        | I::BsSetPosition { .. }
        | I::BsGetUtf { .. }
        | I::BsMatch { .. } => true,
        _ => false,
    };
    let mut fills_slots = false;
    instruction.for_each_destination(|destination| fills_slots |= matches!(destination, Register::Y(_)));
    is_test && !fills_slots
}
