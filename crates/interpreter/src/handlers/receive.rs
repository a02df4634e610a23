//! Sending and receiving.
//!
//! ```text
//!   L1: loop_rec L2, x0          the current message to x0; at the end of the mailbox: signals, else L2
//!       ...match x0...           no match: loop_rec_end L1
//!       remove_message           match: take it
//!   L2: wait_timeout L1, T       sleep; a signal: go on at L1; the time has come: fall through
//!       timeout                  forget the wait, look from the first message on again
//! ```

use atoll_heap::{architecture, debt};
use atoll_operations::Exception;
use atoll_platform::clock;
use atoll_process::handle::{Fate, receive_signals};
use atoll_process::timers::Action;
use atoll_process::{ReferenceId, System, WaitState, tracing};
use atoll_term::{Export, Term, Word, atoms};

use crate::core::{Core, Exit, dispatch};
use crate::handlers::control::any_at;
use crate::operand::{Any, Write};
use crate::raise;

/// Nanoseconds in a millisecond.
const MILLISECOND: i64 = 1_000_000;
/// Longest timeout, in milliseconds.
const LONGEST: i64 = 0xffff_ffff;

/// `send`: X0 ! X1, the result is the message. Operand: the export of `erlang:'!'/2`.
pub unsafe fn send(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        let core = &mut *c;
        core.swap_out(hp, e);
        // Here alone, not in what built-in functions call: they hold terms of which no collection knows.
        architecture().safepoint();
        let (destination, message) = (core.x[0], core.x[1]);
        let sender = (*core.process).pid;
        match atoll_process::send::send(sender, &mut *core.own, destination, message) {
            Ok(()) => {
                core.x[0] = message;
                dispatch(ip.add(2), core.top(), e, reds - 1 - debt::take(), c)
            }
            Err(exception) => {
                let export = &*(*ip.add(1) as *const Export);
                raise::built_in(exception, export, &[destination, message], ip, core.top(), e, reds, c)
            }
        }
    }
}

/// Acts on signals that have arrived; false if one of them ends the process.
#[inline(never)]
unsafe fn take_signals(hp: *mut Word, e: *mut Word, c: *mut Core) -> bool {
    // SAFETY: the process runs on this core.
    unsafe {
        let core = &mut *c;
        core.swap_out(hp, e);
        match receive_signals(&*core.process, &mut *core.own, &mut crate::requests::answer) {
            Fate::Lives => true,
            Fate::Dies(reason) => {
                core.x[0] = reason;
                false
            }
        }
    }
}

/// `loop_rec`: fail, destination.
pub unsafe fn loop_rec(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
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
        let message = look_at_message(c);
        Any::write(*ip.add(2), message, e, c);
        dispatch(ip.add(3), (*c).top(), e, reds, c)
    }
}

/// The current message, which may become part of the heap.
#[inline(never)]
unsafe fn look_at_message(c: *mut Core) -> Term {
    // SAFETY: the process runs on this core; its registers are in the mutator.
    unsafe {
        let own = &mut *(*c).own;
        let mutator = &mut own.mutator;
        let term = own.mailbox.look(|message| {
            architecture().receive(mutator, message);
        });
        term.unwrap_or(Term::NIL)
    }
}

/// `loop_rec_end`: the `loop_rec` to go on at.
pub unsafe fn loop_rec_end(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        (*(*c).own).mailbox.skip();
        crate::handlers::control::enter(*ip.add(1) as *const Word, 0, hp, e, reds, c)
    }
}

/// `remove_message`
pub unsafe fn remove_message(ip: *const Word, mut hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        let core = &mut *c;
        let own = &mut *core.own;
        forget_timeout(core);
        let mut reds = reds;
        if let Some(mut message) = own.mailbox.take_current() {
            if own.flags.sequenced {
                core.swap_out(hp, e);
                atoll_process::sequence::taken((*core.process).pid, own, message.as_mut());
                hp = core.top();
            }
            if message.as_ref().used() == 0 {
                atoll_heap::Fragment::free(message);
            } else {
                core.swap_out(hp, e);
                architecture().keep_fragment(&mut own.mutator, message);
                reds = crate::handlers::arithmetic::soon_if_full(reds, c);
            }
        }
        dispatch(ip.add(1), hp, e, reds, c)
    }
}

unsafe fn forget_timeout(core: &mut Core) {
    // SAFETY: the process runs on this core.
    let own = unsafe { &mut *core.own };
    if own.timer != 0 {
        System::get().timers.cancel_wait(own.timer);
        own.timer = 0;
    }
    own.wait = WaitState::None;
}

/// `wait`: the `loop_rec` to go on at.
pub unsafe fn wait(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe { sleep(*ip.add(1) as *const Word, hp, e, reds, c) }
}

unsafe fn sleep(address: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        let core = &mut *c;
        core.swap_out(hp, e);
        let own = &mut *core.own;
        own.address = address;
        own.saved = Default::default();
        own.reductions += (core.slice - reds) as u64;
        Exit::Wait
    }
}

/// `wait_timeout`: the `loop_rec` to go on at, time.
pub unsafe fn wait_timeout(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        let time = any_at(ip, 2, e, c);
        let wait = &mut (*(*c).own).wait;
        match *wait {
            WaitState::Expired => return dispatch(ip.add(3), hp, e, reds, c),
            WaitState::None if time == atoms::INFINITY => *wait = WaitState::Forever,
            WaitState::None => {
                let Some(milliseconds @ 0..=LONGEST) = time.as_small() else {
                    (*(*c).own).mailbox.restart();
                    return raise::plain(Exception::error(atoms::TIMEOUT_VALUE), ip, hp, e, reds, c);
                };
                if milliseconds == 0 {
                    return dispatch(ip.add(3), hp, e, reds, c);
                }
                start_timer(milliseconds, c);
            }
            WaitState::Running | WaitState::Forever => {}
        }
        sleep(*ip.add(1) as *const Word, hp, e, reds, c)
    }
}

/// Starts the timer of a `receive`.
#[inline(never)]
unsafe fn start_timer(milliseconds: i64, c: *mut Core) {
    // SAFETY: the process runs on this core.
    unsafe {
        let (own, pid) = (&mut *(*c).own, (*(*c).process).pid);
        let system = System::get();
        let due = clock::monotonic() + milliseconds * MILLISECOND;
        own.timer = system.timers.start(system.schedule().current(), due, Action::Wait { pid });
        own.wait = WaitState::Running;
    }
}

/// `timeout`
pub unsafe fn timeout(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        forget_timeout(&mut *c);
        let (core, own) = (&mut *c, &mut *(*c).own);
        own.mailbox.restart();
        let mut hp = hp;
        if own.flags.traced {
            core.swap_out(hp, e);
            tracing::event((*core.process).pid, own, tracing::RECEIVE, "receive", &[atoms::TIMEOUT]);
            hp = core.top();
        }
        dispatch(ip.add(1), hp, e, reds, c)
    }
}

/// `recv_marker_reserve`: destination. The marker is a small integer that the program never sees.
pub unsafe fn marker_reserve(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        if !take_signals(hp, e, c) {
            return Exit::Ended;
        }
        let number = reserve(c);
        Any::write(*ip.add(1), number, e, c);
        dispatch(ip.add(2), (*c).top(), e, reds, c)
    }
}

#[inline(never)]
unsafe fn reserve(c: *mut Core) -> Term {
    // SAFETY: the process runs on this core.
    unsafe { Term::small((*(*c).own).mailbox.reserve_marker() as i64) }
}

/// `recv_marker_bind`: marker, reference.
pub unsafe fn marker_bind(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        bind(any_at(ip, 1, e, c), any_at(ip, 2, e, c), c);
        dispatch(ip.add(3), hp, e, reds, c)
    }
}

#[inline(never)]
unsafe fn bind(marker: Term, reference: Term, c: *mut Core) {
    if let (Some(number), Some(reference)) = (marker.as_small(), ReferenceId::of(reference)) {
        // SAFETY: the process runs on this core.
        unsafe { (*(*c).own).mailbox.bind_marker(number as u64, reference) };
    }
}

/// `recv_marker_clear`: a marker or a reference.
pub unsafe fn marker_clear(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        clear(any_at(ip, 1, e, c), c);
        dispatch(ip.add(2), hp, e, reds, c)
    }
}

#[inline(never)]
unsafe fn clear(which: Term, c: *mut Core) {
    // SAFETY: the process runs on this core.
    let mailbox = unsafe { &mut (*(*c).own).mailbox };
    if let Some(number) = which.as_small() {
        mailbox.clear_reserved_marker(number as u64);
    } else if let Some(reference) = ReferenceId::of(which) {
        mailbox.clear_marker(reference);
    }
}

/// `recv_marker_use`: reference.
pub unsafe fn marker_use(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        use_(any_at(ip, 1, e, c), c);
        dispatch(ip.add(2), hp, e, reds, c)
    }
}

#[inline(never)]
unsafe fn use_(reference: Term, c: *mut Core) {
    if let Some(reference) = ReferenceId::of(reference) {
        // SAFETY: the process runs on this core.
        unsafe { (*(*c).own).mailbox.use_marker(reference) };
    }
}
