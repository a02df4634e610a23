//! Sizes and limits of heaps: those of processes made without options, and how programs state and see them.

use std::sync::atomic::{AtomicBool, Ordering};

use atoll_heap::{HeapOptions, Mutator};
use atoll_operations::guards::as_boolean;
use atoll_process::Flags;
use atoll_term::atoms::known_atom;
use atoll_term::{Term, atoms, map};
use parking_lot::RwLock;

use crate::arguments::size;
use atoll_process::release::release_number;

/// Settings of a machine that a process gets when its spawn options do not say otherwise.
pub struct Defaults {
    heap: RwLock<HeapOptions>,
    /// What happens when a process reaches the default `max_heap_size`: not killed, not logged.
    limit_flags: RwLock<(bool, bool)>,
    /// Whether messages wait outside of heaps.
    off_heap_messages: AtomicBool,
}

atoll_platform::part_of_machine!(Defaults);

impl Defaults {
    /// Heaps like this; sizes are in words.
    pub fn new(heap: HeapOptions) -> Defaults {
        Defaults {
            heap: RwLock::new(heap),
            limit_flags: RwLock::new((false, false)),
            off_heap_messages: AtomicBool::new(false),
        }
    }
}

/// Settings of the heaps of processes that are made without other options.
pub fn default_heap() -> HeapOptions {
    *part().heap.read()
}

/// Sets the heaps of processes that are made without other options; sizes are in words.
pub fn install_default_heap(options: HeapOptions) {
    *part().heap.write() = options;
}

/// Sets the default of `message_queue_data` (`+hmqd`).
pub fn set_default_off_heap_messages(off_heap: bool) {
    part().off_heap_messages.store(off_heap, Ordering::Relaxed);
}

/// The default of `message_queue_data`: whether messages wait outside of heaps.
pub fn default_off_heap_messages() -> bool {
    part().off_heap_messages.load(Ordering::Relaxed)
}

/// Sets whether reaching the default `max_heap_size` spares a process, and whether it does so without a message.
pub fn set_default_heap_limit_flags(spares: bool, quiet: bool) {
    *part().limit_flags.write() = (spares, quiet);
}

/// Whether reaching the default `max_heap_size` spares a process, and whether it does so without a message.
pub fn default_heap_limit_flags() -> (bool, bool) {
    *part().limit_flags.read()
}

/// The value of `max_heap_size`.
#[derive(Clone, Copy)]
pub struct HeapLimit {
    /// In words, 0 is none.
    pub words: usize,
    /// Whether the process is killed, `None`: as before.
    pub kill: Option<bool>,
    /// Whether a message is logged, `None`: as before.
    pub log: Option<bool>,
}

impl HeapLimit {
    /// Reads a size or a map `#{size => Words, kill => Bool, error_logger => Bool}`.
    pub fn read(value: Term) -> Option<HeapLimit> {
        if !value.is_map() {
            return Some(HeapLimit { words: size(value)?, kill: None, log: None });
        }
        let field = |key: Term| atoll_term::map::get(value, key);
        let words = size(field(atoms::SIZE)?)?;
        let switch = |key: Term| field(key).map_or(Some(None), |value| as_boolean(value).map(Some));
        Some(HeapLimit { words, kill: switch(atoms::KILL)?, log: switch(atoms::ERROR_LOGGER)? })
    }

    /// Sets what reaching the limit does.
    pub fn set_flags(self, flags: &mut Flags) {
        flags.set_heap_limit_spares(self.kill.map_or(flags.heap_limit_spares(), |kill| !kill));
        flags.set_quiet_heap_limit(self.log.map_or(flags.quiet_heap_limit(), |log| !log));
    }
}

/// The size that OTP gives a heap that shall have this many words: at least 233; each size is the sum of the two before
/// it and 1, and from 833,026 on a fifth more than the one before it.
pub fn heap_words_at_least(words: usize) -> usize {
    let (mut size, mut next) = (233_usize, 376_usize);
    while size < words {
        let after = if next >= 833_026 { next.saturating_add(next / 5) } else { size + next + 1 };
        (size, next) = (next, after);
    }
    size
}

/// The sizes that OTP gives heaps, in words, up to what 2^55 bytes need.
pub fn heap_sizes() -> Vec<usize> {
    const MOST: usize = 1 << 52;
    let mut sizes = vec![heap_words_at_least(0)];
    while sizes.last().is_some_and(|last| *last < MOST) {
        let next = sizes.last().map_or(0, |last| last + 1);
        sizes.push(heap_words_at_least(next));
    }
    sizes
}

/// `min_bin_vheap_size` where none was asked for: binaries outside of heaps do not have a heap size of their own here,
/// so programs read the value that they set, and it changes nothing; this is OTP's value.
pub const BINARY_HEAP_WORDS: i64 = atoll_process::watch::BINARY_HEAP_WORDS as i64;

/// The first release in which binaries outside of heaps can count.
const COUNTS_BINARIES: u32 = 27;

/// `#{size, kill, error_logger}`
pub fn heap_limit_map(heap: &mut Mutator, words: usize, spares: bool, quiet: bool) -> Term {
    let mut pairs = vec![
        (atoms::SIZE, Term::small(words as i64)),
        (atoms::KILL, Term::boolean(!spares)),
        (atoms::ERROR_LOGGER, Term::boolean(!quiet)),
    ];
    // Binaries outside of heaps never count here.
    if release_number() >= COUNTS_BINARIES {
        pairs.push((known_atom("include_shared_binaries"), Term::boolean(false)));
    }
    map::from_pairs(heap, &pairs)
}
