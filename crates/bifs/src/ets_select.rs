//! `ets`: traversals with match specifications, and what else there is about these.

use atoll_ets::match_spec::{Action, Compiled, Dialect, KeptProgram, Matcher, Object, Traced, compile};
use atoll_ets::{Access, Cursor, Kind, Portion};
use atoll_operations::{Exception, list};
use atoll_process::{BuiltIn, Caller, Outcome, ReferenceId, badarg};
use atoll_term::atoms::{LazyAtom, known_atom};
use atoll_term::{Build, Term, atoms};

use crate::ets::{charge_rows, end_of_table, table};
use crate::ets_faults::raise;

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("ets", "select", 1, go_on),
    BuiltIn::new("ets", "select", 2, select),
    BuiltIn::new("ets", "select", 3, select_portion),
    BuiltIn::new("ets", "select_reverse", 1, go_on),
    BuiltIn::new("ets", "select_reverse", 2, select_reverse),
    BuiltIn::new("ets", "select_reverse", 3, select_reverse_portion),
    BuiltIn::new("ets", "match", 1, go_on),
    BuiltIn::new("ets", "match", 2, match_variables),
    BuiltIn::new("ets", "match", 3, match_variables_portion),
    BuiltIn::new("ets", "match_object", 1, go_on),
    BuiltIn::new("ets", "match_object", 2, match_object),
    BuiltIn::new("ets", "match_object", 3, match_object_portion),
    BuiltIn::new("ets", "select_count", 2, select_count),
    BuiltIn::new("ets", "internal_select_delete", 2, select_delete),
    BuiltIn::new("ets", "select_replace", 2, select_replace),
    BuiltIn::new("ets", "match_spec_compile", 1, match_spec_compile),
    BuiltIn::new("ets", "match_spec_run_r", 3, match_spec_run_r),
    BuiltIn::new("ets", "is_compiled_ms", 1, is_compiled_ms),
    BuiltIn::new("erlang", "match_spec_test", 3, match_spec_test),
];

static ALL_VARIABLES: LazyAtom = LazyAtom::new("$$");
static TABLE: LazyAtom = LazyAtom::new("table");

fn compiled(specification: Term) -> Result<Compiled, Exception> {
    compile(specification, Dialect::Table).map_err(|_| Exception::badarg())
}

/// The specification that matches one pattern, with this result.
fn specification_of(caller: &mut Caller<'_>, pattern: Term, result: Term) -> Term {
    let heap = caller.heap();
    let body = heap.list([result]);
    let clause = heap.tuple(&[pattern, Term::NIL, body]);
    heap.list([clause])
}

fn select_all(caller: &mut Caller<'_>, table_term: Term, specification: Term, backwards: bool) -> Outcome {
    let table = table(caller, &table_term, Access::Read)?;
    let compiled = compiled(specification)?;
    let mut matcher = Matcher::new(&compiled, caller.process.pid);
    let portion = table.select(caller.heap(), specification, &mut matcher, backwards);
    charge_rows(caller, portion.visited);
    Ok(caller.heap().list(portion.results))
}

fn select(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    select_all(caller, arguments[0], arguments[1], false)
}

fn select_reverse(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    select_all(caller, arguments[0], arguments[1], true)
}

fn match_variables(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let specification = specification_of(caller, arguments[1], ALL_VARIABLES.get());
    select_all(caller, arguments[0], specification, false)
}

fn match_object(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let specification = specification_of(caller, arguments[1], atoms::DOLLAR_UNDERSCORE);
    select_all(caller, arguments[0], specification, false)
}

/// A number of results that is asked for.
fn limit_of(term: Term) -> Result<usize, Exception> {
    let limit = term.as_small().and_then(|limit| usize::try_from(limit).ok());
    limit.filter(|limit| *limit > 0).ok_or(Exception::badarg())
}

fn first_portion(
    caller: &mut Caller<'_>,
    table_term: Term,
    specification: Term,
    limit: Term,
    backwards: bool,
) -> Outcome {
    let table = table(caller, &table_term, Access::Read)?;
    let limit = limit_of(limit)?;
    let compiled = compiled(specification)?;
    let mut matcher = Matcher::new(&compiled, caller.process.pid);
    let portion = table.select_portion(caller.heap(), specification, &mut matcher, backwards, None, limit);
    let is_ordered = table.kind() == Kind::OrderedSet;
    // Another table may have the name, or this one another name, when it goes on. (OTP's ordered tables keep the name.)
    let goes_on = table_term.is_atom() && !is_ordered && !portion.results.is_empty();
    let table_term = if goes_on { atoll_ets::reference(caller.heap(), &table) } else { table_term };
    let traversal = Traversal { table: table_term, is_ordered, backwards, limit, program: Term::NONE };
    drop(matcher);
    answer(caller, &traversal, portion, |caller| keep(caller, specification, compiled))
}

/// What the tuple says with which a traversal in portions goes on.
struct Traversal {
    table: Term,
    is_ordered: bool,
    backwards: bool,
    limit: usize,
    program: Term,
}

/// Where a traversal of a hashed table goes on when only results are left over.
const NOWHERE: Term = Term::small(-1);

/// `{Results, Continuation}`: `{Table, Place, Limit, Program, LeftOver, Count}` for hashed tables,
/// `{Table, Place, [], Limit, Program, LeftOver, Backwards, Count}` for ordered ones.
fn answer(
    caller: &mut Caller<'_>,
    traversal: &Traversal,
    mut portion: Portion,
    program: impl FnOnce(&mut Caller<'_>) -> Term,
) -> Outcome {
    charge_rows(caller, portion.visited);
    let left_over = match portion.results.len() {
        0 if portion.next.is_none() => return Ok(end_of_table()),
        count if count > traversal.limit => portion.results.split_off(traversal.limit),
        _ => Vec::new(),
    };
    let continuation = if portion.next.is_none() && left_over.is_empty() {
        end_of_table()
    } else {
        let program = program(caller);
        let heap = caller.heap();
        let place = match portion.next {
            Some(Cursor::Hash(hash)) => Term::small(i64::from(hash)),
            Some(Cursor::Key(key)) => key,
            None => NOWHERE,
        };
        let count = Term::small(left_over.len() as i64);
        let left_over = heap.list(left_over);
        let limit = Term::small(traversal.limit as i64);
        if traversal.is_ordered {
            let backwards = Term::small(i64::from(traversal.backwards));
            heap.tuple(&[traversal.table, place, Term::NIL, limit, program, left_over, backwards, count])
        } else {
            heap.tuple(&[traversal.table, place, limit, program, left_over, count])
        }
    };
    let heap = caller.heap();
    let results = heap.list(portion.results);
    Ok(heap.tuple(&[results, continuation]))
}

fn select_portion(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    first_portion(caller, arguments[0], arguments[1], arguments[2], false)
}

fn select_reverse_portion(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    first_portion(caller, arguments[0], arguments[1], arguments[2], true)
}

fn match_variables_portion(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let specification = specification_of(caller, arguments[1], ALL_VARIABLES.get());
    first_portion(caller, arguments[0], specification, arguments[2], false)
}

fn match_object_portion(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let specification = specification_of(caller, arguments[1], atoms::DOLLAR_UNDERSCORE);
    first_portion(caller, arguments[0], specification, arguments[2], false)
}

/// `select(Continuation)` and its like.
fn go_on(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    if arguments[0] == end_of_table() {
        return Ok(arguments[0]);
    }
    let parts = arguments[0].tuple_elements().filter(|parts| !parts.is_empty()).ok_or_else(badarg)?;
    let table = table(caller, &parts[0], Access::Read)?;
    let is_ordered = table.kind() == Kind::OrderedSet;
    let (place, limit, program, left_over, backwards) = match *parts {
        [_, place, end, limit, program, left_over, backwards, _] if is_ordered && end.is_nil() => {
            (Some(Cursor::Key(place)), limit, program, left_over, backwards == Term::small(1))
        }
        [_, place, limit, program, left_over, _] if !is_ordered => {
            let hash = place.as_small().ok_or_else(badarg)?;
            (u32::try_from(hash).ok().map(Cursor::Hash), limit, program, left_over, false)
        }
        _ => return Err(badarg()),
    };
    let limit = limit_of(limit)?;
    let left_over = list::elements_or_badarg(left_over)?;
    let kept = kept(&program).ok_or_else(badarg)?;
    let traversal = Traversal { table: parts[0], is_ordered, backwards, limit, program };
    let mut portion = Portion { results: left_over, next: place, visited: 0 };
    if portion.results.len() < limit && place.is_some() {
        let mut matcher = Matcher::kept(kept, caller.process.pid);
        let wanted = limit - portion.results.len();
        let more = table.select_portion(caller.heap(), *kept.specification(), &mut matcher, backwards, place, wanted);
        portion.results.extend(more.results);
        portion.next = more.next;
        portion.visited = more.visited;
    }
    answer(caller, &traversal, portion, |_| traversal.program)
}

fn select_count(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let table = table(caller, &arguments[0], Access::Read)?;
    let compiled = compiled(arguments[1])?;
    let mut matcher = Matcher::new(&compiled, caller.process.pid);
    let (count, visited) = table.select_count(caller.heap(), arguments[1], &mut matcher);
    charge_rows(caller, visited);
    Ok(Term::small(count as i64))
}

fn select_delete(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let table = table(caller, &arguments[0], Access::Write)?;
    let compiled = compiled(arguments[1])?;
    let mut matcher = Matcher::new(&compiled, caller.process.pid);
    let (count, visited) = table.select_delete(caller.heap(), arguments[1], &mut matcher);
    charge_rows(caller, visited);
    Ok(Term::small(count as i64))
}

fn select_replace(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let table = table(caller, &arguments[0], Access::Write)?;
    if table.kind() == Kind::Bag {
        return Err(raise(caller, atoll_ets::Fault::TableType));
    }
    let compiled = compiled(arguments[1])?;
    let mut matcher = Matcher::new(&compiled, caller.process.pid);
    match table.select_replace(caller.heap(), arguments[1], &mut matcher) {
        Ok((count, visited)) => {
            charge_rows(caller, visited);
            Ok(Term::small(count as i64))
        }
        Err(fault) => Err(raise(caller, fault)),
    }
}

/// A reference that keeps a compiled specification.
fn keep(caller: &mut Caller<'_>, specification: Term, compiled: Compiled) -> Term {
    let heap = caller.heap();
    let kept = KeptProgram::new(heap, specification, compiled);
    ReferenceId::of_value(heap, kept)
}

fn kept(reference: &Term) -> Option<&KeptProgram> {
    reference.magic()
}

fn match_spec_compile(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    if arguments[0].is_nil() {
        return Err(badarg());
    }
    let compiled = compiled(arguments[0])?;
    Ok(keep(caller, arguments[0], compiled))
}

fn is_compiled_ms(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(Term::boolean(kept(&arguments[0]).is_some()))
}

/// `match_spec_run_r(Terms, Program, Results)`: puts the results before those given, the last one first.
fn match_spec_run_r(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let &[terms, program, mut results] = arguments else { return Err(badarg()) };
    let kept = kept(&program).ok_or_else(badarg)?;
    let terms = list::elements_or_badarg(terms)?;
    charge_rows(caller, terms.len());
    let mut matcher = Matcher::kept(kept, caller.process.pid);
    for term in terms {
        if let Some(result) = matcher.run(caller.heap(), Object::Own(term)) {
            results = caller.heap().cons(result, results);
        }
    }
    Ok(results)
}

/// `match_spec_test(Object, Specification, table | trace)`
fn match_spec_test(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let &[object, specification, kind] = arguments else { return Err(badarg()) };
    let dialect = match kind {
        atoms::TRACE if list::elements(object).is_some() => Dialect::Trace(Traced::Calls),
        _ if kind == TABLE.get() => Dialect::Table,
        _ => return Err(badarg()),
    };
    let compiled = match compile(specification, dialect) {
        _ if specification.is_nil() => Err(vec!["Match programs are not in a list.".to_owned()]),
        compiled => compiled,
    };
    let compiled = match compiled {
        Ok(compiled) => compiled,
        Err(faults) => {
            let heap = caller.heap();
            let faults: Vec<Term> = faults
                .iter()
                .map(|fault| {
                    let text = heap.string(fault);
                    heap.tuple(&[atoms::ERROR, text])
                })
                .collect();
            let faults = heap.list(faults);
            return Ok(heap.tuple(&[atoms::ERROR, faults]));
        }
    };
    let mut matcher = Matcher::new(&compiled, caller.process.pid);
    let heap = caller.heap();
    let mut result = matcher.run(heap, Object::Own(object)).unwrap_or(atoms::FALSE);
    let mut flags = Vec::new();
    for (action, argument) in &matcher.actions {
        match action {
            Action::Message => result = *argument,
            Action::ReturnTrace => flags.push(atoms::RETURN_TRACE),
            Action::Silent | Action::EnableTrace | Action::DisableTrace | Action::Trace | Action::Display => {}
            Action::ExceptionTrace => flags.push(known_atom("exception_trace")),
        }
    }
    let flags = heap.list(flags);
    Ok(heap.tuple(&[atoms::OK, result, flags, Term::NIL]))
}
