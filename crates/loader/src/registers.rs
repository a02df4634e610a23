//! Which registers hold terms.
//!
//! A collection looks at the live X registers and at all slots of the frame, so none of them may
//! be left over from something else. The rules are the instructions' own: a call leaves X0 only, an
//! instruction with a `live` count leaves the registers below it, and a handler finds the
//! exception in X0 to X3.

use crate::decode::REGISTERS;
use crate::instruction::{Instruction, MatchCommand, Register, Source};

/// A set of register numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Set([u64; REGISTERS as usize / 64]);

impl Set {
    pub(crate) const EMPTY: Set = Set([0; _]);

    /// The numbers below `count`.
    pub(crate) fn below(count: u16) -> Set {
        let mut set = Set([u64::MAX; _]);
        set.keep_below(count);
        set
    }

    pub(crate) fn contains(&self, index: u16) -> bool {
        self.0[usize::from(index / 64)] >> (index % 64) & 1 != 0
    }

    pub(crate) fn insert(&mut self, index: u16) {
        self.0[usize::from(index / 64)] |= 1 << (index % 64);
    }

    pub(crate) fn keep_below(&mut self, count: u16) {
        for (index, word) in self.0.iter_mut().enumerate() {
            let first = index as u16 * 64;
            if first >= count {
                *word = 0;
            } else if count - first < 64 {
                *word &= (1 << (count - first)) - 1;
            }
        }
    }

    pub(crate) fn intersect(&mut self, other: &Set) {
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            *word &= other;
        }
    }

    pub(crate) fn unite(&mut self, other: &Set) {
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            *word |= other;
        }
    }

    /// The lowest number that is in the set.
    pub(crate) fn lowest(&self) -> Option<u16> {
        let word = self.0.iter().position(|&word| word != 0)?;
        Some(word as u16 * 64 + self.0[word].trailing_zeros() as u16)
    }

    /// The lowest number that is not in the set.
    pub(crate) fn first_gap(&self) -> u16 {
        let Some(word) = self.0.iter().position(|&word| word != u64::MAX) else {
            return REGISTERS;
        };
        word as u16 * 64 + self.0[word].trailing_ones() as u16
    }

    /// Every number less `distance`; those below it are lost.
    pub(crate) fn shifted_down(&self, distance: u16) -> Set {
        let mut set = Set::EMPTY;
        for index in distance..REGISTERS {
            if self.contains(index) {
                set.insert(index - distance);
            }
        }
        set
    }
}

/// What an instruction does to X registers beyond its operands.
pub(crate) struct Implicit {
    /// It reads the registers below this.
    pub(crate) reads: u16,
    /// It leaves the registers below this only, and a collection may happen meanwhile.
    pub(crate) keeps: Option<u16>,
    /// Then the registers below this hold terms.
    pub(crate) gives: u16,
    /// It jumps before anything else, so that all registers are as they were.
    pub(crate) fails_first: bool,
}

/// The rules of an instruction.
pub(crate) fn implicit(instruction: &Instruction) -> Implicit {
    use Instruction as I;
    let (reads, keeps, gives) = match *instruction {
        I::Call { arity, .. } | I::CallExt { arity, .. } => (arity.into(), Some(0), 1),
        I::CallFun { arity } => (u16::from(arity) + 1, Some(0), 1),
        I::CallFun2 { arity, .. } => (arity.into(), Some(0), 1),
        I::Apply { arity } => (u16::from(arity) + 2, Some(0), 1),
        I::CallLast { arity, .. }
        | I::CallOnly { arity, .. }
        | I::CallExtLast { arity, .. }
        | I::CallExtOnly { arity, .. }
        | I::FuncInfo { arity, .. } => (arity.into(), None, 0),
        I::ApplyLast { arity, .. } => (u16::from(arity) + 2, None, 0),
        I::Return => (1, None, 0),
        I::Send => (2, Some(0), 1),
        I::BuildStacktrace | I::BsInitWritable => (1, Some(0), 1),
        I::RawRaise => (3, None, 1),
        I::CatchEnd { .. } => (1, Some(1), 1),
        I::TryCase { .. } => (3, Some(3), 3),
        I::LoopRec { .. } | I::LoopRecEnd(_) | I::Wait(_) | I::WaitTimeout { .. } => (0, Some(0), 0),
        I::Allocate { live, .. }
        | I::TestHeap { live, .. }
        | I::GcBif { live, .. }
        | I::PutMap { live, .. }
        | I::BsStartMatch { live, .. }
        | I::BsGetInteger { live, .. }
        | I::BsGetFloat { live, .. }
        | I::BsGetBinary { live, .. }
        | I::BsGetTail { live, .. }
        | I::BsGetPosition { live, .. }
        | I::BsGetUtf { live, .. }
        | I::BsCreateBin { live, .. }
        | I::BsInit { live, .. }
        | I::BsAppend { live, private: false, .. } => (live, Some(live), 0),
        I::BsMatch { ref commands, .. } => {
            // Room is made once, in front of all commands; later counts include earlier results.
            let live = commands.iter().find_map(|command| match *command {
                MatchCommand::Integer { live, .. }
                | MatchCommand::Binary { live, .. }
                | MatchCommand::GetTail { live, .. } => Some(live),
                _ => None,
            });
            (live.unwrap_or(0), live, 0)
        }
        _ => (0, None, 0),
    };
    let fails_first = matches!(instruction, I::BsMatch { .. });
    Implicit { reads, keeps, gives, fails_first }
}

/// The X registers and slots that hold terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Registers {
    pub(crate) x: Set,
    pub(crate) y: Set,
}

impl Registers {
    pub(crate) fn has(&self, source: Source) -> bool {
        match source {
            Source::X(index) => self.x.contains(index),
            Source::Y(index) => self.y.contains(index),
            _ => true,
        }
    }

    pub(crate) fn write(&mut self, destination: Register) {
        match destination {
            Register::X(index) => self.x.insert(index),
            Register::Y(index) => self.y.insert(index),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets() {
        for count in [0, 1, 63, 64, 65, 1000, 1024] {
            let set = Set::below(count);
            assert_eq!(set.first_gap(), count);
            assert!(count == 0 || set.contains(count - 1));
            assert!(count == REGISTERS || !set.contains(count));
        }
        let mut set = Set::EMPTY;
        set.insert(70);
        set.insert(900);
        assert_eq!(set.lowest(), Some(70));
        let down = set.shifted_down(71);
        assert_eq!(down.lowest(), Some(829));
        set.intersect(&Set::below(71));
        assert_eq!(set.shifted_down(70), Set::below(1));
    }
}
