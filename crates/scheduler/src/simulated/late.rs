//! Which signals are late, and for how long: drawn for each, by orders of magnitude, so that some come a little later
//! and some after everything else.

use atoll_platform::steady::QuickMap;
use atoll_process::held_back::Pair;

use super::draw::Draw;

/// A signal stays away for at most `1 << n` decisions, `n` drawn below this.
const DOUBLINGS: u64 = 8;

/// Late signals of a seed.
#[derive(Debug)]
pub struct Late {
    draw: Draw,
    /// One of so many signals is late; 0: none.
    rate: u64,
    decisions: u64,
    /// Numbers of the decisions before which the first signals of these pairs arrive.
    due: QuickMap<Pair, u64>,
    /// No signal is due before this decision.
    soonest: u64,
}

impl Late {
    /// One of `rate` signals is late, or none if that is 0.
    pub fn new(draw: Draw, rate: u64) -> Late {
        Late { draw, rate, decisions: 0, due: QuickMap::default(), soonest: 0 }
    }

    /// Whether there may be any.
    pub fn may_come(&self) -> bool {
        self.rate > 0
    }

    /// A decision is made.
    pub fn count(&mut self) {
        self.decisions += 1;
    }

    /// As [`super::Policy::is_late`].
    pub fn is_late(&mut self, pair: Pair) -> bool {
        let is_late = self.rate > 0 && self.draw.below(self.rate) == 0;
        if is_late {
            self.wait(pair);
        }
        is_late
    }

    fn wait(&mut self, pair: Pair) {
        let longest = 1 << self.draw.below(DOUBLINGS);
        let due = self.decisions + 1 + self.draw.below(longest);
        self.due.insert(pair, due);
        self.soonest = self.soonest.min(due);
    }

    /// As [`super::Policy::arrives`].
    pub fn arrives(&mut self, late: &[Pair]) -> Option<usize> {
        if self.decisions < self.soonest {
            return None;
        }
        let due = |pair: &Pair| self.due.get(pair).copied().unwrap_or(0);
        let Some(place) = late.iter().position(|pair| due(pair) <= self.decisions) else {
            self.soonest = late.iter().map(due).min().unwrap_or(u64::MAX);
            return None;
        };
        // What comes behind it may be due as well.
        self.soonest = 0;
        // The signal behind it comes with it or stays away for a time of its own.
        if self.draw.below(2) == 0 {
            self.wait(late[place]);
        }
        Some(place)
    }
}

#[cfg(test)]
mod tests {
    use atoll_term::Term;

    use super::*;

    #[test]
    fn what_is_late_arrives() {
        let pair = (Term::pid(3), Term::pid(4));
        let mut late = Late::new(Draw::of(1), 4);
        let count = (0..1000).filter(|_| late.is_late(pair)).count();
        assert!((150..350).contains(&count), "{count} of 1000");
        assert!(Late::new(Draw::of(1), 0).arrives(&[]).is_none());
        let mut waits = Vec::new();
        for _ in 0..200 {
            late.wait(pair);
            let began = late.decisions;
            while late.arrives(&[pair]).is_none() {
                late.count();
            }
            waits.push(late.decisions - began);
        }
        assert!(waits.contains(&1) && waits.iter().any(|wait| *wait > 30), "{waits:?}");
        assert!(waits.iter().all(|wait| *wait <= 1 << DOUBLINGS));
    }
}
