//! Probabilistic concurrency testing (Burckhardt, Kothari, Musuvathi, Nagarakatte: A Randomized Scheduler with
//! Probabilistic Guarantees of Finding Bugs, ASPLOS 2010).
//!
//! Each process gets a rank at random when it is first seen, and the process of the highest rank runs until it waits.
//! `depth - 1` steps are drawn among the first `steps`; the process that comes to the i-th of them gets a rank below
//! all that were given at random. A bug that needs `depth` ordered events (its depth) is met by a seed with a
//! probability of at least 1 / (n * k^(depth - 1)), for n processes and k steps. A step is an operation that other
//! processes can notice: no other place of a program matters to another process, so k is small.
//!
//! A process that only looks whether others have done something would keep them from doing it: one that is chosen
//! [`PATIENCE`] times in a row while others could run gets the lowest rank. This is outside of the bound. The priority
//! `low` is as good as `normal`.

use atoll_platform::steady::HashMap;
use atoll_term::Term;

use super::draw::Draw;
use super::policy::{ANY_OPERATIONS, Candidate, Choice, LONGEST_SLICE, Policy};

/// Choices in a row after which a process goes behind all others.
const PATIENCE: u32 = 200;
/// Ranks from here on are drawn; those below are given at changes, and below 0 to processes that take too long.
const DRAWN: i64 = 1 << 32;

/// Ranks and steps of a seed.
#[derive(Debug)]
pub struct Pct {
    draw: Draw,
    ranks: HashMap<Term, i64>,
    /// Steps at which the running process is put back, the last of them first, with the ranks that it gets.
    changes: Vec<(i64, i64)>,
    done: i64,
    last: Option<(Term, u32)>,
    lowest: i64,
}

impl Pct {
    /// For bugs of this depth (at least 1) in programs of so many steps (at least 1).
    pub fn new(seed: u64, depth: u32, steps: u64) -> Pct {
        let mut draw = Draw::of(seed);
        let mut changes: Vec<i64> = (1..depth).map(|_| 1 + draw.below(steps.max(1)) as i64).collect();
        changes.sort_unstable();
        changes.dedup();
        let changes = changes.into_iter().rev().zip(1..).collect();
        Pct { draw, ranks: HashMap::default(), changes, done: 0, last: None, lowest: 0 }
    }

    fn rank(&mut self, pid: Term) -> i64 {
        *self.ranks.entry(pid).or_insert_with(|| DRAWN + self.draw.below(1 << 62).cast_signed())
    }
}

impl Policy for Pct {
    fn choose(&mut self, ready: &[Candidate]) -> Choice {
        let mut best = (0, i64::MIN);
        for (index, candidate) in ready.iter().enumerate() {
            let rank = self.rank(candidate.pid);
            if rank > best.1 {
                best = (index, rank);
            }
        }
        let pid = ready[best.0].pid;
        let turns = match self.last {
            Some((last, turns)) if last == pid && ready.len() > 1 => turns + 1,
            _ => 0,
        };
        self.last = Some((pid, turns));
        if turns >= PATIENCE {
            self.lowest -= 1;
            self.ranks.insert(pid, self.lowest);
            self.last = None;
            return self.choose(ready);
        }
        let operations = self.changes.last().map_or(ANY_OPERATIONS, |(step, _)| (step - self.done).max(1));
        Choice { index: best.0, operations, reductions: LONGEST_SLICE }
    }

    fn ran(&mut self, operations: i64) {
        self.done += operations;
        while let Some((step, rank)) = self.changes.last().copied()
            && step <= self.done
        {
            self.changes.pop();
            if let Some((pid, _)) = self.last {
                self.ranks.insert(pid, rank);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use atoll_process::Priority;

    use super::*;

    fn ready(count: u64) -> Vec<Candidate> {
        (0..count).map(|number| Candidate { pid: Term::pid(number), priority: Priority::Normal }).collect()
    }

    #[test]
    fn the_highest_rank_runs_until_a_change() {
        let mut pct = Pct::new(7, 2, 10);
        let ready = ready(5);
        let first = pct.choose(&ready);
        assert!((1..=10).contains(&first.operations));
        pct.ran(first.operations - 1);
        assert_eq!(pct.choose(&ready).index, first.index);
        pct.ran(1);
        assert_ne!(pct.choose(&ready).index, first.index, "it was put back");
        pct.ran(100);
        let last = pct.choose(&ready[first.index..=first.index]);
        assert_eq!((last.index, last.operations), (0, ANY_OPERATIONS));
    }

    #[test]
    fn a_process_that_waits_busily_lets_others_run() {
        let mut pct = Pct::new(1, 1, 10);
        let ready = ready(2);
        let first = pct.choose(&ready).index;
        assert!((0..=PATIENCE).any(|_| pct.choose(&ready).index != first));
    }

    #[test]
    fn all_orders_of_two_processes_come() {
        let firsts: Vec<usize> = (0..64).map(|seed| Pct::new(seed, 1, 10).choose(&ready(2)).index).collect();
        assert!((16..48).contains(&firsts.iter().sum::<usize>()), "{firsts:?}");
    }
}
