//! Processes that signal each other, on a machine without schedulers: the test runs them by hand.

mod parts;
mod remote;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};

use atoll_heap::{HeapOptions, Message, Part, Settings};
use atoll_platform::threads;
use atoll_term::{Build, Immediate, Term, atoms};

use crate::flags::Flags;
use crate::handle::{self, Fate, receive_signals};
use crate::held::{Entry, Lent, Queued, Running};
use crate::process::Priority;
use crate::reference::ReferenceId;
use crate::release::{Release, install_release, release, release_number};
use crate::sequence::Mark;
use crate::signal::{Signal, attach};
use crate::spawn::{Parent, SpawnMonitor, SpawnOptions, spawn};
use crate::system::{EntryPoints, Schedule, System};
use crate::table::ProcessTable;
use crate::tracing::{self, FlagChange};

const OPTIONS: SpawnOptions = SpawnOptions {
    link: false,
    monitor: None,
    priority: Priority::Normal,
    heap: HeapOptions { minimum_words: 233, full_sweep_after: 65_535, maximum_words: 0 },
    flags: Flags::NONE,
    request: None,
};

/// The one run queue.
#[derive(Default)]
struct Queue {
    processes: Mutex<Vec<Queued>>,
    /// The world cannot be stopped at once, as if another thread wanted to.
    is_awaited: AtomicBool,
}

impl Queue {
    /// Runs the only process that wants to.
    fn run(&self) -> Running {
        let mut queue = self.processes.lock().unwrap();
        assert_eq!(queue.len(), 1);
        queue.pop().unwrap().run()
    }
}

impl Schedule for Queue {
    fn enqueue(&self, process: Queued) {
        self.processes.lock().unwrap().push(process);
    }

    fn current(&self) -> usize {
        0
    }

    fn stop_world(&self, lent: Option<Lent>) -> Vec<Lent> {
        lent.into_iter().collect()
    }

    fn try_stop_world(&self, lent: Lent) -> Option<Vec<Lent>> {
        (!self.is_awaited.load(Ordering::Relaxed)).then(|| vec![lent])
    }

    fn resume_world(&self) {}

    fn enter_world(&self) -> Entry {
        Entry::Was
    }

    fn leave_world(&self) {}
}

struct Machine {
    heap: Part,
    system: OnceLock<System>,
    queue: Queue,
}

impl threads::Machine for Machine {
    fn enter_parts(&'static self) {
        self.heap.enter_parts();
        let new = || System::new(self.heap.architecture(), ProcessTable::new(16).unwrap(), 1);
        crate::enter(self.system.get_or_init(new));
    }
}

/// Runs a test on a thread of a machine of its own.
fn on_a_machine(test: fn(&'static Queue)) {
    let run = move || {
        let heap = Part::new(atoll_architectures::by_name("private", &Settings::default()).unwrap());
        let machine = Machine { heap, system: OnceLock::new(), queue: Queue::default() };
        let machine: &'static Machine = Box::leak(Box::new(machine));
        threads::enter(machine);
        let system = System::get();
        machine.heap.set_world(system);
        assert!(system.schedule.set(&machine.queue).is_ok());
        let nowhere = EntryPoints { start: std::ptr::null(), finish: std::ptr::null() };
        assert!(system.entry_points.set(nowhere).is_ok());
        test(&machine.queue);
    };
    std::thread::spawn(run).join().unwrap();
}

/// A process of the machine, which runs.
fn begin(queue: &Queue) -> Running {
    spawn(Parent::Machine(Message::compose(|_| Term::NIL)), (atoms::OK, atoms::OK), None, &OPTIONS).unwrap();
    queue.run()
}

/// A process that `parent` makes, which runs.
fn begin_child(queue: &Queue, parent: &mut Running, options: &SpawnOptions) -> Running {
    let mut held = parent.held();
    let (process, own) = held.split();
    spawn(Parent::Process(process.pid, own, Term::NIL), (atoms::OK, atoms::OK), None, options).unwrap();
    queue.run()
}

/// Acts on what has come.
fn receive(process: &mut Running) -> Fate {
    let mut held = process.held();
    let (process, own) = held.split();
    receive_signals(process, own, &mut |_, _, _| panic!("nothing was requested"))
}

/// Ends a process that wants to run with `reason`.
fn end(mut process: Running, reason: Term) {
    process.held().rare();
    process.terminate(reason);
}

fn exit(from: Term, reason: Term) -> Message {
    attach(Message::compose(|heap| heap.tuple(&[atoms::EXIT_UPPER, from, reason])), Signal::Exit { from })
}

fn elements(term: Option<Term>) -> Vec<Term> {
    term.and_then(|term| term.tuple_elements().map(<[Term]>::to_vec)).unwrap_or_default()
}

#[test]
fn messages_are_taken_in_order_or_by_what_they_are() {
    on_a_machine(|queue| {
        let mut running = begin(queue);
        let pid = running.process().pid;
        for number in 0..4 {
            let message = Message::compose(|heap| heap.tuple(&[atoms::OK, Term::small(number)]));
            System::get().deliver(pid, message).unwrap();
        }
        System::get().deliver(pid, Message::compose(|_| Term::small(4))).unwrap();
        assert!(matches!(receive(&mut running), Fate::Lives));
        let own = &mut *running.held();
        let is = |number| move |term: Term| term.tuple_elements().is_some_and(|parts| parts[1] == Term::small(number));
        assert_eq!(elements(handle::take_matching(own, is(2))), [atoms::OK, Term::small(2)]);
        assert_eq!(handle::take_matching(own, is(2)), None);
        assert_eq!(elements(handle::take_message(own)), [atoms::OK, Term::small(0)]);
        assert_eq!(handle::take_matching(own, |term| term.is_small()), Some(Term::small(4)));
        for number in [1, 3] {
            assert_eq!(elements(handle::take_message(own)), [atoms::OK, Term::small(number)]);
        }
        assert_eq!(handle::take_message(own), None);
    });
}

#[test]
fn the_end_of_a_linked_process_ends_or_is_a_message() {
    for (reason, traps) in
        [(atoms::KILLED, false), (atoms::KILLED, true), (atoms::NORMAL, false), (atoms::NORMAL, true)]
    {
        check_link(reason, traps);
    }

    fn check_link(reason: Term, traps: bool) {
        // A function has no room for what it is to do.
        let test = match (reason == atoms::NORMAL, traps) {
            (false, false) => |queue: &'static Queue| check(queue, atoms::KILLED, false),
            (false, true) => |queue: &'static Queue| check(queue, atoms::KILLED, true),
            (true, false) => |queue: &'static Queue| check(queue, atoms::NORMAL, false),
            (true, true) => |queue: &'static Queue| check(queue, atoms::NORMAL, true),
        };
        on_a_machine(test);
    }

    fn check(queue: &'static Queue, reason: Term, traps: bool) {
        let mut parent = begin(queue);
        parent.held().flags.set_trap_exit(traps);
        let child = begin_child(queue, &mut parent, &SpawnOptions { link: true, ..OPTIONS });
        let pid = child.process().pid;
        end(child, reason);
        let fate = receive(&mut parent);
        let message = handle::take_message(&mut parent.held());
        if traps {
            assert!(matches!(fate, Fate::Lives));
            assert_eq!(elements(message), [atoms::EXIT_UPPER, pid, reason]);
        } else {
            assert_eq!(message, None);
            match fate {
                Fate::Lives => assert_eq!(reason, atoms::NORMAL),
                Fate::Dies(with) => assert_eq!((with, reason), (atoms::KILLED, atoms::KILLED)),
            }
        }
    }
}

#[test]
fn a_monitor_tells_of_an_end_once_and_not_when_it_is_over() {
    on_a_machine(|queue| {
        let mut parent = begin(queue);
        for is_over in [false, true] {
            let reference = ReferenceId([1, 2, u32::from(is_over)]);
            let monitor = Some(SpawnMonitor { reference, tag: atoms::DOWN });
            let child = begin_child(queue, &mut parent, &SpawnOptions { monitor, ..OPTIONS });
            let (pid, own) = (parent.process().pid, &mut *parent.held());
            if is_over {
                assert!(handle::demonitor(pid, own, reference));
            }
            let watched = child.process().pid;
            end(child, atoms::KILLED);
            assert!(matches!(receive(&mut parent), Fate::Lives));
            let own = &mut *parent.held();
            let message = elements(handle::take_message(own));
            if is_over {
                assert!(message.is_empty());
            } else {
                assert_eq!((message.len(), message[0], message[2]), (5, atoms::DOWN, atoms::PROCESS));
                assert_eq!((message[3], message[4]), (watched, atoms::KILLED));
            }
            assert!(!handle::demonitor(pid, own, reference), "there is none any more");
        }
    });
}

#[test]
fn exit_signals_end_what_does_not_trap_them() {
    on_a_machine(|queue| {
        let mut running = begin(queue);
        let (pid, other) = (running.process().pid, Term::pid(99));
        let mut sent = |from, reason, traps| {
            running.held().flags.set_trap_exit(traps);
            System::get().deliver(pid, exit(from, reason)).unwrap();
            let fate = match receive(&mut running) {
                Fate::Lives => None,
                Fate::Dies(reason) => Some(reason),
            };
            (fate, elements(handle::take_message(&mut running.held())).get(2).copied())
        };
        assert_eq!(sent(other, atoms::NORMAL, false), (None, None));
        assert_eq!(sent(pid, atoms::NORMAL, false), (Some(atoms::NORMAL), None), "a process may end itself so");
        assert_eq!(sent(other, atoms::NOPROC, false), (Some(atoms::NOPROC), None));
        assert_eq!(sent(other, atoms::NOPROC, true), (None, Some(atoms::NOPROC)));
        assert_eq!(sent(other, atoms::KILL, true), (Some(atoms::KILLED), None), "this one is not trapped");
        // The end of a process that it is not linked to means nothing, whatever the reason.
        let message = Message::compose(|heap| heap.tuple(&[atoms::EXIT_UPPER, other, atoms::KILL]));
        System::get().deliver(pid, attach(message, Signal::LinkExit { from: other, mark: Mark::Neutral })).unwrap();
        assert!(matches!(receive(&mut running), Fate::Lives));
    });
}

/// A process that asks whether it is alive need not wait for a process that has nothing but messages.
#[test]
fn signals_count_until_a_process_has_acted_on_them_and_messages_do_not() {
    on_a_machine(|queue| {
        let mut running = begin(queue);
        let (pid, other) = (running.process().pid, Term::pid(99));
        System::get().deliver(pid, Message::compose(|_| Term::small(1))).unwrap();
        assert!(!running.process().has_signals());
        for reason in [atoms::NORMAL, atoms::NOPROC] {
            System::get().deliver(pid, exit(other, reason)).unwrap();
            assert!(running.process().has_signals());
            let lives = matches!(receive(&mut running), Fate::Lives);
            assert_eq!(lives, reason == atoms::NORMAL);
            assert_eq!(running.process().has_signals(), !lives, "one of which it dies counts until it has ended");
        }
    });
}

/// What fails then is not reported.
#[test]
fn a_process_knows_that_it_is_killed_before_it_acts_on_that() {
    on_a_machine(|queue| {
        let mut running = begin(queue);
        let (pid, other) = (running.process().pid, Term::pid(99));
        let kill = || Message::compose(|heap| heap.tuple(&[atoms::EXIT_UPPER, other, atoms::KILL]));
        System::get().deliver(pid, kill()).unwrap();
        System::get().deliver(pid, attach(kill(), Signal::LinkExit { from: other, mark: Mark::Neutral })).unwrap();
        System::get().deliver(pid, exit(other, atoms::NOPROC)).unwrap();
        assert!(!handle::is_killed(running.process()), "none of these kills it");
        assert!(matches!(receive(&mut running), Fate::Dies(atoms::NOPROC)));
        System::get().deliver(pid, exit(other, atoms::KILL)).unwrap();
        assert!(handle::is_killed(running.process()) && handle::is_killed(running.process()));
        assert!(matches!(receive(&mut running), Fate::Dies(atoms::KILLED)), "the signal is whole");
    });
}

#[test]
fn late_changes_of_trace_flags_are_made_in_their_order() {
    on_a_machine(|queue| {
        let (mut asker, mut traced) = (begin(queue), begin(queue));
        let (by, pid) = (asker.process().pid, traced.process().pid);
        let change = |off, on| FlagChange { off, on, tracer: Immediate::of(by) };
        let flags = |traced: &mut Running| traced.held().tracing_asked().map_or(0, |tracing| tracing.flags);
        let late = |asker: &mut Running, of: Term, change: FlagChange| {
            queue.is_awaited.store(true, Ordering::Relaxed);
            tracing::change_flags_of(of, &mut asker.held(), change);
            queue.is_awaited.store(false, Ordering::Relaxed);
        };
        tracing::change_flags_of(pid, &mut asker.held(), change(0, tracing::CALL));
        assert_eq!(flags(&mut traced), tracing::CALL, "the world can be stopped");

        // The process itself makes them when it acts on its signals.
        late(&mut asker, pid, change(tracing::CALL, tracing::SEND));
        late(&mut asker, pid, change(tracing::SEND, tracing::PROCS));
        assert_eq!(flags(&mut traced), tracing::CALL);
        assert!(matches!(receive(&mut traced), Fate::Lives));
        assert_eq!(flags(&mut traced), tracing::PROCS);

        // Who changes or reads flags next makes them first. The signal comes late.
        late(&mut asker, pid, change(tracing::PROCS, tracing::SEND));
        tracing::change_flags_of(pid, &mut asker.held(), change(tracing::SEND, tracing::CALL));
        assert_eq!(flags(&mut traced), tracing::CALL);
        late(&mut asker, pid, change(tracing::CALL, tracing::SEND));
        assert!(tracing::stop(&mut asker.held(), &[]).is_ok());
        assert_eq!(flags(&mut traced), tracing::SEND);
        assert!(matches!(receive(&mut traced), Fate::Lives));
        assert_eq!(flags(&mut traced), tracing::SEND);

        // None is left of a process that ends, or has ended.
        late(&mut asker, pid, change(0, tracing::CALL));
        assert!(System::get().tracing.has_late_changes());
        end(traced, atoms::NORMAL);
        assert!(!System::get().tracing.has_late_changes());
        late(&mut asker, pid, change(0, tracing::CALL));
        assert!(!System::get().tracing.has_late_changes());
    });
}

#[test]
fn a_machine_has_the_release_that_was_installed_first() {
    on_a_machine(|_| {
        let installed = |otp: &str| install_release(Release { otp: otp.to_owned(), runtime: "14.2".to_owned() });
        installed("26");
        installed("27");
        assert_eq!((release().otp.as_str(), release().runtime.as_str(), release_number()), ("26", "14.2", 26));
    });
    on_a_machine(|_| assert_eq!((release().otp.as_str(), release_number()), ("25", 25)));
}
