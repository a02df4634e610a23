//! Making maps.

use atoll_operations::maps;
use atoll_term::{Build, FLAT_MAP_LIMIT, Kind, Term, Word};

use crate::handlers::control::any_at;
use crate::operand::{Any, Write};
use atoll_runtime::core::{Core, Exit, dispatch};
use atoll_runtime::pause::end_soon_if_full;
use atoll_runtime::raise;

/// Pairs that are fetched without an allocation.
const FEW: usize = 16;

/// `put_map_assoc` where all keys are known (`atoll_code::NewMap`): the tuple of keys, destination, how many values
/// there are, value….
pub unsafe fn new_map(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core; operands as the translation wrote them.
    unsafe {
        (*c).swap_out(hp, e);
        let new = make_new(ip, e, c);
        Any::write(*ip.add(2), new, e, c);
        dispatch(ip.add(4 + *ip.add(3) as usize), (*c).top(), e, end_soon_if_full(reds, c), c)
    }
}

#[inline(never)]
unsafe fn make_new(ip: *const Word, e: *mut Word, c: *mut Core) -> Term {
    // SAFETY: the process runs on this core; operands as the translation wrote them. A flat map's words are its keys
    // and as many values.
    unsafe {
        let count = *ip.add(3) as usize;
        let mut words = [Term::NIL; FLAT_MAP_LIMIT + 1];
        words[0] = Term::from_word(*ip.add(1));
        for (index, word) in words[1..=count].iter_mut().enumerate() {
            *word = any_at(ip, 4 + index, e, c);
        }
        (*(*c).mutator).scanned_runs(Kind::FlatMap, 0, [&words[..=count]])
    }
}

/// `put_map_assoc` and `put_map_exact` (`EXACT`): fail, map, destination, pairs, (key, value)….
pub unsafe fn put_map<const EXACT: bool>(
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: the process runs on this core; operands as the translation wrote them.
    unsafe {
        (*c).swap_out(hp, e);
        let new = make::<EXACT>(ip, e, c);
        if new.is_none() {
            let exception = (*c).take_failure();
            return match *ip.add(1) {
                0 => raise::plain(exception, ip, (*c).top(), e, reds, c),
                fail => dispatch(fail as *const Word, (*c).top(), e, reds, c),
            };
        }
        Any::write(*ip.add(3), new, e, c);
        let count = *ip.add(4) as usize;
        dispatch(ip.add(5 + 2 * count), (*c).top(), e, end_soon_if_full(reds, c), c)
    }
}

/// The new map; `NONE` if it cannot be made.
#[inline(never)]
unsafe fn make<const EXACT: bool>(ip: *const Word, e: *mut Word, c: *mut Core) -> Term {
    // SAFETY: the process runs on this core; operands as the translation wrote them.
    unsafe {
        let core = &mut *c;
        let heap = &mut *core.mutator;
        let old = any_at(ip, 2, e, c);
        let count = *ip.add(4) as usize;
        let mut few = [(Term::NIL, Term::NIL); FEW];
        let mut many = Vec::new();
        let pairs: &mut [(Term, Term)] = if count <= FEW {
            &mut few[..count]
        } else {
            many.resize(count, (Term::NIL, Term::NIL));
            &mut many
        };
        for (index, pair) in pairs.iter_mut().enumerate() {
            *pair = (any_at(ip, 5 + 2 * index, e, c), any_at(ip, 6 + 2 * index, e, c));
        }
        let result = maps::put(heap, old, pairs, EXACT);
        core.settle(result)
    }
}
