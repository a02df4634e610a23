//! All tables: by name, and by owner.

use atoll_platform::steady::{HashMap, HashSet};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use std::sync::{Arc, Once};

use atoll_heap::{Mutator, Stored, architecture, known};
use atoll_process::{Own, Process, ReferenceId, System};
use atoll_term::{Build, MagicValue, Term, atoms};
use parking_lot::{Mutex, RwLock};

use crate::fault::Fault;
use crate::garbage::Garbage;
use crate::names::Names;
use crate::standing::{Heir, Held, Standing};
use crate::table::{Options, Protection, Table};

type TableIds = Mutex<HashMap<Term, HashSet<u64>>>;

/// The tables of a machine.
pub struct Part {
    names: Names<Table>,
    tables: RwLock<BTreeMap<u64, Arc<Table>>>,
    /// For references that came in from outside as text or bytes.
    references: RwLock<HashMap<ReferenceId, Arc<Table>>>,
    owned: TableIds,
    fixed: TableIds,
    next: AtomicU64,
    /// See [`crate::match_spec::control_word`].
    pub(crate) control_word: AtomicU32,
    installed: Once,
}

atoll_platform::part_of_machine!(Part);

impl Default for Part {
    fn default() -> Part {
        Part {
            names: Names::default(),
            tables: RwLock::default(),
            references: RwLock::default(),
            owned: Mutex::default(),
            fixed: Mutex::default(),
            next: AtomicU64::new(1),
            control_word: AtomicU32::new(0),
            installed: Once::new(),
        }
    }
}

/// What a table's reference keeps alive.
struct TableReference(Arc<Table>);

/// A table at hand.
pub enum Handle<'h> {
    /// Found by a reference, which keeps it.
    Referred(&'h Arc<Table>),
    /// Found by its name, or by the numbers of its reference.
    Named(Arc<Table>),
}

impl std::ops::Deref for Handle<'_> {
    type Target = Arc<Table>;

    fn deref(&self) -> &Arc<Table> {
        match self {
            Handle::Referred(table) => table,
            Handle::Named(table) => table,
        }
    }
}

/// What a process wants of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// What any process may know.
    Info,
    /// To read rows.
    Read,
    /// To write rows.
    Write,
}

/// Lets the ends of processes concern tables.
fn install() {
    part().installed.call_once(|| {
        System::get().on_exit(process_ended);
    });
}

/// The table of this name.
pub fn named(name: Term) -> Option<Arc<Table>> {
    part().names.get(name)
}

/// The table of a reference that does not keep it, because it was read from text or bytes.
fn referred(term: Term) -> Result<Arc<Table>, Fault> {
    let id = ReferenceId::of(term).ok_or(Fault::Type)?;
    part().references.read().get(&id).cloned().ok_or(Fault::Type)
}

/// The table that a term stands for, if `pid` may do with it what it wants.
///
/// # Errors
/// [`Fault::Type`], [`Fault::Id`], [`Fault::Access`]
pub fn find(term: &Term, pid: Term, access: Access) -> Result<Handle<'_>, Fault> {
    if let Some(value) = term.magic_value() {
        // Made of its parts at the end: a handle that is copied as a whole costs several nanoseconds.
        let table = &value.0.downcast_ref::<TableReference>().ok_or(Fault::Type)?.0;
        is_allowed(table, pid, access)?;
        return Ok(Handle::Referred(table));
    }
    let table = if term.is_atom() { named(*term).ok_or(Fault::Id)? } else { referred(*term)? };
    is_allowed(&table, pid, access)?;
    Ok(Handle::Named(table))
}

/// Whether the table exists and may be used so.
#[inline]
fn is_allowed(table: &Table, pid: Term, access: Access) -> Result<(), Fault> {
    if !table.status.is_alive() {
        return Err(Fault::Id);
    }
    allow(table, pid, access)
}

fn allow(table: &Table, pid: Term, access: Access) -> Result<(), Fault> {
    let allowed = match access {
        Access::Info => true,
        Access::Read => table.protection() != Protection::Private || table.owner() == pid,
        Access::Write => table.protection() == Protection::Public || table.owner() == pid,
    };
    if allowed { Ok(()) } else { Err(Fault::Access) }
}

/// Changes the name, owner, heir or protection of the table that a term stands for, or deletes it: no other thread does
/// so meanwhile, and what let `pid` do it stays true.
fn change<R>(
    term: Term,
    pid: Term,
    change: impl FnOnce(&Arc<Table>, Held<'_>) -> Result<R, Fault>,
) -> Result<R, Fault> {
    if term.is_atom() {
        let changed = part().names.hold(term, |table, held| {
            allow(table, pid, Access::Write)?;
            change(table, held)
        });
        return changed.unwrap_or(Err(Fault::Id));
    }
    let table = find(&term, pid, Access::Info)?;
    let held = table.standing.hold();
    if !table.status.is_alive() {
        return Err(Fault::Id);
    }
    allow(&table, pid, Access::Write)?;
    change(&table, held)
}

/// The reference of a table.
pub fn reference(heap: &mut Mutator, table: &Arc<Table>) -> Term {
    let numbers = table.reference.0;
    let value = known().find(numbers).unwrap_or_else(|| {
        let value = MagicValue::new(TableReference(Arc::clone(table)));
        known().remember(numbers, &value);
        value
    });
    heap.magic_reference(numbers, value)
}

/// Name, owner and heir of a table at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// Atom.
    pub name: Term,
    /// Pid.
    pub owner: Term,
    /// Pid.
    pub heir: Option<Term>,
}

/// A table, whatever its protection, and its name, owner and heir while the term stands for it.
///
/// # Errors
/// [`Fault::Type`], [`Fault::Id`]
pub fn know(term: &Term) -> Result<(Handle<'_>, Known), Fault> {
    let known =
        |held: Held<'_>| Known { name: held.name(), owner: held.owner(), heir: held.heir().map(|heir| heir.pid) };
    if term.is_atom() {
        let found = part().names.hold(*term, |table, held| (Handle::Named(Arc::clone(table)), known(held)));
        return found.ok_or(Fault::Id);
    }
    let table = find(term, Term::NONE, Access::Info)?;
    let held = table.standing.hold();
    let known = known(held);
    Ok((table, known))
}

/// How programs name a table: by its name if it is a named one, else by its reference.
pub fn identifier(heap: &mut Mutator, table: &Arc<Table>) -> Term {
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
    System::get().table.with(pid, |process| process.at_end.note_work());
    note(&part().fixed, pid, id);
}

/// A process does not fix a table any more.
pub(crate) fn forget_fixation(pid: Term, id: u64) {
    forget(&part().fixed, pid, id);
}

/// Makes a table for the process that runs; the heir's data lie on its heap.
///
/// # Errors
/// [`Fault::AlreadyExists`]
pub fn create(
    owner: &Process,
    heap: &mut Mutator,
    name: Term,
    options: Options,
    heir: Option<(Term, Term)>,
) -> Result<Arc<Table>, Fault> {
    install();
    let id = part().next.fetch_add(1, Ordering::Relaxed);
    let standing = Standing::new(name, owner.pid, stored(heap, heir));
    let table = Arc::new(Table::new(id, standing, options));
    let publish = || {
        part().tables.write().insert(id, Arc::clone(&table));
        part().references.write().insert(table.reference, Arc::clone(&table));
        owner.at_end.note_work();
        note(&part().owned, owner.pid, id);
    };
    if !options.named {
        publish();
    } else if !part().names.add(name, &table, publish) {
        return Err(Fault::AlreadyExists);
    }
    Ok(table)
}

fn stored(heap: &mut Mutator, heir: Option<(Term, Term)>) -> Option<Heir> {
    heir.map(|(pid, data)| Heir { pid, data: Stored::new(heap, data) })
}

/// Deletes a table for `pid`. Returns its rows.
///
/// # Errors
/// Those of [`find`].
pub fn delete(term: Term, pid: Term) -> Result<Garbage, Fault> {
    change(term, pid, |table, held| Ok(end(table, held)))
}

/// Ends a table.
fn end(table: &Table, mut held: Held<'_>) -> Garbage {
    if table.options().named {
        part().names.remove(&held, || table.status.delete());
    } else {
        table.status.delete();
    }
    forget(&part().owned, held.owner(), table.id);
    let heir = held.set_heir(None);
    drop(held);
    drop(heir);
    for (pid, _) in table.fixed().map_or_else(Vec::new, |(_, holders)| holders) {
        forget(&part().fixed, pid, table.id);
    }
    let rows = table.clear();
    let registered = (part().tables.write().remove(&table.id), part().references.write().remove(&table.reference));
    drop(registered);
    rows
}

/// Gives a table another name, for `pid`. Returns whether it is found by that.
///
/// # Errors
/// [`Fault::Argument`]: a table has that name already, or it is no atom; those of [`find`]
pub fn rename(term: Term, pid: Term, name: Term) -> Result<bool, Fault> {
    change(term, pid, |table, mut held| {
        let named = table.options().named;
        if !name.is_atom() || named && !part().names.rename(table, &mut held, name) {
            return Err(Fault::Argument);
        }
        held.set_name(name);
        Ok(named)
    })
}

/// Changes the heir, whose data lie on the heap of the owner `pid`, and the protection, as far as they are given.
///
/// # Errors
/// [`Fault::NotOwner`]; those of [`find`]
pub fn set_options(
    term: Term,
    pid: Term,
    heap: &mut Mutator,
    heir: Option<Option<(Term, Term)>>,
    protection: Option<Protection>,
) -> Result<(), Fault> {
    let old = change(term, pid, |table, mut held| {
        if held.owner() != pid {
            return Err(Fault::NotOwner);
        }
        if let Some(protection) = protection {
            table.set_protection(protection);
        }
        Ok(heir.map(|heir| held.set_heir(stored(heap, heir))))
    })?;
    drop(old);
    Ok(())
}

/// All tables, oldest first.
pub fn all() -> Vec<Arc<Table>> {
    part().tables.read().values().filter(|table| table.status.is_alive()).cloned().collect()
}

/// Gives a table of the process `from`, which runs, to another process, with a message that holds `data`, which lies on
/// the heap.
///
/// # Errors
/// [`Fault::Argument`]: there is no such process; [`Fault::NotOwner`]; [`Fault::Owner`]: to itself; those of [`find`]
pub fn give_away(term: Term, from: Term, own: &mut Own, to: Term, data: Term) -> Result<(), Fault> {
    change(term, from, |table, mut held| {
        if !to.is_local_pid() {
            return Err(Fault::Argument);
        }
        if held.owner() != from {
            return Err(Fault::NotOwner);
        }
        if to == from {
            return Err(Fault::Owner);
        }
        if !hand_over(table, &mut held, to) {
            return Err(Fault::Argument);
        }
        tell_new_owner(table, own, from, to, data);
        Ok(())
    })
}

/// Makes a living process the owner of a table. Returns false, and changes nothing, if there is no such process.
fn hand_over(table: &Table, held: &mut Held<'_>, to: Term) -> bool {
    let system = System::get();
    note(&part().owned, to, table.id);
    system.table.with(to, |process| process.at_end.note_work());
    // As with names: either the process's end sees the mark, and then waits for the table, or this sees that the
    // process has left.
    fence(Ordering::SeqCst);
    if !system.table.contains(to) {
        forget(&part().owned, to, table.id);
        return false;
    }
    forget(&part().owned, held.owner(), table.id);
    held.set_owner(to);
    true
}

/// Sends the new owner its message; the table is held, so that the message comes before whatever the new owner does
/// with it.
fn tell_new_owner(table: &Arc<Table>, own: &mut Own, from: Term, to: Term, data: Term) {
    let heap = &mut own.mutator;
    let identifier = identifier(heap, table);
    let Ok(tag) = atoms::atom("ETS-TRANSFER") else { return };
    let message = heap.tuple(&[tag, identifier, from, data]);
    let fragment = architecture().send(heap, message);
    drop(System::get().deliver(to, fragment));
}

/// The end of a process that owned or fixed tables.
fn process_ended(pid: Term, own: &mut Own) {
    let fixed = part().fixed.lock().remove(&pid).unwrap_or_default();
    for id in fixed {
        let table = part().tables.read().get(&id).cloned();
        if let Some(table) = table {
            table.release(pid, true);
        }
    }
    let mut owned: Vec<u64> = part().owned.lock().remove(&pid).unwrap_or_default().into_iter().collect();
    owned.sort_unstable();
    for id in owned {
        let Some(table) = part().tables.read().get(&id).cloned() else { continue };
        let mut held = table.standing.hold();
        if held.owner() == pid && table.status.is_alive() && !inherit(&table, &mut held, own) {
            end(&table, held);
        }
    }
}

/// Gives a table of a process that ends to its heir, if it has one that lives, and stays its heir.
fn inherit(table: &Arc<Table>, held: &mut Held<'_>, own: &mut Own) -> bool {
    let from = held.owner();
    let Some(to) = held.heir().map(|heir| heir.pid).filter(|heir| *heir != from) else { return false };
    if !hand_over(table, held, to) {
        return false;
    }
    let data = held.heir().map_or(Term::NIL, |heir| heir.data.fetch(&mut own.mutator));
    tell_new_owner(table, own, from, to, data);
    true
}
