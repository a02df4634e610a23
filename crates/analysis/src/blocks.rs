//! An order of a function's blocks in which successors come first, as far as there are no loops.

use std::ops::Range;

use atoll_loader::{Instruction, Label, Module};

/// Instructions from a label to the next one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    /// Indices of instructions.
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// The label that execution goes on at behind the last one, if it does.
    pub(crate) next: Option<Label>,
}

/// The blocks of a function's body.
pub(crate) fn in_order(module: &Module, body: Range<usize>) -> Vec<Block> {
    let code = &module.code;
    let mut blocks: Vec<Block> = Vec::new();
    for index in body.clone() {
        if matches!(code[index], Instruction::Label(_)) || index == body.start {
            blocks.push(Block { start: index as u32, end: index as u32, next: None });
        }
        blocks.last_mut().expect("the first begins the body").end = index as u32 + 1;
    }
    for block in &mut blocks {
        let goes_on = !code[block.end as usize - 1].ends_block() && (block.end as usize) < body.end;
        block.next = match code.get(block.end as usize) {
            Some(Instruction::Label(label)) if goes_on => Some(*label),
            _ => None,
        };
    }
    let mut is_met = vec![false; blocks.len()];
    let mut order = Vec::with_capacity(blocks.len());
    // A block that was met, and those of its successors that are yet to be met.
    let mut path: Vec<(usize, Vec<usize>)> = Vec::new();
    let place = |label: Label| {
        let position = module.position(label) as u32;
        blocks.binary_search_by_key(&position, |block| block.start).ok()
    };
    let successors = |block: &Block| {
        let mut found: Vec<usize> = block.next.and_then(place).into_iter().collect();
        for instruction in &code[block.start as usize..block.end as usize] {
            instruction.for_each_target(|label| found.extend(place(label)));
            if let Instruction::Catch { handler, .. } | Instruction::Try { handler, .. } = instruction {
                found.extend(place(*handler));
            }
        }
        found
    };
    // Handlers before the code that they protect.
    let handlers = code[body].iter().filter_map(|instruction| match instruction {
        Instruction::Catch { handler, .. } | Instruction::Try { handler, .. } => place(*handler),
        _ => None,
    });
    for root in handlers.chain(0..blocks.len()) {
        if std::mem::replace(&mut is_met[root], true) {
            continue;
        }
        path.push((root, successors(&blocks[root])));
        while let Some((block, waiting)) = path.last_mut() {
            match waiting.pop() {
                None => {
                    order.push(blocks[*block]);
                    path.pop();
                }
                Some(next) if !std::mem::replace(&mut is_met[next], true) => {
                    let found = successors(&blocks[next]);
                    path.push((next, found));
                }
                Some(_) => {}
            }
        }
    }
    order
}
