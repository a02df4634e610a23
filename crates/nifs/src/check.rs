//! `--check-natives`: looks at each term that a library returns, sends, raises or puts into another. One that is none,
//! or that lies where terms of its environment cannot be, ends the machine with a report that names the function, so
//! that it is not found in a collection much later, or not at all.

use std::collections::HashSet;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use atoll_heap::{architecture, immovable};
use atoll_platform::ending;
use atoll_term::{Header, Kind, Term, Word, atoms, text};

use crate::crash::describe;
use crate::env::{Env, forget_running, running};

static ON: AtomicBool = AtomicBool::new(false);

/// Checks from now on.
pub fn check_terms() {
    ON.store(true, Ordering::Relaxed);
}

/// Whether terms are checked.
#[inline]
pub fn is_on() -> bool {
    ON.load(Ordering::Relaxed)
}

/// Ends the machine if this is no term of the environment, or has a part that is none. `what` says what the library
/// does with it.
#[inline]
pub fn checked(env: &mut Env, term: Term, what: &str) {
    if is_on() {
        check_all(env, &[term], what);
    }
}

/// Checks what a library's function returns, unless that means nothing because something else follows.
#[inline]
pub fn returned(env: &mut Env, value: Term) {
    if is_on() {
        check_returned(env, value);
    }
}

#[cold]
fn check_returned(env: &mut Env, value: Term) {
    let follows = env.rare_if_any().is_some_and(|rare| rare.scheduled.is_some());
    if env.exception.is_none() && !follows && !value.is_none() {
        check_all(env, &[value], "returned");
    }
}

/// As [`checked`], for several.
#[inline]
pub fn check_all(env: &mut Env, terms: &[Term], what: &str) {
    if is_on() {
        check_each(env, terms, what);
    }
}

#[cold]
fn check_each(env: &mut Env, terms: &[Term], what: &str) {
    let places = Places::of(env);
    for term in terms {
        if let Err(wild) = places.check(*term) {
            report(*term, &wild, what);
        }
    }
}

/// What is wrong, and the word that it was seen in.
struct Wild {
    word: Word,
    why: &'static str,
}

fn report(term: Term, wild: &Wild, what: &str) -> ! {
    let function = running().map_or_else(|| "A native library".to_owned(), describe);
    // The end is this machine's own, not a crash of the library's.
    forget_running();
    let whole = if wild.word == term.word() { "" } else { " inside of it" };
    let shown = if term.is_immediate() && wild.word != term.word() { text::to_string(term) } else { String::new() };
    ending::crash_broken(&format!("{function} {what} a wild term: {:#018x}{whole} {}{shown}", wild.word, wild.why))
}

/// Where terms of an environment can lie.
struct Places {
    /// First words and lengths in words; nothing: anywhere.
    runs: Option<Vec<(usize, usize)>>,
}

impl Places {
    fn of(env: &mut Env) -> Places {
        let mut runs = Vec::new();
        if let Some(mutator) = env.mutator() {
            if !architecture().shows_all_blocks() {
                return Places { runs: None };
            }
            architecture().each_block(mutator, &mut |start, words| runs.push((start as usize, words)));
            // One heap for all: no block is this process's alone.
            return Places { runs: Some(runs).filter(|runs| !runs.is_empty()) };
        }
        env.each_own_block(&mut |start, words| runs.push((start as usize, words)));
        Places { runs: Some(runs) }
    }

    fn contain(&self, place: usize, words: usize) -> bool {
        let Some(runs) = &self.runs else { return true };
        runs.iter().any(|(start, length)| place >= *start && place + words * 8 <= start + length * 8)
    }

    fn check(&self, term: Term) -> Result<(), Wild> {
        let mut seen = HashSet::new();
        let mut waiting = vec![term];
        while let Some(term) = waiting.pop() {
            let wild = |why| Err(Wild { word: term.word(), why });
            if term.is_none() || term.is_header() {
                return wild("is no term");
            }
            if term.is_immediate() {
                let is_known = !term.is_atom() || atoms::is_made(term);
                match is_known && !term.is_catch_mark() {
                    true => continue,
                    false => return wild("is no term"),
                }
            }
            if !seen.insert(term.word()) || immovable::contains(term) {
                continue;
            }
            let place = term.pointer() as usize;
            if !place.is_multiple_of(8) {
                return wild("is no term");
            }
            if !self.contain(place, 1) {
                return wild("lies in no memory of its environment");
            }
            let Some(first) = read(place, 1) else { return wild("lies in no memory") };
            // SAFETY: only looked at, and only as a word.
            let is_header = unsafe { Term::from_word(first[0]) }.is_header();
            if is_header == term.is_cons() {
                return wild("leads to no object of its kind");
            }
            let header = Header::from_word(first[0]);
            let (words, parts) = match term.is_cons() {
                true => (2, 0..2),
                false if header.is_opaque() => (header.object_words(), 0..0),
                false => (header.object_words(), 1..header.arity() + 1),
            };
            if !self.contain(place, words) || !term.is_cons() && header.kind() == Kind::MatchContext {
                return wild("leads to no object");
            }
            let Some(object) = read(place, words) else { return wild("leads to no object") };
            // SAFETY: each is checked before it is used.
            waiting.extend(object[parts].iter().map(|word| unsafe { Term::from_word(*word) }));
        }
        Ok(())
    }
}

/// Words of this process's memory, if they can be read.
fn read(place: usize, words: usize) -> Option<Vec<Word>> {
    static MEMORY: OnceLock<Option<File>> = OnceLock::new();
    let memory = MEMORY.get_or_init(|| File::open("/proc/self/mem").ok()).as_ref()?;
    let mut bytes = vec![0; words.checked_mul(8)?];
    memory.read_exact_at(&mut bytes, place as u64).ok()?;
    Some(bytes.chunks_exact(8).map(|word| Word::from_ne_bytes(word.try_into().unwrap_or_default())).collect())
}
