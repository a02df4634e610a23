//! Sending and receiving.
//!
//! ```text
//!   L1: loop_rec L2, x0          the current message to x0; at the end of the mailbox: signals, else L2
//!       ...match x0...           no match: loop_rec_end L1
//!       remove_message           match: take it
//!   L2: wait_timeout L1, T       sleep; a signal: go on at L1; the time has come: fall through
//!       timeout                  forget the wait, look from the first message on again
//! ```

use atoll_heap::architecture;
use atoll_operations::Exception;
use atoll_platform::clock;
use atoll_process::handle::{Fate, receive_signals};
use atoll_process::timers::Action;
use atoll_process::{ReferenceId, System, WaitState};
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
        let (destination, message) = (core.x[0], core.x[1]);
        let sender = (*core.process).pid;
        match atoll_process::send::send(sender, &mut *core.own, destination, message) {
            Ok(()) => {
                core.x[0] = message;
                dispatch(ip.add(2), core.top(), e, reds - 1, c)
            }
            Err(exception) => {
                let export = &*(*ip.add(1) as *const Export);
                raise::built_in(exception, export, &[destination, message], ip, core.top(), e, reds, c)
            }
        }
    }
}

/// Acts on signals that have arrived; `Err` if one of them ends the process.
unsafe fn take_signals(hp: *mut Word, e: *mut Word, c: *mut Core) -> Result<*mut Word, ()> {
    // SAFETY: the process runs on this core.
    unsafe {
        let core = &mut *c;
        core.swap_out(hp, e);
        match receive_signals(&*core.process, &mut *core.own, &mut crate::requests::answer) {
            Fate::Lives => Ok(core.top()),
            Fate::Dies(reason) => {
                core.x[0] = reason;
                Err(())
            }
        }
    }
}

/// `loop_rec`: fail, destination.
pub unsafe fn loop_rec(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        let core = &mut *c;
        let own = &mut *core.own;
        let mut hp = hp;
        let message = match own.mailbox.current() {
            Some(message) => Some(message),
            None if (*core.process).inbox.is_empty() => None,
            None => {
                match take_signals(hp, e, c) {
                    Ok(top) => hp = top,
                    Err(()) => return Exit::Ended,
                }
                own.mailbox.current()
            }
        };
        let Some(mut message) = message else {
            // A suspended process stops here at the latest; otherwise it waits at the fail label.
            return dispatch(*ip.add(1) as *const Word, hp, e, reds, c);
        };
        let fragment = message.as_mut();
        if fragment.used() > 0 {
            core.swap_out(hp, e);
            architecture().receive(&mut own.mutator, fragment);
            hp = (*c).top();
        }
        Any::write(*ip.add(2), fragment.term, e, c);
        dispatch(ip.add(3), hp, e, reds, c)
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
pub unsafe fn remove_message(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        let core = &mut *c;
        let own = &mut *core.own;
        forget_timeout(core);
        let mut reds = reds;
        if let Some(message) = own.mailbox.take_current() {
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
        System::get().timers.cancel(own.timer);
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
        let core = &mut *c;
        let own = &mut *core.own;
        let time = any_at(ip, 2, e, c);
        match own.wait {
            WaitState::Expired => return dispatch(ip.add(3), hp, e, reds, c),
            WaitState::None if time != atoms::INFINITY => {
                let Some(milliseconds @ 0..=LONGEST) = time.as_small() else {
                    return raise::plain(Exception::error(atoms::TIMEOUT_VALUE), ip, hp, e, reds, c);
                };
                if milliseconds == 0 {
                    return dispatch(ip.add(3), hp, e, reds, c);
                }
                let system = System::get();
                let shard = system.schedule().current();
                let due = clock::monotonic() + milliseconds * MILLISECOND;
                own.timer = system.timers.start(shard, due, Action::Wait { pid: (*core.process).pid });
                own.wait = WaitState::Running;
            }
            _ => {}
        }
        sleep(*ip.add(1) as *const Word, hp, e, reds, c)
    }
}

/// `timeout`
pub unsafe fn timeout(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        forget_timeout(&mut *c);
        (*(*c).own).mailbox.restart();
        dispatch(ip.add(1), hp, e, reds, c)
    }
}

/// `recv_marker_reserve`: destination. The marker is a small integer that the program never sees.
pub unsafe fn marker_reserve(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        match take_signals(hp, e, c) {
            Ok(hp) => {
                let number = (*(*c).own).mailbox.reserve_marker();
                Any::write(*ip.add(1), Term::small(number as i64), e, c);
                dispatch(ip.add(2), hp, e, reds, c)
            }
            Err(()) => Exit::Ended,
        }
    }
}

/// `recv_marker_bind`: marker, reference.
pub unsafe fn marker_bind(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        let (marker, reference) = (any_at(ip, 1, e, c), any_at(ip, 2, e, c));
        if let (Some(number), Some(reference)) = (marker.as_small(), ReferenceId::of(reference)) {
            (*(*c).own).mailbox.bind_marker(number as u64, reference);
        }
        dispatch(ip.add(3), hp, e, reds, c)
    }
}

/// `recv_marker_clear`: a marker or a reference.
pub unsafe fn marker_clear(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        let which = any_at(ip, 1, e, c);
        let mailbox = &mut (*(*c).own).mailbox;
        if let Some(number) = which.as_small() {
            mailbox.clear_reserved_marker(number as u64);
        } else if let Some(reference) = ReferenceId::of(which) {
            mailbox.clear_marker(reference);
        }
        dispatch(ip.add(2), hp, e, reds, c)
    }
}

/// `recv_marker_use`: reference.
pub unsafe fn marker_use(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        if let Some(reference) = ReferenceId::of(any_at(ip, 1, e, c)) {
            (*(*c).own).mailbox.use_marker(reference);
        }
        dispatch(ip.add(2), hp, e, reds, c)
    }
}
