//! Figures that every collection and every block changes, kept apart for each thread, so that threads do not wait for
//! each other's cache lines. Reading adds the lanes up.

use std::sync::atomic::{AtomicU64, Ordering};

/// Threads with lower numbers have a lane of their own.
const OWN: usize = 16;
/// Lanes that the others share.
const SHARED: usize = 16;
/// A level is added up when a lane has grown past a multiple of so many words: what [`Level::highest`] may lack, for
/// each lane.
const STEP: u64 = 1 << 12;

/// Collections of one kind. Times in nanoseconds, sizes in words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Collections {
    /// How many there were.
    pub count: u64,
    /// The time that they took.
    pub time: u64,
    /// The longest.
    pub longest: u64,
    /// Words that survived them, summed.
    pub live_words: u64,
    /// Words that did not, summed.
    pub reclaimed_words: u64,
}

/// What became of the words that a collection looked through.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outcome {
    /// Words that survived.
    pub live: u64,
    /// Words that did not.
    pub reclaimed: u64,
}

/// Which collections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Those of the young generation.
    Minor,
    /// Those of all.
    Major,
}

/// An amount of words that grows and shrinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Heap words allocated, over all processes.
    Heap,
    /// Heap words in use, over all processes: as each process's last collection left them.
    Used,
}

#[derive(Debug, Default)]
struct OneKind {
    count: AtomicU64,
    time: AtomicU64,
    longest: AtomicU64,
    live_words: AtomicU64,
    reclaimed_words: AtomicU64,
}

#[derive(Debug, Default)]
#[repr(align(128))]
struct Lane {
    kinds: [OneKind; 2],
    levels: [AtomicU64; 2],
    messages: AtomicU64,
    words_copied: AtomicU64,
}

/// A lane, as its thread sees it.
struct Mine<'l> {
    lane: &'l Lane,
    /// No other thread writes to it.
    is_own: bool,
}

impl Mine<'_> {
    /// Gives the figure as it was before.
    #[inline(always)]
    fn add(&self, figure: impl FnOnce(&Lane) -> &AtomicU64, amount: u64) -> u64 {
        let figure = figure(self.lane);
        if !self.is_own {
            return figure.fetch_add(amount, Ordering::Relaxed);
        }
        let before = figure.load(Ordering::Relaxed);
        figure.store(before.wrapping_add(amount), Ordering::Relaxed);
        before
    }
}

/// See the module.
#[derive(Debug)]
pub struct Lanes {
    /// Those of single threads first. Not inside of the machine, which is made on small stacks, too.
    lanes: Box<[Lane]>,
    highest: [AtomicU64; 2],
}

impl Default for Lanes {
    fn default() -> Lanes {
        Lanes { lanes: (0..OWN + SHARED).map(|_| Lane::default()).collect(), highest: Default::default() }
    }
}

impl Lanes {
    #[inline(always)]
    fn of(&self, thread: usize) -> Mine<'_> {
        let is_own = thread < OWN;
        Mine { lane: &self.lanes[if is_own { thread } else { OWN + thread % SHARED }], is_own }
    }

    /// Adds a collection, by the thread with this number.
    pub(crate) fn collected(&self, thread: usize, kind: Kind, time: u64, outcome: Outcome) {
        let mine = self.of(thread);
        let kind = kind as usize;
        mine.add(|lane| &lane.kinds[kind].count, 1);
        mine.add(|lane| &lane.kinds[kind].live_words, outcome.live);
        mine.add(|lane| &lane.kinds[kind].reclaimed_words, outcome.reclaimed);
        if time > 0 {
            mine.add(|lane| &lane.kinds[kind].time, time);
            mine.lane.kinds[kind].longest.fetch_max(time, Ordering::Relaxed);
        }
    }

    /// Adds a slice of a major collection, by the thread with this number: how long it took, and how long mutators
    /// stood still.
    pub(crate) fn collected_slice(&self, thread: usize, time: u64, pause: u64) {
        let mine = self.of(thread);
        mine.add(|lane| &lane.kinds[Kind::Major as usize].time, time);
        mine.lane.kinds[Kind::Major as usize].longest.fetch_max(pause, Ordering::Relaxed);
    }

    /// Adds messages, and words that were copied for them, by the thread with this number.
    #[inline(always)]
    pub(crate) fn sent(&self, thread: usize, messages: u64, words: u64) {
        let mine = self.of(thread);
        mine.add(|lane| &lane.messages, messages);
        mine.add(|lane| &lane.words_copied, words);
    }

    /// Messages sent so far, and words copied for them.
    pub fn messages(&self) -> (u64, u64) {
        self.lanes.iter().fold((0, 0), |(messages, words), lane| {
            (messages + lane.messages.load(Ordering::Relaxed), words + lane.words_copied.load(Ordering::Relaxed))
        })
    }

    /// Adds words to a level, or takes them away, by the thread with this number.
    #[inline(always)]
    pub(crate) fn change(&self, thread: usize, level: Level, words: i64) {
        let before = self.of(thread).add(|lane| &lane.levels[level as usize], words as u64);
        if words > 0 && before / STEP != before.wrapping_add(words as u64) / STEP {
            self.raise(level);
        }
    }

    #[cold]
    fn raise(&self, level: Level) -> u64 {
        let now = self.level(level);
        // Lanes are read one after the other, so their sum may be one that never was: below zero, even.
        if (now as i64) < 0 {
            return self.highest[level as usize].load(Ordering::Relaxed);
        }
        self.highest[level as usize].fetch_max(now, Ordering::Relaxed).max(now)
    }

    /// Words now.
    pub fn level(&self, level: Level) -> u64 {
        let lanes = self.lanes.iter().map(|lane| lane.levels[level as usize].load(Ordering::Relaxed));
        lanes.fold(0, u64::wrapping_add)
    }

    /// The most words that there were. Of what came and went in between, [`STEP`] words for each lane may be missing.
    pub fn highest(&self, level: Level) -> u64 {
        self.raise(level)
    }

    /// From now on the most words are those from now on.
    pub fn clear_highest(&self, level: Level) {
        self.highest[level as usize].store(self.level(level), Ordering::Relaxed);
    }

    /// The collections so far.
    pub fn collections(&self, kind: Kind) -> Collections {
        let mut sum = Collections::default();
        for lane in &*self.lanes {
            let of = &lane.kinds[kind as usize];
            sum.count += of.count.load(Ordering::Relaxed);
            sum.time += of.time.load(Ordering::Relaxed);
            sum.longest = sum.longest.max(of.longest.load(Ordering::Relaxed));
            sum.live_words += of.live_words.load(Ordering::Relaxed);
            sum.reclaimed_words += of.reclaimed_words.load(Ordering::Relaxed);
        }
        sum
    }

    /// From now on the longest collections are those from now on.
    pub fn clear_longest(&self) {
        for kind in self.lanes.iter().flat_map(|lane| &lane.kinds) {
            kind.longest.store(0, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Some share lanes.
    const THREADS: usize = 64;

    #[test]
    fn lanes_are_added_up() {
        let lanes = Lanes::default();
        for thread in 0..THREADS {
            lanes.collected(thread, Kind::Minor, thread as u64, Outcome { live: 10, reclaimed: 2 });
            lanes.collected_slice(thread, 1, 3);
        }
        let minor = lanes.collections(Kind::Minor);
        assert_eq!(minor, Collections { count: 64, time: 63 * 32, longest: 63, live_words: 640, reclaimed_words: 128 });
        let of_slices = Collections { time: 64, longest: 3, ..Collections::default() };
        assert_eq!(lanes.collections(Kind::Major), of_slices);
        (0..THREADS).for_each(|thread| lanes.sent(thread, 1, thread as u64));
        assert_eq!(lanes.messages(), (64, 63 * 32));
        lanes.clear_longest();
        assert_eq!(lanes.collections(Kind::Minor), Collections { longest: 0, ..minor });
    }

    #[test]
    fn a_level_is_the_sum_and_its_highest_nearly_exact() {
        let lanes = Lanes::default();
        lanes.change(1, Level::Heap, 10_000);
        lanes.change(2, Level::Heap, 10_000);
        lanes.change(2, Level::Heap, -12_000);
        assert_eq!((lanes.level(Level::Heap), lanes.highest(Level::Heap)), (8_000, 20_000));
        lanes.clear_highest(Level::Heap);
        lanes.change(1, Level::Heap, 100);
        assert_eq!((lanes.highest(Level::Heap), lanes.level(Level::Used)), (8_100, 0));
        lanes.change(3, Level::Used, STEP as i64 - 1);
        lanes.change(3, Level::Used, 1 - STEP as i64);
        assert!(lanes.highest(Level::Used) < STEP, "what is small may be missing");
    }
}
