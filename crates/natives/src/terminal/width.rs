//! How many columns characters take on a screen.

use atoll_operations::iolist;
use atoll_process::{BuiltIn, Caller, Outcome, badarg};
use atoll_term::atoms::LazyAtom;
use atoll_term::{Build, Term, atoms};
use unicode_width::UnicodeWidthChar;

use crate::arguments::int;
use crate::results::ok;

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("prim_tty", "isprint", 1, is_printable),
    BuiltIn::new("prim_tty", "wcwidth", 1, width),
    BuiltIn::new("prim_tty", "wcswidth", 1, width_of_text),
    BuiltIn::new("prim_tty", "sizeof_wchar", 0, size_of_character),
];

static NOT_PRINTABLE: LazyAtom = LazyAtom::new("not_printable");

/// Bytes of a wide character in C.
const WIDE: usize = 4;

/// Columns of a character; `None` if it cannot be shown.
fn columns(number: i32) -> Option<i64> {
    let character = char::from_u32(u32::try_from(number).ok()?)?;
    if character == '\0' { Some(0) } else { character.width().map(|count| count as i64) }
}

fn not_printable(caller: &mut Caller<'_>) -> Outcome {
    Ok(caller.heap().tuple(&[atoms::ERROR, NOT_PRINTABLE.get()]))
}

/// Whether a byte alone can be shown.
fn is_printable(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(Term::boolean(matches!(int(arguments[0])?, 0x20..=0x7e)))
}

fn width(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    match columns(int(arguments[0])?) {
        Some(count) => Ok(Term::small(count)),
        None => not_printable(caller),
    }
}

/// `wcswidth(<<Character:32/native, ...>>)`
fn width_of_text(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let bytes = iolist::iolist_bytes(arguments[0]).map_err(|_| badarg())?;
    let characters = bytes.chunks_exact(WIDE).filter_map(|four| four.try_into().ok().map(i32::from_ne_bytes));
    match characters.take_while(|one| *one != 0).map(columns).sum::<Option<i64>>() {
        Some(count) => ok(caller, Term::small(count)),
        None => not_printable(caller),
    }
}

fn size_of_character(_: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Ok(Term::small(WIDE as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_those_of_terminals() {
        assert_eq!(columns('a' as i32), Some(1));
        assert_eq!(columns('漢' as i32), Some(2));
        assert_eq!(columns('\u{301}' as i32), Some(0));
        assert_eq!(columns(7), None);
        assert_eq!(columns(0), Some(0));
    }
}
