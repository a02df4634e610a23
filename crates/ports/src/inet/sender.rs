//! The sender of data, and the contents of the answer to it. From release 26 on `prim_inet` writes in front of its data
//! a reference (two bytes of length, then `term_to_binary(Reference, [local])`), which comes back with the answer.

use atoll_code::Resolver;
use atoll_etf::DecodeOptions;
use atoll_process::ReferenceId;
use atoll_process::release::release_number;
use atoll_term::atoms::known_atom;
use atoll_term::{ScratchHeap, Term, View};
use rustix::io::Errno;

use crate::inet::Refusal;
use crate::inet::address::{take, take_number};
use crate::inet::socket::error_term;
use crate::port::Port;

/// The first release that writes references.
const REFERENCES_SINCE: u32 = 26;

/// A process that waits for `inet_reply`.
#[derive(Clone, Copy)]
pub struct Sender {
    pid: Term,
    reference: Option<ReferenceId>,
}

impl Sender {
    /// Takes what stands in front of the data.
    ///
    /// # Errors
    /// `einval`: no reference stands there.
    pub fn take(caller: Term, data: &mut Vec<u8>) -> Result<Sender, Errno> {
        if release_number() < REFERENCES_SINCE {
            return Ok(Sender { pid: caller, reference: None });
        }
        let mut rest = data.as_slice();
        let length = take_number(&mut rest, 2)? as usize;
        let reference = reference(take(&mut rest, length)?).ok_or(Errno::INVAL)?;
        let front = data.len() - rest.len();
        data.drain(..front);
        Ok(Sender { pid: caller, reference: Some(reference) })
    }

    /// A process that gave no reference, because what it wrote could not be read.
    pub fn unread(pid: Term) -> Sender {
        Sender { pid, reference: None }
    }

    /// Sends `{inet_reply, Port, Status}`, with the reference if there is one.
    pub fn tell(&self, port: &Port, status: impl Fn(&mut ScratchHeap) -> Term) {
        use atoll_term::Build;
        port.tell(self.pid, |heap| {
            let status = status(heap);
            match self.reference {
                Some(reference) => {
                    let reference = reference.term(heap);
                    heap.tuple(&[known_atom("inet_reply"), port.id, status, reference])
                }
                None => heap.tuple(&[known_atom("inet_reply"), port.id, status]),
            }
        });
    }

    /// Tells what came of sending.
    pub fn reply(&self, port: &Port, result: Result<(), Refusal>) {
        self.tell(port, |heap| match result {
            Ok(()) => atoll_term::atoms::OK,
            Err(refusal) => error_term(heap, refusal),
        });
    }
}

/// The numbers of a reference in the external format.
fn reference(bytes: &[u8]) -> Option<ReferenceId> {
    let mut scratch = ScratchHeap::new();
    let (term, _) = atoll_etf::decode(bytes, DecodeOptions::default(), &mut Resolver, &mut scratch).ok()?;
    match term.view() {
        View::Reference(reference) => Some(ReferenceId(reference.numbers())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use atoll_etf::{EncodeOptions, encode_local};
    use atoll_heap::{Part, Settings};
    use atoll_platform::threads;
    use atoll_term::{Build, this_node};

    use super::*;

    #[test]
    fn a_reference_is_taken_off() {
        // What references stand for is known to a machine.
        let architecture = atoll_architectures::by_name("private", &Settings::default()).expect("an architecture");
        threads::enter(Box::leak(Box::new(Part::new(architecture))));
        let mut scratch = ScratchHeap::new();
        let number = ReferenceId([1, 2, 3]);
        let term = number.term(&mut scratch);
        let encoded = encode_local(term, EncodeOptions::default(), this_node()).expect("a reference");
        assert_eq!(reference(&encoded), Some(number));
        let other = scratch.tuple(&[Term::small(1)]);
        let encoded = encode_local(other, EncodeOptions::default(), this_node()).expect("a tuple");
        assert_eq!(reference(&encoded), None);
        assert_eq!(reference(&[1, 2, 3]), None);
    }
}
