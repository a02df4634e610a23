//! Lists: `lists` and the operators `++` and `--`.

use atoll_operations::{Exception, list};
use atoll_process::{BuiltIn, Caller, Outcome, badarg};
use atoll_term::{Build, Term, atoms, equal, exactly_equal, skip_elements};

use crate::charging::charge_elements;

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("lists", "reverse", 2, reverse),
    BuiltIn::new("lists", "member", 2, member),
    BuiltIn::new("lists", "keyfind", 3, keyfind),
    BuiltIn::new("lists", "keymember", 3, keymember),
    BuiltIn::new("lists", "keysearch", 3, keysearch),
    BuiltIn::new("erlang", "++", 2, append),
    BuiltIn::new("erlang", "append", 2, append),
    BuiltIn::new("erlang", "--", 2, subtract),
    BuiltIn::new("erlang", "subtract", 2, subtract),
];

fn reverse(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let (mut rest, mut reversed, mut count) = (arguments[0], arguments[1], 0);
    while rest.is_cons() {
        reversed = caller.heap().cons(rest.head(), reversed);
        rest = rest.tail();
        count += 1;
    }
    charge_elements(caller, count);
    if rest.is_nil() { Ok(reversed) } else { Err(badarg()) }
}

fn member(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let element = arguments[0];
    let (count, rest) = match element.is_pointer() {
        true => skip_elements(arguments[1], |head| !exactly_equal(head, element)),
        false => skip_elements(arguments[1], |head| head != element),
    };
    charge_elements(caller, count);
    if rest.is_list() { Ok(Term::boolean(rest.is_cons())) } else { Err(badarg()) }
}

/// The first tuple whose element at the position equals the key.
fn find(caller: &mut Caller<'_>, arguments: &[Term]) -> Result<Option<Term>, Exception> {
    let [key, position, mut rest] = *arguments else { return Err(Exception::badarg()) };
    let position = position.as_small().filter(|position| *position >= 1).ok_or(Exception::badarg())? as usize;
    let mut count = 0;
    let mut found = None;
    while rest.is_cons() {
        let head = rest.head();
        let element = head.tuple_elements().and_then(|elements| elements.get(position - 1));
        if element.is_some_and(|element| equal(*element, key)) {
            found = Some(head);
            break;
        }
        rest = rest.tail();
        count += 1;
    }
    charge_elements(caller, count);
    if rest.is_list() { Ok(found) } else { Err(Exception::badarg()) }
}

fn keyfind(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(find(caller, arguments)?.unwrap_or(atoms::FALSE))
}

fn keymember(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(Term::boolean(find(caller, arguments)?.is_some()))
}

fn keysearch(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(match find(caller, arguments)? {
        Some(tuple) => caller.heap().tuple(&[atoms::VALUE, tuple]),
        None => atoms::FALSE,
    })
}

fn append(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let [left, right] = *arguments else { return Err(badarg()) };
    if left.is_nil() {
        return Ok(right);
    }
    let length = list::length(left).ok_or_else(badarg)?;
    charge_elements(caller, length);
    if right.is_nil() {
        return Ok(left);
    }
    Ok(caller.heap().list_copied(&left, length, right))
}

fn subtract(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let [left, right] = *arguments else { return Err(badarg()) };
    let elements = list::length(left).unwrap_or(0) + list::length(right).unwrap_or(0);
    charge_elements(caller, elements);
    Ok(list::subtract(caller.heap(), left, right)?)
}
