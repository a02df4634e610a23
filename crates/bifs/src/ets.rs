//! `ets`: tables, and rows by their keys. Traversals are in `ets_select`.

use atoll_ets::{Access, Fault, Garbage, Handle, Kind, Options, Protection, WriteConcurrency};
use atoll_heap::architecture;
use atoll_operations::guards::as_boolean;
use atoll_operations::list;
use atoll_process::{BuiltIn, Caller, Interrupt, Outcome, ReferenceId, System, badarg};
use atoll_term::atoms::LazyAtom;
use atoll_term::{Build, Term, atoms};
use parking_lot::Mutex;

use crate::ets_faults::raise;
use crate::ets_info::{self, FIXED_LOCKS};

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("ets", "new", 2, new),
    BuiltIn::new("ets", "delete", 1, delete),
    BuiltIn::new("ets", "delete", 2, delete_key),
    BuiltIn::new("ets", "delete_object", 2, delete_object),
    BuiltIn::new("ets", "insert", 2, insert),
    BuiltIn::new("ets", "insert_new", 2, insert_new),
    BuiltIn::new("ets", "lookup", 2, lookup),
    BuiltIn::new("ets", "lookup_element", 3, lookup_element),
    BuiltIn::new("ets", "member", 2, member),
    BuiltIn::new("ets", "take", 2, take),
    BuiltIn::new("ets", "update_counter", 3, update_counter),
    BuiltIn::new("ets", "update_counter", 4, update_counter),
    BuiltIn::new("ets", "update_element", 3, update_element),
    BuiltIn::new("ets", "lookup_element", 4, lookup_element),
    BuiltIn::new("ets", "update_element", 4, update_element),
    BuiltIn::new("ets", "first_lookup", 1, first_lookup),
    BuiltIn::new("ets", "last_lookup", 1, last_lookup),
    BuiltIn::new("ets", "next_lookup", 2, next_lookup),
    BuiltIn::new("ets", "prev_lookup", 2, previous_lookup),
    BuiltIn::new("ets", "first", 1, first),
    BuiltIn::new("ets", "last", 1, last),
    BuiltIn::new("ets", "next", 2, next),
    BuiltIn::new("ets", "prev", 2, previous),
    BuiltIn::new("ets", "slot", 2, slot),
    BuiltIn::new("ets", "safe_fixtable", 2, safe_fixtable),
    BuiltIn::new("ets", "rename", 2, rename),
    BuiltIn::new("ets", "whereis", 1, whereis),
    BuiltIn::new("ets", "give_away", 3, give_away),
    BuiltIn::new("ets", "setopts", 2, setopts),
    BuiltIn::new("ets", "info", 1, ets_info::info_1),
    BuiltIn::new("ets", "info", 2, ets_info::info_2),
    BuiltIn::new("ets", "internal_request_all", 0, internal_request_all),
    BuiltIn::new("ets", "internal_delete_all", 2, internal_delete_all),
];

static END_OF_TABLE: LazyAtom = LazyAtom::new("$end_of_table");
static NAMED_TABLE: LazyAtom = LazyAtom::new("named_table");
static PUBLIC: LazyAtom = LazyAtom::new("public");
static PROTECTED: LazyAtom = LazyAtom::new("protected");
static KEYPOS: LazyAtom = LazyAtom::new("keypos");
static HEIR: LazyAtom = LazyAtom::new("heir");
static READ_CONCURRENCY: LazyAtom = LazyAtom::new("read_concurrency");
static WRITE_CONCURRENCY: LazyAtom = LazyAtom::new("write_concurrency");
static DECENTRALIZED_COUNTERS: LazyAtom = LazyAtom::new("decentralized_counters");
static AUTO: LazyAtom = LazyAtom::new("auto");
static PROTECTION: LazyAtom = LazyAtom::new("protection");

/// `'$end_of_table'`
pub fn end_of_table() -> Term {
    END_OF_TABLE.get()
}

/// The table that an argument stands for.
///
/// # Errors
/// `badarg`: there is none, or it is not open to the caller
pub fn table<'h>(caller: &mut Caller<'_>, term: &'h Term, access: Access) -> Result<Handle<'h>, Interrupt> {
    atoll_ets::find(term, caller.process.pid, access).map_err(|fault| raise(caller, fault))
}

/// The protection of this name.
fn protection(term: Term) -> Option<Protection> {
    match term {
        atoms::PRIVATE => Some(Protection::Private),
        _ if term == PUBLIC.get() => Some(Protection::Public),
        _ if term == PROTECTED.get() => Some(Protection::Protected),
        _ => None,
    }
}

/// Locks that OTP gives to a table at least and at most, when its tests say how many.
const FEWEST_LOCKS: u32 = 64;
const MOST_LOCKS: u32 = 32_768;

/// Reads one option of `ets:new/2`.
fn option(options: &mut Options, heir: &mut Option<(Term, Term)>, option: Term) -> Option<()> {
    match option.tuple_elements() {
        None => match option {
            atoms::SET => options.kind = Kind::Set,
            atoms::ORDERED_SET => options.kind = Kind::OrderedSet,
            atoms::BAG => options.kind = Kind::Bag,
            atoms::DUPLICATE_BAG => options.kind = Kind::DuplicateBag,
            atoms::COMPRESSED => options.compressed = true,
            _ if option == NAMED_TABLE.get() => options.named = true,
            _ => options.protection = protection(option)?,
        },
        Some(&[key, value]) if key == KEYPOS.get() => {
            options.position =
                value.as_small().and_then(|value| usize::try_from(value).ok()).filter(|value| *value > 0)?;
        }
        Some(&[key, value]) if key == WRITE_CONCURRENCY.get() => {
            options.write_concurrency = match as_boolean(value) {
                Some(true) => WriteConcurrency::On,
                Some(false) => WriteConcurrency::Off,
                None if value == AUTO.get() => WriteConcurrency::Auto,
                None => WriteConcurrency::Locks(locks(value)?),
            }
        }
        Some(&[key, value]) if key == READ_CONCURRENCY.get() => options.read_concurrency = as_boolean(value)?,
        Some(&[key, value]) if key == DECENTRALIZED_COUNTERS.get() => {
            options.decentralized_counters = Some(as_boolean(value)?);
        }
        Some(_) => *heir = heir_of(option)?,
    }
    Some(())
}

/// The number of locks that `{debug_hash_fixed_number_of_locks, Locks}` says, as OTP rounds it.
fn locks(value: Term) -> Option<u32> {
    let &[key, count] = value.tuple_elements()? else { return None };
    let count = count.as_small().and_then(|count| u32::try_from(count).ok());
    let count = count.filter(|count| key == FIXED_LOCKS.get() && (1..=MOST_LOCKS).contains(count))?;
    Some(1 << count.max(FEWEST_LOCKS).ilog2())
}

/// The heir that `{heir, Pid, Data}` or `{heir, none}` says.
fn heir_of(option: Term) -> Option<Option<(Term, Term)>> {
    match *option.tuple_elements()? {
        [key, atoms::NONE] if key == HEIR.get() => Some(None),
        [key, pid, data] if key == HEIR.get() && pid.is_local_pid() => Some(Some((pid, data))),
        _ => None,
    }
}

fn new(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let &[table_name, list] = arguments else { return Err(badarg()) };
    if !table_name.is_atom() {
        return Err(badarg());
    }
    let mut options = Options::default();
    let mut heir = None;
    for one in list::elements_or_badarg(list)? {
        option(&mut options, &mut heir, one).ok_or_else(badarg)?;
    }
    if let (WriteConcurrency::Locks(_), Kind::OrderedSet) = (options.write_concurrency, options.kind) {
        return Err(badarg());
    }
    let process = caller.process;
    let table = match atoll_ets::create(process, caller.heap(), table_name, options, heir) {
        Ok(table) => table,
        Err(fault) => return Err(raise(caller, fault)),
    };
    Ok(atoll_ets::identifier(caller.heap(), &table))
}

/// Charges for work on so many rows: a reduction for each.
pub fn charge_rows(caller: &mut Caller<'_>, rows: usize) {
    caller.reductions -= rows as i64;
}

/// `delete(Table)`, or to go on with it: `delete(Garbage)`.
fn delete(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    if let Some(garbage) = kept_garbage(&arguments[0]) {
        return go_on_freeing(caller, garbage, arguments, atoms::TRUE);
    }
    let garbage = atoll_ets::delete(arguments[0], caller.process.pid).map_err(|fault| raise(caller, fault))?;
    free(caller, garbage, |garbage| vec![garbage], atoms::TRUE)
}

/// `internal_delete_all(Table, _)`, or to go on with it: `internal_delete_all(Garbage, Count)`.
fn internal_delete_all(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    if let Some(garbage) = kept_garbage(&arguments[0]) {
        return go_on_freeing(caller, garbage, arguments, arguments[1]);
    }
    let table = table(caller, &arguments[0], Access::Write)?;
    let garbage = table.clear();
    let rows = Term::small(garbage.rows() as i64);
    free(caller, garbage, |garbage| vec![garbage, rows], rows)
}

/// Rows that are freed between two looks at the reductions.
const PORTION: usize = 1_000;

fn kept_garbage(term: &Term) -> Option<&Mutex<Garbage>> {
    term.magic()
}

/// Frees a few rows at once, more of them in later time slices, and gives the result then.
fn free(caller: &mut Caller<'_>, mut garbage: Garbage, again: impl Fn(Term) -> Vec<Term>, result: Term) -> Outcome {
    let is_large = garbage.rows() > PORTION;
    garbage.free(PORTION);
    if !is_large {
        charge_rows(caller, garbage.rows());
        return Ok(result);
    }
    let garbage = ReferenceId::of_value(caller.heap(), Mutex::new(garbage));
    Err(Interrupt::Again(again(garbage)))
}

fn go_on_freeing(caller: &mut Caller<'_>, garbage: &Mutex<Garbage>, arguments: &[Term], result: Term) -> Outcome {
    let mut garbage = garbage.lock();
    while garbage.free(PORTION) {
        charge_rows(caller, PORTION);
        if caller.reductions <= 0 {
            return Err(Interrupt::Again(arguments.to_vec()));
        }
    }
    Ok(result)
}

fn delete_key(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    table(caller, &arguments[0], Access::Write)?.delete_key(arguments[1]);
    Ok(atoms::TRUE)
}

fn delete_object(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let table = table(caller, &arguments[0], Access::Write)?;
    if !table.accepts(arguments[1]) {
        return Err(badarg());
    }
    table.delete_object(arguments[1]);
    Ok(atoms::TRUE)
}

fn insert_rows(caller: &mut Caller<'_>, arguments: &[Term], only_new: bool) -> Result<bool, Interrupt> {
    let table = table(caller, &arguments[0], Access::Write)?;
    let rows = arguments[1];
    let result = if rows.is_list() {
        let rows = list::elements_or_badarg(rows)?;
        if !rows.iter().all(|row| table.accepts(*row)) {
            return Err(badarg());
        }
        charge_rows(caller, rows.len());
        if rows.is_empty() { Ok(true) } else { table.insert(caller.heap(), &rows, only_new) }
    } else if table.accepts(rows) {
        table.insert(caller.heap(), &[rows], only_new)
    } else {
        Err(Fault::Argument)
    };
    result.map_err(|fault| raise(caller, fault))
}

fn insert(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    insert_rows(caller, arguments, false)?;
    Ok(atoms::TRUE)
}

fn insert_new(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(Term::boolean(insert_rows(caller, arguments, true)?))
}

fn lookup(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let table = table(caller, &arguments[0], Access::Read)?;
    Ok(table.lookup(caller.heap(), arguments[1]))
}

/// `lookup_element(Table, Key, Position)`, and with what is returned if there is no such key.
fn lookup_element(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let table = table(caller, &arguments[0], Access::Read)?;
    let position = arguments[2].as_small().and_then(|position| usize::try_from(position).ok());
    let position = position.filter(|position| *position > 0).ok_or_else(badarg)?;
    match (table.lookup_element(caller.heap(), arguments[1], position), arguments.get(3)) {
        (Err(Fault::BadKey), Some(default)) => Ok(*default),
        (found, _) => found.map_err(|fault| raise(caller, fault)),
    }
}

fn member(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(Term::boolean(table(caller, &arguments[0], Access::Read)?.contains(arguments[1])))
}

fn take(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let table = table(caller, &arguments[0], Access::Write)?;
    Ok(table.take(caller.heap(), arguments[1]))
}

/// `update_counter(Table, Key, Operation | [Operation] | Increment)` and with a default row.
fn update_counter(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let table = table(caller, &arguments[0], Access::Write)?;
    let (key, operation) = (arguments[1], arguments[2]);
    if !table.kind().is_set() {
        return Err(raise(caller, Fault::TableType));
    }
    let (several, one);
    let operations = if operation.is_list() {
        several = match list::elements(operation) {
            Some(operations) => operations,
            None if !table.contains(key) && arguments.len() == 3 => return Err(raise(caller, Fault::BadKey)),
            None => return Err(badarg()),
        };
        &several[..]
    } else if operation.is_integer() {
        let position = Term::small(table.position() as i64 + 1);
        one = [caller.heap().tuple(&[position, operation])];
        &one
    } else {
        one = [operation];
        &one
    };
    let counted = table.update_counter(caller.heap(), key, operations, arguments.get(3).copied());
    match counted {
        Ok(values) if operation.is_list() => Ok(caller.heap().list(values)),
        Ok(values) => Ok(values.first().copied().unwrap_or(Term::NIL)),
        Err(fault) => Err(raise(caller, fault)),
    }
}

/// `update_element(Table, Key, {Position, Value} | [...])`, and with a default row.
fn update_element(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let table = table(caller, &arguments[0], Access::Write)?;
    let operation = arguments[2];
    let listed = if operation.is_list() { list::elements(operation) } else { None };
    let operations = if operation.is_list() { listed.as_deref() } else { Some(&[operation][..]) };
    let default = arguments.get(3).copied();
    let updated = table.update_element(caller.heap(), arguments[1], operations, default);
    updated.map(Term::boolean).map_err(|fault| raise(caller, fault))
}

fn first(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let table = table(caller, &arguments[0], Access::Read)?;
    Ok(table.edge(caller.heap(), false).unwrap_or_else(end_of_table))
}

fn last(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let table = table(caller, &arguments[0], Access::Read)?;
    Ok(table.edge(caller.heap(), true).unwrap_or_else(end_of_table))
}

fn neighbour(caller: &mut Caller<'_>, arguments: &[Term], before: bool) -> Outcome {
    let table = table(caller, &arguments[0], Access::Read)?;
    // Walks end here, although ordered tables know what would stand behind.
    if arguments[1] == end_of_table() {
        return Err(raise(caller, Fault::Argument));
    }
    match table.neighbour(caller.heap(), arguments[1], before) {
        Ok(key) => Ok(key.unwrap_or_else(end_of_table)),
        Err(fault) => Err(raise(caller, fault)),
    }
}

fn next(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    neighbour(caller, arguments, false)
}

fn previous(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    neighbour(caller, arguments, true)
}

/// A key with its rows, `{Key, [Row]}`, from OTP 27 on. A row that goes away meanwhile is passed over.
fn with_rows(caller: &mut Caller<'_>, arguments: &[Term], before: bool) -> Outcome {
    let table = table(caller, &arguments[0], Access::Read)?;
    let mut place = arguments.get(1).copied();
    loop {
        let found = match place {
            Some(key) => table.neighbour(caller.heap(), key, before).map_err(|fault| raise(caller, fault))?,
            None => table.edge(caller.heap(), before),
        };
        let Some(key) = found else { return Ok(end_of_table()) };
        let rows = table.lookup(caller.heap(), key);
        if rows.is_cons() {
            return Ok(caller.heap().tuple(&[key, rows]));
        }
        // The neighbours of a key that is gone are known in an ordered table only.
        place = if table.kind() == Kind::OrderedSet { Some(key) } else { arguments.get(1).copied() };
    }
}

fn first_lookup(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    with_rows(caller, arguments, false)
}

fn last_lookup(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    with_rows(caller, arguments, true)
}

fn next_lookup(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    with_rows(caller, arguments, false)
}

fn previous_lookup(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    with_rows(caller, arguments, true)
}

fn slot(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let table = table(caller, &arguments[0], Access::Read)?;
    let number = arguments[1].as_small().and_then(|number| usize::try_from(number).ok()).ok_or_else(badarg)?;
    match table.slot(caller.heap(), number) {
        Ok(rows) => Ok(rows.unwrap_or_else(end_of_table)),
        Err(fault) => Err(raise(caller, fault)),
    }
}

fn safe_fixtable(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let table = table(caller, &arguments[0], Access::Read)?;
    match as_boolean(arguments[1]).ok_or_else(badarg)? {
        true => table.fix(caller.process.pid).map_err(|fault| raise(caller, fault))?,
        false => table.release(caller.process.pid, false),
    }
    Ok(atoms::TRUE)
}

fn rename(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let renamed = atoll_ets::rename(arguments[0], caller.process.pid, arguments[1]);
    let is_named = renamed.map_err(|fault| raise(caller, fault))?;
    Ok(if is_named { arguments[1] } else { arguments[0] })
}

fn whereis(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    if !arguments[0].is_atom() {
        return Err(badarg());
    }
    Ok(match atoll_ets::named(arguments[0]) {
        Some(table) => atoll_ets::reference(caller.heap(), &table),
        None => atoms::UNDEFINED,
    })
}

fn give_away(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let &[table, to, data] = arguments else { return Err(badarg()) };
    match atoll_ets::give_away(table, caller.process.pid, caller.own, to, data) {
        Ok(()) => Ok(atoms::TRUE),
        Err(fault) => Err(raise(caller, fault)),
    }
}

fn setopts(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    table(caller, &arguments[0], Access::Write)?;
    let options = if arguments[1].is_list() { list::elements_or_badarg(arguments[1])? } else { vec![arguments[1]] };
    let (mut heir, mut new_protection) = (None, None);
    for option in options {
        let twice = match option.tuple_elements() {
            Some(&[key, value]) if key == PROTECTION.get() => {
                new_protection.replace(protection(value).ok_or_else(badarg)?).is_some()
            }
            _ => heir.replace(heir_of(option).ok_or_else(badarg)?).is_some(),
        };
        if twice {
            return Err(badarg());
        }
    }
    let pid = caller.process.pid;
    let set = atoll_ets::set_options(arguments[0], pid, caller.heap(), heir, new_protection);
    set.map_err(|fault| raise(caller, fault))?;
    Ok(atoms::TRUE)
}

/// Sends the caller a list of tables for each scheduler; all of them are in the first list.
fn internal_request_all(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    let pid = caller.process.pid;
    let heap = caller.heap();
    let request = ReferenceId::fresh().term(heap);
    let tables: Vec<Term> = atoll_ets::all().iter().map(|table| atoll_ets::identifier(heap, table)).collect();
    let tables = heap.list(tables);
    let system = System::get();
    for scheduler in 0..system.schedulers {
        let message = heap.tuple(&[request, if scheduler == 0 { tables } else { Term::NIL }]);
        let fragment = architecture().send(heap, message);
        system.deliver_or_answer(pid, fragment);
    }
    Ok(request)
}
