//! The seven programs of the paper's evaluation, as small programs of the same kind with its volume of allocation and
//! its live data.
//!
//! What the originals were is known only by a sentence each; what is kept of them is the kind of data, the volume, the
//! live data, and the mixture of sizes that the sentence implies. All are deterministic and return a checksum, the same
//! on every memory.

mod blur;
mod cube;
mod httpd;
mod lfs;
mod m3;
mod m3pp;
mod source;
mod trans;

use super::memory::{Memory, Object};
use crate::error::OutOfMemory;

/// One of the seven.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Workload {
    /// A transaction log over recoverable memory.
    Trans,
    /// A web cache serving 65 files of 5 MB to 10 clients.
    Httpd,
    /// A log-structured file system with its cache.
    Lfs,
    /// An image blur that keeps copies of the pixels it changes.
    Blur,
    /// A pretty printer.
    M3pp,
    /// A compiler.
    M3,
    /// A rotating cube.
    Cube,
}

impl Workload {
    /// All seven, in the order of the paper's Table 1.
    pub const ALL: [Workload; 7] =
        [Workload::Trans, Workload::Httpd, Workload::Lfs, Workload::Blur, Workload::M3pp, Workload::M3, Workload::Cube];

    /// Those that ran in the kernel.
    pub const KERNEL: [Workload; 4] = [Workload::Trans, Workload::Httpd, Workload::Lfs, Workload::Blur];

    /// The paper's name.
    pub fn name(self) -> &'static str {
        match self {
            Workload::Trans => "TRANS",
            Workload::Httpd => "HTTPD",
            Workload::Lfs => "LFS",
            Workload::Blur => "BLUR",
            Workload::M3pp => "M3PP",
            Workload::M3 => "M3",
            Workload::Cube => "CUBE",
        }
    }

    /// Runs the program to its end; its checksum.
    pub(crate) fn run<M: Memory>(self, memory: &mut M) -> Result<u64, OutOfMemory> {
        match self {
            Workload::Trans => trans::run(memory),
            Workload::Httpd => httpd::run(memory),
            Workload::Lfs => lfs::run(memory),
            Workload::Blur => blur::run(memory),
            Workload::M3pp => m3pp::run(memory),
            Workload::M3 => m3::run(memory),
            Workload::Cube => cube::run(memory),
        }
    }
}

/// Deterministic numbers (xorshift).
struct Numbers(u64);

impl Numbers {
    fn new(seed: u64) -> Numbers {
        Numbers(seed | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() >> 16) as usize % limit.max(1)
    }

    /// A size in `from..to`, small ones as likely in each doubling as large ones.
    fn size(&mut self, from: usize, to: usize) -> usize {
        let doublings = (to / from.max(1)).max(1).ilog2() as usize;
        let scale = from << self.below(doublings + 1);
        (scale + self.below(scale)).min(to)
    }
}

/// Mixes bytes into a checksum.
fn mix(sum: u64, bytes: &[u8]) -> u64 {
    let mut sum = sum;
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        sum = (sum ^ u64::from_le_bytes(word)).wrapping_mul(0x100_0000_01b3).rotate_left(23);
    }
    sum
}

/// Fills data so that its content can be checked.
fn fill(bytes: &mut [u8], seed: u64) {
    for (index, chunk) in bytes.chunks_mut(8).enumerate() {
        let word = (seed ^ index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes();
        let length = chunk.len();
        chunk.copy_from_slice(&word[..length]);
    }
}

/// A queue of objects in the heap: each link refers to the next link and to an object.
struct Queue {
    /// The oldest and the newest link, while there are any.
    ends: Option<(usize, usize)>,
    length: usize,
}

impl Queue {
    fn new() -> Queue {
        Queue { ends: None, length: 0 }
    }

    /// Puts the object of a root behind the others.
    fn push<M: Memory>(&mut self, memory: &mut M, object: usize) -> Result<(), OutOfMemory> {
        let link = memory.allocate(2, 0)?;
        memory.link(link, 1, Some(memory.rooted(object)));
        self.length += 1;
        match self.ends {
            Some((_, newest)) => {
                memory.link(memory.rooted(newest), 0, Some(link));
                memory.set_root(newest, link);
            }
            None => self.ends = Some((memory.root(link), memory.root(link))),
        }
        Ok(())
    }

    /// Takes the oldest object off.
    fn pop<M: Memory>(&mut self, memory: &mut M) -> Option<Object> {
        let (oldest, newest) = self.ends?;
        let link = memory.rooted(oldest);
        let object = memory.follow(link, 1);
        match memory.follow(link, 0) {
            Some(next) => memory.set_root(oldest, next),
            None => {
                memory.unroot(oldest);
                memory.unroot(newest);
                self.ends = None;
            }
        }
        self.length -= 1;
        // A dead link must not hold on to those that follow it: mostly-copying collectors may keep the link.
        memory.link(link, 0, None);
        memory.link(link, 1, None);
        memory.free(link);
        object
    }

    /// Frees what is left.
    fn clear<M: Memory>(&mut self, memory: &mut M) {
        while let Some(object) = self.pop(memory) {
            memory.free(object);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::memory::{Collected, Malloc};
    use super::super::published::TABLE_1;
    use super::*;
    use crate::config::{Config, Preset};

    /// The volume of each program is the paper's within a tenth, it frees all it allocates, and every memory gives the
    /// same result.
    #[test]
    fn the_programs_are_of_the_published_size() {
        for (workload, (name, allocated, live)) in Workload::ALL.into_iter().zip(TABLE_1) {
            assert_eq!(workload.name(), name);
            let mut malloc = Malloc::new(&std::alloc::System);
            let expected = workload.run(&mut malloc).expect("memory");
            assert_eq!(malloc.live, 0, "{name} leaks");
            let volume = malloc.clock as f64 / 1e6;
            assert!((volume / allocated - 1.0).abs() < 0.1, "{name}: {volume} MB of {allocated}");
            // The live data of LFS and M3 grows to far above its average.
            let growing = matches!(workload, Workload::Lfs | Workload::M3);
            let limit = (live * if growing { 3.2e6 } else { 1.6e6 }) as usize + (1 << 18);
            for preset in [Preset::TmRm, Preset::Cp, Preset::Best] {
                let limit = if preset == Preset::Cp { 2 * limit } else { limit };
                let mut memory = Collected::new(&Config::preset(preset, limit)).expect("a heap");
                let sum = workload.run(&mut memory).expect("room");
                assert_eq!(sum, expected, "{name} on {}", preset.name());
                memory.verify().expect("a sound heap");
                let collections = memory.heap.collections();
                if preset == Preset::TmRm && !collections.is_empty() {
                    let useful: u64 = collections.iter().map(|c| c.after.useful).sum();
                    let average = useful as f64 / collections.len() as f64 / 1e6;
                    println!("{name}: {volume:.1} MB, live {average:.2} MB after {} collections", collections.len());
                    assert!((average / live - 1.0).abs() < 0.25, "{name}: {average} MB live of {live}");
                }
            }
        }
    }
}
