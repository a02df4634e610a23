//! All tables: by name, and by owner.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::sync::{Arc, LazyLock, Once};

use atoll_heap::{Mutator, architecture};
use atoll_process::{Own, Process, ReferenceId, System, signal};
use atoll_term::{Build, MagicValue, Term, atoms, known};
use parking_lot::{Mutex, RwLock};

use crate::fault::Fault;
use crate::garbage::Garbage;
use crate::table::{Options, Protection, Table};

/// Parts of the name table, each with a lock of its own.
const NAME_SHARDS: usize = 64;

type TableIds = Mutex<HashMap<Term, HashSet<u64>>>;

struct Registry {
    names: Vec<RwLock<HashMap<Term, Arc<Table>>>>,
    tables: RwLock<BTreeMap<u64, Arc<Table>>>,
    /// For references that came in from outside as text or bytes.
    references: RwLock<HashMap<ReferenceId, Arc<Table>>>,
    owned: TableIds,
    fixed: TableIds,
    next: AtomicU64,
}

static REGISTRY: LazyLock<Registry> = LazyLock::new(|| Registry {
    names: (0..NAME_SHARDS).map(|_| RwLock::default()).collect(),
    tables: RwLock::default(),
    references: RwLock::default(),
    owned: Mutex::default(),
    fixed: Mutex::default(),
    next: AtomicU64::new(1),
});

/// What a table's reference keeps alive.
struct TableReference(Arc<Table>);

/// A table at hand.
pub enum Handle<'h> {
    /// Found by a reference, which keeps it.
    Referred(&'h Table),
    /// Found by its name, or by the numbers of its reference.
    Named(Arc<Table>),
}

impl std::ops::Deref for Handle<'_> {
    type Target = Table;

    fn deref(&self) -> &Table {
        match self {
            Handle::Referred(table) => table,
            Handle::Named(table) => table,
        }
    }
}

/// What a process wants of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// What everybody may know.
    Info,
    /// To read rows.
    Read,
    /// To write rows.
    Write,
}

/// Lets the ends of processes concern tables.
fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        System::get().on_exit(process_ended);
    });
}

fn names(name: Term) -> &'static RwLock<HashMap<Term, Arc<Table>>> {
    &REGISTRY.names[name.atom_index() as usize % NAME_SHARDS]
}

/// Whether tables of these names have a lock in common.
pub fn names_collide(one: Term, other: Term) -> bool {
    std::ptr::eq(names(one), names(other))
}

/// The table of this name.
pub fn named(name: Term) -> Option<Arc<Table>> {
    names(name).read().get(&name).cloned()
}

/// The table of a reference that does not keep it, because it was read from text or bytes.
fn referred(term: Term) -> Result<Arc<Table>, Fault> {
    let id = ReferenceId::of(term).ok_or(Fault::Type)?;
    REGISTRY.references.read().get(&id).cloned().ok_or(Fault::Type)
}

/// The table that a term stands for, if `pid` may do with it what it wants.
///
/// # Errors
/// [`Fault::Type`], [`Fault::Id`], [`Fault::Access`]
pub fn find<'h>(term: Term, pid: Term, access: Access) -> Result<Handle<'h>, Fault> {
    let table = if term.is_atom() {
        Handle::Named(named(term).ok_or(Fault::Id)?)
    } else {
        match term.magic_value().map(|value| value.0.downcast_ref::<TableReference>()) {
            Some(reference) => Handle::Referred(&reference.ok_or(Fault::Type)?.0),
            None => Handle::Named(referred(term)?),
        }
    };
    if !table.status.is_alive() {
        return Err(Fault::Id);
    }
    let allowed = match access {
        Access::Info => true,
        Access::Read => table.protection() != Protection::Private || table.owner() == pid,
        Access::Write => table.protection() == Protection::Public || table.owner() == pid,
    };
    if allowed { Ok(table) } else { Err(Fault::Access) }
}

/// The table of this reference or name, for those who pass it on.
pub fn shared(table: &Table) -> Option<Arc<Table>> {
    REGISTRY.tables.read().get(&table.id).cloned()
}

/// The reference of a table. Without a table, a reference that no table has.
pub fn reference(heap: &mut Mutator, table: &Table) -> Term {
    match shared(table) {
        Some(shared) => {
            let numbers = table.reference.0;
            let value = known::find(numbers).unwrap_or_else(|| {
                let value = Arc::new(MagicValue(Box::new(TableReference(shared))));
                known::remember(numbers, &value);
                value
            });
            heap.magic_reference(numbers, value)
        }
        None => table.reference.term(heap),
    }
}

/// How programs name a table: by its name if it is a named one, else by its reference.
pub fn identifier(heap: &mut Mutator, table: &Table) -> Term {
    if table.options().named { table.name() } else { reference(heap, table) }
}

fn note(ids: &TableIds, pid: Term, id: u64) {
    ids.lock().entry(pid).or_default().insert(id);
}

fn forget(ids: &TableIds, pid: Term, id: u64) {
    let mut ids = ids.lock();
    if let Some(set) = ids.get_mut(&pid) {
        set.remove(&id);
        if set.is_empty() {
            ids.remove(&pid);
        }
    }
}

/// A process has fixed a table.
pub(crate) fn note_fixation(pid: Term, id: u64) {
    System::get().table.with(pid, |process| process.has_exit_work.store(true, Ordering::SeqCst));
    note(&REGISTRY.fixed, pid, id);
}

/// A process does not fix a table any more.
pub(crate) fn forget_fixation(pid: Term, id: u64) {
    forget(&REGISTRY.fixed, pid, id);
}

/// Makes a table for the process that runs.
///
/// # Errors
/// [`Fault::AlreadyExists`]
pub fn create(owner: &Process, name: Term, options: Options) -> Result<Arc<Table>, Fault> {
    install();
    let id = REGISTRY.next.fetch_add(1, Ordering::Relaxed);
    let table = Arc::new(Table::new(id, name, owner.pid, options));
    if options.named {
        let mut names = names(name).write();
        if names.contains_key(&name) {
            return Err(Fault::AlreadyExists);
        }
        names.insert(name, Arc::clone(&table));
    }
    REGISTRY.tables.write().insert(id, Arc::clone(&table));
    REGISTRY.references.write().insert(table.reference, Arc::clone(&table));
    owner.has_exit_work.store(true, Ordering::SeqCst);
    note(&REGISTRY.owned, owner.pid, id);
    Ok(table)
}

/// Deletes a table. Returns its rows.
pub fn delete(table: &Table) -> Garbage {
    if !table.status.delete() {
        return Garbage::default();
    }
    if table.options().named {
        names(table.name()).write().remove(&table.name());
    }
    forget(&REGISTRY.owned, table.owner(), table.id);
    for (pid, _) in table.fixed().map_or_else(Vec::new, |(_, holders)| holders) {
        forget(&REGISTRY.fixed, pid, table.id);
    }
    let rows = table.clear();
    let heir = table.heir.lock().take();
    drop(heir);
    let registered = (REGISTRY.tables.write().remove(&table.id), REGISTRY.references.write().remove(&table.reference));
    drop(registered);
    rows
}

/// Gives a table another name.
///
/// # Errors
/// [`Fault::Argument`]: a table has that name already
pub fn rename(table: &Table, name: Term) -> Result<(), Fault> {
    if table.options().named {
        let shared = shared(table).ok_or(Fault::Id)?;
        let mut new = names(name).write();
        if new.contains_key(&name) {
            return Err(Fault::Argument);
        }
        new.insert(name, shared);
        drop(new);
        names(table.name()).write().remove(&table.name());
    }
    table.set_name(name);
    Ok(())
}

/// All tables, oldest first.
pub fn all() -> Vec<Arc<Table>> {
    REGISTRY.tables.read().values().cloned().collect()
}

/// Gives a table to another process, with a message that holds `data`, which lies on the heap.
///
/// # Errors
/// [`Fault::Argument`]: there is no such process
pub fn give_away(table: &Table, own: &mut Own, to: Term, data: Term) -> Result<(), Fault> {
    let from = table.owner();
    if !hand_over(table, to) {
        return Err(Fault::Argument);
    }
    forget(&REGISTRY.owned, from, table.id);
    tell_new_owner(table, own, from, to, data);
    Ok(())
}

/// Makes a living process the owner of a table. Returns false, and changes nothing, if there is no such process.
fn hand_over(table: &Table, to: Term) -> bool {
    let system = System::get();
    let from = table.owner();
    note(&REGISTRY.owned, to, table.id);
    table.set_owner(to);
    system.table.with(to, |process| process.has_exit_work.store(true, Ordering::SeqCst));
    // As with names: either the process's end sees the mark, or this sees that the process has left.
    fence(Ordering::SeqCst);
    if system.table.contains(to) {
        return true;
    }
    forget(&REGISTRY.owned, to, table.id);
    table.set_owner(from);
    false
}

fn tell_new_owner(table: &Table, own: &mut Own, from: Term, to: Term, data: Term) {
    let heap = &mut own.mutator;
    let identifier = identifier(heap, table);
    let Ok(tag) = atoms::atom("ETS-TRANSFER") else { return };
    let message = heap.tuple(&[tag, identifier, from, data]);
    let fragment = architecture().send(Some(heap), message);
    if let Err(fragment) = System::get().deliver(to, fragment) {
        signal::discard(fragment);
    }
}

/// The end of a process that owned or fixed tables.
fn process_ended(pid: Term, own: &mut Own) {
    let fixed = REGISTRY.fixed.lock().remove(&pid).unwrap_or_default();
    for id in fixed {
        let table = REGISTRY.tables.read().get(&id).cloned();
        if let Some(table) = table {
            table.release(pid, true);
        }
    }
    let mut owned: Vec<u64> = REGISTRY.owned.lock().remove(&pid).unwrap_or_default().into_iter().collect();
    owned.sort_unstable();
    for id in owned {
        let table = REGISTRY.tables.read().get(&id).cloned();
        let Some(table) = table.filter(|table| table.owner() == pid) else { continue };
        let heir = table.heir.lock().take();
        match heir {
            Some(heir) if heir.pid != pid && hand_over(&table, heir.pid) => {
                let data = heir.data.fetch(&mut own.mutator);
                tell_new_owner(&table, own, pid, heir.pid, data);
                let mut place = table.heir.lock();
                if place.is_none() {
                    *place = Some(heir);
                }
            }
            _ => {
                delete(&table);
            }
        }
    }
}
