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

/// `system_info({allocator, Which})`: as for allocators that are off.
pub(crate) fn settings(caller: &mut Caller<'_>, which: Term) -> Outcome {
    of_each(caller, which, |_, _| atoms::FALSE)
}

/// `system_info({allocator_sizes, Which})`: one instance, with the bytes of now for the highest that there were.
pub(crate) fn sizes(caller: &mut Caller<'_>, which: Term) -> Outcome {
    let all = by_allocator();
    of_each(caller, which, |heap, name| {
        let Some((_, bytes)) = all.iter().find(|(own, _)| known_atom(own) == name) else { return atoms::FALSE };
        let mut size = |kind: &str, bytes: i64| {
            heap.tuple(&[known_atom(kind), Term::small(bytes), Term::small(bytes), Term::small(bytes)])
        };
        let [size, carriers, none] = [size("size", *bytes), size("carriers_size", *bytes), size("carriers_size", 0)];
        let sizes = heap.list([size]);
        let block = heap.tuple(&[name, sizes]);
        let blocks = heap.list([block]);
        let mut held = |kind: &str, blocks: Term, carriers: Term| {
            let blocks = heap.tuple(&[known_atom("blocks"), blocks]);
            let parts = heap.list([blocks, carriers]);
            heap.tuple(&[known_atom(kind), parts])
        };
        let parts = [held("mbcs", blocks, carriers), held("sbcs", Term::NIL, none)];
        let parts = heap.list(parts);
        let instance = heap.tuple(&[known_atom("instance"), Term::small(0), parts]);
        heap.list([instance])
    })
}
