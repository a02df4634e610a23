//! What the terminal can do, as the database of terminals says, by the names of `termcap` and of `terminfo`.

use std::sync::LazyLock;

use atoll_operations::{iolist, list};
use atoll_process::{BuiltIn, Caller, Interrupt, Outcome, badarg};
use atoll_term::atoms::known_atom;
use atoll_term::{Build, Term, atoms};
use parking_lot::Mutex;
use term::terminfo::TermInfo;
use term::terminfo::parm::{Param, Variables, expand};

use crate::arguments::int;
use crate::results::ok;

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("prim_tty", "tgetent_nif", 1, open_by_name),
    BuiltIn::new("prim_tty", "tgetnum_nif", 1, number_or_false),
    BuiltIn::new("prim_tty", "tgetflag_nif", 1, flag),
    BuiltIn::new("prim_tty", "tgetstr_nif", 1, text_by_short_name),
    BuiltIn::new("prim_tty", "tgoto_nif", 1, go_to),
    BuiltIn::new("prim_tty", "tgoto_nif", 2, go_to),
    BuiltIn::new("prim_tty", "tgoto_nif", 3, go_to),
    BuiltIn::new("prim_tty", "setupterm_nif", 0, open_of_environment),
    BuiltIn::new("prim_tty", "tigetnum_nif", 1, number),
    BuiltIn::new("prim_tty", "tigetflag_nif", 1, flag),
    BuiltIn::new("prim_tty", "tigetstr_nif", 1, text),
    BuiltIn::new("prim_tty", "tinfo_nif", 0, all),
    BuiltIn::new("prim_tty", "tputs_nif", 2, put),
];

/// Short names that `prim_tty` uses, and those of the database.
const SHORT: [(&str, &str); 21] = [
    ("bc", "OTbc"),
    ("bs", "OTbs"),
    ("am", "am"),
    ("cd", "ed"),
    ("ce", "el"),
    ("cl", "clear"),
    ("co", "cols"),
    ("DC", "dch"),
    ("do", "cud1"),
    ("IC", "ich"),
    ("kb", "kbs"),
    ("LE", "cub"),
    ("le", "cub1"),
    ("li", "lines"),
    ("nd", "cuf1"),
    ("RI", "cuf"),
    ("ta", "ht"),
    ("u6", "u6"),
    ("u7", "u7"),
    ("up", "cuu1"),
    ("xn", "xenl"),
];

static OPEN: LazyLock<Mutex<Option<TermInfo>>> = LazyLock::new(Mutex::default);

/// A name, which comes with a zero behind it.
fn name(argument: Term) -> Result<String, Interrupt> {
    let mut bytes = iolist::iolist_bytes(argument)?;
    if let Some(end) = bytes.iter().position(|byte| *byte == 0) {
        bytes.truncate(end);
    }
    String::from_utf8(bytes).map_err(|_| badarg())
}

/// The database's name for one of `termcap`, of which the first two letters count.
fn long_name(short: &str) -> &str {
    let two = short.get(..2).unwrap_or(short);
    SHORT.iter().find(|(one, _)| *one == two).map_or(short, |(_, long)| long)
}

fn not_known(caller: &mut Caller<'_>, function: &str) -> Outcome {
    let reason = caller.heap().tuple(&[known_atom(function), known_atom("enoent")]);
    Ok(caller.heap().tuple(&[atoms::ERROR, reason]))
}

fn open_by_name(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let info = TermInfo::from_name(&name(arguments[0])?).ok();
    let known = info.is_some();
    *OPEN.lock() = info;
    if known { Ok(atoms::OK) } else { not_known(caller, "tgetent") }
}

fn open_of_environment(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    let info = TermInfo::from_env().ok();
    let known = info.is_some();
    *OPEN.lock() = info;
    if known { Ok(atoms::OK) } else { not_known(caller, "setupterm") }
}

fn look_up<T>(argument: Term, find: impl Fn(&TermInfo, &str) -> Option<T>) -> Result<Option<T>, Interrupt> {
    let name = name(argument)?;
    let open = OPEN.lock();
    Ok(open.as_ref().and_then(|info| find(info, &name).or_else(|| find(info, long_name(&name)))))
}

fn number_of(argument: Term) -> Result<Option<i64>, Interrupt> {
    look_up(argument, |info, name| info.numbers.get(name).map(|count| i64::from(*count)))
}

fn number_or_false(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    match number_of(arguments[0])? {
        Some(count) => ok(caller, Term::small(count)),
        None => Ok(atoms::FALSE),
    }
}

fn number(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(Term::small(number_of(arguments[0])?.unwrap_or(-1)))
}

fn flag(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let is = look_up(arguments[0], |info, name| info.bools.get(name).copied())?;
    Ok(Term::boolean(is.unwrap_or(false)))
}

fn found(caller: &mut Caller<'_>, text: Option<Vec<u8>>) -> Outcome {
    match text {
        Some(text) => {
            let text = caller.heap().binary(&text);
            ok(caller, text)
        }
        None => Ok(atoms::FALSE),
    }
}

fn text_by_short_name(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let long = long_name(&name(arguments[0])?).to_owned();
    let text = OPEN.lock().as_ref().and_then(|info| info.strings.get(long.as_str()).cloned());
    found(caller, text)
}

fn text(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let text = look_up(arguments[0], |info, name| info.strings.get(name).cloned())?;
    found(caller, text)
}

/// A capability with its parameters filled in.
fn filled(text: &[u8], parameters: impl IntoIterator<Item = Term>) -> Result<Vec<u8>, Interrupt> {
    let mut given = Vec::new();
    for one in parameters {
        given.push(Param::Number(int(one)?));
    }
    let text = text.strip_suffix(&[0]).unwrap_or(text);
    if given.is_empty() {
        return Ok(text.to_vec());
    }
    expand(text, &given, &mut Variables::new()).map_err(|_| badarg())
}

/// `tgoto_nif(Text, Column, Row)`: the row comes first in the text.
fn go_to(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let text = iolist::iolist_bytes(arguments[0])?;
    let filled = filled(&text, arguments[1..].iter().rev().copied())?;
    found(caller, Some(filled))
}

/// `tputs_nif(Text, Parameters)`: without the times that terminals of old needed.
fn put(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let text = iolist::iolist_bytes(arguments[0])?;
    let filled = filled(&text, list::elements_or_badarg(arguments[1])?)?;
    found(caller, Some(atoll_ports::terminal::without_delays(&filled)))
}

/// Names of what this terminal has: `#{bool, num, str => [#{name, code, full_name}]}`.
fn all(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    let kinds = {
        let open = OPEN.lock();
        let of = |kind: fn(&TermInfo) -> Vec<&'static str>| {
            let mut names = open.as_ref().map(kind).unwrap_or_default();
            names.sort_unstable();
            names
        };
        [
            ("bool", of(|info| info.bools.keys().copied().collect())),
            ("num", of(|info| info.numbers.keys().copied().collect())),
            ("str", of(|info| info.strings.keys().copied().collect())),
        ]
    };
    let heap = caller.heap();
    let mut pairs = Vec::new();
    for (kind, names) in kinds {
        let mut maps = Vec::new();
        for name in names {
            let short = SHORT.iter().find(|(_, long)| *long == name).map_or(name, |(short, _)| short);
            let fields = [("name", name), ("code", short), ("full_name", name)];
            let fields = fields.map(|(key, text)| (known_atom(key), heap.string(text)));
            maps.push(atoll_term::map::from_pairs(heap, &fields));
        }
        pairs.push((known_atom(kind), heap.list(maps)));
    }
    Ok(atoll_term::map::from_pairs(heap, &pairs))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_letters_of_a_short_name_count() {
        assert_eq!(long_name("clear"), "clear");
        assert_eq!(long_name("up"), "cuu1");
        assert_eq!(long_name("u7"), "u7");
        assert_eq!(long_name("x"), "x");
    }

    #[test]
    fn parameters_are_filled_in() {
        let text = filled(b"\x1b[%i%p1%d;%p2%dH\0", [Term::small(4), Term::small(9)]);
        assert_eq!(text.ok().as_deref(), Some(&b"\x1b[5;10H"[..]));
        assert_eq!(filled(b"\x1b[K\0", []).ok().as_deref(), Some(&b"\x1b[K"[..]));
    }
}
