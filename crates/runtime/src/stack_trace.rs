//! Stack traces. While an exception travels its trace is raw: a tuple
//! `{Class, Top, Addresses, Versions}` where `Top` is `[]` or `{Module, Name, ArityOrArguments, ErrorInfo | []}`,
//! `Addresses` is a list of code addresses as small integers, and functions `{Module, Name, Arity}` that have no code,
//! and `Versions` says how many versions of modules had been loaded when they were noted: code that came later is not
//! meant, although it may stand where other code was freed; or `{Class, List}` for a trace that the program gave.

use atoll_code::{Files, Places, backtrace_depth, loaded_versions};
use atoll_heap::Mutator;
use atoll_operations::Class;
use atoll_term::{Build, Term, Word, atoms, map};
use smallvec::SmallVec;

use crate::breakpoint::is_traced_return;
use crate::mark::{is_in_use, is_mark};

/// A raw trace of the present stack. `at` is the address after the failing instruction, null if `top` stands for it.
/// `within` is a function without code that was called in between, `NONE` if there is none.
///
/// # Safety
/// `stack..base` are words of the stack of the process whose heap this is.
pub unsafe fn take(
    class: Class,
    top: Term,
    at: *const Word,
    within: Term,
    stack: *const Word,
    base: *const Word,
    heap: &mut Mutator,
    places: &mut Places,
) -> Term {
    let mut few = [Term::NIL; MOST_FEW];
    let mut many = Vec::new();
    let depth = backtrace_depth();
    // Two may stand before those of the stack.
    let addresses = match few.get_mut(..depth + 2) {
        Some(few) => few,
        None => {
            many.resize(depth + 2, Term::NIL);
            &mut many
        }
    };
    let mut count = 0;
    if !at.is_null() {
        addresses[count] = Term::small(at as i64);
        count += 1;
    }
    if !within.is_none() {
        addresses[count] = within;
        count += 1;
    }
    let most = depth + count;
    let reader = heap.stack_reader();
    // SAFETY: the caller's words, which nothing changes meanwhile.
    let words = unsafe { std::slice::from_raw_parts(stack, base.offset_from(stack).max(0) as usize) };
    let mut at = 0;
    let mut last = 0;
    while count < most {
        at += before_another(&words[at..], last);
        let Some(word) = words.get(at) else { break };
        // SAFETY: as above. Where a collector has marked the stack, another address stands in the word's place.
        let content = unsafe { reader.read(word) };
        // A frame that waits for the return of a traced call is none of the program's.
        if !is_traced_return(content) && !is_repeated(content as *const Word, last as *const Word, places) {
            last = content;
            addresses[count] = Term::small(content as i64);
            count += 1;
        }
        at += 1;
    }
    let addresses = heap.list_of(&addresses[..count], Term::NIL);
    heap.tuple(&[class.atom(), top, addresses, Term::small(loaded_versions() as i64)])
}

/// How many words of a stack stand in front of the first that is a return address, or a mark of a collector, and not
/// the last address that was found: recursion leaves the same one many times in a row; it is listed once, as in OTP. A
/// deep stack has thousands of such words, but most frames have a few.
#[inline]
fn before_another(words: &[Word], last: Word) -> usize {
    let near = words.len().min(NEAR);
    match words[..near].iter().position(|word| is_other(*word, last)) {
        Some(at) => at,
        None => near + before_distant(&words[near..], last),
    }
}

/// The same for words of which many may have to be looked at: in wide registers.
fn before_distant(words: &[Word], last: Word) -> usize {
    #[cfg(target_arch = "x86_64")]
    if words.len() >= 4 * AT_ONCE && std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has what is needed.
        return unsafe { before_distant_wide(words, last) };
    }
    before_distant_here(words, last)
}

/// The same in wide registers, which the compiler makes of it.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn before_distant_wide(words: &[Word], last: Word) -> usize {
    before_distant_here(words, last)
}

/// Words that are looked at one by one.
const NEAR: usize = 16;
/// Words that are looked at in one go.
const AT_ONCE: usize = 16;

#[inline(always)]
fn before_distant_here(words: &[Word], last: Word) -> usize {
    let (chunks, _) = words.as_chunks::<AT_ONCE>();
    let mut at = 0;
    for chunk in chunks {
        // Without branches, for wide registers.
        let mut others = 0;
        for word in chunk {
            others += u64::from(is_other(*word, last));
        }
        if others > 0 {
            break;
        }
        at += AT_ONCE;
    }
    while at < words.len() && !is_other(words[at], last) {
        at += 1;
    }
    at
}

#[inline(always)]
fn is_other(word: Word, last: Word) -> bool {
    // SAFETY: the word's bits alone are looked at.
    unsafe { Term::from_word(word) }.is_header() & (word != last) & (word != 0)
}

/// Entries of a trace for which no memory is taken.
const MOST_FEW: usize = 12;

/// Whether two return addresses are behind the same call. They differ only if one of them leads to native code that is
/// or was in use, and the other to other code. To find out takes long, so it is done for such pairs alone.
fn is_repeated(one: *const Word, other: *const Word, places: &mut Places) -> bool {
    if one == other || other.is_null() {
        return one == other;
    }
    // SAFETY: these are return addresses of a stack.
    let may_be = unsafe { (is_mark(one) || is_mark(other)) && !(is_in_use(one) && is_in_use(other)) };
    may_be && places.is_same(one, other)
}

/// The class that a raw trace was taken for.
pub fn class_of(raw: Term) -> Class {
    raw.tuple_elements().and_then(|elements| Class::from_atom(*elements.first()?)).unwrap_or(Class::Error)
}

/// The same trace for another class.
pub fn with_class(raw: Term, class: Class, heap: &mut Mutator) -> Term {
    match raw.tuple_elements() {
        Some(&[_, top, addresses, versions]) => heap.tuple(&[class.atom(), top, addresses, versions]),
        Some([_, list]) => {
            let list = *list;
            heap.tuple(&[class.atom(), list])
        }
        _ => given(raw, class, heap),
    }
}

/// A raw trace that holds a list given by the program.
pub fn given(list: Term, class: Class, heap: &mut Mutator) -> Term {
    heap.tuple(&[class.atom(), list])
}

/// The list `[{Module, Name, Arity, [{file, F}, {line, L}]}, …]` of a raw trace.
pub fn to_list(raw: Term, heap: &mut Mutator, places: &mut Places) -> Term {
    let (top, addresses, versions) = match raw.tuple_elements() {
        Some([_, top, addresses, versions]) => (*top, *addresses, versions.small_value() as u64),
        Some([_, list]) => return *list,
        _ => return Term::NIL,
    };
    let (mut entries, mut files): (SmallVec<[_; MOST_FEW]>, _) = (SmallVec::new(), Files::default());
    let mut at = addresses;
    while at.is_cons() {
        let entry = at.head();
        at = at.tail();
        if let Some(&[module, name, arity]) = entry.tuple_elements() {
            entries.push((module, name, arity, Term::NIL));
            continue;
        }
        let address = entry.small_value() as *const Word;
        if let Some(frame) = places.frame_at(address, versions) {
            let location = frame.location_term(heap, &mut files);
            entries.push((frame.module, frame.name, Term::small(i64::from(frame.arity)), location));
        }
    }
    if let Some(&[module, name, arguments, info]) = top.tuple_elements() {
        // The first address, if it lies in the function named at the top, gives its line.
        let is_address = addresses.is_cons() && addresses.head().is_small();
        let here = is_address && entries.first().is_some_and(|(m, n, ..)| *m == module && *n == name);
        let location = if here { entries.remove(0).3 } else { Term::NIL };
        let location = if info.is_map() {
            let entry = heap.tuple(&[atoms::ERROR_INFO, info]);
            match location.is_cons() {
                true => heap.list([location.head(), location.tail().head(), entry]),
                false => heap.list([entry]),
            }
        } else {
            location
        };
        entries.insert(0, (module, name, arguments, location));
    }
    entries.truncate(backtrace_depth());
    let list: SmallVec<[Term; MOST_FEW]> = entries.iter().map(|(m, n, a, l)| heap.tuple(&[*m, *n, *a, *l])).collect();
    heap.list(list)
}

/// The map `#{module => Module}` that names the module which explains a failing built-in function.
pub fn explained_by(module: Term, heap: &mut Mutator) -> Term {
    map::from_pairs(heap, &[(atoms::MODULE, module)])
}

/// The module that explains why a built-in function of `module` failed, as OTP's libraries provide.
pub fn explainer_of(module: Term) -> Option<Term> {
    match atoms::atom_name(module) {
        "erlang" | "atomics" | "counters" | "persistent_term" | "erts_internal" => Some(atoms::ERL_ERTS_ERRORS),
        "binary" | "ets" | "lists" | "maps" | "math" | "re" | "unicode" | "io" => Some(atoms::ERL_STDLIB_ERRORS),
        "os" | "code" => Some(atoms::ERL_KERNEL_ERRORS),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Addresses are multiples of four, what else lies on a stack is none.
    #[test]
    fn the_next_address_is_found_wherever_it_stands() {
        const LAST: Word = 0x7f00_1000;
        let fillers = [Term::small(7).word(), LAST, 0, Term::NIL.word(), LAST + 1, LAST + 2];
        for length in [0, 1, NEAR - 1, NEAR, NEAR + 1, 4 * AT_ONCE, NEAR + 4 * AT_ONCE, 9 * AT_ONCE + 5] {
            let mut words: Vec<Word> = fillers.iter().copied().cycle().take(length).collect();
            assert_eq!(before_another(&words, LAST), length);
            assert_eq!(before_distant_here(&words, LAST), length);
            for place in (0..length).rev() {
                words[place] = LAST + 8;
                assert_eq!(before_another(&words, LAST), place, "of {length}");
                assert_eq!(before_distant_here(&words, LAST), place, "of {length}");
            }
        }
    }
}
