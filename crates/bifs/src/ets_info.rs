//! `ets:info`.

use atoll_ets::{Access, Fault, Kind, Protection, Table, WriteConcurrency};
use atoll_operations::Exception;
use atoll_process::{Caller, Outcome};
use atoll_term::{Build, Term, atoms};

use crate::ets::raise;
use crate::support::{atom, badarg};

/// What `ets:info/1` tells, in this order.
const ITEMS: &[&str] = &[
    "id",
    "decentralized_counters",
    "read_concurrency",
    "write_concurrency",
    "compressed",
    "memory",
    "owner",
    "heir",
    "name",
    "size",
    "node",
    "named_table",
    "type",
    "keypos",
    "protection",
];

/// Words of a table without rows.
const TABLE_WORDS: usize = size_of::<Table>() / size_of::<Term>();

fn decentralized(table: &Table) -> bool {
    let options = table.options();
    match (options.write_concurrency, options.decentralized_counters) {
        _ if options.protection == Protection::Private => false,
        (WriteConcurrency::Off, _) => false,
        (_, Some(chosen)) => chosen,
        (WriteConcurrency::Auto, None) => true,
        (WriteConcurrency::On, None) => options.kind == Kind::OrderedSet,
    }
}

/// One item; `None`: there is no such item.
fn item(caller: &mut Caller<'_>, table: &Table, name: &str) -> Result<Option<Term>, Exception> {
    let options = table.options();
    let shared = options.protection != Protection::Private;
    Ok(Some(match name {
        "id" => atoll_ets::reference(caller.heap(), table),
        "decentralized_counters" => Term::boolean(decentralized(table)),
        "read_concurrency" => Term::boolean(shared && options.read_concurrency),
        "write_concurrency" => match options.write_concurrency {
            WriteConcurrency::On if shared => atoms::TRUE,
            WriteConcurrency::Auto if shared => atom("auto")?,
            _ => atoms::FALSE,
        },
        "compressed" => Term::boolean(options.compressed),
        "memory" => Term::small((TABLE_WORDS + table.size().1) as i64),
        "owner" => table.owner(),
        "heir" => table.heir().unwrap_or(atoms::NONE),
        "name" => table.name(),
        "size" => Term::small(table.size().0 as i64),
        "node" => atoll_term::this_node().0,
        "named_table" => Term::boolean(options.named),
        "type" => match options.kind {
            Kind::Set => atoms::SET,
            Kind::OrderedSet => atoms::ORDERED_SET,
            Kind::Bag => atoms::BAG,
            Kind::DuplicateBag => atoms::DUPLICATE_BAG,
        },
        "keypos" => Term::small(options.position as i64),
        "protection" => match table.protection() {
            Protection::Public => atom("public")?,
            Protection::Protected => atom("protected")?,
            Protection::Private => atoms::PRIVATE,
        },
        "fixed" => Term::boolean(table.fixed().is_some()),
        "safe_fixed" | "safe_fixed_monotonic_time" => fixed(caller, table, name == "safe_fixed"),
        "stats" => atoms::FALSE,
        "binary" => Term::NIL,
        _ => return Ok(None),
    }))
}

/// `{Since, [{Pid, Count}]}`, or `false`.
fn fixed(caller: &mut Caller<'_>, table: &Table, by_system_time: bool) -> Term {
    const MEGA: i64 = 1_000_000;
    let Some((since, holders)) = table.fixed() else { return atoms::FALSE };
    let heap = caller.heap();
    let holders: Vec<Term> =
        holders.into_iter().map(|(pid, count)| heap.tuple(&[pid, Term::small(count as i64)])).collect();
    let holders = heap.list(holders);
    let time = if by_system_time {
        let parts = [since.system / MEGA / MEGA, since.system / MEGA % MEGA, since.system % MEGA];
        heap.tuple(&parts.map(Term::small))
    } else {
        heap.integer(since.monotonic)
    };
    heap.tuple(&[time, holders])
}

/// `ets:info(Table)`
pub fn info_1(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let table = match atoll_ets::find(arguments[0], caller.process.pid, Access::Info) {
        Ok(table) => table,
        Err(Fault::Id) => return Ok(atoms::UNDEFINED),
        Err(fault) => return Err(raise(caller, fault)),
    };
    let mut pairs = Vec::with_capacity(ITEMS.len());
    for name in ITEMS {
        let Some(value) = item(caller, &table, name)? else { continue };
        let key = atom(name)?;
        pairs.push(caller.heap().tuple(&[key, value]));
    }
    Ok(caller.heap().list(pairs))
}

/// `ets:info(Table, Item)`
pub fn info_2(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let table = match atoll_ets::find(arguments[0], caller.process.pid, Access::Info) {
        Ok(table) => table,
        Err(Fault::Id) => return Ok(atoms::UNDEFINED),
        Err(fault) => return Err(raise(caller, fault)),
    };
    if !arguments[1].is_atom() {
        return Err(badarg());
    }
    item(caller, &table, atoms::atom_name(arguments[1]))?.ok_or_else(badarg)
}
