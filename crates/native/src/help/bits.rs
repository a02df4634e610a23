//! Segments that native code does not read itself. Those that may use heap are asked for as operations are: heap top,
//! stack pointer, reductions, the context, a size, a [`shape`].

use std::mem::MaybeUninit;

use atoll_loader::instruction::{BitFlags, SegmentType};
use atoll_operations::bit_match::{self, PartObject};
use atoll_operations::bit_quick::{self, Quick};
use atoll_operations::bit_simple::{self, Simple};
use atoll_runtime::core::{Core, fits};
use atoll_term::{Term, Word};

use super::{ARGUMENTS, answer, carried, finish, term};

/// Most words of the object that a part of a bitstring is.
const PART_WORDS: usize = 4;

/// The unit and the flags of a segment in one word.
pub fn shape(unit: u16, flags: BitFlags) -> Word {
    Word::from(unit) | Word::from(flags.little) << 16 | Word::from(flags.signed) << 17
}

fn unit_of(shape: Word) -> u16 {
    (shape & 0xffff) as u16
}

fn flags_of(shape: Word) -> BitFlags {
    BitFlags { little: shape >> 16 & 1 != 0, signed: shape >> 17 & 1 != 0 }
}

/// Has an operation made with the process's heap, and answers with its result.
///
/// # Safety
/// Native code made the request.
unsafe fn with_heap(core: *mut Core, operation: impl FnOnce(*mut Core) -> Option<Term>) {
    // SAFETY: the request has the registers of the process that runs on the core.
    unsafe {
        let [hp, e, reds] = carried(core);
        (*core).swap_out(hp as *mut Word, e as *mut Word);
        let result = operation(core);
        finish(core, reds as i64, result);
    }
}

/// A match context of a bitstring: registers, the bitstring.
pub unsafe extern "C" fn start_match(core: *mut Core) {
    // SAFETY: native code makes this request.
    unsafe { with_heap(core, |core| bit_match::start_match(&mut *(*core).mutator, term(core, 3))) };
}

/// An integer segment.
pub unsafe extern "C" fn get_integer(core: *mut Core) {
    // SAFETY: native code makes this request.
    unsafe {
        let shape = (*core).request.arguments[5];
        with_heap(core, |core| {
            let bits = bit_match::segment_bits(term(core, 4), unit_of(shape))?;
            bit_match::get_integer(&mut *(*core).mutator, term(core, 3), bits, flags_of(shape))
        });
    }
}

/// A float segment.
pub unsafe extern "C" fn get_float(core: *mut Core) {
    // SAFETY: native code makes this request.
    unsafe {
        let shape = (*core).request.arguments[5];
        with_heap(core, |core| {
            let bits = bit_match::segment_bits(term(core, 4), unit_of(shape))?;
            bit_match::get_float(&mut *(*core).mutator, term(core, 3), bits, flags_of(shape))
        });
    }
}

/// A binary segment.
pub unsafe extern "C" fn get_binary(core: *mut Core) {
    // SAFETY: native code makes this request.
    unsafe {
        let context = term(core, 3);
        let Some(bits) = bit_match::segment_bits(term(core, 4), unit_of((*core).request.arguments[5])) else {
            return with_heap(core, |_| None);
        };
        let quick = if has_room(core) { bit_match::quick_part::<true>(context, bits) } else { None };
        match quick {
            Some(object) => place(core, object),
            None => with_heap(core, |core| bit_match::get_binary(&mut *(*core).mutator, context, bits)),
        }
    }
}

/// All the rest, in whole units, as a bitstring; the position stays.
pub unsafe extern "C" fn get_rest(core: *mut Core) {
    // SAFETY: native code makes this request.
    unsafe {
        let context = term(core, 3);
        let rest = bit_match::rest_in_units(context, unit_of((*core).request.arguments[5]));
        let quick = rest.filter(|_| has_room(core)).and_then(|rest| bit_match::quick_part::<false>(context, rest));
        match quick {
            Some(object) => place(core, object),
            None => with_heap(core, |core| {
                rest?;
                bit_match::get_tail(&mut *(*core).mutator, context)
            }),
        }
    }
}

/// Whether any part fits behind the request's heap top.
unsafe fn has_room(core: *mut Core) -> bool {
    // SAFETY: the request has heap top and stack pointer of the process that runs on the core.
    unsafe {
        let [hp, e, ..] = (*core).request.arguments;
        fits(PART_WORDS, hp as *mut Word, e as *mut Word, core)
    }
}

/// Writes a part's object to the heap, which has room for it, and answers with it.
unsafe fn place(core: *mut Core, object: PartObject) {
    let (words, length) = object;
    // SAFETY: as for `has_room`; what is written behind the object is free.
    unsafe {
        let [hp, _, reds, ..] = (*core).request.arguments;
        let hp = hp as *mut Word;
        *hp.cast() = words;
        (*core).next.1 = hp.add(length);
        (*core).next.3 = reds as i64;
        answer(core, Term::boxed_at(hp).word());
    }
}

/// Whether so many units of the context, a term, can be skipped; if so, they are: context, size, unit.
pub unsafe extern "C" fn skip(core: *mut Core) {
    // SAFETY: native code makes this request with two terms and a number.
    unsafe {
        let bits = bit_match::segment_bits(term(core, 1), unit_of((*core).request.arguments[2]));
        answer(core, bits.is_some_and(|bits| bit_match::skip(term(core, 0), bits)));
    }
}

/// The code point of the context, a term, in UTF-8; 0 if there is none.
pub unsafe extern "C" fn get_utf8(core: *mut Core) {
    // SAFETY: native code makes this request with a term.
    unsafe {
        let point = bit_match::get_utf(term(core, 0), SegmentType::Utf8, BitFlags::default());
        answer(core, point.unwrap_or(Term::NONE).word());
    }
}

/// A bitstring built of segments: registers, the address of the segments ([`Simple`]), how many there are, the words of
/// the heap for which there is room. Their values stand in the core. 0: it has to be built in another way, and nothing
/// has changed.
pub unsafe extern "C" fn create(core: *mut Core) {
    // SAFETY: native code makes this request; the segments live as long as it does.
    unsafe {
        let [hp, _, reds] = carried(core);
        let [.., first, count, room] = (*core).request.arguments;
        let count = count as usize;
        let segments = std::slice::from_raw_parts(first as *const Simple, count);
        let values = &(&(*core).x)[ARGUMENTS..ARGUMENTS + count];
        let room = std::slice::from_raw_parts_mut(hp as *mut MaybeUninit<Word>, room as usize);
        let (result, words) = match bit_quick::create(room, segments, values) {
            Some(Quick::Object(words)) => (Term::boxed_at(hp as *mut Word), words),
            Some(Quick::Extended(view)) => (view, 0),
            None => return with_heap(core, |core| bit_simple::create(&mut *(*core).mutator, segments, values)),
        };
        (*core).next.1 = (hp as *mut Word).add(words);
        (*core).next.3 = reds as i64;
        answer(core, result.word());
    }
}
