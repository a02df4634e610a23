//! What a process that suspends another is told.

use atoll_heap::{Message, Mutator, Stored, architecture};
use atoll_term::atoms::LazyAtom;
use atoll_term::{Build, Term, atoms};

use crate::handle::take_term;
use crate::process::Own;
use crate::reference::ReferenceId;
use crate::sequence;
use crate::system::System;

/// `{Tag, exited}`: the process has ended before it stopped.
pub static EXITED: LazyAtom = LazyAtom::new("exited");

/// What a suspender wants to be told when the process has stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Nothing.
    None,
    /// `{Reference, suspended}`, or `{Reference, undefined}` when the process has ended instead.
    Reference(ReferenceId),
    /// `{Tag, suspended}`, or `{Tag, exited}`, which is the term of the signal.
    Tagged,
}

/// One that waits for its answer.
pub struct Suspender {
    /// Local pid.
    process: Term,
    head: Head,
}

enum Head {
    Reference(ReferenceId),
    Tag(Stored),
}

impl Suspender {
    /// The one that has sent a signal with this reply and this message.
    pub(crate) fn of(own: &mut Own, process: Term, reply: Reply, message: Message) -> Option<Suspender> {
        let head = match reply {
            Reply::None => return None,
            Reply::Reference(reference) => Head::Reference(reference),
            Reply::Tagged => {
                let tag = take_term(own, message).tuple_elements().and_then(|elements| elements.first().copied())?;
                Head::Tag(Stored::new(&mut own.mutator, tag))
            }
        };
        Some(Suspender { process, head })
    }

    /// Tells it that the process has stopped, or ends.
    pub fn tell(&self, heap: &mut Mutator, stopped: bool) {
        let (head, otherwise) = match &self.head {
            Head::Reference(reference) => (reference.term(heap), atoms::UNDEFINED),
            Head::Tag(tag) => (tag.fetch(heap), EXITED.get()),
        };
        let message = heap.tuple(&[head, if stopped { atoms::SUSPENDED } else { otherwise }]);
        let message = architecture().send(heap, message);
        System::get().deliver_or_answer(self.process, sequence::neutral(message));
    }
}

/// Answers in the place of a process that there is not.
pub(crate) fn answer_for_missing(from: Term, reply: Reply, message: Message) {
    let answer = match reply {
        Reply::None => return,
        Reply::Reference(reference) => Message::compose(|heap| {
            let reference = reference.term(heap);
            heap.tuple(&[reference, atoms::UNDEFINED])
        }),
        Reply::Tagged => message,
    };
    System::get().deliver_or_answer(from, sequence::neutral(answer));
}
