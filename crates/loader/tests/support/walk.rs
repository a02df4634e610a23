//! A blind run of loaded code: every branch is taken at random, exceptions strike at random, and
//! the stack frame is followed as a machine would. What the loader promises must hold on the way.

use atoll_loader::{Instruction as I, Label, Module, Register, Source};

use super::Random;

/// Runs one function of the module for some steps.
pub fn walk(module: &Module, random: &mut Random) {
    if module.functions.is_empty() {
        return;
    }
    let function = module.functions[random.below(module.functions.len())];
    let mut at = module.position(function.entry);
    let mut frame: Option<u16> = None;
    let mut catches: Vec<(u16, Label)> = Vec::new();
    for _ in 0..300 {
        assert!((function.start as usize..function.end as usize).contains(&at), "{at} is outside of the function");
        let instruction = &module.code[at];
        check_slots(instruction, frame.unwrap_or(0), &catches);

        if let Some(&(_, handler)) = catches.last()
            && random.below(8) == 0
        {
            at = module.position(handler);
            continue;
        }
        match *instruction {
            I::Allocate { slots, .. } => {
                assert_eq!(frame, None);
                frame = Some(slots);
            }
            I::Deallocate { slots } => {
                assert_eq!((frame, catches.len()), (Some(slots), 0));
                frame = None;
            }
            I::Trim { slots, remaining } => {
                assert_eq!((frame, catches.len()), (Some(slots + remaining), 0));
                frame = Some(remaining);
            }
            I::Catch { slot, handler } | I::Try { slot, handler } => {
                assert!(slot < frame.unwrap_or(0));
                catches.push((slot, handler));
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

        let mut ways = Vec::new();
        instruction.for_each_target(|label| ways.push(module.position(label)));
        if !instruction.ends_block() {
            ways.push(at + 1);
        }
        if ways.is_empty() {
            return;
        }
        at = ways[random.below(ways.len())];
    }
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
