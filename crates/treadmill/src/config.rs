//! The settings of a heap, and the named configurations of the paper.

use crate::error::HeapError;
use std::time::Duration;

/// The named configurations: those of Lim, Pardyak and Bershad (ISMM 1998), and [`Preset::Best`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Preset {
    /// `TM_BL`: segregated Treadmills of power-of-two sizes, four colours, stop-the-world.
    TmBl,
    /// `TM_PM`: `TM_BL` with the big object list and the migration of free pages.
    TmPm,
    /// `TM_RM`: `TM_PM` with the remapping of free pages.
    TmRm,
    /// `TM_RT`: `TM_RM`, incremental.
    TmRt,
    /// `CP`: the mostly-copying, page-based collector that the paper compares with.
    Cp,
    /// `FLS`: `TM_RM` by its name among the user-level collectors (fixed list sizes).
    Fls,
    /// `FLS-PH`: with packed headers of one word.
    FlsPh,
    /// `ALS`: with arbitrary list sizes.
    Als,
    /// `ALS-PH`: with arbitrary list sizes and packed headers.
    AlsPh,
    /// `FLS-PF`: with page filling, eagerly.
    FlsPf,
    /// `FLS-PF2`: with page filling once no free page is left.
    FlsPf2,
    /// This crate's own: no headers, side metadata by page, mixed sizes in a page, marking by any thread while others
    /// run.
    Best,
}

impl Preset {
    /// All of them, in the order of the paper, [`Preset::Best`] last.
    pub const ALL: [Preset; 12] = [
        Preset::TmBl,
        Preset::TmPm,
        Preset::TmRm,
        Preset::TmRt,
        Preset::Cp,
        Preset::Fls,
        Preset::FlsPh,
        Preset::Als,
        Preset::AlsPh,
        Preset::FlsPf,
        Preset::FlsPf2,
        Preset::Best,
    ];

    /// The name that the paper uses.
    pub fn name(self) -> &'static str {
        match self {
            Preset::TmBl => "TM_BL",
            Preset::TmPm => "TM_PM",
            Preset::TmRm => "TM_RM",
            Preset::TmRt => "TM_RT",
            Preset::Cp => "CP",
            Preset::Fls => "FLS",
            Preset::FlsPh => "FLS-PH",
            Preset::Als => "ALS",
            Preset::AlsPh => "ALS-PH",
            Preset::FlsPf => "FLS-PF",
            Preset::FlsPf2 => "FLS-PF2",
            Preset::Best => "best",
        }
    }
}

/// The header that a Treadmill object carries in front of its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Headers {
    /// Three words: two links and a word of information.
    Full,
    /// Two words: both links in one (segment-relative), and a word of information.
    PackedTwo,
    /// One word: both links, the colour and the padding. Limits the address range to 1 GiB.
    PackedOne,
}

impl Headers {
    /// The header's length in words.
    pub fn words(self) -> usize {
        match self {
            Headers::Full => 3,
            Headers::PackedTwo => 2,
            Headers::PackedOne => 1,
        }
    }
}

/// The block sizes of the free lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListSizes {
    /// Powers of two.
    PowersOfTwo,
    /// Exactly these, in words, headers included, ascending; sizes too short for a header and a word are left out, and
    /// a page is added as the last. [`crate::list_sizes::choose`] finds good ones from the state of a heap.
    Arbitrary(Vec<usize>),
}

/// When objects may be placed into the gaps of pages of another size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filling {
    /// Never.
    Off,
    /// Before a free page is taken (`FLS-PF`).
    Eager,
    /// Only when no free page is left (`FLS-PF2`).
    Lazy,
}

/// The parts of the Treadmill collector, each switched on its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListSettings {
    /// The header's form.
    pub headers: Headers,
    /// The sizes of the free lists.
    pub sizes: ListSizes,
    /// Whether objects above a page live in the big object list, and free pages move between the others.
    pub page_migration: bool,
    /// Whether free pages are remapped into contiguous ranges; needs `page_migration`.
    pub remapping: bool,
    /// Whether remapped pages are left to be mapped at their first touch (lazy), instead of at the allocation.
    pub lazy_remapping: bool,
    /// Whether collections proceed by increments at allocations.
    pub incremental: bool,
    /// Page filling; needs `page_migration` and a header with an information word.
    pub filling: Filling,
}

/// Which collector a heap has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Collector {
    /// The segregated Treadmill with these parts.
    Lists(ListSettings),
    /// The mostly-copying collector.
    Copying,
    /// Pages with side metadata and concurrent marking.
    Paged,
}

/// When a collection begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// When the free memory below the limit just lasts for one: least work for a given limit.
    Limit,
    /// When the heap has grown by its live part, and by at least so many bytes: a heap that takes what it needs, below
    /// a limit that is rather the machine's. [`crate::raw::RawHeap::set_least_growth`] changes the number.
    Growth {
        /// Bytes.
        least: usize,
    },
}

/// The settings of a heap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The collector.
    pub collector: Collector,
    /// The heap's limit in bytes, page metadata included; never passed.
    pub limit: usize,
    /// Words marked for each word allocated while an incremental collection is on (the paper's gcRatio).
    pub ratio: usize,
    /// The longest pause aimed at; longer ones are logged with their cause.
    pub pause_bound: Duration,
    /// Whether the newest object of more than 64 words of a thread is used again at once where it is known to be dead:
    /// no reference to it was ever stored, and the last root slot that held it has ended, or none ever did, when the
    /// thread allocates the next such object. Needs a runtime without roots of its own
    /// ([`crate::raw::Runtime::has_roots`]; [`crate::Heap`] is one); objects with finalizers are left alone.
    /// [`Collector::Paged`] only.
    pub temporaries: bool,
    /// Whether the memory up to the limit is backed when the heap is made, instead of at the first touch of each page,
    /// and never given back: no page fault lengthens a pause then, and where the system has pages of 2 MiB, addresses
    /// are translated faster. [`Collector::Paged`] only, and not in a range of the caller's.
    pub backed: bool,
    /// When a collection begins. [`Collector::Paged`] only; others begin when memory asks for it.
    pub pace: Pace,
    /// For tests: collect, or run one increment, at every n-th allocation; [`Collector::Paged`] begins a new cycle
    /// whenever the last has ended. 0 is off.
    pub stress: usize,
}

const MIN_LIMIT: usize = 64 << 10;

impl Config {
    /// The settings of a named configuration with a limit in bytes.
    pub fn preset(preset: Preset, limit: usize) -> Config {
        let base = ListSettings {
            headers: Headers::Full,
            sizes: ListSizes::PowersOfTwo,
            page_migration: true,
            remapping: true,
            lazy_remapping: false,
            incremental: false,
            filling: Filling::Off,
        };
        let collector = match preset {
            Preset::TmBl => Collector::Lists(ListSettings { page_migration: false, remapping: false, ..base }),
            Preset::TmPm => Collector::Lists(ListSettings { remapping: false, ..base }),
            Preset::TmRm | Preset::Fls => Collector::Lists(base),
            Preset::TmRt => Collector::Lists(ListSettings { incremental: true, ..base }),
            Preset::FlsPh => Collector::Lists(ListSettings { headers: Headers::PackedOne, ..base }),
            Preset::Als => Collector::Lists(ListSettings {
                sizes: ListSizes::Arbitrary(crate::list_sizes::DEFAULT.to_vec()),
                ..base
            }),
            Preset::AlsPh => Collector::Lists(ListSettings {
                headers: Headers::PackedOne,
                sizes: ListSizes::Arbitrary(crate::list_sizes::DEFAULT.to_vec()),
                ..base
            }),
            Preset::FlsPf => Collector::Lists(ListSettings { filling: Filling::Eager, ..base }),
            Preset::FlsPf2 => Collector::Lists(ListSettings { filling: Filling::Lazy, ..base }),
            Preset::Cp => Collector::Copying,
            Preset::Best => Collector::Paged,
        };
        let pause_bound = match preset {
            Preset::Best => Duration::from_micros(100),
            _ => Duration::from_millis(15),
        };
        Config {
            collector,
            limit,
            ratio: 4,
            pause_bound,
            temporaries: true,
            backed: false,
            pace: Pace::Limit,
            stress: 0,
        }
    }

    /// [`Preset::Best`] with a limit in bytes.
    pub fn best(limit: usize) -> Config {
        Config::preset(Preset::Best, limit)
    }

    /// Says whether the settings make a heap.
    ///
    /// # Errors
    /// [`HeapError::Settings`] with the first contradiction found.
    pub fn check(&self) -> Result<(), HeapError> {
        if self.limit < MIN_LIMIT {
            return Err(HeapError::Settings("the limit is below 64 KiB"));
        }
        if self.limit > 128 << 30 {
            return Err(HeapError::Settings("the limit is above 128 GiB"));
        }
        if self.ratio == 0 {
            return Err(HeapError::Settings("the ratio is 0"));
        }
        let Collector::Lists(lists) = &self.collector else {
            return Ok(());
        };
        if lists.remapping && !lists.page_migration {
            return Err(HeapError::Settings("remapping needs page migration"));
        }
        if lists.filling != Filling::Off && (!lists.page_migration || lists.headers == Headers::PackedOne) {
            return Err(HeapError::Settings("page filling needs page migration and headers with an information word"));
        }
        if lists.headers == Headers::PackedOne && self.limit > 512 << 20 {
            return Err(HeapError::Settings(
                "one-word headers reach 1 GiB of addresses: the limit must be at most 512 MiB",
            ));
        }
        if lists.headers == Headers::PackedTwo && self.limit > 16 << 30 {
            return Err(HeapError::Settings(
                "two-word headers reach 32 GiB of addresses: the limit must be at most 16 GiB",
            ));
        }
        if let ListSizes::Arbitrary(sizes) = &lists.sizes {
            if sizes.is_empty() || sizes.len() > 60 || !sizes.is_sorted_by(|a, b| a < b) {
                return Err(HeapError::Settings("list sizes must ascend, 1 to 60 of them"));
            }
            if !lists.page_migration {
                return Err(HeapError::Settings("arbitrary list sizes need page migration"));
            }
        }
        Ok(())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn presets_pass_and_contradictions_do_not() {
        for preset in Preset::ALL {
            assert_eq!(Config::preset(preset, 1 << 20).check(), Ok(()), "{}", preset.name());
            assert!(Config::preset(preset, 1 << 10).check().is_err());
            assert!(Config::preset(preset, usize::MAX).check().is_err());
        }
        assert!(Config::preset(Preset::FlsPh, 1 << 30).check().is_err());
        let mut config = Config::preset(Preset::FlsPf, 1 << 20);
        if let Collector::Lists(lists) = &mut config.collector {
            lists.headers = Headers::PackedOne;
        }
        assert!(config.check().is_err());
        config = Config { ratio: 0, ..Config::best(1 << 20) };
        assert!(config.check().is_err());
    }
}
