//! The targets of calls that are known only at run time: of funs, and of `apply`.

use std::sync::atomic::Ordering;

use atoll_code::registry;
use atoll_operations::Exception;
use atoll_term::{Build, Export, FunEntry, Kind, Term, View, Word, atoms};

use crate::core::{Core, X_REGISTERS};

/// Arguments that a function can have.
pub const MOST_ARGUMENTS: usize = 255;
/// Arguments with which a function can be applied: with more than [`MOST_ARGUMENTS`] it is undefined.
pub const MOST_APPLIED: usize = X_REGISTERS - 1;

/// Where to go to call `fun` with `arity` arguments; the live registers there are left in the core. Behind the
/// arguments stand the fun's free variables, and behind them the fun itself: a fun without code needs itself
/// ([`crate::entry::undefined_fun`]), and only live registers are kept when the time slice ends at the call. Null if it
/// cannot be called; the exception is left in the core then.
pub unsafe fn fun_target(fun: Term, arity: usize, c: *mut Core) -> *const Word {
    // SAFETY: the process runs on this core.
    unsafe {
        let core = &mut *c;
        let wanted = match fun.view() {
            View::Fun(local) => {
                let itself = arity + local.free.len();
                if usize::from(local.entry.arity) == arity {
                    core.x[arity..itself].copy_from_slice(local.free);
                    core.x[itself] = fun;
                }
                (local.entry.arity, &local.entry.address, itself + 1)
            }
            View::ExternalFun(export) => (export.arity, &export.address, arity),
            _ => {
                core.failure = Some(Exception::tagged(&mut *core.mutator, atoms::BADFUN, fun));
                return std::ptr::null();
            }
        };
        let (expected, address, live) = wanted;
        if usize::from(expected) != arity {
            core.failure = Some(bad_arity(fun, arity, core));
            return std::ptr::null();
        }
        core.live = live as Word;
        address.load(Ordering::Acquire)
    }
}

unsafe fn bad_arity(fun: Term, arity: usize, core: &mut Core) -> Exception {
    // SAFETY: the mutator is that of the running process.
    let heap = unsafe { &mut *core.mutator };
    let arguments = heap.list(core.x[..arity].iter().copied());
    let pair = heap.tuple(&[fun, arguments]);
    Exception::tagged(heap, atoms::BADARITY, pair)
}

/// As [`fun_target`], for a local fun of this arity.
///
/// # Safety
/// A process runs on this core, whose term `fun` is.
#[inline(always)]
pub unsafe fn local_target(fun: Term, arity: usize, c: *mut Core) -> Option<(*const Word, Word)> {
    // SAFETY: a fun's first word holds its entry, and entries live for ever; the free variables stand behind its
    // creator.
    unsafe {
        if fun.boxed_kind() != Some(Kind::Fun) {
            return None;
        }
        let object = fun.pointer();
        let entry = &*(Term::from_word(*object.add(1)).small_value() as *const FunEntry);
        if usize::from(entry.arity) != arity {
            return None;
        }
        let (from, to) = (object.add(3), (&raw mut (*c).x).cast::<Word>().add(arity));
        let free = fun.header().arity() - 2;
        for index in 0..free {
            *to.add(index) = *from.add(index);
        }
        *to.add(free) = fun.word();
        let address = entry.address.load(Ordering::Acquire);
        Some((address.cast_const(), (arity + free + 1) as Word))
    }
}

/// The function that X registers behind so many arguments name, `None` if they hold no names.
pub unsafe fn apply_target(arity: usize, hp: *mut Word, e: *mut Word, c: *mut Core) -> Option<&'static Export> {
    // SAFETY: the process runs on this core.
    unsafe {
        let core = &mut *c;
        core.swap_out(hp, e);
        let (module, name) = (core.x[arity], core.x[arity + 1]);
        (module.is_atom() && name.is_atom()).then(|| registry().export(module, name, arity as u8))
    }
}

/// Puts the elements of a list into the X registers.
pub fn spread(mut list: Term, core: &mut Core) -> Spread {
    let mut arity = 0;
    while list.is_cons() {
        if arity < MOST_ARGUMENTS {
            core.x[arity] = list.head();
        }
        list = list.tail();
        arity += 1;
    }
    match arity {
        _ if !list.is_nil() => Spread::NoList,
        0..=MOST_ARGUMENTS => Spread::Into(arity),
        _ => Spread::TooMany(arity),
    }
}

/// What became of a list of arguments.
pub enum Spread {
    /// They are in so many X registers.
    Into(usize),
    /// There are more than a function can have.
    TooMany(usize),
    /// It is no proper list.
    NoList,
}
