//! Grey objects, which are marked and whose fields are not, and the threads that mark what they refer to.

use std::mem::take;
use std::sync::{Mutex, MutexGuard};

use atoll_term::{Header, Term, Word};

use super::space::Space;

/// Grey objects that a thread keeps for itself while others may have none.
const KEPT: usize = 1 << 12;
/// Fields of an object that are looked at in one go.
const FIELDS: usize = 1 << 10;

/// Marks of the heap: those of the cycles, or of the full marking.
pub(super) trait Marking {
    fn space(&self) -> &Space;
    /// Marks the object that begins at a word; whether it was not marked before.
    fn mark(&self, index: usize) -> bool;
    /// The lines of so many words from a word on hold a marked object.
    fn keep_lines(&self, index: usize, words: usize);
}

/// Grey objects, as terms, and parts of large objects that wait to be looked at.
#[derive(Debug, Default)]
pub(super) struct Grey {
    objects: Vec<Word>,
    /// First words, words.
    fields: Vec<(usize, usize)>,
}

impl Grey {
    pub(super) fn is_empty(&self) -> bool {
        self.objects.is_empty() && self.fields.is_empty()
    }

    /// A term is found live.
    #[inline(always)]
    pub(super) fn shade(&mut self, marks: &impl Marking, term: Term) {
        if let Some(index) = marks.space().index_of(term)
            && marks.mark(index)
        {
            marks.space().check_in_use(index);
            self.objects.push(term.word());
        }
    }

    /// As [`Grey::shade`] for each word of a run.
    ///
    /// # Safety
    /// The run is readable.
    pub(super) unsafe fn shade_run(&mut self, marks: &impl Marking, start: *const Word, words: usize) {
        for index in 0..words {
            // SAFETY: the caller vouches for the run.
            self.shade(marks, unsafe { Term::from_word(*start.add(index)) });
        }
    }

    /// Marks what grey objects refer to until about `most` words were looked at; gives the words.
    ///
    /// # Safety
    /// What is grey are whole objects of the heap, which nothing frees meanwhile.
    pub(super) unsafe fn mark(&mut self, marks: &impl Marking, most: usize) -> usize {
        let mut words = 0;
        while words < most {
            // SAFETY: as the caller's.
            unsafe {
                if let Some(word) = self.objects.pop() {
                    words += self.mark_object(marks, Term::from_word(word));
                } else if let Some((start, count)) = self.fields.pop() {
                    let now = count.min(FIELDS);
                    if now < count {
                        self.fields.push((start + now * size_of::<Word>(), count - now));
                    }
                    self.shade_run(marks, start as *const Word, now);
                    words += now;
                } else {
                    break;
                }
            }
        }
        words
    }

    /// Marks what one object refers to, of a list the cells up to the first head that is not marked yet.
    ///
    /// # Safety
    /// As for [`Grey::mark`].
    #[inline]
    unsafe fn mark_object(&mut self, marks: &impl Marking, term: Term) -> usize {
        let mut term = term;
        let mut words = 0;
        loop {
            let place = term.pointer();
            let Some(index) = marks.space().index(place) else { return words };
            // SAFETY: the caller's.
            unsafe {
                if term.is_boxed() {
                    let header = Header::from_word(*place);
                    let size = header.object_words();
                    marks.keep_lines(index, size);
                    if !header.is_opaque() {
                        // After its fields an object may have words that are none.
                        let fields = header.arity();
                        words += fields;
                        if fields > FIELDS {
                            self.fields.push((place.add(1) as usize, fields));
                        } else {
                            self.shade_run(marks, place.add(1), fields);
                        }
                    }
                    return words + 1;
                }
                marks.keep_lines(index, 2);
                words += 2;
                let (head, tail) = (Term::from_word(*place), Term::from_word(*place.add(1)));
                let before = self.objects.len();
                self.shade(marks, tail);
                let has_tail = self.objects.len() > before;
                // The head comes first, so that no more waits than terms are nested.
                self.shade(marks, head);
                if self.objects.len() != before + 1 || !has_tail || words > FIELDS {
                    return words;
                }
                self.objects.pop();
                term = tail;
            }
        }
    }
}

#[derive(Debug, Default)]
struct Pool {
    waiting: Vec<Grey>,
    /// Threads that have taken some and are marking.
    at_work: usize,
}

/// The grey objects of all threads.
#[derive(Debug, Default)]
pub(super) struct Greys(Mutex<Pool>);

impl Greys {
    fn pool(&self) -> MutexGuard<'_, Pool> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Puts grey objects where all threads find them.
    pub(super) fn give(&self, grey: &mut Grey) {
        if !grey.is_empty() {
            self.pool().waiting.push(take(grey));
        }
    }

    /// Marks until about `most` words were looked at; gives the words. Nothing is grey if that is 0, but for what other
    /// threads have.
    ///
    /// # Safety
    /// As for [`Grey::mark`].
    pub(super) unsafe fn mark(&self, marks: &impl Marking, most: usize) -> usize {
        let mut words = 0;
        while words < most {
            let mut pool = self.pool();
            let Some(mut grey) = pool.waiting.pop() else { break };
            pool.at_work += 1;
            drop(pool);
            // SAFETY: as the caller's.
            words += unsafe { grey.mark(marks, most - words) };
            let half =
                if grey.objects.len() > KEPT { grey.objects.split_off(grey.objects.len() / 2) } else { Vec::new() };
            let mut pool = self.pool();
            pool.at_work -= 1;
            if !half.is_empty() {
                pool.waiting.push(Grey { objects: half, fields: Vec::new() });
            }
            if !grey.is_empty() {
                pool.waiting.push(grey);
            }
        }
        words
    }

    /// Whether nothing is grey, and no thread marks.
    pub(super) fn is_done(&self) -> bool {
        let pool = self.pool();
        pool.waiting.is_empty() && pool.at_work == 0
    }

    /// Forgets what is grey: the cycle is given up.
    pub(super) fn clear(&self) {
        self.pool().waiting.clear();
    }
}
