//! What a process consists of, alone: its references, its urgency, its token, its stack, and the requests of others.

use std::collections::HashSet;

use super::*;
use crate::inspect;
use crate::sequence::{self, Label, Origin, Token};
use crate::urgency::Urgency;

#[test]
fn references_are_new_on_every_thread_and_fit_the_external_format() {
    on_a_machine(|_| {
        let count = if cfg!(miri) { 5_000 } else { 140_000 };
        let own: Vec<ReferenceId> = (0..count).map(|_| ReferenceId::fresh()).collect();
        assert!(own.iter().all(|reference| reference.0[0] < 1 << 18));
        let different: HashSet<[u32; 3]> = own.iter().map(|reference| reference.0).collect();
        assert_eq!(different.len(), count);
        // They are numbered one after the other: their order is that in which they were made.
        let number = |reference: &ReferenceId| u64::from(reference.0[1]) << 18 | u64::from(reference.0[0]);
        assert!(own.is_sorted_by_key(number));
    });
}

#[test]
fn a_process_with_a_deadline_keeps_it_when_its_level_changes() {
    on_a_machine(|queue| {
        let running = begin(queue);
        let process = running.process();
        for level in [Priority::Low, Priority::High, Priority::Max, Priority::Normal] {
            let before = process.priority();
            assert_eq!(process.set_priority(level), before);
            assert_eq!((process.priority(), process.urgency()), (level, Urgency::of(level)));
        }
        process.set_urgency(Urgency { priority: 0.5, deadline: 77 });
        process.set_priority(Priority::Low);
        assert_eq!(process.urgency(), Urgency { deadline: 77, ..Urgency::of(Priority::Low) });
        assert_eq!(process.priority(), Priority::Low);
    });
}

#[test]
fn tokens_count_the_events_of_a_request() {
    on_a_machine(|queue| {
        let mut running = begin(queue);
        let pid = running.process().pid;
        let (child, other) = (Term::pid(7), Term::pid(8));
        let shown = |token: &Token, heap: &mut atoll_heap::Mutator| {
            let from = token.from.term(heap);
            (token.flags, token.serial, token.last, from)
        };
        let own = &mut *running.held();
        assert!(matches!(sequence::reply_of(own, child), Mark::Plain));
        let label = Label::Immediate(Term::small(5));
        let token = Token { flags: sequence::SEND, label, serial: 10, from: Origin::Here(pid), last: 3 };
        own.set_token(Some(token.clone()));
        let Mark::Token(reply) = sequence::reply_of(own, child) else { panic!("the reply has a token") };
        assert_eq!(shown(&reply, &mut own.mutator), (sequence::SEND, 11, 10, child));
        let (request, answer) = sequence::of_answer(&token, other);
        assert_eq!(shown(&request, &mut own.mutator), (sequence::SEND, 9, 3, pid));
        assert_eq!(shown(&answer, &mut own.mutator), (sequence::SEND, 10, 9, other));
        let known = sequence::of_request(token);
        assert_eq!((known.clock, known.last), (10, 10));
    });
}

#[test]
fn a_process_that_is_spawned_is_traced_as_its_parent_wants() {
    use crate::tracing::{ON_FIRST_LINK, ON_FIRST_SPAWN, ON_LINK, ON_SPAWN, Tracing, inherited};
    const CALLS: u32 = 1;
    on_a_machine(|queue| {
        let mut running = begin(queue);
        let own = &mut *running.held();
        let tracer = Term::pid(9);
        assert!(inherited(own, true).is_none());
        // What the parent has, whether it links, what the child gets, what the parent has then.
        let all = ON_SPAWN | ON_FIRST_SPAWN;
        let linked = ON_LINK | ON_FIRST_LINK;
        for (flags, links, child, parent) in [
            (CALLS, true, None, CALLS),
            (CALLS | ON_SPAWN, false, Some(CALLS | ON_SPAWN), CALLS | ON_SPAWN),
            (CALLS | all, false, Some(CALLS), CALLS),
            (CALLS | linked, false, None, CALLS | linked),
            (CALLS | linked, true, Some(CALLS), CALLS),
            (CALLS | ON_LINK, true, Some(CALLS | ON_LINK), CALLS | ON_LINK),
            (CALLS | all | linked, false, Some(CALLS | linked), CALLS | linked),
        ] {
            own.set_tracing(Some(Tracing { flags, tracer }));
            let got = inherited(own, links);
            assert_eq!(got.map(|tracing| tracing.flags), child, "{flags:x}");
            assert!(got.is_none_or(|tracing| tracing.tracer == tracer));
            assert_eq!(own.tracing().map(|tracing| tracing.flags), Some(parent), "{flags:x}");
        }
        own.set_tracing(None);
    });
}

#[test]
fn only_return_addresses_of_a_stack_are_return_addresses() {
    let addresses: [u64; 2] = [0x1000, 0x2000];
    for address in addresses {
        // SAFETY: nobody follows it.
        let word = unsafe { Term::from_word(address) };
        assert_eq!(inspect::return_address(word).is_some(), word.is_header());
    }
    for term in [Term::NIL, Term::small(1), atoms::OK, Term::NONE] {
        assert_eq!(inspect::return_address(term), None);
    }
}
