//! `hybrid`: a private heap for each process, and one message area for all (Wilhelmsson §5, Johansson §5). Allocation
//! sites whose objects turn out to be sent build in the area (`feedback.rs`). A term that is sent, stored in a table or
//! handed to a new process is copied there, with its sharing kept, unless it is there already; then it is passed by
//! pointer. Messages of a few words, and of kinds that nobody sends on (`uses.rs`), are copied to their receiver as
//! `private` does, because that costs less than an object of the area.
//!
//! What it cannot do: when it looks for the area's roots in a process, it stops that process for at least the time to
//! scan its young generation and its dictionary.
//!
//! Private collections are those of `private` (`private/mod.rs`, phases 1 to 7), on the process's own thread, without
//! synchronisation: the area lies in the immovable range, so they leave pointers into it alone by the comparison they
//! make anyway. One phase is added, before the roots are visited: terms that have a copy in the area are redirected to
//! it (`copies.rs`).
//!
//! The area is collected by the `treadmill` crate, which moves nothing and marks in slices while all processes run.
//! Schedulers work on the phases of its cycle at safepoints, and when they are idle:
//!
//! 1. Every scheduler hears that a cycle begins: from then on new objects are black, and the barrier of `send.rs` is
//!    on.
//! 2. Roots (`roots.rs`): kept messages, stored terms, then processes one by one. Only the process being scanned stops.
//! 3. Marking, by any number of schedulers (Lim, Pardyak and Bershad 1998 for the memory; the crate's `paged` for the
//!    rest).
//! 4. Every scheduler is heard once more; objects with off-heap parts that died are finalized; the rest is swept in
//!    slices.
//!
//! Why this is enough: terms are immutable, so a process that was scanned reaches new objects of the area only by
//! pointers that it is given, which pass the barrier, or out of objects that will be scanned.
//!
//! Safepoints are the beginning of a time slice and, on a thread that has used the area since, the point before a
//! process sends: there native code holds no pointer into the area that is not stored elsewhere. A scheduler notices a
//! change of phase only there. So no phase changes while a message is being copied, or between copy and delivery.
//!
//! Invariants, beside P1 to P6 of `private` and PG1 to PG8 of `treadmill`:
//! * A1: a pointer into the area leads to the first word of an object there that lives.
//! * A2: an object of the area refers to the area and to literals only.
//! * A3: what is noted as a copy of a private term lies in the area.
//! * A4: of what a site builds of which the message analysis says that it never leaves, nothing is sent or stored.

mod area;
mod bounds;
mod checked;
mod copies;
mod copy;
mod feedback;
mod portions;
mod roots;
mod send;
mod uses;
mod verify;

use std::ptr::NonNull;
use std::sync::atomic::Ordering;

use atoll_heap::{
    AllocationSites, Architecture, Base, Collection, ConcurrentRoots, FirstBlocks, Fragment, HeapFull, HeapOptions,
    HeapSizes, IdleWork, Message, MessageBuilder, Mutator, RootSet, Settings, Site, StackMarkers, StackPlacement,
};
use atoll_term::{Header, Term, Word};

use crate::not_made::NotMade;
use crate::private::phases::Beside;
use crate::private::send::send_flat;
use crate::private::state::State;
use crate::private::{Private, collect};
use area::Area;

/// The architecture with private heaps and a message area.
pub struct Hybrid {
    area: Area,
    private: Private,
}

impl Hybrid {
    /// The architecture, with its immovable range and the area in it.
    ///
    /// # Errors
    /// The system gives no addresses.
    pub fn new(settings: &Settings) -> Result<Hybrid, NotMade> {
        let (area, range) = Area::new(settings)?;
        Ok(Hybrid { area, private: Private::beside(settings, range) })
    }

    /// Forgets what is noted of a process beside it.
    #[cold]
    fn forget(&self, process: &Mutator) {
        let state = State::of(process);
        if state.sampler.load(Ordering::Relaxed) != 0 {
            self.area.feedback.forget(portions::address(process));
        }
        if state.has_copies() {
            self.area.finder.copies.take(process);
        }
        if state.in_portions() {
            self.area.finder.portions.forget(process);
        }
    }

    /// Sets when and how private heaps are collected in slices, as [`Private::set_slices`] does.
    #[cfg(test)]
    pub(crate) fn set_slices(&self, above: usize, nanoseconds: i64, step: usize) {
        self.private.set_slices(above, nanoseconds, step);
    }

    /// Blocks of a private heap go away: see `portions.rs`.
    fn finish_portions(&self, mutator: usize, leaves: impl Fn(usize, bool) -> bool) {
        let step = area::Step::begin();
        self.area.with_any(|local| {
            // SAFETY: the collection of the process, which this thread runs, frees nothing before it has said so.
            unsafe { self.area.finder.finish(mutator, &mut |object| local.barrier(object), &leaves) }
        });
        step.end();
    }
}

impl Architecture for Hybrid {
    fn name(&self) -> &'static str {
        "hybrid"
    }

    fn base(&self) -> &Base {
        &self.private.base
    }

    fn stack_placement(&self) -> StackPlacement {
        StackPlacement::United
    }

    fn concurrent_roots(&self) -> Option<&dyn ConcurrentRoots> {
        Some(self)
    }

    fn idle_work(&self) -> Option<&dyn IdleWork> {
        Some(self)
    }

    fn message_builder(&self) -> Option<&dyn MessageBuilder> {
        Some(self)
    }

    fn allocation_sites(&self) -> Option<&dyn AllocationSites> {
        Some(self)
    }

    fn stack_markers(&self) -> Option<&dyn StackMarkers> {
        Some(self)
    }

    fn first_blocks(&self) -> Option<&dyn FirstBlocks> {
        self.private.first_blocks()
    }

    unsafe fn create(&self, mutator: &mut Mutator, arguments: Message, options: &HeapOptions) -> Term {
        // SAFETY: as for the method of the same name that calls this.
        let term = unsafe { self.private.create(mutator, arguments, options) };
        State::of(mutator).area_cycle.store(self.area.finder.first_mark(), Ordering::Release);
        term
    }

    unsafe fn destroy(&self, mutator: &mut Mutator) {
        if State::of(mutator).is_noted() {
            self.forget(mutator);
        }
        // SAFETY: as for the method of the same name that calls this.
        unsafe { self.private.destroy(mutator) };
    }

    unsafe fn schedule_in(&self, mutator: &mut Mutator) {
        self.area.settle();
        if self.private.base.settings.verify {
            self.area.check_memory();
        }
        self.area.feedback.runs_here(&State::of(mutator).sampler);
    }

    unsafe fn schedule_out(&self, mutator: &mut Mutator) {
        self.area.close_window();
        // SAFETY: as for the method of the same name that calls this.
        unsafe { self.private.schedule_out(mutator) };
    }

    unsafe fn collect(
        &self,
        mutator: &mut Mutator,
        request: Collection,
        live: &mut [Term],
        roots: &mut dyn RootSet,
    ) -> Result<(), HeapFull> {
        if State::of(mutator).is_remembered() {
            self.area.uses.forget(mutator);
            State::of_mut(mutator).set_remembered(false);
        }
        let has_received = mutator.fragment_words > 0;
        let has_copies = State::of(mutator).has_copies();
        let mut copies = if has_copies { self.area.finder.copies.take(mutator) } else { Vec::new() };
        let in_portions = State::of(mutator).in_portions();
        let address = portions::address(mutator);
        if in_portions {
            let all = !collect::in_slices(&self.private, mutator, &request);
            self.finish_portions(address, |_, old| all || !old);
        }
        let mut leaving = |start: *const Word| {
            if in_portions {
                self.finish_portions(address, |run, _| run == start as usize);
            }
        };
        // Of most processes no object is remembered.
        let is_sampled = State::of(mutator).sampler.load(Ordering::Relaxed) != 0;
        let mut followed = !is_sampled;
        let mut follow = |moved: &dyn Fn(Term) -> Option<Term>| {
            if is_sampled {
                followed = true;
                self.area.feedback.follow(address, moved);
            }
        };
        let beside = Beside { elsewhere: &mut copies, leaving: &mut leaving, followed: &mut follow };
        let result = collect::collect(&self.private, mutator, request, live, roots, beside);
        if !followed {
            self.area.feedback.forget(address);
        }
        if has_received {
            let sizes = self.private.sizes(mutator);
            self.area.uses.kept(sizes.young_used + sizes.old_used);
        }
        if has_copies {
            State::of_mut(mutator).set_has_copies(!copies.is_empty());
            if !copies.is_empty() {
                self.area.finder.copies.put(mutator, copies);
            }
        }
        if self.private.base.settings.verify {
            self.area.close_window();
            verify::verify(&self.area, mutator, roots);
        }
        result
    }

    fn allocate_slow(&self, mutator: &mut Mutator, words: usize) -> NonNull<Word> {
        self.private.allocate_slow(mutator, words)
    }

    fn send(&self, sender: &mut Mutator, term: Term) -> Message {
        if self.private.base.settings.verify {
            checked::check(self, Some(sender), term);
        }
        send_flat(&self.private, sender, term).unwrap_or_else(|| send::send(self, Some(sender), term))
    }

    fn send_copy(&self, term: Term) -> Message {
        if self.private.base.settings.verify {
            checked::check(self, None, term);
        }
        send::send(self, None, term)
    }

    unsafe fn receive(&self, receiver: &mut Mutator, message: &Fragment) -> bool {
        // SAFETY: as for the method of the same name that calls this.
        unsafe { self.private.receive(receiver, message) }
    }

    fn keep_fragment(&self, receiver: &mut Mutator, message: Message) {
        self.private.keep_fragment(receiver, message);
    }

    fn store(&self, owner: &mut Mutator, term: Term) -> NonNull<Fragment> {
        if self.private.base.settings.verify {
            checked::check(self, Some(owner), term);
        }
        send::store(self, owner, term)
    }

    fn store_own(&self, owner: &mut Mutator, term: Term) -> NonNull<Fragment> {
        self.store(owner, term)
    }

    unsafe fn link_stored(&self, stored: NonNull<Fragment>) {
        // SAFETY: as the caller's.
        unsafe { self.area.finder.stored.link(stored) }
    }

    unsafe fn replace_stored(&self, stored: NonNull<Fragment>, with: NonNull<Fragment>) -> bool {
        // SAFETY: as the caller's.
        unsafe { self.area.finder.stored.replace(stored, with) }
    }

    unsafe fn discard_stored(&self, stored: NonNull<Fragment>) {
        // SAFETY: the caller gives it up.
        unsafe { self.area.finder.stored.discard(stored) }
    }

    fn messages_are_roots(&self) -> bool {
        false
    }

    fn wants_collection(&self, mutator: &Mutator) -> bool {
        self.private.wants_collection(mutator)
    }

    fn set_options(&self, mutator: &mut Mutator, options: &HeapOptions) {
        self.private.set_options(mutator, options);
    }

    fn options(&self, mutator: &Mutator) -> HeapOptions {
        self.private.options(mutator)
    }

    fn sizes(&self, mutator: &Mutator) -> HeapSizes {
        self.private.sizes(mutator)
    }

    fn each_block(&self, mutator: &Mutator, visit: &mut dyn FnMut(*mut Word, usize)) {
        self.private.each_block(mutator, visit);
    }

    fn each_common_block(&self, visit: &mut dyn FnMut(*mut Word, usize)) {
        self.area.each_backed_run(visit);
        self.area.finder.stored.each_word(visit);
    }

    fn each_off_heap(&self, mutator: &Mutator, visit: &mut dyn FnMut(NonNull<Word>)) {
        self.private.each_off_heap(mutator, visit);
    }
}

impl ConcurrentRoots for Hybrid {
    fn wants_roots(&self, mutator: &Mutator) -> bool {
        self.area.finder.wants(mutator)
    }

    unsafe fn visit_roots(&self, mutator: &mut Mutator, roots: &mut dyn RootSet) {
        let step = area::Step::begin();
        self.area.with(|local| self.area.finder.scan_own(mutator, roots, &mut |object| local.barrier(object)));
        step.end();
    }

    unsafe fn safepoint(&self) {
        self.area.settle_here();
    }

    fn thread_sleeps(&self) {
        self.area.park();
    }

    fn thread_wakes(&self) {
        self.area.unpark();
    }

    fn message_read(&self, message: &Fragment) {
        self.area.with_any(|local| self.area.finder.scan_fragment(message, &mut |object| local.barrier(object)));
    }

    fn deliver_kept(&self, message: &Message) {
        send::shade_all(self, message);
    }
}

impl IdleWork for Hybrid {
    unsafe fn work(&self) -> bool {
        // SAFETY: as the caller's.
        self.area.assist() || unsafe { self.private.work() }
    }

    fn is_waiting(&self) -> bool {
        self.private.is_waiting()
    }
}

impl MessageBuilder for Hybrid {
    fn build_message(&self, header: Option<Header>, fields: &[Term]) -> Option<Term> {
        send::build(self, header, fields)
    }
}

impl AllocationSites for Hybrid {
    fn built(&self, mutator: *const Mutator, object: Term, site: Site) {
        // SAFETY: the caller runs the process.
        self.area.feedback.built(mutator as usize, unsafe { &*State::sampler_at(mutator) }, object, site);
    }
}

impl StackMarkers for Hybrid {
    fn use_marker(&self, code: Word) {
        self.area.finder.portions.use_marker(code);
    }

    fn marker(&self, mutator: &Mutator) -> Option<(*const Word, Word)> {
        if State::of(mutator).in_portions() { self.area.finder.portions.marker_of(mutator) } else { None }
    }

    unsafe fn cut(&self, mutator: &mut Mutator) {
        if !State::of(mutator).in_portions() || !self.area.finder.portions.is_cut(mutator) {
            return;
        }
        let step = area::Step::begin();
        self.area.with_any(|local| {
            // SAFETY: this thread runs the process.
            unsafe { self.area.finder.scan_cut(mutator, &mut |object| local.barrier(object)) }
        });
        step.end();
    }
}
