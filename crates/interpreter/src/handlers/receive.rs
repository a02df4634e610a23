//! Sending and receiving.
//!
//! ```text
//!   L1: loop_rec L2, x0          the current message to x0; at the end of the mailbox: signals, else L2
//!       ...match x0...           no match: loop_rec_end L1
//!       remove_message           match: take it
//!   L2: wait_timeout L1, T       sleep; a signal: go on at L1; the time has come: fall through
//!       timeout                  forget the wait, look from the first message on again
//! ```

use atoll_heap::debt;
use atoll_operations::Exception;
use atoll_runtime::core::{Core, Exit, dispatch};
use atoll_runtime::pause::{enter, yield_at};
use atoll_runtime::raise;
use atoll_runtime::receive::{self, Behind, Sending, Wait, sleep, take_signals};
use atoll_term::{Export, Term, Word, atoms};

use crate::handlers::control::any_at;
use crate::operand::{Any, Write, X};

/// `send`: X0 ! X1, the result is the message. Operand: the export of `erlang:'!'/2`.
pub unsafe fn send(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        if receive::send_plain(hp, e, c) {
            return dispatch(ip.add(2), (*c).top(), e, reds - 1 - debt::take(), c);
        }
        send_any(ip, hp, e, reds, c)
    }
}

/// As [`send`], to whatever X0 is.
#[inline(never)]
unsafe fn send_any(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        match receive::send(ip, hp, e, c) {
            Sending::Goes => dispatch(ip.add(2), (*c).top(), e, reds - 1 - debt::take(), c),
            Sending::Stops => yield_at(ip.add(2), 1, (*c).top(), e, reds - 1 - debt::take(), c),
            Sending::ComesBack => yield_at(ip, 2, (*c).top(), e, reds - 1 - debt::take(), c),
            Sending::Failed => send_failed(ip, hp, e, reds, c),
        }
    }
}

/// [`send`] has failed.
#[cold]
#[inline(never)]
unsafe fn send_failed(ip: *const Word, _hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        let export = &*(*ip.add(1) as *const Export);
        let arguments = [(&(*c).x)[0], (&(*c).x)[1]];
        raise::built_in((*c).take_failure(), export, &arguments, ip, (*c).top(), e, reds, c)
    }
}

/// `loop_rec`: fail, destination.
pub unsafe fn loop_rec(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        if let Some(message) = (*(*c).own).mailbox.term_without_words() {
            Any::write(*ip.add(2), message, e, c);
            return dispatch(ip.add(3), hp, e, reds, c);
        }
        loop_rec_any(ip, hp, e, reds, c)
    }
}

/// As [`loop_rec`], where it is known which register has the message when it is taken.
pub unsafe fn loop_rec_in_place(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        if let Some(message) = receive::look_in_place(c) {
            Any::write(*ip.add(2), message, e, c);
            return dispatch(ip.add(3), hp, e, reds, c);
        }
        loop_rec_any(ip, hp, e, reds, c)
    }
}

/// As [`loop_rec`], if there is no message, or one with words.
#[inline(never)]
unsafe fn loop_rec_any(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        if (*(*c).own).mailbox.current().is_some() {
            return loop_rec_message(ip, hp, e, reds, c);
        }
        if (*(*c).process).inbox.is_empty() {
            // A suspended process stops here at the latest; otherwise it waits at the fail label.
            return dispatch(*ip.add(1) as *const Word, hp, e, reds, c);
        }
        if !take_signals(hp, e, c) {
            return Exit::Ended;
        }
        let hp = (*c).top();
        match (*(*c).own).mailbox.current() {
            Some(_) => loop_rec_message(ip, hp, e, reds, c),
            None => dispatch(*ip.add(1) as *const Word, hp, e, reds, c),
        }
    }
}

/// As [`loop_rec`], when there is a message.
#[inline(always)]
unsafe fn loop_rec_message(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        (*c).swap_out(hp, e);
        let message = receive::look_at_message(c);
        Any::write(*ip.add(2), message, e, c);
        dispatch(ip.add(3), (*c).top(), e, reds, c)
    }
}

/// `keep_message`, in front of a `loop_rec_end` where more than X registers may hold parts of the message.
pub unsafe fn keep_message(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        receive::keep_message(hp, e, c);
        dispatch(ip.add(1), hp, e, reds, c)
    }
}

/// `loop_rec_end`: the `loop_rec` to go on at. No register holds a part of the message.
pub unsafe fn loop_rec_end(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        (*(*c).own).mailbox.reject();
        enter(*ip.add(1) as *const Word, 0, hp, e, reds, c)
    }
}

/// `remove_message`
pub unsafe fn remove_message(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        if receive::take_plain_message(c) {
            return dispatch(ip.add(1), hp, e, reds, c);
        }
        remove_any_message(ip, hp, e, reds, c)
    }
}

/// As [`remove_message`], whatever there is to do beside.
#[inline(never)]
unsafe fn remove_any_message(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        let (_, reds) = receive::take_message(hp, e, reds, c, Behind::Kept);
        dispatch(ip.add(1), (*c).top(), e, reds, c)
    }
}

/// As [`remove_message`], where no register has the message.
pub unsafe fn remove_unheld(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        match receive::take_in_place(c) {
            Some((message, room)) => room.keep(message),
            None if receive::take_plain_message(c) => {}
            None => return remove_any_unheld(ip, hp, e, reds, c),
        }
        dispatch(ip.add(1), hp, e, reds, c)
    }
}

/// As [`remove_unheld`], whatever there is to do beside.
#[inline(never)]
unsafe fn remove_any_unheld(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        let (_, reds) = receive::take_message(hp, e, reds, c, Behind::Freed);
        dispatch(ip.add(1), (*c).top(), e, reds, c)
    }
}

/// As [`remove_message`], where one X register has the message, and is not read any more. Operand: the register.
pub unsafe fn remove_unread(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        match receive::take_in_place(c) {
            Some((message, room)) => {
                // A collection may look at it.
                X::write(*ip.add(1), Term::NIL, e, c);
                room.keep(message);
            }
            None if receive::take_plain_message(c) => {}
            None => return remove_any_held(ip, hp, e, reds, c, Behind::Freed),
        }
        dispatch(ip.add(2), hp, e, reds, c)
    }
}

/// As [`remove_message`], where one X register has the message. Operand: the register.
pub unsafe fn remove_held(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        let Some((message, room)) = receive::take_in_place(c) else {
            if receive::take_plain_message(c) {
                return dispatch(ip.add(2), hp, e, reds, c);
            }
            return remove_any_held(ip, hp, e, reds, c, Behind::Moved);
        };
        (*c).swap_out(hp, e);
        let (term, reds) = receive::move_in(message, room, reds, c);
        X::write(*ip.add(1), term, e, c);
        dispatch(ip.add(2), (*c).top(), e, reds, c)
    }
}

/// As [`remove_unread`] and [`remove_held`], whatever there is to do beside.
#[inline(never)]
unsafe fn remove_any_held(
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
    behind: Behind,
) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        let (holds, reds) = receive::take_message(hp, e, reds, c, behind);
        if holds != Term::NONE {
            X::write(*ip.add(1), holds, e, c);
        }
        dispatch(ip.add(2), (*c).top(), e, reds, c)
    }
}

/// `wait`: the `loop_rec` to go on at.
pub unsafe fn wait(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe { sleep(*ip.add(1) as *const Word, hp, e, reds, c) }
}

/// `wait_timeout`: the `loop_rec` to go on at, time.
pub unsafe fn wait_timeout(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        match receive::wait_for(any_at(ip, 2, e, c), c) {
            Wait::Over => dispatch(ip.add(3), hp, e, reds, c),
            Wait::Sleeps => sleep(*ip.add(1) as *const Word, hp, e, reds, c),
            Wait::NoTime => raise::plain(Exception::error(atoms::TIMEOUT_VALUE), ip, hp, e, reds, c),
        }
    }
}

/// `timeout`
pub unsafe fn timeout(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        let hp = receive::time_out(hp, e, c);
        if receive::ends_slice(c) {
            receive::sleep(ip.add(1), hp, e, reds, c);
            return Exit::Yield;
        }
        dispatch(ip.add(1), hp, e, reds, c)
    }
}

/// `recv_marker_reserve`: destination.
pub unsafe fn marker_reserve(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        if !take_signals(hp, e, c) {
            return Exit::Ended;
        }
        let number = receive::reserve_marker(c);
        Any::write(*ip.add(1), number, e, c);
        dispatch(ip.add(2), (*c).top(), e, reds, c)
    }
}

/// `recv_marker_bind`: marker, reference.
pub unsafe fn marker_bind(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        receive::bind_marker(any_at(ip, 1, e, c), any_at(ip, 2, e, c), c);
        dispatch(ip.add(3), hp, e, reds, c)
    }
}

/// `recv_marker_clear`: a marker or a reference.
pub unsafe fn marker_clear(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        receive::clear_marker(any_at(ip, 1, e, c), c);
        dispatch(ip.add(2), hp, e, reds, c)
    }
}

/// `recv_marker_use`: reference.
pub unsafe fn marker_use(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        receive::use_marker(any_at(ip, 1, e, c), c);
        dispatch(ip.add(2), hp, e, reds, c)
    }
}
