//! Tokens of sequential tracing in control messages: `{Flags, Label, Serial, From, Last}`.

use std::sync::Arc;

use atoll_heap::Message;
use atoll_process::remote::RemotePid;
use atoll_process::sequence::{self, Label, Mark, Origin, Token};
use atoll_term::{Build, Term};

use crate::flags;
use crate::input::Fault;
use crate::kept::Kept;
use crate::node::Line;

/// What a message with this token does to the token of the process that takes it.
///
/// # Errors
/// It is no token.
pub fn mark(token: Term) -> Result<Mark, Fault> {
    Ok(sequence::came(read(token)?))
}

/// The token of a term.
///
/// # Errors
/// It is none.
pub fn read(token: Term) -> Result<Token, Fault> {
    let &[flags, label, serial, from, last] = token.tuple_elements().ok_or(Fault::Malformed)? else {
        return Err(Fault::Malformed);
    };
    let (Some(flags), Some(serial), Some(last)) = (flags.as_small(), serial.as_small(), last.as_small()) else {
        return Err(Fault::Malformed);
    };
    let from = match RemotePid::of(from) {
        Some(from) => Origin::Elsewhere(from),
        None if from.is_local_pid() || from.is_atom() => Origin::Here(from),
        None => return Err(Fault::Malformed),
    };
    let label = match label.is_immediate() {
        true => Label::Immediate(label),
        // The thread that receives it has no heap to keep it on.
        false => Label::Foreign(Arc::new(Kept::of(label))),
    };
    // Numbers are those of a machine word of the other node.
    Ok(Token { flags: flags as u32, label, serial, from, last })
}

/// A token that is not a process's own as a control message has it.
pub fn write(token: &Token) -> Message {
    Message::compose(|heap| {
        let (label, from) = (token.label(heap), token.from.term(heap));
        let [flags, serial, last] = [i64::from(token.flags), token.serial, token.last].map(Term::small);
        heap.tuple(&[flags, label, serial, from, last])
    })
}

/// Whether a token (a term) can go to a node.
pub fn can_go(line: Line, token: Term) -> bool {
    let label = token.tuple_elements().and_then(|parts| parts.get(1).copied());
    label.is_some_and(|label| label.as_small().is_some() || line.flags & flags::BIG_LABELS != 0)
}

#[cfg(test)]
mod tests {
    use atoll_term::ScratchHeap;

    use super::*;

    #[test]
    fn what_is_no_token_is_refused() {
        let mut heap = ScratchHeap::new();
        let [one, pid] = [Term::small(1), Term::pid(3)];
        let mut refused = |parts: &[Term]| read(heap.tuple(parts)).is_err();
        assert!(!refused(&[one, one, one, pid, one]));
        assert!(refused(&[one, one, one, pid]) && refused(&[pid, one, one, pid, one]));
        assert!(refused(&[one, one, pid, pid, one]) && refused(&[one, one, one, pid, pid]));
        assert!(read(one).is_err());
    }
}
