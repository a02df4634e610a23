//! Looking at a process that does not run: its stack, and the blocks of its heap.

use std::sync::Arc;

use atoll_heap::{Fragment, Mutator, architecture};
use atoll_term::{MagicValue, Term, Word};

use crate::process::Own;

/// The newest return addresses on the stack, at most `depth`. An address that stands there many times in a row, because
/// of recursion, is listed once, as in OTP. The caller runs the process.
pub fn return_addresses(own: &Own, depth: usize) -> Vec<*const Word> {
    let mut addresses = Vec::new();
    each_return_address(own, &mut |address| {
        if addresses.last() != Some(&address) {
            addresses.push(address);
        }
        addresses.len() < depth
    });
    addresses
}

/// Calls `visit` with the return addresses on the stack, newest first, until it returns false.
pub fn each_return_address(own: &Own, visit: &mut dyn FnMut(*const Word) -> bool) {
    each_stack_word(own, &mut |word| return_address(word).is_none_or(&mut *visit));
}

/// The address, if a word of the stack is a return address.
pub fn return_address(word: Term) -> Option<*const Word> {
    (word.is_header() && !word.is_none()).then_some(word.word() as *const Word)
}

/// Calls `visit` with the words of the stack, newest first, until it returns false: terms, return addresses, catch
/// marks.
pub fn each_stack_word(own: &Own, visit: &mut dyn FnMut(Term) -> bool) {
    let reader = own.mutator.stack_reader();
    let mut word = own.mutator.stack.cast_const();
    while word < own.mutator.stack_base.cast_const() {
        // SAFETY: the word lies on the stack of a process that the caller holds.
        if !visit(unsafe { Term::from_word(reader.read(word)) }) {
            return;
        }
        word = word.wrapping_add(1);
    }
}

/// The messages in the mailbox, in order, as terms on the process's heap. The caller runs the process.
pub fn messages(own: &mut Own) -> Vec<Term> {
    let Own { mailbox, mutator, .. } = own;
    mailbox.read_all();
    let mut terms = Vec::with_capacity(mailbox.len());
    mailbox.each(|message| terms.push(shown(mutator, message)));
    terms
}

/// The term of a message for showing it to another process, on the heap of the process that has the message and runs.
/// The term may leave the message's fragment at any time, so it is copied as if it belonged to no process: a shared
/// heap does not copy what a process sends.
pub fn shown(mutator: &mut Mutator, message: &Fragment) -> Term {
    if message.used() == 0 {
        return message.term();
    }
    let copy = architecture().send_copy(message.term());
    // SAFETY: nobody has the copy's term yet.
    unsafe { architecture().receive(mutator, &copy) };
    let term = copy.term();
    architecture().keep_fragment(mutator, copy);
    term
}

/// The value that a magic reference keeps alive, kept alive by the caller too.
pub fn magic_value(term: Term) -> Option<Arc<MagicValue>> {
    term.held_magic_value()
}
