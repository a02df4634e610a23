//! Tests that every architecture must pass, with a process of their own making.

mod busy;
mod counters;
mod expected;
mod hybrid;
mod messages;
mod nurseries;
pub(crate) mod random;
pub(crate) mod shared;
mod slices;
mod stack_marks;
mod stored;
pub(crate) mod unified;
pub(crate) mod world;

use std::collections::HashSet;
use std::ptr::NonNull;
use std::sync::OnceLock;

use atoll_heap::{
    Architecture, Collection, Fragment, HeapFull, HeapOptions, Message, Mutator, Part, RootSet, Settings,
};
use atoll_platform::threads;
use atoll_term::{Allocate, Header, Term, View, Word};

/// Settings of a process as the machine's defaults are.
pub(crate) const OPTIONS: HeapOptions = HeapOptions { minimum_words: 233, full_sweep_after: 65_535, maximum_words: 0 };

/// Rounds of a test: fewer under Miri, which is slow.
pub(crate) const fn rounds(count: usize) -> usize {
    if cfg!(miri) { count / 50 } else { count }
}

/// An architecture of this name, which the tests share.
pub(crate) fn by_name(name: &str) -> &'static dyn Architecture {
    static MADE: [OnceLock<Box<dyn Architecture>>; 5] = [const { OnceLock::new() }; 5];
    let index = crate::NAMES.iter().position(|known| *known == name).unwrap();
    &**MADE[index].get_or_init(|| crate::by_name(name, &verified()).unwrap())
}

/// Heaps are checked after every collection; not under Miri, which sees itself what is wrong with memory.
pub(crate) fn verified() -> Settings {
    Settings { verify: !cfg!(miri), ..Settings::default() }
}

/// A `private` and a `shared` of a test's own, the latter with an old generation that is moved or not.
pub(crate) fn private() -> &'static crate::Private {
    Box::leak(Box::new(crate::Private::new(&verified()).unwrap()))
}

pub(crate) fn shared_with(mark_sweep: bool) -> &'static crate::Shared {
    Box::leak(Box::new(crate::Shared::new(&Settings { mark_sweep, ..verified() }).unwrap()))
}

/// This thread works with heaps. The architectures of all tests but one have the world and the figures in common.
pub(crate) fn enter() {
    enter_for(by_name("nogc"));
}

/// As [`enter`], for this architecture.
pub(crate) fn enter_for(architecture: &dyn Architecture) {
    static TESTS: [OnceLock<Part>; 2] = [const { OnceLock::new() }; 2];
    let world = world::of(architecture);
    threads::enter(TESTS[usize::from(architecture.name() == "unified")].get_or_init(|| {
        let part = Part::new(crate::by_name("nogc", &verified()).unwrap());
        part.set_world(world);
        part
    }));
}

/// A process: a mutator, and roots beside the stack.
pub(crate) struct Process {
    pub(crate) architecture: &'static dyn Architecture,
    pub(crate) mutator: Box<Mutator>,
    pub(crate) roots: Box<RootTable>,
}

/// A table of roots at an address that stays.
pub(crate) type RootTable = Vec<Term>;

/// Roots as the machine would name them.
pub(crate) struct Roots<'a>(pub(crate) &'a mut [Term]);

impl RootSet for Roots<'_> {
    fn each_slice(&mut self, visit: &mut dyn FnMut(*mut Term, usize)) {
        let (first, second) = self.0.split_at_mut(self.0.len() / 2);
        visit(first.as_mut_ptr(), first.len());
        visit(second.as_mut_ptr(), second.len());
    }

    fn each_message(&mut self, _visit: &mut dyn FnMut(&Fragment)) {}
}

impl Process {
    /// A process with a term as its argument.
    pub(crate) fn new(architecture: &'static dyn Architecture, options: &HeapOptions, argument: Term) -> Process {
        if threads::machine().is_none() {
            enter_for(architecture);
        }
        let mut mutator = Box::new(Mutator::empty());
        let arguments = architecture.send_copy(argument);
        // SAFETY: the test runs this process and keeps its terms as roots; what it hands over it does not use any more.
        let term = unsafe { architecture.create(&mut mutator, arguments, options) };
        // SAFETY: the test runs this process and keeps its terms as roots; what it hands over it does not use any more.
        unsafe { architecture.schedule_in(&mut mutator) };
        let mut process = Process { architecture, mutator, roots: Box::new(vec![term]) };
        if world::concerns(architecture) {
            world::register(architecture, &mut process.mutator, &mut process.roots);
        }
        process
    }

    /// Collects with all roots.
    pub(crate) fn collect(&mut self, request: Collection) -> Result<(), HeapFull> {
        // SAFETY: the test runs this process and keeps its terms as roots; what it hands over it does not use any more.
        unsafe { self.architecture.collect(&mut self.mutator, request, &mut [], &mut Roots(&mut self.roots)) }
    }

    /// Makes room, collecting if there is none, as an engine does.
    pub(crate) fn reserve(&mut self, words: usize) {
        if world::concerns(self.architecture) {
            world::safepoint(self.architecture);
        }
        self.reserve_within_slice(words);
    }

    /// Learns of the phase of a cycle that is on.
    pub(crate) fn hear(&mut self) {
        if let Some(collector) = self.architecture.concurrent_roots() {
            // SAFETY: the test runs this process and keeps its terms as roots.
            unsafe {
                if collector.hears_within_slice(&mut self.mutator) {
                    collector.visit_roots(&mut self.mutator, &mut Roots(&mut self.roots));
                }
            }
        }
    }

    /// As [`Process::reserve`], where no time slice may end.
    pub(crate) fn reserve_within_slice(&mut self, words: usize) {
        if self.mutator.free_words() < words {
            self.hear();
            self.collect(Collection { heap_words: words, ..Collection::default() }).unwrap();
        }
    }

    /// Pushes a term on the stack, collecting if there is no room.
    pub(crate) fn push(&mut self, term: Term) {
        let limit = if self.mutator.limit.is_null() { self.mutator.top } else { self.mutator.block };
        if self.mutator.stack <= limit {
            self.roots.push(term);
            self.collect(Collection { stack_words: 8, ..Collection::default() }).unwrap();
            let term = self.roots.pop().unwrap();
            return self.push(term);
        }
        self.mutator.stack = self.mutator.stack.wrapping_sub(1);
        // SAFETY: the limit was checked.
        unsafe { *self.mutator.stack = term.word() };
    }

    /// Pops what was pushed last.
    pub(crate) fn pop(&mut self) -> Term {
        // SAFETY: the tests pop what they pushed.
        let term = unsafe { Term::from_word(*self.mutator.stack) };
        self.mutator.stack = self.mutator.stack.wrapping_add(1);
        term
    }

    /// Sends a term to another process, which takes it at once.
    pub(crate) fn send_to(&mut self, receiver: &mut Process, term: Term) -> Term {
        let message = self.architecture.send(&mut self.mutator, term);
        receiver.take(message)
    }

    /// Takes a message as an engine does.
    pub(crate) fn take(&mut self, message: Message) -> Term {
        // SAFETY: the test runs this process and keeps its terms as roots; nobody has the message's term.
        let moved = unsafe { self.architecture.receive(&mut self.mutator, &message) };
        let term = message.term();
        if moved {
            message.free_empty();
        } else {
            self.architecture.keep_fragment(&mut self.mutator, message);
        }
        term
    }
}

impl Allocate for Process {
    fn allocate(&mut self, words: usize) -> NonNull<Word> {
        if self.mutator.free_words() >= words {
            return self.mutator.allocate(words);
        }
        let place = self.mutator.allocate_in_fragment(words);
        place.unwrap_or_else(|| self.architecture.allocate_slow(&mut self.mutator, words))
    }

    fn adopt(&mut self, object: NonNull<Word>) {
        self.mutator.adopt(object);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        world::unregister(&mut self.mutator);
        // SAFETY: the test runs this process and keeps its terms as roots; what it hands over it does not use any more.
        unsafe { self.architecture.schedule_out(&mut self.mutator) };
        // SAFETY: the test runs this process and keeps its terms as roots; what it hands over it does not use any more.
        unsafe { self.architecture.destroy(&mut self.mutator) };
    }
}

fn mix(hash: u64, value: u64) -> u64 {
    (hash ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
}

/// Hash of a term's contents, the same for equal terms. Lists may be long, nesting must not be deep.
pub(crate) fn contents(term: Term) -> u64 {
    match term.view() {
        View::Cons(..) => {
            let mut hash = 1;
            let mut list = term;
            while list.is_cons() {
                hash = mix(hash, contents(list.head()));
                list = list.tail();
            }
            mix(hash, contents(list))
        }
        View::Tuple(elements) => elements.iter().fold(2, |hash, element| mix(hash, contents(*element))),
        View::Map(map) => map.boxed_terms().iter().fold(3, |hash, element| mix(hash, contents(*element))),
        View::Bits(bits) => bits.to_bytes().iter().fold(4, |hash, byte| mix(hash, u64::from(*byte))),
        View::Float(value) => mix(5, value.to_bits()),
        View::Big(big) => big.limbs.iter().fold(6 + u64::from(big.negative), |hash, limb| mix(hash, *limb)),
        View::Reference(reference) => mix(8, reference.words[0]),
        _ => mix(9, term.word()),
    }
}

/// Words of a term with each object counted once, the immovable ones too.
pub(crate) fn real_words(term: Term) -> usize {
    let mut seen = HashSet::new();
    let mut pending = vec![term];
    let mut words = 0;
    while let Some(term) = pending.pop() {
        if !term.is_pointer() || !seen.insert(term.word()) {
            continue;
        }
        if term.is_cons() {
            words += 2;
            pending.extend([term.head(), term.tail()]);
            continue;
        }
        let header: Header = term.header();
        words += header.object_words();
        if !header.is_opaque() {
            pending.extend(term.boxed_terms());
        }
    }
    words
}
