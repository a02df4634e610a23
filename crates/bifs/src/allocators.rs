//! What `system_info` tells of OTP's allocators. There are none of them here; what each would hold is known for some,
//! and tools that add it up (`observer`) show it.

use atoll_heap::{Mutator, architecture};
use atoll_operations::list::elements_or_badarg;
use atoll_process::{Caller, Outcome, System, badarg, sequence};
use atoll_term::atoms::known_atom;
use atoll_term::{Build, Term, atoms};

use crate::memory_and_statistics::by_allocator;

/// OTP's allocators, of which it tells.
const ALLOCATORS: [&str; 13] = [
    "binary_alloc",
    "driver_alloc",
    "eheap_alloc",
    "erts_mmap",
    "ets_alloc",
    "fix_alloc",
    "literal_alloc",
    "ll_alloc",
    "mseg_alloc",
    "sl_alloc",
    "std_alloc",
    "sys_alloc",
    "temp_alloc",
];

/// `system_info({memory_internal, Reference, Allocators})`: a message from each scheduler, as from those of an emulator
/// whose allocators are off.
pub(crate) fn tell(caller: &mut Caller<'_>, reference: Term, allocators: Term) -> Outcome {
    let allocators = elements_or_badarg(allocators)?;
    if !reference.is_reference() || allocators.is_empty() || !allocators.iter().all(|name| is_known(*name)) {
        return Err(badarg());
    }
    let system = System::get();
    for scheduler in 1..=system.schedulers {
        // The first knows what belongs to none.
        let told = if scheduler == 1 { &allocators[..] } else { &[] };
        let heap = caller.heap();
        let rows: Vec<Term> = told.iter().map(|name| heap.tuple(&[*name, atoms::FALSE])).collect();
        let rows = heap.list(rows);
        let message = heap.tuple(&[reference, Term::small(scheduler as i64), rows]);
        let message = architecture().send(heap, message);
        system.deliver_or_answer(caller.process.pid, sequence::neutral(message));
    }
    Ok(atoms::TRUE)
}

fn is_known(name: Term) -> bool {
    ALLOCATORS.contains(&atoms::name_if_atom(name))
}

/// `alloc_util_allocators`: those that hold something.
pub(crate) fn names(heap: &mut Mutator) -> Term {
    heap.list(by_allocator().map(|(name, _)| known_atom(name)))
}

/// For one allocator what `tell` says of it, for a list of them a list of pairs.
fn of_each(caller: &mut Caller<'_>, which: Term, tell: impl Fn(&mut Mutator, Term) -> Term) -> Outcome {
    if which.is_atom() {
        return if is_known(which) { Ok(tell(caller.heap(), which)) } else { Err(badarg()) };
    }
    let names = elements_or_badarg(which)?;
    if names.is_empty() || !names.iter().all(|name| is_known(*name)) {
        return Err(badarg());
    }
    let heap = caller.heap();
    let pairs: Vec<Term> = names
        .into_iter()
        .map(|name| {
            let told = tell(heap, name);
            heap.tuple(&[name, told])
        })
        .collect();
    Ok(heap.list(pairs))
}

/// `system_info({allocator, Which})`: one instance, which holds all in one block of one carrier.
pub(crate) fn settings(caller: &mut Caller<'_>, which: Term) -> Outcome {
    of_each_that_holds(caller, which, |heap, name, bytes| {
        let number = |heap: &mut Mutator, of: &str, number| heap.tuple(&[known_atom(of), Term::small(number)]);
        let versions = heap.list(b"1.0".map(|digit| Term::small(digit.into())));
        let versions = heap.tuple(&[known_atom("versions"), versions, versions]);
        let enabled = heap.tuple(&[known_atom("e"), atoms::FALSE]);
        let options = heap.list([enabled]);
        let options = heap.tuple(&[known_atom("options"), options]);
        let [mbcs, sbcs] = [Some(bytes), None].map(|bytes| {
            let carriers = Term::small(bytes.is_some().into());
            let carriers = heap.tuple(&[known_atom("carriers"), carriers, carriers, carriers]);
            let from_system = number(heap, "sys_alloc_carriers_size", bytes.unwrap_or(0));
            let from_segments = number(heap, "mseg_alloc_carriers_size", 0);
            let count = bytes.map(|_| ("count", 1));
            held(heap, name, bytes, count, &[carriers, from_system, from_segments])
        });
        [versions, options, mbcs, sbcs].to_vec()
    })
}

/// `system_info({allocator_sizes, Which})`: one instance, with the bytes of now for the highest that there were.
pub(crate) fn sizes(caller: &mut Caller<'_>, which: Term) -> Outcome {
    of_each_that_holds(caller, which, |heap, name, bytes| {
        [Some(bytes), None].map(|bytes| held(heap, name, bytes, None, &[])).to_vec()
    })
}

/// As [`of_each`]: a list of one instance with these parts, which are made of the allocator's name and bytes, or
/// `false` for an allocator that holds nothing.
fn of_each_that_holds(
    caller: &mut Caller<'_>,
    which: Term,
    parts: impl Fn(&mut Mutator, Term, i64) -> Vec<Term>,
) -> Outcome {
    let all = by_allocator();
    of_each(caller, which, |heap, name| {
        let Some((_, bytes)) = all.iter().find(|(own, _)| known_atom(own) == name) else { return atoms::FALSE };
        let parts = parts(heap, name, *bytes);
        let parts = heap.list(parts);
        let instance = heap.tuple(&[known_atom("instance"), Term::small(0), parts]);
        heap.list([instance])
    })
}

/// `{mbcs, [{blocks, Blocks}, {carriers_size, ...} | More]}` with all that an allocator holds; without bytes that of
/// its single blocks (`sbcs`), which there are none of.
fn held(heap: &mut Mutator, name: Term, bytes: Option<i64>, count: Option<(&str, i64)>, more: &[Term]) -> Term {
    let thrice = |heap: &mut Mutator, kind: &str, value: i64| {
        heap.tuple(&[known_atom(kind), Term::small(value), Term::small(value), Term::small(value)])
    };
    let blocks = match bytes {
        Some(bytes) => {
            let about = count.into_iter().chain([("size", bytes)]).map(|(kind, value)| thrice(heap, kind, value));
            let about: Vec<Term> = about.collect();
            let about = heap.list(about);
            let block = heap.tuple(&[name, about]);
            heap.list([block])
        }
        None => Term::NIL,
    };
    let blocks = heap.tuple(&[known_atom("blocks"), blocks]);
    let carriers = thrice(heap, "carriers_size", bytes.unwrap_or(0));
    let parts: Vec<Term> = [blocks, carriers].iter().chain(more).copied().collect();
    let parts = heap.list(parts);
    heap.tuple(&[known_atom(if bytes.is_some() { "mbcs" } else { "sbcs" }), parts])
}
