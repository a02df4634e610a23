//! A blind run of loaded code: every branch is taken at random, exceptions strike at random, and
//! the stack frame is followed as a machine would, with every register forgotten that a collection
//! or another process would spoil. What the loader promises must hold on the way.

use std::collections::HashSet;

use atoll_loader::{Comparison, Instruction as I, Label, Module, Register, Source};

use super::Random;

/// A register without a term may be compared with a known word, because nothing looks behind it.
fn compares_with_immediate(instruction: &I) -> bool {
    let I::Compare { comparison: Comparison::ExactlyEqual | Comparison::NotExactlyEqual, left, right, .. } =
        instruction
    else {
        return false;
    };
    [left, right].iter().any(|side| matches!(side, Source::Small(_) | Source::Atom(_) | Source::Nil))
}

/// Runs one function of the module for some steps.
pub fn walk(module: &Module, random: &mut Random) {
    if module.functions.is_empty() {
        return;
    }
    let function = module.functions[random.below(module.functions.len())];
    let mut at = module.position(function.entry);
    let mut frame: Option<u16> = None;
    let mut catches: Vec<(u16, Label)> = Vec::new();
    let mut x: HashSet<u16> = (0..function.arity.into()).collect();
    let mut y: HashSet<u16> = HashSet::new();
    let mut timer = false;
    for _ in 0..300 {
        assert!((function.start as usize..function.end as usize).contains(&at), "{at} is outside of the function");
        let instruction = &module.code[at];
        check_slots(instruction, frame.unwrap_or(0), &catches);

        if let Some(&(_, handler)) = catches.last()
            && random.below(8) == 0
        {
            at = module.position(handler);
            x = (0..4).collect();
            continue;
        }
        let waits_on = timer && matches!(instruction, I::WaitTimeout { .. });
        let compares_words = compares_with_immediate(instruction);
        instruction.for_each_source(|source| match source {
            Source::X(index) => assert!(waits_on || compares_words || x.contains(&index), "{instruction:?}"),
            Source::Y(index) => assert!(y.contains(&index), "{instruction:?}"),
            _ => {}
        });
        timer = matches!(instruction, I::WaitTimeout { .. }) || (timer && !matches!(instruction, I::Timeout));
        let mut fails = Vec::new();
        instruction.for_each_target(|label| fails.push(module.position(label)));
        let failed = !fails.is_empty() && (instruction.ends_block() || random.below(2) == 0);
        if !(failed && matches!(instruction, I::BsMatch { .. })) {
            collect(instruction, frame.unwrap_or(0), &mut x, &y);
        }
        match *instruction {
            I::Allocate { slots, .. } => {
                assert_eq!(frame, None);
                frame = Some(slots);
                y.clear();
            }
            I::Deallocate { slots } => {
                assert_eq!((frame, catches.len()), (Some(slots), 0));
                frame = None;
            }
            I::Trim { slots, remaining } => {
                assert_eq!((frame, catches.len()), (Some(slots + remaining), 0));
                frame = Some(remaining);
                y = y.iter().filter_map(|slot| slot.checked_sub(slots)).collect();
            }
            I::Catch { slot, handler } | I::Try { slot, handler } => {
                assert!(slot < frame.unwrap_or(0));
                catches.push((slot, handler));
                y.insert(slot);
            }
            I::CatchEnd { slot } | I::TryEnd { slot } | I::TryCase { slot } => {
                assert_eq!(catches.pop().map(|(slot, _)| slot), Some(slot));
            }
            I::Call { target, .. } => {
                assert!(frame.is_some());
                assert_entry(module, target);
            }
            I::CallExt { target, .. } => {
                if module.imports[target.0 as usize].never_returns(&module.atoms) {
                    return;
                }
                assert!(frame.is_some());
            }
            I::CallFun { .. } | I::CallFun2 { .. } | I::Apply { .. } => assert!(frame.is_some()),
            I::CallLast { target, deallocate, .. } => {
                assert_entry(module, target);
                assert_eq!((frame, catches.len()), (Some(deallocate), 0));
            }
            I::CallExtLast { deallocate, .. } | I::ApplyLast { deallocate, .. } => {
                assert_eq!((frame, catches.len()), (Some(deallocate), 0));
            }
            I::CallOnly { target, .. } => {
                assert_entry(module, target);
                assert_eq!(frame, None);
            }
            I::CallExtOnly { .. } | I::Return => assert_eq!(frame, None),
            _ => {}
        }

        if failed {
            at = fails[random.below(fails.len())];
            continue;
        }
        if instruction.ends_block() {
            return;
        }
        instruction.for_each_destination(|destination| match destination {
            Register::X(index) => drop(x.insert(index)),
            Register::Y(index) => drop(y.insert(index)),
        });
        at += 1;
    }
}

/// What the machine may lose at an instruction, and what it gives besides its destination.
fn collect(instruction: &I, frame: u16, x: &mut HashSet<u16>, y: &HashSet<u16>) {
    let (live, gives) = match *instruction {
        I::Call { arity, .. } | I::CallExt { arity, .. } | I::CallFun2 { arity, .. } => (arity.into(), Some(1)),
        I::CallFun { arity } => (u16::from(arity) + 1, Some(1)),
        I::Apply { arity } => (u16::from(arity) + 2, Some(1)),
        I::Send => (2, Some(1)),
        I::CatchEnd { .. } | I::BuildStacktrace => (1, Some(1)),
        I::TryCase { .. } => (3, Some(3)),
        I::Wait(_) | I::WaitTimeout { .. } | I::LoopRec { .. } => (0, Some(0)),
        I::Allocate { live, .. }
        | I::TestHeap { live, .. }
        | I::GcBif { live, .. }
        | I::PutMap { live, .. }
        | I::BsGetInteger { live, .. }
        | I::BsGetBinary { live, .. }
        | I::BsStartMatch { live, .. }
        | I::BsCreateBin { live: Some(live), .. } => (live, None),
        I::CallLast { arity, .. } | I::CallOnly { arity, .. } => {
            assert!((0..arity.into()).all(|index| x.contains(&index)), "{instruction:?}");
            return;
        }
        I::Return => {
            assert!(x.contains(&0));
            return;
        }
        _ => return,
    };
    assert!((0..live).all(|index| x.contains(&index)), "{instruction:?} {x:?}");
    assert!((0..frame).all(|slot| y.contains(&slot)), "{instruction:?} {y:?}");
    x.retain(|&index| index < gives.unwrap_or(live));
    x.extend(0..gives.unwrap_or(0));
}

fn assert_entry(module: &Module, label: Label) {
    assert!(module.functions.iter().any(|function| function.entry == label));
}

fn check_slots(instruction: &I, frame: u16, catches: &[(u16, Label)]) {
    let check = |slot: u16| {
        assert!(slot < frame, "slot {slot} of {frame}: {instruction:?}");
        assert!(catches.iter().all(|&(taken, _)| taken != slot), "{instruction:?}");
    };
    instruction.for_each_source(|source| {
        if let Source::Y(slot) = source {
            check(slot);
        }
    });
    instruction.for_each_destination(|destination| {
        if let Register::Y(slot) = destination {
            check(slot);
        }
    });
}
