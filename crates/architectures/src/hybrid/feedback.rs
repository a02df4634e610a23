//! Feedback from copies to allocation sites: a site whose objects are sent builds them in the area from then on, and on
//! the process's heap again when they are no longer sent.
//!
//! When much has been copied, each site reports the next few objects that it builds (it samples them). Objects that a
//! copy meets before the sampling after the next count as sent. Objects that no copy meets, or that a collection of
//! their process finds dead, count as not sent. From time to time sites that build in the area are sampled as well;
//! they build the next few objects privately for that. A thread that never copies much never samples.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use atoll_heap::{BuildInArea, Settings, Site, counters, sites};
use atoll_term::Term;

use crate::common::faults;

/// Words copied by a thread before it asks for the first time; twice as many the next time, and so on.
const FIRST_WORDS: usize = 1 << 12;
/// Most words between two times.
const MOST_WORDS: usize = 1 << 18;
/// Words between two times with `--gc-stress`, copied or built.
const STRESSED_WORDS: usize = 1 << 8;
/// Words built in the area by a thread, for each time that sites which build there are asked.
const BUILT_WORDS: usize = 1 << 21;
/// The same for the first time, where the analysis has chosen sites; twice as many the next time, and so on.
const FIRST_BUILT_WORDS: usize = 1 << 16;
/// Objects of a site from which on it is judged.
const ENOUGH: u32 = 8;
/// A site is switched to the area if one of so many of its objects is sent, and back if not even one of so many is.
const PART_SENT: u32 = 3;
const PART_STILL_SENT: u32 = 8;
/// Words of a copy from which on what it came upon counts as sent. For shorter terms the copy is cheaper than what the
/// area's collector has to do for them: private heaps, which are collected less often then, keep it from seeing that
/// they are dead.
const LEAST_COPY: usize = 512;
/// Objects that a thread remembers at once.
const REMEMBERED: usize = 256;

/// An object of a sampled site.
#[derive(Clone, Copy)]
struct Sample {
    object: Term,
    process: usize,
    site: Site,
    /// The number of times that this thread had asked.
    asked: usize,
    /// The analysis says that it stays in its process, which is checked.
    stays: bool,
}

/// What one scheduler knows.
struct Log {
    /// Its number, from 1 on; 0 before it has remembered anything.
    number: u8,
    samples: Vec<Sample>,
    /// Found by the copy that is being made.
    found: Vec<Site>,
    /// Sent, or not and never to be.
    judged: Vec<(Site, bool)>,
    asked: usize,
    copied: usize,
    patience: usize,
    built: usize,
    built_patience: usize,
}

thread_local! {
    static LOG: RefCell<Log> = const {
        RefCell::new(Log { number: 0, samples: Vec::new(), found: Vec::new(), judged: Vec::new(), asked: 0, copied: 0, patience: FIRST_WORDS, built: 0, built_patience: FIRST_BUILT_WORDS })
    };
}

#[derive(Default)]
struct Record {
    sent: u32,
    kept: u32,
    in_area: bool,
}

/// What all schedulers of a machine know.
pub(super) struct Feedback {
    /// `--gc-stress` is on.
    stressed: bool,
    verified: bool,
    policy: BuildInArea,
    records: Mutex<HashMap<Site, Record>>,
    /// Logs that have numbers.
    logs: AtomicUsize,
    /// By the number of a log: whether another thread runs a process of which the log remembers objects. They may have
    /// moved, and the process ended, without that thread knowing.
    gone: [AtomicBool; 256],
}

/// Words of the set of addresses of remembered objects, a Bloom filter.
const FILTER_WORDS: usize = 64;

thread_local! {
    /// It may have more in it than `Log::samples`.
    static FILTER: [Cell<u64>; FILTER_WORDS] = const { [const { Cell::new(0) }; FILTER_WORDS] };
}

/// Words and bits of an object in the filter.
#[inline(always)]
fn places(object: usize) -> [(usize, u64); 2] {
    let hash = (object >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    [hash >> 52, (hash >> 40) % (64 * FILTER_WORDS)].map(|place| (place / 64, 1 << (place % 64)))
}

/// False: this thread does not remember an object at this address.
#[inline(always)]
pub(super) fn may_be_known(object: usize) -> bool {
    FILTER.with(|filter| places(object).iter().all(|(word, bit)| filter[*word].get() & bit != 0))
}

fn add_to_filter(object: Term) {
    FILTER.with(|filter| {
        places(object.pointer() as usize).iter().for_each(|(word, bit)| filter[*word].set(filter[*word].get() | bit));
    });
}

/// The filter has nothing but these from now on.
fn fill_filter(samples: &[Sample]) {
    FILTER.with(|filter| filter.iter().for_each(|word| word.set(0)));
    samples.iter().for_each(|sample| add_to_filter(sample.object));
}

impl Feedback {
    pub(super) fn new(settings: &Settings) -> Feedback {
        Feedback {
            stressed: settings.is_stressed(),
            verified: settings.verify,
            policy: settings.area,
            records: Mutex::default(),
            logs: AtomicUsize::new(0),
            gone: [const { AtomicBool::new(false) }; 256],
        }
    }

    /// Forgets everything if a process of which objects are remembered has gone to another thread.
    fn drop_stale(&self, log: &mut Log) {
        let gone = &self.gone[usize::from(log.number)];
        if gone.load(Ordering::Acquire) {
            gone.store(false, Ordering::Relaxed);
            log.samples.clear();
            fill_filter(&[]);
        }
    }

    /// A site has built an object. `sampler`: that of the process.
    pub(super) fn built(&self, process: usize, sampler: &AtomicU8, object: Term, site: Site) {
        let never_leaves = || faults::is_wanted("A4") || sites().is_some_and(|sites| sites.never_leaves(site));
        let stays = self.verified && never_leaves();
        LOG.with_borrow_mut(|log| {
            if log.number == 0 {
                // Threads that come later than so many never sample.
                let Ok(number) = u8::try_from(self.logs.fetch_add(1, Ordering::Relaxed) + 1) else { return };
                log.number = number;
            }
            self.drop_stale(log);
            if stays && log.samples.len() >= REMEMBERED {
                // All of these are told of; the latest are the likeliest to be sent yet.
                log.samples.remove(0);
            }
            if log.samples.len() < REMEMBERED {
                sampler.store(log.number, Ordering::Relaxed);
                log.samples.push(Sample { object, process, site, asked: log.asked, stays });
                add_to_filter(object);
            }
        });
    }

    /// The addresses of remembered objects that never leave their process, as the analysis says.
    pub(super) fn never_leave(&self) -> HashSet<usize> {
        LOG.with_borrow_mut(|log| {
            self.drop_stale(log);
            let stay = log.samples.iter().filter(|sample| sample.stays);
            stay.map(|sample| sample.object.pointer() as usize).collect()
        })
    }

    /// This thread is about to run a process. If another thread remembers its objects, that one forgets them.
    #[inline]
    pub(super) fn runs_here(&self, sampler: &AtomicU8) {
        let number = sampler.load(Ordering::Relaxed);
        if number != 0 {
            self.leaves(number, sampler);
        }
    }

    #[cold]
    fn leaves(&self, number: u8, sampler: &AtomicU8) {
        if LOG.with_borrow(|log| log.number) != number {
            self.gone[usize::from(number)].store(true, Ordering::Release);
            sampler.store(0, Ordering::Relaxed);
        }
    }

    /// Whether copies are to tell what they come upon.
    #[inline]
    pub(super) fn is_asking(&self) -> bool {
        LOG.with_borrow_mut(|log| {
            self.drop_stale(log);
            !log.samples.is_empty()
        })
    }

    /// A copy came upon an object.
    #[cold]
    pub(super) fn found(&self, object: usize) {
        LOG.with_borrow_mut(|log| {
            if let Some(index) = log.samples.iter().position(|sample| sample.object.pointer() as usize == object) {
                let sample = log.samples.swap_remove(index);
                log.found.push(sample.site);
            }
        });
    }

    /// A copy is made of all objects at these addresses.
    pub(super) fn found_within(&self, addresses: &[Range<usize>]) {
        LOG.with_borrow_mut(|log| {
            let Log { samples, found, .. } = log;
            let is_found = |sample: &mut Sample| {
                let object = sample.object.pointer() as usize;
                addresses.iter().any(|range| range.contains(&object))
            };
            found.extend(samples.extract_if(.., is_found).map(|sample| sample.site));
        });
    }

    /// The copy has been made, of so many words.
    pub(super) fn copied(&self, words: usize) {
        let least = if self.stressed { 0 } else { LEAST_COPY };
        LOG.with_borrow_mut(|log| {
            let Log { found, judged, .. } = log;
            judged.extend(found.drain(..).map(|site| (site, words >= least)));
        });
    }

    /// The objects of a process have moved; `moved` tells where they are, if they live.
    pub(super) fn follow(&self, process: usize, moved: &dyn Fn(Term) -> Option<Term>) {
        LOG.with_borrow_mut(|log| {
            self.drop_stale(log);
            let Log { samples, judged, .. } = log;
            samples.retain_mut(|sample| {
                if sample.process != process {
                    return true;
                }
                // What stays where it is is old: a cycle in slices may free it and say nothing, and A4 would take what
                // comes to lie there for it.
                let object = moved(sample.object).filter(|object| !sample.stays || *object != sample.object);
                match object {
                    Some(object) => sample.object = object,
                    None => judged.push((sample.site, false)),
                }
                object.is_some()
            });
            fill_filter(samples);
        });
    }

    /// The objects of a process have moved to unknown places, or are about to go away.
    pub(super) fn forget(&self, process: usize) {
        LOG.with_borrow_mut(|log| {
            log.samples.retain(|sample| sample.process != process);
        });
    }

    /// Takes note of words that were copied into the area, or built there.
    pub(super) fn count(&self, copied: usize, built: usize) {
        if self.policy == BuildInArea::Never {
            return;
        }
        let ask_all = LOG.with_borrow_mut(|log| {
            log.copied += copied;
            log.built += built;
            let (patience, built_words) = match self.policy {
                _ if self.stressed => (STRESSED_WORDS, STRESSED_WORDS),
                BuildInArea::Analysis => (log.patience, log.built_patience),
                _ => (log.patience, BUILT_WORDS),
            };
            if log.copied < patience && log.built < built_words {
                return None;
            }
            let all = log.built >= built_words;
            if all {
                log.built = 0;
                log.built_patience = (2 * log.built_patience).min(BUILT_WORDS);
            } else {
                log.copied = 0;
                log.patience = (2 * log.patience).min(MOST_WORDS);
            }
            let Log { samples, judged, asked, .. } = log;
            // What was built since the last time may be on its way to being sent.
            samples.retain(|sample| {
                if sample.asked < *asked {
                    judged.push((sample.site, false));
                }
                sample.asked == *asked || sample.stays
            });
            fill_filter(samples);
            *asked += 1;
            self.judge(std::mem::take(judged));
            Some(all)
        });
        if let (Some(all), Some(sites)) = (ask_all, sites()) {
            sites.sample(all);
        }
    }

    /// Adds to what is known of sites, and decides.
    fn judge(&self, judged: Vec<(Site, bool)>) {
        let mut records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        let area = counters::area();
        for (site, was_sent) in judged {
            let chosen = || sites().is_some_and(|sites| sites.is_in_area(site));
            let record = records.entry(site).or_insert_with(|| Record { in_area: chosen(), ..Record::default() });
            *(if was_sent { &mut record.sent } else { &mut record.kept }) += 1;
            if record.in_area {
                let counter = if was_sent { &area.samples_sent } else { &area.samples_kept };
                counter.fetch_add(1, Ordering::Relaxed);
            }
            if record.sent + record.kept < ENOUGH {
                continue;
            }
            let part = if record.in_area { PART_STILL_SENT } else { PART_SENT };
            let in_area = record.sent * part >= record.sent + record.kept;
            if in_area != record.in_area && self.policy != BuildInArea::Always {
                record.in_area = in_area;
                let counter = if in_area { &area.switched_to_area } else { &area.switched_back };
                counter.fetch_add(1, Ordering::Relaxed);
                if let Some(sites) = sites() {
                    sites.build_in_area(site, in_area);
                }
            }
            (record.sent, record.kept) = (0, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_of_a_process_goes_when_another_thread_runs_it() {
        let feedback = Feedback::new(&Settings::default());
        let (gone, stays) = (AtomicU8::new(0), AtomicU8::new(0));
        let object = Term::small(1);
        let sample = |process, sampler| feedback.built(process, sampler, object, 7);
        sample(1, &gone);
        assert!(feedback.is_asking());
        feedback.runs_here(&gone);
        assert!(feedback.is_asking(), "the thread that remembers it runs it again");
        std::thread::scope(|scope| {
            scope.spawn(|| feedback.runs_here(&gone));
        });
        assert!(!feedback.is_asking(), "where its objects are now nobody here knows");
        assert_eq!(gone.load(Ordering::Relaxed), 0);
        sample(2, &stays);
        feedback.runs_here(&gone);
        assert!(feedback.is_asking());
        feedback.forget(2);
        assert!(!feedback.is_asking());
    }
}
