//! All schedules of a program, without those that differ only in the order of turns that have nothing to do with each
//! other: dynamic partial-order reduction with source sets and sleep sets (Abdulla, Aronis, Jonsson, Sagonas: *Optimal
//! Dynamic Partial Order Reduction*, POPL 2014; without the wakeup trees of its second algorithm). Each run is from the
//! start; what its turns touched says which of them could have come in the other order with another result.

use std::collections::{BTreeMap, BTreeSet};

use atoll_vm::simulated::{Touched, depend};
use atoll_vm::simulation::Turn;

use crate::order::Order;

/// Where a run stood in front of a turn.
#[derive(Debug, Default)]
struct Node {
    ready: Vec<u64>,
    /// The process that had the turn in the last run.
    chosen: u64,
    /// The processes that have had the turn, and what they touched.
    done: BTreeMap<u64, Touched>,
    /// Those that are to have it.
    wanted: BTreeSet<u64>,
    /// Those whose turn another run shows.
    asleep: BTreeMap<u64, Touched>,
}

/// The search.
#[derive(Debug, Default)]
pub struct Reduced {
    nodes: Vec<Node>,
    has_begun: bool,
    /// A run is on its way.
    is_running: bool,
    /// Length of its beginning.
    given: usize,
}

/// Which turns come after which in every order that is like this one.
struct Before(Vec<Vec<bool>>);

impl Before {
    /// Whether the turn `first` comes before `then`, or is it.
    fn holds(&self, first: usize, then: usize) -> bool {
        self.0[then][first]
    }
}

/// The turn that made the process of this one ready.
fn waker(turns: &[Turn], then: usize) -> Option<usize> {
    let pid = turns[then].pid;
    let woken = (1..=then).rev().find(|at| turns[*at].ready.contains(&pid) && !turns[at - 1].ready.contains(&pid));
    woken.map(|at| at - 1)
}

fn order(turns: &[Turn]) -> Before {
    let mut before: Vec<Vec<bool>> = Vec::with_capacity(turns.len());
    for then in 0..turns.len() {
        let mut own = vec![false; turns.len()];
        // Those that sent what it takes, and those on which it depends, the turns of its process among them.
        let causes = turns[then].taken_from.iter().copied().chain(waker(turns, then));
        let touching = (0..then).filter(|first| depends(&turns[*first], &turns[then]));
        for first in causes.chain(touching) {
            for (place, is_before) in before[first].iter().enumerate() {
                own[place] |= is_before;
            }
        }
        own[then] = true;
        before.push(own);
    }
    Before(before)
}

fn depends(first: &Turn, then: &Turn) -> bool {
    first.pid == then.pid || depend(&first.touched, &then.touched)
}

impl Reduced {
    /// The next run, unless one is on its way or there is none.
    pub fn take(&mut self) -> Option<Order> {
        if self.is_running {
            return None;
        }
        if !self.has_begun {
            self.has_begun = true;
            self.is_running = true;
            return Some(Order::Turns(Vec::new(), Vec::new()));
        }
        while let Some(node) = self.nodes.last_mut() {
            let next =
                node.wanted.iter().copied().find(|pid| !node.done.contains_key(pid) && !node.asleep.contains_key(pid));
            let Some(pid) = next else {
                self.nodes.pop();
                continue;
            };
            node.chosen = pid;
            let mut asleep: Vec<(u64, Touched)> = node.asleep.clone().into_iter().collect();
            asleep.extend(node.done.clone());
            let first: Vec<u64> = self.nodes.iter().map(|node| node.chosen).collect();
            self.given = first.len();
            self.is_running = true;
            return Some(Order::Turns(first, asleep));
        }
        None
    }

    /// Sees what the turns of the run touched.
    pub fn see(&mut self, turns: &[Turn]) {
        self.is_running = false;
        for (place, turn) in turns.iter().enumerate() {
            let pid = turn.pid.immediate_data();
            if place >= self.nodes.len() {
                let asleep = match place.checked_sub(1).map(|above| &self.nodes[above]) {
                    None => BTreeMap::new(),
                    Some(above) => {
                        // Those that slept, and those that have had their turn there, sleep on if they do not depend.
                        let others = above.asleep.iter().chain(&above.done);
                        let before = &turns[place - 1];
                        others
                            .filter(|(pid, touched)| {
                                **pid != before.pid.immediate_data() && !depend(touched, &before.touched)
                            })
                            .map(|(pid, touched)| (*pid, touched.clone()))
                            .collect()
                    }
                };
                let ready = turn.ready.iter().map(|pid| pid.immediate_data()).collect();
                let wanted = BTreeSet::from([pid]);
                self.nodes.push(Node { ready, chosen: pid, wanted, asleep, ..Node::default() });
            }
            self.nodes[place].done.insert(pid, turn.touched.clone());
            self.nodes[place].chosen = pid;
        }
        self.nodes.truncate(turns.len());
        self.add_races(turns);
    }

    /// Wants the other order of each two turns that depend on each other, if they could come in it.
    fn add_races(&mut self, turns: &[Turn]) {
        let before = order(turns);
        // Races among the given turns have been seen.
        for then in self.given.saturating_sub(1)..turns.len() {
            let waker = waker(turns, then);
            for first in (0..then).rev() {
                if turns[first].pid == turns[then].pid || !depends(&turns[first], &turns[then]) || waker == Some(first)
                {
                    continue;
                }
                let is_between = |middle: usize| before.holds(first, middle) && before.holds(middle, then);
                if (first + 1..then).any(is_between) {
                    continue;
                }
                self.want(turns, &before, (first, then));
            }
        }
    }

    fn want(&mut self, turns: &[Turn], before: &Before, (first, then): (usize, usize)) {
        // What can come in front of `first`, up to `then`.
        let free: Vec<usize> = (first + 1..then).filter(|middle| !before.holds(first, *middle)).chain([then]).collect();
        let mut beginners = BTreeSet::new();
        for (place, turn) in free.iter().enumerate() {
            let is_first = free[..place].iter().all(|earlier| *earlier == *turn || !before.holds(*earlier, *turn));
            if is_first {
                beginners.insert(turns[*turn].pid.immediate_data());
            }
        }
        let node = &mut self.nodes[first];
        if beginners.iter().any(|pid| node.wanted.contains(pid)) {
            return;
        }
        let own = turns[then].pid.immediate_data();
        let can = |pid: &u64| node.ready.contains(pid);
        let chosen = Some(own).filter(|pid| beginners.contains(pid) && can(pid));
        match chosen.or_else(|| beginners.iter().copied().find(can)) {
            Some(pid) => {
                node.wanted.insert(pid);
            }
            // What was taken for free depends on something that is not known here.
            None => node.wanted.extend(node.ready.clone()),
        }
    }
}
