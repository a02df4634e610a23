//! Functions that native code calls for what it does not do itself. They move no object and end no time slice.
//!
//! Each reads its arguments from the core's request, and leaves its result there.

use atoll_loader::instruction::TypeTest;
use atoll_operations::{guards, maps};
use atoll_process::{Caller, Native};
use atoll_runtime::core::{Core, Slow};
use atoll_runtime::pause::end_soon_if_full;
use atoll_runtime::target::local_target;
use atoll_term::{Term, View, Word};
use smallvec::SmallVec;

mod bits;

pub use bits::{create, get_binary, get_float, get_integer, get_rest, get_utf8, shape, skip, start_match};

/// Where the arguments of a guard function stand in the core: behind the registers that native code uses.
pub const ARGUMENTS: usize = crate::flow::MOST_REGISTERS as usize;

/// An argument that is a term.
///
/// # Safety
/// The request is one of native code, which passes terms of the running process there.
unsafe fn term(core: *mut Core, index: usize) -> Term {
    // SAFETY: the caller's obligation.
    unsafe { Term::from_word((*core).request.arguments[index]) }
}

/// Answers a request.
///
/// # Safety
/// The core is that of this thread.
unsafe fn answer(core: *mut Core, result: impl Into<Word>) {
    // SAFETY: the caller's obligation.
    unsafe { (*core).request.result = result.into() };
}

/// Whether two terms are exactly equal.
pub unsafe extern "C" fn exactly_equal(core: *mut Core) {
    // SAFETY: native code makes this request with two terms.
    unsafe { answer(core, atoll_term::exactly_equal(term(core, 0), term(core, 1))) };
}

/// Whether two terms are equal, `1` and `1.0` being so.
pub unsafe extern "C" fn equal(core: *mut Core) {
    // SAFETY: as above.
    unsafe { answer(core, atoll_term::equal(term(core, 0), term(core, 1))) };
}

/// Whether the first term stands before the second.
pub unsafe extern "C" fn less(core: *mut Core) {
    // SAFETY: as above.
    unsafe { answer(core, atoll_term::compare(term(core, 0), term(core, 1)).is_lt()) };
}

/// The value in a map, the first term, at a key, the second; 0 if there is none.
pub unsafe extern "C" fn map_get(core: *mut Core) {
    // SAFETY: as above; the loader has proven a map.
    unsafe { answer(core, atoll_term::map::get(term(core, 0), term(core, 1)).unwrap_or(Term::NONE).word()) };
}

/// The tests that [`is_of_type`] knows, by their numbers.
pub const TESTS: [TypeTest; 17] = [
    TypeTest::Integer,
    TypeTest::Float,
    TypeTest::Number,
    TypeTest::Atom,
    TypeTest::Pid,
    TypeTest::Reference,
    TypeTest::Port,
    TypeTest::Nil,
    TypeTest::Binary,
    TypeTest::Bitstring,
    TypeTest::List,
    TypeTest::NonemptyList,
    TypeTest::Tuple,
    TypeTest::Map,
    TypeTest::Function,
    TypeTest::Boolean,
    TypeTest::NativeRecord,
];

/// Whether a term is of a type: a term, a number among [`TESTS`].
pub unsafe extern "C" fn is_of_type(core: *mut Core) {
    // SAFETY: native code makes this request with a term.
    unsafe {
        let test = TESTS.get((*core).request.arguments[1] as usize);
        answer(core, test.is_some_and(|test| guards::is_of_type(*test, term(core, 0))));
    }
}

/// Whether a term is a fun of this arity, a term.
pub unsafe extern "C" fn is_fun_of_arity(core: *mut Core) {
    // SAFETY: native code makes this request with two terms.
    unsafe {
        let arity = term(core, 1);
        answer(core, guards::fun_arity(term(core, 0)).is_some_and(|own| arity == Term::small(own.into())));
    }
}

/// An operation of two operands that may need heap: heap top, stack pointer, reductions, the operation ([`Slow`]), the
/// operands. Heap top and reductions are left in `Core::next`. 0: it fails, and nothing else has changed.
pub unsafe extern "C" fn arithmetic(core: *mut Core) {
    // SAFETY: native code makes this request, with the registers and terms of the process that runs on the core.
    unsafe {
        let ([hp, e, reds], operation) = (carried(core), (*core).request.arguments[3]);
        let operation = std::mem::transmute::<Word, Slow>(operation);
        (*core).swap_out(hp as *mut Word, e as *mut Word);
        let result = operation(&mut *(*core).mutator, term(core, 4), term(core, 5));
        finish(core, reds as i64, result.ok());
    }
}

/// Calls a guard function, or another that asks for nothing: heap top, stack pointer, reductions, the function
/// ([`Native`]), how many arguments it has. As [`arithmetic`].
pub unsafe extern "C" fn guard(core: *mut Core) {
    // SAFETY: as above; the arguments stand in their place in the core.
    unsafe {
        let [hp, e, reds] = carried(core);
        let [.., function, count, _] = (*core).request.arguments;
        let function = std::mem::transmute::<Word, Native>(function);
        (*core).swap_out(hp as *mut Word, e as *mut Word);
        let this = &mut *core;
        let mut caller =
            Caller { process: &*this.process, own: &mut *this.own, reductions: reds as i64, at: std::ptr::null() };
        let result = function(&mut caller, &this.x[ARGUMENTS..ARGUMENTS + count as usize]);
        let left = caller.reductions;
        finish(core, left, result.ok());
    }
}

/// A map with these pairs: heap top, stack pointer, reductions, how many pairs, whether their keys are to be there. The
/// map and the pairs stand in the core, as arguments of [`guard`]. As [`arithmetic`].
pub unsafe extern "C" fn put_map(core: *mut Core) {
    // SAFETY: as above; a pair of terms is two terms that stand beside each other.
    unsafe {
        let [hp, e, reds] = carried(core);
        let [.., count, exact, _] = (*core).request.arguments;
        (*core).swap_out(hp as *mut Word, e as *mut Word);
        let this = &mut *core;
        let (map, terms) = (this.x[ARGUMENTS], &this.x[ARGUMENTS + 1..][..2 * count as usize]);
        let result = if let [key, value] = *terms {
            maps::put(&mut *this.mutator, map, &[(key, value)], exact != 0)
        } else {
            let pairs: SmallVec<[(Term, Term); 8]> = terms.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
            maps::put(&mut *this.mutator, map, &pairs, exact != 0)
        };
        finish(core, reds as i64, result.ok());
    }
}

/// Heap top, stack pointer and reductions of a request. Native code has just stored each by itself: a processor waits
/// for the stores if two of them are read as one.
///
/// # Safety
/// As for [`answer`].
#[inline(always)]
unsafe fn carried(core: *mut Core) -> [Word; 3] {
    // SAFETY: the caller's obligation.
    unsafe { [0, 1, 2].map(|index| (&raw const (*core).request.arguments[index]).read_volatile()) }
}

unsafe fn finish(core: *mut Core, reds: i64, result: Option<Term>) {
    // SAFETY: the process runs on this core.
    unsafe {
        (*core).next.1 = (*core).top();
        (*core).next.3 = end_soon_if_full(reds, core);
        answer(core, result.unwrap_or(Term::NONE).word());
    }
}

/// Where a call of a fun goes, a term, with so many arguments, which stand in the core; its free variables are put
/// behind them. Null if it cannot be called so.
pub unsafe extern "C" fn fun_address(core: *mut Core) {
    // SAFETY: native code makes this request with a term of the running process.
    unsafe {
        let (fun, arity) = (term(core, 0), (*core).request.arguments[1]);
        if let Some((address, live)) = local_target(fun, arity as usize, core) {
            (*core).live = live;
            return answer(core, address as Word);
        }
        match fun.view() {
            View::ExternalFun(export) if u64::from(export.arity) == arity => {
                (*core).live = arity;
                answer(core, export.address.load(std::sync::atomic::Ordering::Acquire) as Word);
            }
            _ => answer(core, 0_u64),
        }
    }
}
