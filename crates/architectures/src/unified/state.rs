//! What `unified` keeps in a mutator: its options, and in which cycle the process was scanned.

use std::num::NonZeroU16;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use atoll_heap::{HeapOptions, Mutator, STATE_WORDS};

use crate::common::first_stacks::Beginning;
use crate::common::in_32_bits;

/// The overlay of `Mutator::state`.
#[repr(C)]
pub(super) struct State {
    minimum_words: u32,
    /// `max_heap_size`; 0 is no limit.
    maximum_words: u32,
    /// Words that it has allocated since its limit was looked at.
    pub(super) allocated: usize,
    /// Its buffer is counted in `allocated` up to here.
    pub(super) counted: usize,
    /// The cycle in which it was scanned last.
    scanned: AtomicU32,
    /// The thread whose buffer the process has a nursery in.
    pub(super) nursery_of: Option<NonZeroU16>,
    /// Messages sent that are not counted yet.
    pub(super) sent: u32,
    full_sweep_after: u16,
    pub(super) beginning: Beginning,
    /// Whether it has run since it was scanned: if not, its stack and dictionary refer to marked objects alone.
    pub(super) has_run: bool,
    /// Does it run on a thread now?
    pub(super) running: bool,
    /// Whether messages in its mailbox wait to be visited in the cycle in which it was scanned last.
    mail_waits: AtomicBool,
}

const _: () = assert!(size_of::<State>() <= STATE_WORDS * size_of::<usize>());
const _: () = assert!(align_of::<State>() <= align_of::<usize>());

impl State {
    #[inline(always)]
    pub(super) fn of(mutator: &Mutator) -> &State {
        // SAFETY: the state words are this architecture's; all zeros is a valid state.
        unsafe { &*mutator.state.as_ptr().cast::<State>() }
    }

    #[inline(always)]
    pub(super) fn of_mut(mutator: &mut Mutator) -> &mut State {
        // SAFETY: as above.
        unsafe { &mut *mutator.state.as_mut_ptr().cast::<State>() }
    }

    /// The cycle in which the process was scanned last.
    #[inline(always)]
    pub(super) fn scanned(&self) -> u32 {
        self.scanned.load(Ordering::Relaxed)
    }

    /// Whether the process has to be scanned in this cycle, or to be scanned further.
    #[inline(always)]
    pub(super) fn is_wanted(&self, cycle: u32) -> bool {
        self.scanned() != cycle || self.mail_waits.load(Ordering::Relaxed)
    }

    /// As [`State::is_wanted`], of a process that another thread may be running.
    #[inline]
    pub(super) fn is_wanted_at(mutator: *const Mutator, cycle: u32) -> bool {
        // SAFETY: the mutator is that of a process in the table; two fields are looked at, through atomics.
        unsafe {
            let state = (&raw const (*mutator).state).cast::<State>();
            let (scanned, mail_waits) = (&raw const (*state).scanned, &raw const (*state).mail_waits);
            (*scanned).load(Ordering::Acquire) != cycle || (*mail_waits).load(Ordering::Acquire)
        }
    }

    pub(super) fn mail_waits(&self) -> bool {
        self.mail_waits.load(Ordering::Relaxed)
    }

    pub(super) fn set_mail_waits(&mut self, waits: bool) {
        self.mail_waits.store(waits, Ordering::Release);
    }

    /// It was scanned in this cycle, and `runs` next.
    pub(super) fn set_scanned(&mut self, cycle: u32, runs: bool) {
        self.has_run = runs;
        self.scanned.store(cycle, Ordering::Release);
    }

    /// `max_heap_size`; 0 is no limit.
    #[inline]
    pub(super) fn maximum_words(&self) -> usize {
        self.maximum_words as usize
    }

    pub(super) fn options(&self) -> HeapOptions {
        HeapOptions {
            minimum_words: self.minimum_words as usize,
            full_sweep_after: self.full_sweep_after,
            maximum_words: self.maximum_words as usize,
        }
    }

    pub(super) fn set_options(&mut self, options: &HeapOptions) {
        self.minimum_words = in_32_bits(options.minimum_words);
        self.full_sweep_after = options.full_sweep_after;
        self.maximum_words = in_32_bits(options.maximum_words);
    }
}
