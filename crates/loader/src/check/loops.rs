//! Loops within a function. Compiled code loops by calls, which let other processes run; within a function it loops in
//! `receive` only. Any other loop would hold its scheduler for ever.

use super::Checker;
use crate::error::Result;
use crate::instruction::Instruction;
use crate::module::Function;

/// Whether an instruction goes back in `receive`, where other processes may run.
pub(super) fn receives(instruction: &Instruction) -> bool {
    use Instruction as I;
    matches!(instruction, I::LoopRecEnd(_) | I::Wait(_) | I::WaitTimeout { .. })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    Never,
    OnTheWay,
    Done,
}

/// What is to be done next: the instruction with this index.
enum Step {
    Enter(usize),
    Leave(usize),
}

impl Checker<'_> {
    /// Checks that no way through a function leads round. It is asked of functions only that have a way back.
    pub(super) fn check_loops(&self, function: &Function) -> Result<()> {
        let first = function.start as usize;
        let mut seen = vec![Seen::Never; function.end as usize - first];
        let place = |label: crate::instruction::Label| self.decoded.labels[label.0 as usize] as usize;
        let mut steps = vec![Step::Enter(place(function.entry))];
        while let Some(step) = steps.pop() {
            let index = match step {
                Step::Leave(index) => {
                    seen[index - first] = Seen::Done;
                    continue;
                }
                Step::Enter(index) => index,
            };
            match seen[index - first] {
                Seen::Done => continue,
                Seen::OnTheWay => return Err(self.error(index, "a loop that lets nobody else run")),
                Seen::Never => seen[index - first] = Seen::OnTheWay,
            }
            steps.push(Step::Leave(index));
            let instruction = &self.decoded.code[index];
            if !receives(instruction) {
                instruction.for_each_target(|label| steps.push(Step::Enter(place(label))));
            }
            match instruction {
                Instruction::Try { handler, .. } | Instruction::Catch { handler, .. } => {
                    steps.push(Step::Enter(place(*handler)));
                }
                Instruction::CallExt { target, .. } if self.imports[target.0 as usize].never_returns => continue,
                _ => {}
            }
            if !instruction.ends_block() {
                steps.push(Step::Enter(index + 1));
            }
        }
        Ok(())
    }
}
