//! Sending and receiving, apart from how instructions name registers and labels.

use atoll_heap::{Message, RoomToKeep};
use atoll_platform::clock;
use atoll_process::handle::{Fate, receive_signals};
use atoll_process::remote::Sent;
use atoll_process::send::send_to_process;
use atoll_process::timers::Action;
use atoll_process::touches::{How, Object};
use atoll_process::{Own, ReferenceId, System, WaitState, tracing};
use atoll_term::{Term, Word, atoms};

use crate::core::{Core, Exit};
use crate::pause::end_soon_if_full;
use crate::story::{self, What};

/// Nanoseconds in a millisecond.
const MILLISECOND: i64 = 1_000_000;
/// Longest timeout, in milliseconds.
const LONGEST: i64 = 0xffff_ffff;

/// Sends X1 to X0, if X0 is the pid of a process here and nobody has to hear of it: so with most messages. X0 is the
/// message then.
#[inline(always)]
pub unsafe fn send_plain(hp: *mut Word, e: *mut Word, c: *mut Core) -> bool {
    // SAFETY: the process runs on this core.
    unsafe {
        let core = &mut *c;
        let own = &mut *core.own;
        let (destination, message) = (core.x[0], core.x[1]);
        if !destination.is_local_pid() || own.flags.traced() || core.silent.is_some() {
            return false;
        }
        core.swap_out(hp, e);
        note_phase(core);
        send_to_process(own, destination, message);
        core.x[0] = message;
        true
    }
}

/// Here alone, not in what built-in functions call: they hold terms of which no collection knows.
#[inline(always)]
unsafe fn note_phase(core: &Core) {
    if let Some(collector) = core.collector {
        // SAFETY: no register holds a pointer that is not in the core.
        unsafe { collector.safepoint() };
    }
}

/// What came of a send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sending {
    /// X0 is the message, and the process goes on.
    Goes,
    /// X0 is the message. The process has to stop, because of the connection or because its slice ends here.
    Stops,
    /// The process has to stop, and come back to the instruction.
    ComesBack,
    /// It failed: the exception is in [`Core::failure`].
    Failed,
}

/// Sends X1 to X0, for the instruction at `at`.
#[inline(never)]
pub unsafe fn send(at: *const Word, hp: *mut Word, e: *mut Word, c: *mut Core) -> Sending {
    // SAFETY: the process runs on this core.
    unsafe {
        let core = &mut *c;
        core.swap_out(hp, e);
        note_phase(core);
        let (destination, message) = (core.x[0], core.x[1]);
        let sent = match atoll_process::send::send((*core.process).pid, &mut *core.own, destination, message) {
            Ok(Sent::Later) => return Sending::ComesBack,
            Ok(sent) => sent,
            Err(exception) => {
                core.count_failed_send();
                core.failure = Some(exception);
                return Sending::Failed;
            }
        };
        core.x[0] = message;
        let is_counted_last = core.silent.is_some() && core.count_send(destination, message, at);
        if is_counted_last || sent == Sent::Busy { Sending::Stops } else { Sending::Goes }
    }
}

/// Acts on signals that have arrived; false if one of them ends the process.
#[inline(never)]
pub unsafe fn take_signals(hp: *mut Word, e: *mut Word, c: *mut Core) -> bool {
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

/// The current message, which may become part of the heap; nil if there is none.
#[inline(always)]
pub unsafe fn look_at_message(c: *mut Core) -> Term {
    // SAFETY: the process runs on this core; its registers are in the mutator.
    unsafe {
        let own = &mut *(*c).own;
        own.keep_looked_at();
        let mutator = &mut own.mutator;
        let architecture = (*c).architecture;
        let term = own.mailbox.look(|message| {
            architecture.receive(mutator, message);
        });
        term.unwrap_or(Term::NIL)
    }
}

/// The process may go on using a message that it has looked at and does not take.
#[inline(never)]
pub unsafe fn keep_message(hp: *mut Word, e: *mut Word, c: *mut Core) {
    // SAFETY: the process runs on this core.
    unsafe {
        (*c).swap_out(hp, e);
        (*(*c).own).keep_looked_at();
    }
}

/// Takes the current message, whose term a register has, out of the mailbox, if there is nothing more to do: so with
/// most messages. No call, so that the handler saves hardly a register.
#[inline(always)]
pub unsafe fn take_plain_message(c: *mut Core) -> bool {
    // SAFETY: the process runs on this core.
    unsafe {
        let own = &mut *(*c).own;
        if own.timer != 0 || (*c).story.is_some() || own.flags.sequenced() {
            return false;
        }
        let Some((message, room)) = own.mailbox.take_without_words(|message| RoomToKeep::of(message.capacity())) else {
            return false;
        };
        own.wait = WaitState::None;
        room.keep(message);
        true
    }
}

/// The current message, which stays where it is. The room is for keeping it when it is taken: where messages come
/// by the thousand before any is taken there is none, and they are moved to the heap when they are looked at.
#[inline(always)]
pub unsafe fn look_in_place(c: *mut Core) -> Option<Term> {
    // SAFETY: the process runs on this core.
    unsafe { (*(*c).own).mailbox.look_in_place(|message| RoomToKeep::of(message.capacity()).is_some()) }
}

/// Takes the current message, which was looked at in place, out of the mailbox, if there is nothing more to do. What is
/// given beside it takes the message when nothing leads there any more.
#[inline(always)]
pub unsafe fn take_in_place(c: *mut Core) -> Option<(Message, RoomToKeep)> {
    // SAFETY: the process runs on this core.
    unsafe {
        let own = &mut *(*c).own;
        if own.timer != 0 || (*c).story.is_some() || own.flags.sequenced() {
            return None;
        }
        let taken = own.mailbox.take_in_place(|message| RoomToKeep::of(message.capacity()))?;
        own.wait = WaitState::None;
        Some(taken)
    }
}

/// A message that was taken where it lay becomes part of the heap: its term, and reductions then.
#[inline(never)]
pub unsafe fn move_in(message: Message, room: RoomToKeep, reds: i64, c: *mut Core) -> (Term, i64) {
    // SAFETY: the process runs on this core; its registers are in the mutator, and one alone has the message's term.
    unsafe {
        let core = &mut *c;
        let mutator = &mut (*core.own).mutator;
        let has_moved = core.architecture.receive(mutator, &message);
        let term = message.term();
        if has_moved {
            room.keep(message);
            return (term, reds);
        }
        core.architecture.keep_fragment(mutator, message);
        (term, end_soon_if_full(reds, core))
    }
}

/// What becomes of a message that was looked at in place, when it is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behind {
    /// Any register may have it: it becomes part of the heap where it is.
    Kept,
    /// Nothing leads there: it is freed.
    Freed,
    /// One register alone has it, which gets what is returned: it moves to the heap.
    Moved,
}

/// Takes the current message, whose term a register has, out of the mailbox, and forgets the timeout. What the register
/// has to hold now, or [`Term::NONE`] if that is what it has, and reductions then: two words, which are returned in
/// machine registers. Registers are in the mutator afterwards.
#[inline(never)]
pub unsafe fn take_message(hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core, behind: Behind) -> (Term, i64) {
    // SAFETY: the process runs on this core.
    unsafe {
        let core = &mut *c;
        core.swap_out(hp, e);
        let own = &mut *core.own;
        forget_timeout(own);
        // Code that came here in another way has nothing in that register.
        let behind = if own.mailbox.is_in_place() { behind } else { Behind::Kept };
        let Some(message) = own.mailbox.take_current() else { return (Term::NONE, reds) };
        let pid = (*core.process).pid;
        if let Some(story) = core.story {
            story.add(pid, What::Takes(story::show(message.term())), None);
            core.system.touches.take(pid, &message);
        }
        if own.flags.sequenced() {
            atoll_process::sequence::taken(pid, own, &message);
        }
        if behind == Behind::Freed {
            return (Term::NIL, reds);
        }
        let has_moved = behind == Behind::Moved && core.architecture.receive(&mut own.mutator, &message);
        let moved = if has_moved { message.term() } else { Term::NONE };
        if message.used() == 0 {
            message.free_empty();
            return (moved, reds);
        }
        core.architecture.keep_fragment(&mut own.mutator, message);
        (Term::NONE, end_soon_if_full(reds, core))
    }
}

#[inline(always)]
fn forget_timeout(own: &mut Own) {
    if own.timer != 0 {
        cancel_timer(own);
    }
    own.wait = WaitState::None;
}

#[inline(never)]
fn cancel_timer(own: &mut Own) {
    System::get().timers.cancel_wait(own.timer);
    own.timer = 0;
}

/// Gives the process back, until a signal comes. No register is kept; it goes on at `address`.
pub unsafe fn sleep(address: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        let core = &mut *c;
        core.swap_out(hp, e);
        let own = &mut *core.own;
        own.address = address;
        own.saved = Default::default();
        own.reductions += core.slice - reds;
        Exit::Wait
    }
}

/// What a `receive ... after` with no message to take does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// The time has come.
    Over,
    /// It sleeps.
    Sleeps,
    /// The time is none.
    NoTime,
}

/// Begins to wait for so many milliseconds, or goes on waiting: then the time is not looked at, as its register is not
/// kept.
#[inline(always)]
pub unsafe fn wait_for(time: Term, c: *mut Core) -> Wait {
    // SAFETY: the process runs on this core.
    unsafe {
        let wait = &mut (*(*c).own).wait;
        match *wait {
            WaitState::Expired => return Wait::Over,
            WaitState::None if time == atoms::INFINITY => *wait = WaitState::Forever,
            WaitState::None => match time.as_small() {
                Some(0) => return Wait::Over,
                Some(milliseconds @ 1..=LONGEST) => start_timer(milliseconds, c),
                _ => {
                    (*(*c).own).mailbox.restart();
                    return Wait::NoTime;
                }
            },
            WaitState::Running | WaitState::Forever => {}
        }
        Wait::Sleeps
    }
}

/// Starts the timer of a `receive`.
#[inline(never)]
unsafe fn start_timer(milliseconds: i64, c: *mut Core) {
    // SAFETY: the process runs on this core.
    unsafe {
        let (own, pid) = (&mut *(*c).own, (*(*c).process).pid);
        let system = System::get();
        let due = clock::now() + milliseconds * MILLISECOND;
        own.timer = system.timers.start(system.schedule().current(), due, Action::Wait { pid });
        own.wait = WaitState::Running;
    }
}

/// The time has come: the next `receive` begins with the first message. The heap top then.
#[inline(always)]
pub unsafe fn time_out(hp: *mut Word, e: *mut Word, c: *mut Core) -> *mut Word {
    // SAFETY: the process runs on this core.
    unsafe {
        let (core, own) = (&mut *c, &mut *(*c).own);
        forget_timeout(own);
        own.mailbox.restart();
        if core.story.is_some() {
            // It depends on what has not arrived.
            core.system.touches.add(Object::Mail((*core.process).pid.immediate_data()), How::Reads);
        }
        if !own.flags.traced() {
            return hp;
        }
        core.swap_out(hp, e);
        tracing::event((*core.process).pid, own, tracing::RECEIVE, "receive", &[atoms::TIMEOUT]);
        core.top()
    }
}

/// Whether the slice ends behind a timeout: that no message was there is something that others can notice.
#[inline(always)]
pub unsafe fn ends_slice(c: *mut Core) -> bool {
    // SAFETY: the process runs on this core.
    unsafe { (*c).silent.is_some() && (*c).count_operation() }
}

/// A new marker at the end of the mailbox: a small integer that the program never sees.
#[inline(never)]
pub unsafe fn reserve_marker(c: *mut Core) -> Term {
    // SAFETY: the process runs on this core.
    unsafe { Term::small((*(*c).own).mailbox.reserve_marker() as i64) }
}

/// From now on the marker is that of the reference.
#[inline(never)]
pub unsafe fn bind_marker(marker: Term, reference: Term, c: *mut Core) {
    if let (Some(number), Some(reference)) = (marker.as_small(), ReferenceId::of(reference)) {
        // SAFETY: the process runs on this core.
        unsafe { (*(*c).own).mailbox.bind_marker(number as u64, reference) };
    }
}

/// Forgets a marker, or that of a reference.
#[inline(never)]
pub unsafe fn clear_marker(which: Term, c: *mut Core) {
    // SAFETY: the process runs on this core.
    let mailbox = unsafe { &mut (*(*c).own).mailbox };
    if let Some(number) = which.as_small() {
        mailbox.clear_reserved_marker(number as u64);
    } else if let Some(reference) = ReferenceId::of(which) {
        mailbox.clear_marker(reference);
    }
}

/// The next `receive` begins at the marker of a reference, if it has one.
#[inline(never)]
pub unsafe fn use_marker(reference: Term, c: *mut Core) {
    if let Some(reference) = ReferenceId::of(reference) {
        // SAFETY: the process runs on this core.
        unsafe { (*(*c).own).mailbox.use_marker(reference) };
    }
}
