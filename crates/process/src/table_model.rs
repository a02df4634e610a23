//! The process table, model-checked together with the epochs that keep what was found in it.

use std::sync::Arc as Shared;
use std::sync::atomic::AtomicBool;

use atoll_heap::Mutator;
use loom::sync::Arc;

use super::*;
use crate::flags::Flags;
use crate::mailbox::Mailbox;
use crate::process::{Own, Priority, Rare, WaitState};

/// Tells when the process that it belongs to is freed.
struct Freed(Shared<AtomicBool>);

impl Drop for Freed {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A process, and whether it was freed.
fn process(pid: Term) -> (Process, Shared<AtomicBool>) {
    let freed = Shared::new(AtomicBool::new(false));
    let rare = Rare { timing: Some(Box::new(Freed(Shared::clone(&freed)))), ..Rare::default() };
    let own = Own {
        mutator: Mutator::empty(),
        address: std::ptr::null(),
        saved: Default::default(),
        mailbox: Mailbox::default(),
        parent: Term::NONE,
        group_leader: Term::NONE,
        reductions: 0,
        catches: 0,
        flags: Flags::default(),
        rare: Some(Box::new(rare)),
        initial_call: None,
        timer: 0,
        wait: WaitState::None,
    };
    (Process::new(pid, Priority::Normal, own), freed)
}

fn table() -> Arc<ProcessTable> {
    Arc::new(ProcessTable::new(16).expect("a small table"))
}

fn model(check: fn()) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(check);
}

/// A thread uses a process while another ends it and frees what it may.
#[test]
fn a_process_is_not_freed_while_a_thread_uses_it() {
    model(|| {
        let table = table();
        let pid = table.reserve().expect("a place");
        let (process, freed) = process(pid);
        let placed = table.publish(process);
        let (other, seen) = (Arc::clone(&table), Shared::clone(&freed));
        let user = loom::thread::spawn(move || {
            other.with(pid, |process| {
                assert!(!seen.load(Ordering::Relaxed), "a freed process was found");
                assert!(process.wake().is_none() && process.state() == state::QUEUED);
                assert!(!seen.load(Ordering::Relaxed), "a process was freed while it was used");
            })
        });
        // SAFETY: this thread runs the process.
        unsafe { table.remove(placed.as_ref()) };
        for _ in 0..3 {
            drop(pin());
        }
        assert!(!table.contains(pid));
        user.join().unwrap();
    });
}

/// What has left the table is freed when no thread uses it any more.
#[test]
fn a_process_that_has_ended_is_freed() {
    model(|| {
        let table = table();
        let pid = table.reserve().expect("a place");
        let (process, freed) = process(pid);
        let placed = table.publish(process);
        // SAFETY: this thread runs the process.
        unsafe { table.remove(placed.as_ref()) };
        for _ in 0..4 {
            drop(pin());
        }
        assert!(freed.load(Ordering::Relaxed));
    });
}

/// A place is used again, when all others have been: who still has the old pid does not find the new process.
#[test]
fn an_old_pid_does_not_find_the_next_process_of_its_place() {
    model(|| {
        let table = table();
        let old = table.reserve().expect("a place");
        let placed = table.publish(process(old).0);
        while table.next_number() < 16 {
            table.reserve().expect("a place");
        }
        let other = Arc::clone(&table);
        let user = loom::thread::spawn(move || {
            let found = other.with(old, |process| process.pid);
            assert!(found.is_none_or(|pid| pid == old));
            found.is_some()
        });
        // SAFETY: this thread runs the process.
        unsafe { table.remove(placed.as_ref()) };
        let new = table.reserve().expect("a place");
        assert!(new != old && table.index_of(new) == table.index_of(old));
        table.publish(process(new).0);
        assert!(table.contains(new) && !table.contains(old));
        user.join().unwrap();
        assert_eq!((table.count(), table.spawned()), (1, 2));
    });
}

/// Two threads make processes: each gets a pid of its own, and both are found.
#[test]
fn two_threads_get_different_pids() {
    model(|| {
        let table = table();
        let other = Arc::clone(&table);
        let make = |table: &ProcessTable| {
            let pid = table.reserve().expect("a place");
            table.publish(process(pid).0);
            pid
        };
        let maker = loom::thread::spawn(move || make(&other));
        let own = make(&table);
        let others = maker.join().unwrap();
        assert!(own != others && table.contains(own) && table.contains(others));
        assert_eq!((table.count(), table.highest_count()), (2, 2));
    });
}
