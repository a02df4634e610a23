//! What a process has to do with those of other nodes, the other nodes left out.

use std::sync::Mutex;

use super::*;
use crate::process::Own;
use crate::remote::{self, Connection, Distribution, Remote, RemotePid, RemoteSignal, SendOptions, Sent, Tell};
use crate::signal::bare;

const THERE: RemotePid = RemotePid { node: atoms::OK, creation: 5, number: 6, serial: 7 };

/// Notes what other nodes are told.
#[derive(Default)]
struct Told(Mutex<Vec<(Term, Connection, Tell)>>);

impl Distribution for Told {
    fn send(&self, _: Term, _: &mut Own, _: Term, _: Term, _: SendOptions) -> Sent {
        panic!("nothing was sent")
    }

    fn tell(&self, from: Term, connection: Connection, what: Tell) {
        self.0.lock().unwrap().push((from, connection, what));
    }

    /// Connection 1 is lost.
    fn watch(&self, _: Term, connection: Connection, _: Term) -> bool {
        connection != 1
    }

    fn forget(&self, _: Term, _: Connection, _: Term) {}

    fn ended(&self, _: Term, _: Term) {}
}

#[test]
fn a_link_is_told_of_once_until_it_is_over() {
    let mut remote = Remote::default();
    let linked = |remote: &Remote| remote.linked().collect::<Vec<_>>();
    assert!(remote.begin_link(THERE, 1));
    assert!(!remote.begin_link(THERE, 1), "the other node knows");
    assert!(remote.begin_link(THERE, 2), "it does not through a new connection");
    assert_eq!(linked(&remote), [THERE]);
}

#[test]
fn a_link_that_this_side_ends_is_over_when_the_other_side_knows() {
    on_a_machine(|queue| {
        let told: &'static Told = Box::leak(Box::default());
        assert!(System::get().distribution.set(told).is_ok());
        let mut running = begin(queue);
        let pid = running.process().pid;
        remote::unlink(pid, &mut running.held(), THERE);
        assert!(running.held().remote().begin_link(THERE, 3));
        remote::unlink(pid, &mut running.held(), THERE);
        remote::unlink(pid, &mut running.held(), THERE);
        let id = match told.0.lock().unwrap()[..] {
            [(from, 3, Tell::Unlink { id, to: THERE })] if from == pid => id,
            ref other => panic!("{other:?}"),
        };
        assert_eq!(running.held().remote().linked().count(), 0);
        let mut signal = |signal| {
            System::get().deliver(pid, bare(Signal::Remote(Box::new(signal)))).unwrap();
            assert!(matches!(receive(&mut running), Fate::Lives));
            let held = &mut running.held();
            (held.remote().links.len(), held.remote().linked().count())
        };
        // What the other side did before it knew changes nothing, nor does what it knows of another end.
        assert_eq!(signal(RemoteSignal::Link { from: THERE, connection: 3 }), (1, 0));
        assert_eq!(signal(RemoteSignal::UnlinkKnown { from: THERE, id: id + 1 }), (1, 0));
        assert_eq!(signal(RemoteSignal::UnlinkKnown { from: THERE, id }), (0, 0));
        assert_eq!(signal(RemoteSignal::Link { from: THERE, connection: 3 }), (1, 1));
        assert_eq!(signal(RemoteSignal::Unlink { from: THERE, id: 9, connection: 3 }), (0, 0));
        let last = told.0.lock().unwrap().pop();
        assert!(matches!(last, Some((_, 3, Tell::UnlinkKnown { id: 9, to: THERE }))), "{last:?}");
    });
}

#[test]
fn a_link_through_a_lost_connection_is_an_exit() {
    on_a_machine(|queue| {
        let told: &'static Told = Box::leak(Box::default());
        assert!(System::get().distribution.set(told).is_ok());
        let mut running = begin(queue);
        running.held().flags.set_trap_exit(true);
        let link = Signal::Remote(Box::new(RemoteSignal::Link { from: THERE, connection: 1 }));
        System::get().deliver(running.process().pid, bare(link)).unwrap();
        for _ in 0..2 {
            assert!(matches!(receive(&mut running), Fate::Lives));
        }
        let held = &mut *running.held();
        let message = elements(handle::take_message(held));
        assert_eq!((message[0], message[2]), (atoms::EXIT_UPPER, atoms::NOCONNECTION));
        assert_eq!(RemotePid::of(message[1]), Some(THERE));
        assert!(held.remote().links.is_empty());
    });
}

#[test]
fn a_group_leader_of_this_node_takes_the_place_of_another() {
    on_a_machine(|queue| {
        let mut running = begin(queue);
        let own = &mut *running.held();
        own.set_leader(Term::pid(3));
        assert_eq!((own.remote_leader(), own.leader_term()), (None, Term::pid(3)));
        let there = THERE.term(&mut own.mutator);
        own.set_leader(there);
        assert_eq!((own.remote_leader(), RemotePid::of(own.leader_term())), (Some(THERE), Some(THERE)));
        own.set_leader(Term::pid(4));
        assert_eq!((own.remote_leader(), own.leader_term()), (None, Term::pid(4)));
    });
}
