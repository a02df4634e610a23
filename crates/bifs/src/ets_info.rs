//! `ets:info`.

use std::sync::Arc;

use atoll_ets::{Access, Fault, Kind, Known, Protection, Table, WriteConcurrency};
use atoll_operations::Exception;
use atoll_process::{Caller, Outcome, System, badarg};
use atoll_term::atoms::LazyAtom;
use atoll_term::{Build, Term, atoms};

use crate::binary_info::BinaryInfo;
use crate::ets_faults::raise;

/// The key of an option of OTP's tests.
pub static FIXED_LOCKS: LazyAtom = LazyAtom::new("debug_hash_fixed_number_of_locks");

/// What `ets:info/1` tells, in this order.
static ITEMS: [LazyAtom; 15] = [
    LazyAtom::new("id"),
    LazyAtom::new("decentralized_counters"),
    LazyAtom::new("read_concurrency"),
    LazyAtom::new("write_concurrency"),
    LazyAtom::new("compressed"),
    LazyAtom::new("memory"),
    LazyAtom::new("owner"),
    LazyAtom::new("heir"),
    LazyAtom::new("name"),
    LazyAtom::new("size"),
    LazyAtom::new("node"),
    LazyAtom::new("named_table"),
    LazyAtom::new("type"),
    LazyAtom::new("keypos"),
    LazyAtom::new("protection"),
];

/// Words of a table without rows.
pub const TABLE_WORDS: usize = size_of::<Table>() / size_of::<Term>();

fn decentralized(table: &Table) -> bool {
    let options = table.options();
    match (options.write_concurrency, options.decentralized_counters) {
        _ if options.protection == Protection::Private => false,
        (WriteConcurrency::Off, _) => false,
        (_, Some(chosen)) => chosen,
        (WriteConcurrency::Auto | WriteConcurrency::Locks(_), None) => true,
        (WriteConcurrency::On, None) => options.kind == Kind::OrderedSet,
    }
}

/// One of the items that processes change.
fn changing(known: &Known, name: &str) -> Option<Term> {
    match name {
        "name" => Some(known.name),
        "owner" => Some(known.owner),
        // One that has ended inherits nothing.
        "heir" => Some(known.heir.filter(|heir| System::get().table.contains(*heir)).unwrap_or(atoms::NONE)),
        _ => None,
    }
}

/// One of the other items; `None`: there is no such item.
fn item(caller: &mut Caller<'_>, table: &Arc<Table>, name: &str) -> Result<Option<Term>, Exception> {
    let options = table.options();
    let shared = options.protection != Protection::Private;
    Ok(Some(match name {
        "id" => atoll_ets::reference(caller.heap(), table),
        "decentralized_counters" => Term::boolean(decentralized(table)),
        "read_concurrency" => Term::boolean(shared && options.read_concurrency),
        "write_concurrency" => match options.write_concurrency {
            WriteConcurrency::On if shared => atoms::TRUE,
            WriteConcurrency::Auto if shared => atoms::atom("auto")?,
            WriteConcurrency::Locks(locks) if shared => {
                caller.heap().tuple(&[FIXED_LOCKS.get(), Term::small(i64::from(locks))])
            }
            _ => atoms::FALSE,
        },
        "compressed" => Term::boolean(options.compressed),
        "memory" => Term::small((TABLE_WORDS + table.size().1) as i64),
        "size" => Term::small(table.count() as i64),
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
            Protection::Public => atoms::atom("public")?,
            Protection::Protected => atoms::atom("protected")?,
            Protection::Private => atoms::PRIVATE,
        },
        "fixed" => Term::boolean(table.fixed().is_some()),
        "safe_fixed" | "safe_fixed_monotonic_time" => fixed(caller, table, name == "safe_fixed"),
        "stats" => spread(caller, table),
        "binary" => {
            let mut binaries = Vec::new();
            table.each_binary(|binary| binaries.push(BinaryInfo::new(binary)));
            BinaryInfo::list(caller.heap(), &binaries)
        }
        _ => return Ok(None),
    }))
}

/// `{Slots, Mean, Deviation, Expected, Fewest, Most, Dead, Words}` of the numbers of rows in the slots of a hashed
/// table. An ordered table has none.
fn spread(caller: &mut Caller<'_>, table: &Table) -> Term {
    let Some(spread) = table.spread() else { return atoms::FALSE };
    let heap = caller.heap();
    let slots = spread.slots as f64;
    let mean = spread.rows as f64 / slots;
    let deviation = (spread.squares as f64 / slots - mean * mean).max(0.0).sqrt();
    let expected = (mean * (1.0 - 1.0 / slots)).sqrt();
    let [mean, deviation, expected] = [mean, deviation, expected].map(|value| heap.float(value));
    let words = (TABLE_WORDS + table.size().1) as i64;
    let [slots, fewest, most, dead] =
        [spread.slots, spread.fewest, spread.most, spread.dead].map(|count| Term::small(count as i64));
    heap.tuple(&[slots, mean, deviation, expected, fewest, most, dead, Term::small(words)])
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
    let (table, known) = match atoll_ets::know(&arguments[0]) {
        Ok(found) => found,
        Err(Fault::Id) => return Ok(atoms::UNDEFINED),
        Err(fault) => return Err(raise(caller, fault)),
    };
    let mut pairs = Vec::with_capacity(ITEMS.len());
    for key in &ITEMS {
        let key = key.get();
        let name = atoms::atom_name(key);
        let value = match changing(&known, name) {
            Some(value) => value,
            None => item(caller, &table, name)?.ok_or_else(badarg)?,
        };
        pairs.push(caller.heap().tuple(&[key, value]));
    }
    Ok(caller.heap().list(pairs))
}

/// `ets:info(Table, Item)`
pub fn info_2(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let name = arguments[1].is_atom().then(|| atoms::atom_name(arguments[1]));
    let found = match name {
        Some("name" | "owner" | "heir") => atoll_ets::know(&arguments[0]).map(|(table, known)| (table, Some(known))),
        _ => atoll_ets::find(&arguments[0], caller.process.pid, Access::Info).map(|table| (table, None)),
    };
    let (table, known) = match found {
        Ok(found) => found,
        Err(Fault::Id) => return Ok(atoms::UNDEFINED),
        Err(fault) => return Err(raise(caller, fault)),
    };
    let name = name.ok_or_else(badarg)?;
    match known.and_then(|known| changing(&known, name)) {
        Some(value) => Ok(value),
        None => item(caller, &table, name)?.ok_or_else(badarg),
    }
}
