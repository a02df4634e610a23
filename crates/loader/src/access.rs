//! What an instruction refers to: labels, registers and live counts.
//!
//! Checks, analyses and translators ask here, so that the operands of each instruction are listed
//! once.

use crate::instruction::{Instruction, Label, MatchCommand, Register, SegmentSize, SegmentValue, Source};

impl Instruction {
    /// Calls `visit` with every label that execution may go on at, other than the next instruction
    /// and the targets of calls. Handlers of `catch` and `try` are not among them.
    pub fn for_each_target(&self, mut visit: impl FnMut(Label)) {
        use Instruction as I;
        match self {
            I::Jump(label) | I::LoopRecEnd(label) | I::Wait(label) => visit(*label),
            I::SelectValue { fail, cases, .. } => {
                cases.iter().for_each(|&(_, label)| visit(label));
                visit(*fail);
            }
            I::SelectTupleArity { fail, cases, .. } => {
                cases.iter().for_each(|&(_, label)| visit(label));
                visit(*fail);
            }
            I::Test { fail, .. }
            | I::TestFunctionArity { fail, .. }
            | I::TestArity { fail, .. }
            | I::TestTaggedTuple { fail, .. }
            | I::Compare { fail, .. }
            | I::Bif { fail, .. }
            | I::GcBif { fail, .. }
            | I::LoopRec { fail, .. }
            | I::WaitTimeout { fail, .. }
            | I::BsStartMatch { fail, .. }
            | I::BsGetInteger { fail, .. }
            | I::BsGetFloat { fail, .. }
            | I::BsGetBinary { fail, .. }
            | I::BsSkipBits { fail, .. }
            | I::BsTestTail { fail, .. }
            | I::BsTestUnit { fail, .. }
            | I::BsMatchString { fail, .. }
            | I::BsGetUtf { fail, .. }
            | I::BsMatch { fail, .. }
            | I::BsCreateBin { fail, .. }
            | I::BsInit { fail, .. }
            | I::BsAppend { fail, .. }
            | I::BsPut { fail, .. }
            | I::BsAdd { fail, .. }
            | I::BsUtfSize { fail, .. }
            | I::PutMap { fail, .. }
            | I::HasMapFields { fail, .. }
            | I::GetMapElements { fail, .. }
                if *fail != Label::NONE =>
            {
                visit(*fail);
            }
            _ => {}
        }
    }

    /// Whether execution never goes on with the next instruction. Calls of functions that never
    /// return are not known here.
    pub fn ends_block(&self) -> bool {
        use Instruction as I;
        matches!(
            self,
            I::FuncInfo { .. }
                | I::CallLast { .. }
                | I::CallOnly { .. }
                | I::CallExtLast { .. }
                | I::CallExtOnly { .. }
                | I::ApplyLast { .. }
                | I::Return
                | I::Jump(_)
                | I::SelectValue { .. }
                | I::SelectTupleArity { .. }
                | I::BadMatch(_)
                | I::IfEnd
                | I::CaseEnd(_)
                | I::BadRecord(_)
                | I::TryCaseEnd(_)
                | I::Raise { .. }
                | I::LoopRecEnd(_)
                | I::Wait(_)
                | I::Unsupported { .. }
        )
    }

    /// Calls `visit` with every register and constant that is named as read. Arguments of calls
    /// and other registers that an instruction reads without naming them are not among them, nor
    /// are the slots of `catch` and `try`.
    pub fn for_each_source(&self, mut visit: impl FnMut(Source)) {
        use Instruction as I;
        match self {
            I::CallFun2 { fun: value, .. }
            | I::Expect { value, .. }
            | I::Move { source: value, .. }
            | I::Test { value, .. }
            | I::TestArity { value, .. }
            | I::TestTaggedTuple { value, .. }
            | I::SelectValue { value, .. }
            | I::SelectTupleArity { value, .. }
            | I::BadMatch(value)
            | I::CaseEnd(value)
            | I::BadRecord(value)
            | I::TryCaseEnd(value)
            | I::WaitTimeout { time: value, .. }
            | I::RecvMarkerClear(value)
            | I::RecvMarkerUse(value)
            | I::FloatLoad { source: value, .. }
            | I::FloatConvert { source: value, .. }
            | I::BsStartMatch { value, .. }
            | I::BsUtfSize { value, .. }
            | I::BsInit { size: value, .. } => visit(*value),
            I::Swap { first, second } => {
                visit((*first).into());
                visit((*second).into());
            }
            I::PutList { head, tail, .. } => {
                visit(*head);
                visit(*tail);
            }
            I::PutTuple { elements, .. } => elements.iter().for_each(|&value| visit(value)),
            I::MakeFun { free, .. } => free.iter().for_each(|&value| visit(value)),
            I::SetTupleElement { value, tuple, .. } => {
                visit(*value);
                visit((*tuple).into());
            }
            I::UpdateRecord { source, updates, .. } => {
                visit(*source);
                updates.iter().for_each(|&(_, value)| visit(value));
            }
            I::GetList { source, .. }
            | I::GetHead { source, .. }
            | I::GetTail { source, .. }
            | I::GetTupleElement { source, .. } => visit((*source).into()),
            I::TestFunctionArity { value, arity, .. } => {
                visit(*value);
                visit(*arity);
            }
            I::Compare { left, right, .. } => {
                visit(*left);
                visit(*right);
            }
            I::Bif { arguments, .. } | I::GcBif { arguments, .. } => {
                arguments.iter().for_each(|&value| visit(value));
            }
            I::Raise { trace, reason } => {
                visit(*trace);
                visit(*reason);
            }
            I::RecvMarkerBind { marker, reference } => {
                visit(*marker);
                visit(*reference);
            }
            I::BsGetInteger { context, size, .. } | I::BsGetFloat { context, size, .. } => {
                visit((*context).into());
                visit(*size);
            }
            I::BsGetBinary { context, size, .. } | I::BsSkipBits { context, size, .. } => {
                visit((*context).into());
                size.iter().for_each(|&value| visit(value));
            }
            I::BsTestTail { context, .. }
            | I::BsTestUnit { context, .. }
            | I::BsMatchString { context, .. }
            | I::BsGetTail { context, .. }
            | I::BsGetPosition { context, .. }
            | I::BsGetUtf { context, .. }
            | I::BsMatch { context, .. } => visit((*context).into()),
            I::BsSetPosition { context, position } => {
                visit((*context).into());
                visit(*position);
            }
            I::BsCreateBin { segments, .. } => {
                for segment in segments {
                    visit_segment(&segment.value, &segment.size, &mut visit);
                }
            }
            I::BsPut { segment, .. } => visit_segment(&segment.value, &segment.size, &mut visit),
            I::BsAppend { size, binary, .. } => {
                visit(*size);
                visit(*binary);
            }
            I::BsAdd { first, second, .. } => {
                visit(*first);
                visit(*second);
            }
            I::PutMap { map, pairs, .. } => {
                visit(*map);
                for &(key, value) in pairs {
                    visit(key);
                    visit(value);
                }
            }
            I::HasMapFields { map, keys, .. } => {
                visit(*map);
                keys.iter().for_each(|&key| visit(key));
            }
            I::GetMapElements { map, pairs, .. } => {
                visit(*map);
                pairs.iter().for_each(|&(key, _)| visit(key));
            }
            _ => {}
        }
    }

    /// Calls `visit` with every register that is named as written. X0 as the result of calls and
    /// other registers that an instruction writes without naming them are not among them.
    pub fn for_each_destination(&self, mut visit: impl FnMut(Register)) {
        use Instruction as I;
        match self {
            I::InitYregs(slots) => slots.iter().for_each(|&slot| visit(Register::Y(slot))),
            I::Move { destination, .. }
            | I::PutList { destination, .. }
            | I::PutTuple { destination, .. }
            | I::UpdateRecord { destination, .. }
            | I::GetTupleElement { destination, .. }
            | I::MakeFun { destination, .. }
            | I::Bif { destination, .. }
            | I::GcBif { destination, .. }
            | I::LoopRec { destination, .. }
            | I::RecvMarkerReserve(destination)
            | I::FloatStore { destination, .. }
            | I::BsStartMatch { destination, .. }
            | I::BsGetInteger { destination, .. }
            | I::BsGetFloat { destination, .. }
            | I::BsGetBinary { destination, .. }
            | I::BsGetTail { destination, .. }
            | I::BsGetPosition { destination, .. }
            | I::BsGetUtf { destination: Some(destination), .. }
            | I::BsCreateBin { destination, .. }
            | I::BsInit { destination, .. }
            | I::BsAppend { destination, .. }
            | I::BsAdd { destination, .. }
            | I::BsUtfSize { destination, .. }
            | I::PutMap { destination, .. }
            | I::GetHead { head: destination, .. }
            | I::GetTail { tail: destination, .. } => visit(*destination),
            I::Swap { first, second } => {
                visit(*first);
                visit(*second);
            }
            I::GetList { head, tail, .. } => {
                visit(*head);
                visit(*tail);
            }
            I::GetMapElements { pairs, .. } => {
                pairs.iter().for_each(|&(_, destination)| visit(destination));
            }
            I::BsMatch { commands, .. } => {
                for command in commands {
                    match command {
                        MatchCommand::Integer { destination, .. }
                        | MatchCommand::Binary { destination, .. }
                        | MatchCommand::GetTail { destination, .. } => visit(*destination),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
}

fn visit_segment(value: &SegmentValue, size: &SegmentSize, visit: &mut impl FnMut(Source)) {
    if let SegmentValue::Term(value) = value {
        visit(*value);
    }
    if let SegmentSize::Units(size) = size {
        visit(*size);
    }
}
