//! A heap driven by bytes: whatever they are, what is reachable keeps its content, what is not dies, and the invariants
//! hold.

use super::{Random, Shadow, allocate, heap, initialise, link, reference, rooted, unroot};
use std::ptr::NonNull;
use std::time::Duration;
use treadmill::raw::{RawHeap, RawMutator};
use treadmill::{Config, Preset};

/// The bytes that are left.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    /// The next byte; 0 at the end.
    fn next(&mut self) -> usize {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first as usize
    }

    /// A number below `limit`, which is at least one.
    fn below(&mut self, limit: usize) -> usize {
        let number = if limit > 256 { self.next() << 8 | self.next() } else { self.next() };
        number % limit
    }

    /// Mostly `best`, which has most to go wrong.
    fn config(&mut self) -> Config {
        let (which, how) = (self.next(), self.next());
        let limit = [96 << 10, 192 << 10, 700 << 10, 4 << 20][how & 3];
        let preset = if which < 200 { Preset::Best } else { Preset::ALL[which % Preset::ALL.len()] };
        let backed = preset == Preset::Best && how & 0x10 != 0;
        Config {
            stress: [0, 0, 1, 6][how >> 2 & 3],
            backed,
            temporaries: how & 0x20 == 0,
            ..Config::preset(preset, limit)
        }
    }

    /// The length of an object in words: around what tells one kind of page from another, or any.
    fn words(&mut self) -> usize {
        let near = self.next();
        let around = [2, 3, 62, 64, 66, 126, 255, 460, 494, 497, 508, 512, 514, 1020, 1024, 1500];
        match near >> 5 {
            0..=2 => 2 + near % 32,
            3 => 2 + self.below(130),
            4 => 2 + self.below(1200),
            5 => 2 + self.below(9000),
            _ => around[near % 16] + self.below(6),
        }
    }
}

struct Driven {
    heap: RawHeap,
    mutator: RawMutator,
    shadow: Shadow,
    next_id: u64,
    /// Whether the collector can allocate without collecting.
    quiet: bool,
}

impl Driven {
    fn keep(&mut self, object: NonNull<u64>, id: u64, refs: usize, words: usize) {
        self.shadow.objects.insert(id, (vec![None; refs], words));
        self.shadow.roots.push((self.mutator.root(object).expect("a slot"), id));
    }

    fn id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    /// Memory ran out: half of the roots go.
    fn make_room(&mut self) {
        let count = self.shadow.roots.len().div_ceil(2);
        for (slot, _) in self.shadow.roots.drain(..count) {
            unroot(&self.mutator, slot);
        }
    }

    fn allocate(&mut self, bytes: &mut Bytes<'_>, rooted: bool) {
        let (how, words) = (bytes.next(), bytes.words());
        let (refs, finalizable) = (how % 5, how & 0x40 != 0);
        let (id, words) = (self.id(), words.max(2 + refs));
        match allocate(&self.mutator, id, refs, words, finalizable) {
            Ok(object) if rooted => {
                self.keep(object, id, refs, words);
                if finalizable {
                    self.shadow.finalizable.insert(id);
                }
            }
            // No root refers to it: it dies at once, as temporaries do.
            Ok(_) => {
                self.shadow.objects.insert(id, (vec![None; refs], words));
                if finalizable {
                    self.shadow.finalizable.insert(id);
                }
            }
            Err(_) => self.make_room(),
        }
    }

    /// Several objects without a poll in between, then one.
    fn allocate_quietly(&mut self, bytes: &mut Bytes<'_>) {
        for _ in 0..bytes.below(20) {
            let (id, words) = (self.id(), bytes.words());
            // SAFETY: initialised and rooted at once.
            let object = unsafe { self.mutator.allocate_quietly(words, false) };
            let Ok(object) = object else { return self.make_room() };
            initialise(object, id, 0, words);
            self.keep(object, id, 0, words);
        }
        self.mutator.settle();
    }

    /// A row of objects of two words.
    fn pairs(&mut self, bytes: &mut Bytes<'_>) {
        let Ok((first, room)) = self.mutator.pairs() else { return self.make_room() };
        let count = 1 + bytes.below(room);
        // SAFETY: as many as there is room for; initialised and rooted before anything else happens.
        unsafe {
            self.mutator.take_pairs(count);
            for index in 0..count {
                let (id, object) = (self.id(), first.add(2 * index));
                initialise(object, id, 0, 2);
                self.keep(object, id, 0, 2);
            }
        }
        self.mutator.settle();
    }

    /// Objects one in front of the other.
    fn window(&mut self, bytes: &mut Bytes<'_>) {
        let (start, room) = self.mutator.window();
        let (mut end, mut bits, mut objects) = (room, 0u64, Vec::new());
        let group = start.addr().get() / 8 % 64;
        for _ in 0..1 + bytes.below(8) {
            let words = 2 + bytes.below(12);
            if words > end {
                break;
            }
            end -= words;
            bits |= 3 << (group + end);
            objects.push((end, words));
        }
        if objects.is_empty() {
            return;
        }
        // SAFETY: the bits are those of the objects, which lie side by side up to the end of the room; initialised and
        // rooted before anything else happens.
        unsafe {
            self.mutator.take_window(bits, start.add(end));
            for (at, words) in objects {
                let (id, object) = (self.id(), start.add(at));
                initialise(object, id, 0, words);
                self.keep(object, id, 0, words);
            }
        }
        self.mutator.settle();
    }

    fn link(&mut self, bytes: &mut Bytes<'_>) {
        let count = self.shadow.roots.len();
        let (slot, id) = self.shadow.roots[bytes.below(count)];
        let to = (bytes.next() > 20).then(|| self.shadow.roots[bytes.below(count)]);
        let fields = &mut self.shadow.objects.get_mut(&id).expect("known").0;
        if !fields.is_empty() {
            let field = bytes.below(fields.len());
            fields[field] = to.map(|(_, id)| id);
            let target = to.and_then(|(slot, _)| rooted(&self.mutator, slot));
            link(&self.mutator, rooted(&self.mutator, slot).expect("rooted"), field, target);
        }
    }

    fn follow(&mut self, bytes: &mut Bytes<'_>) {
        let (slot, id) = self.shadow.roots[bytes.below(self.shadow.roots.len())];
        let fields = &self.shadow.objects[&id].0;
        let field = bytes.below(fields.len().max(1));
        if let Some(Some(to)) = fields.get(field).copied() {
            let found = reference(rooted(&self.mutator, slot).expect("rooted"), field).expect("linked");
            self.shadow.roots.push((self.mutator.root(found).expect("a slot"), to));
        }
    }

    fn step(&mut self, bytes: &mut Bytes<'_>) {
        let any = !self.shadow.roots.is_empty();
        match bytes.next() % 32 {
            0..=7 => self.allocate(bytes, true),
            8 | 9 => self.allocate(bytes, false),
            10..=12 if self.quiet => self.allocate_quietly(bytes),
            13 if self.quiet => self.pairs(bytes),
            14 | 15 if self.quiet => self.window(bytes),
            16..=20 if any => self.link(bytes),
            21 | 22 if any => self.follow(bytes),
            23..=27 if any => {
                for _ in 0..1 + bytes.below(4).min(self.shadow.roots.len() - 1) {
                    let victim = bytes.below(self.shadow.roots.len());
                    unroot(&self.mutator, self.shadow.roots.swap_remove(victim).0);
                }
            }
            28 => {
                self.heap.assist(Duration::from_micros(20));
            }
            29 if bytes.next() < 40 => self.mutator.collect(),
            30 => self.mutator.verify().expect("a sound heap"),
            _ => self.mutator.poll(),
        }
    }
}

/// Drives a heap by these bytes, and compares what comes of it with a shadow.
pub fn drive(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    let config = bytes.config();
    let (heap, dead) = heap(&config);
    let exact = !matches!(config.collector, treadmill::Collector::Copying);
    let quiet = matches!(config.collector, treadmill::Collector::Paged);
    let mutator = heap.mutator();
    let mut driven = Driven { heap, mutator, shadow: Shadow::default(), next_id: 0, quiet };
    while !bytes.0.is_empty() {
        driven.step(&mut bytes);
        let usage = driven.heap.usage();
        assert!(usage.in_use <= usage.limit, "{usage:?}");
    }
    let Driven { heap, mutator, shadow, .. } = driven;
    shadow.finish(&config, &heap, &mutator, &dead, exact);
}

/// Bytes that make long runs: as random as the seed.
pub fn random_bytes(seed: u64, length: usize) -> Vec<u8> {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    (0..length).map(|_| (random.next() >> 20) as u8).collect()
}
