//! Where a running process may stop: time slices end at calls, and a collection moves what registers refer to.

use atoll_heap::Collection;
use atoll_process::watch;
use atoll_term::Word;

use crate::core::{Core, Exit, dispatch, resume};

/// Enters a function, unless the time slice is used up.
#[inline(always)]
pub unsafe fn enter(target: *const Word, arity: Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the target is a function's first instruction.
    unsafe {
        if reds <= 1 {
            (*c).live = arity;
            return yield_entering(target, hp, e, reds - 1, c);
        }
        dispatch(target, hp, e, reds - 1, c)
    }
}

/// As [`enter`], for slow paths; see [`resume`].
pub unsafe fn enter_slowly(
    target: *const Word,
    arity: Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: the target is a function's first instruction.
    unsafe {
        if reds <= 1 {
            return yield_at(target, arity as usize, hp, e, reds - 1, c);
        }
        resume(target, hp, e, reds - 1, c)
    }
}

/// As [`yield_at`], with a handler's arguments, so that a handler can jump here without moving its registers about.
#[cold]
#[inline(never)]
pub unsafe fn yield_entering(target: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: as for the caller.
    unsafe { std::hint::black_box(yield_at(target, (*c).live as usize, hp, e, reds, c)) }
}

/// Saves where to go on and the registers in use, and gives the process back.
#[cold]
#[inline(never)]
pub unsafe fn yield_at(target: *const Word, live: usize, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        let core = &mut *c;
        core.swap_out(hp, e);
        let own = &mut *core.own;
        own.address = target;
        own.saved.clear();
        own.saved.extend_from_slice(&core.x[..live]);
        own.reductions += core.slice - reds;
        Exit::Yield
    }
}

/// Counts allocation points for `--gc-stress`: true at every Nth.
pub fn stress_is_due() -> bool {
    thread_local! { static COUNT: std::cell::Cell<u32> = const { std::cell::Cell::new(0) } }
    let every = atoll_heap::settings().stress;
    if every == 0 {
        return false;
    }
    COUNT.with(|count| {
        count.set(count.get() + 1);
        count.get().is_multiple_of(every)
    })
}

/// Collects; returns the new heap top and stack pointer, or `None` when the process has reached its heap limit.
pub unsafe fn collect(
    request: Collection,
    live: usize,
    hp: *mut Word,
    e: *mut Word,
    c: *mut Core,
) -> Option<(*mut Word, *mut Word)> {
    // SAFETY: the process runs on this core.
    unsafe {
        let core = &mut *c;
        core.swap_out(hp, e);
        if request.heap_words > 0
            && let Some(collector) = core.collector
            && collector.hears_within_slice(&mut (*core.own).mutator)
        {
            show_roots(live, c);
        }
        let core = &mut *c;
        let own = &mut *core.own;
        watch::collect((*core.process).pid, own, request, &mut core.x[..live]).ok()?;
        Some(core.swap_in())
    }
}

/// Shows its roots to a collector, in the middle of a time slice.
#[cold]
#[inline(never)]
unsafe fn show_roots(live: usize, c: *mut Core) {
    // SAFETY: the process runs on this core, and this thread holds its terms in these registers alone.
    unsafe {
        let core = &mut *c;
        let Some(collector) = core.collector else { return };
        let own = &mut *core.own;
        let before = own.saved.len();
        own.saved.extend_from_slice(&core.x[..live]);
        (*core.process).visit_running(own, &mut |mutator, roots| collector.visit_roots(mutator, roots));
        own.saved.truncate(before);
    }
}

/// Makes sure that a frame of so many words fits, collecting if needed.
pub unsafe fn room_on_stack(
    words: usize,
    live: usize,
    hp: *mut Word,
    e: *mut Word,
    c: *mut Core,
) -> Option<(*mut Word, *mut Word)> {
    // SAFETY: the process runs on this core.
    unsafe {
        let free = if (*c).heap_limit.is_null() { e.offset_from(hp) } else { e.offset_from((*c).stack_limit) };
        if free >= words as isize {
            return Some((hp, e));
        }
        collect(Collection { stack_words: words + 1, ..Collection::default() }, live, hp, e, c)
    }
}

/// When results have gone to fragments because the heap is full, ends the time slice at the next call, where the
/// process is collected.
#[inline(always)]
pub unsafe fn end_soon_if_full(reds: i64, c: *mut Core) -> i64 {
    // SAFETY: the process runs on this core.
    unsafe {
        let mutator = &*(*c).mutator;
        if mutator.is_calm() || !(*c).architecture.wants_collection(mutator) {
            return reds;
        }
        // Where slices end at given places, the process is collected when its heap is full, or the slice over.
        if (*c).silent.is_some() { reds } else { reds.min(1) }
    }
}
