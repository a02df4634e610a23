//! Single measurements: a program on a heap, on malloc, the smallest heap that it survives in.

use super::memory::{Collected, Malloc, Memory, Object};
use super::workloads::Workload;
use crate::config::{Collector, Config, Headers, ListSettings, ListSizes, Preset};
use crate::error::OutOfMemory;
use crate::list_sizes;
use crate::statistics::{Collection, Statistics, Usage, processor_time};
use mimalloc::MiMalloc;
use std::time::Duration;

/// What one run of a program was like.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) time: Duration,
    pub(super) statistics: Statistics,
    pub(super) collections: Vec<Collection>,
    pub(super) samples: Vec<Usage>,
}

/// What to observe in a run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Observe {
    /// Take samples of the usage every so many bytes.
    pub(super) samples: Option<u64>,
    /// Switch the clocks of the collector on.
    pub(super) timing: bool,
    /// Measure the processor time of pauses.
    pub(super) pauses: bool,
}

/// Runs one of the seven programs once; `None` if memory ran out, or no heap could be made.
pub(super) fn run(config: &Config, workload: Workload, observe: Observe) -> Option<Run> {
    run_program(config, observe, |memory| workload.run(memory).map(|_| ()))
}

/// Runs a program once.
pub(super) fn run_program(
    config: &Config,
    observe: Observe,
    program: impl FnOnce(&mut Collected) -> Result<(), OutOfMemory>,
) -> Option<Run> {
    let mut memory = Collected::new(config).ok()?;
    memory.heap.set_timing(observe.timing);
    memory.heap.measure_processor_time(observe.pauses);
    if let Some(every) = observe.samples {
        memory.sample_every(every);
    }
    let since = processor_time();
    program(&mut memory).ok()?;
    Some(Run {
        time: processor_time().saturating_sub(since),
        statistics: memory.heap.statistics(),
        collections: memory.heap.collections(),
        samples: std::mem::take(&mut memory.samples),
    })
}

/// Runs a program several times; the run with the median time.
pub(super) fn median(config: &Config, workload: Workload, observe: Observe, repeats: usize) -> Option<Run> {
    let mut runs = Vec::new();
    for _ in 0..repeats.max(1) {
        runs.push(run(config, workload, observe)?);
    }
    runs.sort_by_key(|run| run.time);
    Some(runs.swap_remove(runs.len() / 2))
}

/// The median times of a program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Compared {
    /// On one heap, run again and again, as malloc is; the same without the reuse of temporaries; the same backed at
    /// once; on mimalloc; on the system's malloc.
    pub(super) times: [Duration; 5],
    /// The medians of the ratios of neighbouring runs on each of the three heaps and on mimalloc.
    pub(super) ratios: [f64; 3],
}

/// Runs a program on a heap, on one without the reuse of temporaries, on one that is backed at once, on mimalloc and on
/// the system's malloc in turn, so that all suffer alike from what else the machine does.
pub(super) fn compare(config: &Config, workload: Workload, repeats: usize) -> Option<Compared> {
    let plain = Config { temporaries: false, ..config.clone() };
    let backed = Config { backed: true, ..config.clone() };
    let (mut best, mut plain) = (Collected::new(config).ok()?, Collected::new(&plain).ok()?);
    let mut backed = Collected::new(&backed).ok()?;
    let timed = |memory: &mut Collected| {
        let since = processor_time();
        workload.run(memory).ok()?;
        Some(processor_time().saturating_sub(since))
    };
    // The first runs are not counted: they pay for the first touch of the memory.
    timed(&mut best)?;
    timed(&mut plain)?;
    timed(&mut backed)?;
    let (mut times, mut ratios) = ([const { Vec::new() }; 5], [const { Vec::new() }; 3]);
    for _ in 0..repeats.max(1) {
        let of_best = timed(&mut best)?;
        let mimalloc = malloc(&MiMalloc, workload, 1);
        let of_plain = timed(&mut plain)?;
        let of_backed = timed(&mut backed)?;
        let system = malloc(&std::alloc::System, workload, 1);
        for (ratios, time) in ratios.iter_mut().zip([of_best, of_plain, of_backed]) {
            ratios.push(time.as_secs_f64() / mimalloc.as_secs_f64().max(1e-9));
        }
        for (times, time) in times.iter_mut().zip([of_best, of_plain, of_backed, mimalloc, system]) {
            times.push(time);
        }
    }
    let ratios = ratios.map(|mut ratios| {
        ratios.sort_by(f64::total_cmp);
        ratios[ratios.len() / 2]
    });
    let times = times.map(|mut times| {
        times.sort();
        times[times.len() / 2]
    });
    Some(Compared { times, ratios })
}

/// Runs a program again and again on one heap; what the heap counted.
pub(super) fn repeat(config: &Config, workload: Workload, runs: usize) -> Option<Statistics> {
    let mut memory = Collected::new(config).ok()?;
    for _ in 0..runs.max(1) {
        workload.run(&mut memory).ok()?;
    }
    Some(memory.heap.statistics())
}

/// The median time of a program on malloc and free.
pub(super) fn malloc<A: std::alloc::GlobalAlloc>(allocator: &A, workload: Workload, repeats: usize) -> Duration {
    let mut times: Vec<Duration> = (0..repeats.max(1))
        .map(|_| {
            let mut memory = Malloc::new(allocator);
            let since = processor_time();
            // A failure would only show as a short time, and there is none with the machine's memory behind it.
            let _ = workload.run(&mut memory);
            processor_time().saturating_sub(since)
        })
        .collect();
    times.sort();
    times[times.len() / 2]
}

/// The settings of a named collector for a program: arbitrary list sizes are chosen from the state of its heap.
pub(super) fn configure(preset: Preset, limit: usize, workload: Workload) -> Config {
    let mut config = Config::preset(preset, limit);
    if let Collector::Lists(ListSettings { sizes: sizes @ ListSizes::Arbitrary(_), headers, .. }) =
        &mut config.collector
    {
        *sizes = ListSizes::Arbitrary(chosen_sizes(workload, *headers));
    }
    config
}

/// The list sizes for a program, from its live objects when most was live.
fn chosen_sizes(workload: Workload, headers: Headers) -> Vec<usize> {
    let profile = Profile::of(workload);
    let mut histogram = vec![0; PAGE_WORDS + 1];
    for (words, count) in profile.peak.iter().enumerate() {
        let total = words + headers.words();
        if total < histogram.len() {
            histogram[total] = *count;
        }
    }
    let mut sizes = list_sizes::choose(&histogram, LISTS);
    if sizes.is_empty() {
        sizes = list_sizes::DEFAULT.to_vec();
    }
    // Sizes that were not live then must not cost a whole page each.
    for size in [8, 16, 32, 64, 128, 256, 512] {
        if !sizes.contains(&size) {
            sizes.push(size);
        }
    }
    sizes.sort_unstable();
    sizes
}

/// As many lists as are chosen.
const LISTS: usize = 16;
const PAGE_WORDS: usize = 1024;

/// How much of each power of two a program needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Blocks {
    /// Bytes in blocks at the moment when most was live, in blocks of powers of two with full headers.
    pub(super) at_once: u64,
    /// The sum over the powers of the most bytes that were ever live in blocks of each: what a heap needs that never
    /// reassigns memory.
    pub(super) each: u64,
}

/// What a program's blocks come to in a heap without migration of pages, and in one with.
pub(super) fn blocks(workload: Workload) -> Blocks {
    let profile = Profile::of(workload);
    Blocks { at_once: profile.most_blocks, each: profile.most_of_power.iter().sum() }
}

/// Malloc that knows which sizes were live when most was.
struct Profile {
    malloc: Malloc<'static, std::alloc::System>,
    live: Vec<u64>,
    live_words: usize,
    peak_words: usize,
    peak: Vec<u64>,
    /// Bytes live now, and the most ever, in blocks of each power of two with full headers.
    of_power: [u64; 64],
    most_of_power: [u64; 64],
    most_blocks: u64,
}

impl Profile {
    fn of(workload: Workload) -> Profile {
        let mut profile = Profile {
            malloc: Malloc::new(&std::alloc::System),
            live: vec![0; PAGE_WORDS + 1],
            live_words: 0,
            peak_words: 0,
            peak: Vec::new(),
            of_power: [0; 64],
            most_of_power: [0; 64],
            most_blocks: 0,
        };
        // Memory does not run out: it is the machine's.
        let _ = workload.run(&mut profile);
        profile
    }

    fn power(words: usize) -> (usize, u64) {
        let block = (words + Headers::Full.words()).next_power_of_two();
        (block.ilog2() as usize, block as u64 * 8)
    }
}

impl Memory for Profile {
    fn allocate(&mut self, references: usize, bytes: usize) -> Result<Object, OutOfMemory> {
        let words = 1 + references + bytes.div_ceil(8);
        self.live_words += words;
        self.live[words.min(PAGE_WORDS)] += 1;
        let (power, block) = Profile::power(words);
        self.of_power[power] += block;
        self.most_of_power[power] = self.most_of_power[power].max(self.of_power[power]);
        self.most_blocks = self.most_blocks.max(self.of_power.iter().sum());
        // Looked at as the peak grows by a percent.
        if self.live_words > self.peak_words + self.peak_words / 100 {
            self.peak_words = self.live_words;
            self.peak.clone_from(&self.live);
        }
        self.malloc.allocate(references, bytes)
    }

    fn free(&mut self, object: Object) {
        let words = 1 + super::memory::references_of(object) + self.malloc.bytes_of(object).div_ceil(8);
        self.live_words -= words;
        self.live[words.min(PAGE_WORDS)] -= 1;
        let (power, block) = Profile::power(words);
        self.of_power[power] -= block;
        self.malloc.free(object);
    }

    fn root(&mut self, object: Object) -> usize {
        self.malloc.root(object)
    }

    fn set_root(&mut self, root: usize, object: Object) {
        self.malloc.set_root(root, object);
    }

    fn rooted(&self, root: usize) -> Object {
        self.malloc.rooted(root)
    }

    fn unroot(&mut self, root: usize) {
        self.malloc.unroot(root);
    }

    fn link(&mut self, from: Object, index: usize, to: Option<Object>) {
        self.malloc.link(from, index, to);
    }
}

/// The smallest limit in bytes, within a part in `parts`, in which the program survives.
pub(super) fn smallest_heap(preset: Preset, workload: Workload, parts: usize) -> Option<usize> {
    let mut config = configure(preset, 1 << 20, workload);
    let mut survives = |limit: usize| {
        config.limit = limit;
        run(&config, workload, Observe::default()).is_some()
    };
    let mut high = 128 << 10;
    while !survives(high) {
        high *= 2;
        if high > 1 << 30 {
            return None;
        }
    }
    let mut low = high / 2;
    while high - low > (high / parts).max(4096) {
        let middle = low + (high - low) / 2;
        if survives(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    Some(high)
}
