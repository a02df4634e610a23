//! Searching binaries: `binary:match`, `matches`, `split` and `compile_pattern`.

use std::borrow::Cow;
use std::cell::RefCell;
use std::cmp::Reverse;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, Input, MatchKind};
use atoll_operations::{Exception, bit_part, list};
use atoll_process::{BuiltIn, Caller, Outcome, ReferenceId, badarg};
use atoll_term::{Bits, Build, Term, View, atoms};
use memchr::memmem::Finder;

use crate::charging::charge_bytes;

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("binary", "compile_pattern", 1, compile_pattern),
    BuiltIn::new("binary", "match", 2, match_first),
    BuiltIn::new("binary", "match", 3, match_first),
    BuiltIn::new("binary", "matches", 2, matches),
    BuiltIn::new("binary", "matches", 3, matches),
    BuiltIn::new("binary", "split", 2, split),
    BuiltIn::new("binary", "split", 3, split),
];

/// What is searched for, ready to search with.
enum Pattern {
    /// One pattern of one byte.
    Byte(u8),
    /// One pattern.
    One(Box<Finder<'static>>),
    /// Several patterns; the longest of those that match at the same place counts.
    Several(Arc<Several>),
}

/// Several patterns.
struct Several {
    automaton: AhoCorasick,
    /// For each byte, one more than the place in `groups` of the patterns that begin with it, or 0.
    group_of: [u16; 256],
    /// Patterns with the same first byte, the longest first.
    groups: Vec<Vec<Box<[u8]>>>,
    /// [`NEAR`] for short patterns, 0 for others: the time must not grow with what the patterns have.
    near: usize,
}

/// Bytes behind a match in which the next one is searched for byte by byte. The automaton passes long stretches without
/// a match several bytes at a time, and takes longer to begin.
const NEAR: usize = 16;

impl Several {
    fn of(patterns: &[Cow<'_, [u8]>], near: usize) -> Result<Several, Exception> {
        let automaton = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(patterns);
        let automaton = automaton.map_err(|_| Exception::system_limit())?;
        let mut sorted: Vec<&[u8]> = patterns.iter().filter(|_| near > 0).map(|pattern| &**pattern).collect();
        sorted.sort_by_key(|pattern| (pattern.first(), Reverse(pattern.len())));
        let groups = sorted.chunk_by(|one, other| one.first() == other.first());
        let groups: Vec<Vec<Box<[u8]>>> =
            groups.map(|group| group.iter().map(|one| Box::from(*one)).collect()).collect();
        let mut group_of = [0; 256];
        for (place, group) in groups.iter().enumerate() {
            group_of[usize::from(group[0][0])] = place as u16 + 1;
        }
        Ok(Several { automaton, group_of, groups, near })
    }

    /// The first match from this byte on.
    fn find_at(&self, bytes: &[u8], from: usize) -> Option<Found> {
        let near = bytes.len().min(from + self.near);
        for (place, byte) in bytes[from..near].iter().enumerate() {
            if let Some(group) = usize::from(self.group_of[usize::from(*byte)]).checked_sub(1) {
                let rest = &bytes[from + place..];
                if let Some(found) = self.groups[group].iter().find(|pattern| rest.starts_with(pattern)) {
                    return Some((from + place, found.len()));
                }
            }
        }
        let found = self.automaton.find(Input::new(bytes).span(near..bytes.len()))?;
        Some((found.start(), found.len()))
    }
}

/// Automata that a thread has built last, with their patterns. Programs search for the same few again and again, as for
/// white space, and an automaton takes longer to build than a short text to search.
type Recent = Vec<(Box<[u8]>, Arc<Several>)>;

/// How many of them are kept.
const RECENT: usize = 4;
/// Of patterns that have at most so many bytes together, with a length for each.
const RECENT_BYTES: usize = 256;

thread_local! {
    static RECENT_AUTOMATA: RefCell<Recent> = const { RefCell::new(Vec::new()) };
}

/// What searches for several patterns.
fn several(patterns: &[Cow<'_, [u8]>]) -> Result<Arc<Several>, Exception> {
    let build = |near| Several::of(patterns, near).map(Arc::new);
    let bytes: usize = patterns.iter().map(|pattern| pattern.len() + 1).sum();
    if bytes > RECENT_BYTES {
        return build(0);
    }
    let mut key = Vec::with_capacity(bytes);
    for pattern in patterns {
        // Shorter than the limit, so a byte holds the length.
        key.push(pattern.len() as u8);
        key.extend_from_slice(pattern);
    }
    RECENT_AUTOMATA.with_borrow_mut(|recent| {
        if let Some(place) = recent.iter().position(|(known, _)| **known == *key) {
            recent[..=place].rotate_right(1);
            return Ok(recent[0].1.clone());
        }
        let built = build(NEAR)?;
        recent.truncate(RECENT - 1);
        recent.insert(0, (key.into(), built.clone()));
        Ok(built)
    })
}

/// A match: where it starts and how long it is, in bytes.
type Found = (usize, usize);

impl Pattern {
    fn of_one(bytes: &[u8]) -> Result<Pattern, Exception> {
        match bytes {
            [] => Err(Exception::badarg()),
            [byte] => Ok(Pattern::Byte(*byte)),
            _ => Ok(Pattern::One(Box::new(Finder::new(bytes).into_owned()))),
        }
    }

    /// Of a binary, or a list of binaries.
    fn new(term: Term) -> Result<Pattern, Exception> {
        let only = if term.is_cons() && term.tail().is_nil() { term.head() } else { term };
        if let View::Bits(bits) = only.view() {
            return Pattern::of_one(&whole_bytes(&bits)?);
        }
        let mut patterns = Vec::new();
        let elements = list::elements_or_badarg(term)?;
        for element in &elements {
            let bits = element.bits().ok_or(Exception::badarg())?;
            let bytes = whole_bytes(&bits)?;
            if bytes.is_empty() {
                return Err(Exception::badarg());
            }
            patterns.push(bytes);
        }
        if patterns.is_empty() { Err(Exception::badarg()) } else { several(&patterns).map(Pattern::Several) }
    }

    /// The tag of a compiled pattern, as in OTP.
    fn tag(&self) -> Term {
        match self {
            Pattern::Byte(_) | Pattern::One(_) => atoms::BM,
            Pattern::Several(_) => atoms::AC,
        }
    }

    /// The first match.
    fn find(&self, bytes: &[u8]) -> Option<Found> {
        match self {
            Pattern::Byte(byte) => memchr::memchr(*byte, bytes).map(|start| (start, 1)),
            Pattern::One(finder) => finder.find(bytes).map(|start| (start, finder.needle().len())),
            Pattern::Several(several) => several.find_at(bytes, 0),
        }
    }

    /// All matches that do not overlap.
    fn find_all(&self, bytes: &[u8]) -> Vec<Found> {
        match self {
            Pattern::Byte(byte) => memchr::memchr_iter(*byte, bytes).map(|start| (start, 1)).collect(),
            Pattern::One(finder) => {
                let length = finder.needle().len();
                finder.find_iter(bytes).map(|start| (start, length)).collect()
            }
            Pattern::Several(several) => {
                let behind = |found: &Found| several.find_at(bytes, found.0 + found.1);
                std::iter::successors(several.find_at(bytes, 0), behind).collect()
            }
        }
    }
}

fn whole_bytes<'h>(bits: &Bits<'h>) -> Result<Cow<'h, [u8]>, Exception> {
    if bits.is_binary() { Ok(bits.to_bytes()) } else { Err(Exception::badarg()) }
}

fn compile_pattern(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let pattern = Pattern::new(arguments[0])?;
    let tag = pattern.tag();
    let heap = caller.heap();
    let reference = ReferenceId::of_value(heap, pattern);
    Ok(heap.tuple(&[tag, reference]))
}

/// The compiled pattern in a term, if it is one.
fn compiled(term: &Term) -> Option<&Pattern> {
    let [tag, reference] = term.tuple_elements()? else { return None };
    let pattern = reference.magic::<Pattern>()?;
    (*tag == pattern.tag()).then_some(pattern)
}

/// Runs `search` with the pattern that a term is or describes.
fn with_pattern<R>(term: Term, search: impl FnOnce(&Pattern) -> R) -> Result<R, Exception> {
    match compiled(&term) {
        Some(pattern) => Ok(search(pattern)),
        None => Ok(search(&Pattern::new(term)?)),
    }
}

/// The options of the functions here.
#[derive(Default)]
struct Options {
    /// Bytes to search in: first and count; `None` for all.
    scope: Option<Found>,
    global: bool,
    trim: bool,
    trim_all: bool,
}

/// The range that `{Position, Length}` stands for, in a binary of `size` bytes.
fn scope(range: Term, size: usize) -> Option<Found> {
    let [position, length] = range.tuple_elements()? else { return None };
    let (position, length) = (position.as_small()?, length.as_small()?);
    let end = position.checked_add(length)?;
    let (from, to) = (usize::try_from(position.min(end)).ok()?, usize::try_from(position.max(end)).ok()?);
    (to <= size).then_some((from, to - from))
}

/// Reads a list of options; as in OTP its tail is not looked at.
fn options(list: Option<&Term>, size: usize, of_split: bool) -> Result<Options, Exception> {
    let mut options = Options::default();
    let Some(list) = list else { return Ok(options) };
    if !list.is_list() {
        return Err(Exception::badarg());
    }
    let mut rest = *list;
    while let View::Cons(option, tail) = rest.view() {
        rest = tail;
        match option.view() {
            View::Tuple([atoms::SCOPE, range]) => {
                options.scope = Some(scope(*range, size).ok_or(Exception::badarg())?);
            }
            View::Atom(atoms::GLOBAL) if of_split => options.global = true,
            View::Atom(atoms::TRIM) if of_split => options.trim = true,
            View::Atom(atoms::TRIM_ALL) if of_split => options.trim_all = true,
            _ => return Err(Exception::badarg()),
        }
    }
    Ok(options)
}

/// The matches of a call, counted from the start of the subject, and its options.
fn search(
    caller: &mut Caller<'_>,
    arguments: &[Term],
    of_split: bool,
    all: bool,
) -> Result<(Vec<Found>, Options, usize), Exception> {
    let bits = arguments[0].bits().ok_or(Exception::badarg())?;
    let bytes = whole_bytes(&bits)?;
    let options = options(arguments.get(2), bytes.len(), of_split)?;
    let (from, length) = options.scope.unwrap_or((0, bytes.len()));
    let searched = &bytes[from..from + length];
    if from + length == 0 {
        // As in OTP, the pattern is not looked at.
        return Ok((Vec::new(), options, bytes.len()));
    }
    let mut found = with_pattern(arguments[1], |pattern| {
        if all || options.global { pattern.find_all(searched) } else { pattern.find(searched).into_iter().collect() }
    })?;
    found.iter_mut().for_each(|(start, _)| *start += from);
    let looked_at =
        if all || options.global { length } else { found.first().map_or(length, |(start, _)| start - from) };
    charge_bytes(caller, looked_at);
    Ok((found, options, bytes.len()))
}

fn pair(caller: &mut Caller<'_>, (start, length): Found) -> Term {
    caller.heap().tuple(&[Term::small(start as i64), Term::small(length as i64)])
}

fn match_first(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    match search(caller, arguments, false, false)?.0.first() {
        Some(found) => Ok(pair(caller, *found)),
        None => Ok(atoms::atom("nomatch")?),
    }
}

fn matches(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let (found, ..) = search(caller, arguments, false, true)?;
    let pairs: Vec<Term> = found.into_iter().map(|found| pair(caller, found)).collect();
    Ok(caller.heap().list(pairs))
}

fn split(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let (found, options, size) = search(caller, arguments, true, false)?;
    // The parts between the matches, from the last one on.
    let mut end = size;
    let mut parts = Term::NIL;
    let whole = arguments[0].aligned_binary();
    let gaps = found.iter().rev().map(|(start, length)| (start + length, Some(*start))).chain([(0, None)]);
    for (start, next_end) in gaps {
        let length = end - start;
        let is_dropped = length == 0 && (options.trim_all || options.trim && parts.is_nil());
        if !is_dropped {
            let heap = caller.heap();
            let part = match whole.and_then(|whole| bit_part::short_part(whole, start, end)) {
                Some(copied) => heap.binary(copied),
                None => bit_part::part(heap, arguments[0], start * 8, length * 8).ok_or_else(badarg)?,
            };
            parts = heap.cons(part, parts);
        }
        end = next_end.unwrap_or(0);
    }
    Ok(parts)
}
