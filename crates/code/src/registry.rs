//! Exports and fun entries: made on first mention, never removed, found by name.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use atoll_etf::Resolve;
use atoll_heap::known;
use atoll_term::{Export, FunEntry, MagicValue, Term, Word, atoms};
use parking_lot::RwLock;

use crate::export_table::ExportTable;
use crate::part::part;
use crate::ranges::ModuleCode;

/// Makes code words that an entry without code points to, so that a call through it reaches the error handler.
pub trait Stubs: Sync {
    /// Code for an export that is not defined.
    fn undefined_export(&self, export: &'static Export) -> *mut Word;
    /// Code for an export that is built in.
    fn built_in(&self, export: &'static Export, number: u32) -> *mut Word;
    /// Code that notices a call through an export and goes on in its function: see [`crate::breakpoints`].
    fn traced_export(&self, export: &'static Export) -> *mut Word;
    /// Code for a fun whose module is not loaded, or is loaded in another version.
    fn undefined_fun(&self, entry: &'static FunEntry) -> *mut Word;
}

/// Module, index, checksum of the fun, checksum of the module, arity, free variables. The external format may bring a
/// fun that names code and has other numbers of arguments and variables: its entry is its own, and stays without code.
type FunKey = (Term, u32, u32, [u8; 16], u8, u32);

/// All exports and fun entries.
#[derive(Default)]
pub struct Registry {
    exports: ExportTable,
    funs: RwLock<HashMap<FunKey, &'static FunEntry>>,
    built_ins: RwLock<HashMap<(Term, Term, u8), u32>>,
    stubs: OnceLock<&'static dyn Stubs>,
}

/// Code that is made once, because entries may lose their code many times. Of two that are made at a time one is lost.
fn once(place: &AtomicPtr<Word>, make: impl FnOnce() -> *mut Word) -> *mut Word {
    let present = place.load(Ordering::Acquire);
    if !present.is_null() {
        return present;
    }
    let made = make();
    place.compare_exchange(present, made, Ordering::AcqRel, Ordering::Acquire).map_or_else(|other| other, |_| made)
}

/// The registry of this thread's machine.
#[inline]
pub fn registry() -> &'static Registry {
    &part().registry
}

impl Registry {
    /// Sets the engine's stubs and the numbers of the built-in functions; before any export is made.
    pub fn install(&self, stubs: &'static dyn Stubs, built_ins: impl IntoIterator<Item = ((Term, Term, u8), u32)>) {
        let _ = self.stubs.set(stubs);
        self.built_ins.write().extend(built_ins);
    }

    fn stubs(&self) -> &'static dyn Stubs {
        *self.stubs.get().expect("an engine is installed before code is mentioned")
    }

    fn undefined_export(&self, export: &'static Export) -> *mut Word {
        once(&export.undefined, || self.stubs().undefined_export(export))
    }

    fn undefined_fun(&self, entry: &'static FunEntry) -> *mut Word {
        once(&entry.undefined, || self.stubs().undefined_fun(entry))
    }

    /// Code that notices a call through an export.
    pub(crate) fn traced_stub(&self, export: &'static Export) -> *mut Word {
        self.stubs().traced_export(export)
    }

    /// The export of this name, if it was ever mentioned.
    #[inline]
    pub fn existing_export(&self, module: Term, name: Term, arity: u8) -> Option<&'static Export> {
        self.exports.get(module, name, arity)
    }

    /// The export of this name.
    #[inline]
    pub fn export(&self, module: Term, name: Term, arity: u8) -> &'static Export {
        match self.existing_export(module, name, arity) {
            Some(export) => export,
            None => self.new_export(module, name, arity),
        }
    }

    #[cold]
    fn new_export(&self, module: Term, name: Term, arity: u8) -> &'static Export {
        let built_in = self.built_in_number(module, name, arity);
        self.exports.get_or_add((module, name, arity), || {
            let export: &'static Export = Box::leak(Box::new(Export {
                address: AtomicPtr::new(std::ptr::null_mut()),
                module,
                name,
                arity,
                defined: AtomicBool::new(false),
                built_in: AtomicU32::new(built_in.unwrap_or(Export::NOT_BUILT_IN)),
                undefined: AtomicPtr::default(),
            }));
            let stub = match built_in {
                Some(number) => self.stubs().built_in(export, number),
                None => self.undefined_export(export),
            };
            export.address.store(stub, Ordering::Release);
            export
        })
    }

    /// Number of the built-in function of this name.
    pub fn built_in_number(&self, module: Term, name: Term, arity: u8) -> Option<u32> {
        self.built_ins.read().get(&(module, name, arity)).copied()
    }

    /// Modules, names and arities of the built-in functions.
    pub fn built_in_names(&self) -> Vec<(Term, Term, u8)> {
        self.built_ins.read().keys().copied().collect()
    }

    /// Makes an export undefined again.
    pub fn undefine(&self, export: &'static Export) {
        if export.built_in.load(Ordering::Acquire) == Export::NOT_BUILT_IN {
            export.defined.store(false, Ordering::Release);
            export.address.store(self.undefined_export(export), Ordering::Release);
        }
    }

    /// The entry of a fun.
    pub fn fun_entry(
        &self,
        module: Term,
        name: Term,
        (old_unique, unique, index): (u32, [u8; 16], u32),
        arity: u8,
        free: u32,
    ) -> &'static FunEntry {
        let key = (module, index, old_unique, unique, arity, free);
        if let Some(entry) = self.funs.read().get(&key) {
            return entry;
        }
        let mut funs = self.funs.write();
        funs.entry(key).or_insert_with(|| {
            let entry: &'static FunEntry = Box::leak(Box::new(FunEntry {
                address: AtomicPtr::new(std::ptr::null_mut()),
                module,
                name,
                arity,
                free,
                index,
                old_unique,
                unique,
                undefined: AtomicPtr::default(),
            }));
            entry.address.store(self.undefined_fun(entry), Ordering::Release);
            entry
        })
    }

    /// Makes a fun's entry point to no code, after its module's version was purged.
    pub fn undefine_fun(&self, entry: &'static FunEntry) {
        entry.address.store(self.undefined_fun(entry), Ordering::Release);
    }

    /// Takes away what leads to code that is about to be freed. Usually nothing does; a function that was called as
    /// `on_load`, and funs of a version that waited for it in vain, may.
    pub(crate) fn forget(&self, codes: &[&ModuleCode], is_inside: &dyn Fn(*const Word) -> bool) {
        for entry in codes.iter().flat_map(|code| &code.funs) {
            if is_inside(entry.address.load(Ordering::Acquire)) {
                self.undefine_fun(entry);
            }
        }
        self.exports.each(|export| {
            if is_inside(export.address.load(Ordering::Acquire)) {
                self.undefine(export);
            }
        });
    }

    /// Exports of a module that have code: name, arity.
    pub fn exports_of(&self, module: Term) -> Vec<(Term, u8)> {
        let mut defined = Vec::new();
        self.exports.each(|export| {
            if export.module == module && export.is_defined() {
                defined.push((export.name, export.arity));
            }
        });
        defined
    }
}

/// Resolves what the external format names while literals and messages are decoded.
pub struct Resolver;

impl Resolve for Resolver {
    fn export(&mut self, module: Term, name: Term, arity: u8) -> &'static Export {
        registry().export(module, name, arity)
    }

    fn fun(
        &mut self,
        module: Term,
        old_unique: u32,
        unique: [u8; 16],
        index: u32,
        arity: u8,
        free: u32,
    ) -> &'static FunEntry {
        registry().fun_entry(module, atoms::UNDEFINED, (old_unique, unique, index), arity, free)
    }

    fn this_node(&self) -> (Term, u32) {
        atoll_term::this_node()
    }

    fn magic(&mut self, numbers: [u32; 3]) -> Option<Arc<MagicValue>> {
        known().find(numbers)
    }
}

/// As [`Resolver`], with one answer for each reference, so that what is decoded twice takes as many words both times.
#[derive(Default)]
pub(crate) struct LiteralResolver {
    magic: HashMap<[u32; 3], Option<Arc<MagicValue>>>,
}

impl Resolve for LiteralResolver {
    fn export(&mut self, module: Term, name: Term, arity: u8) -> &'static Export {
        Resolver.export(module, name, arity)
    }

    fn fun(
        &mut self,
        module: Term,
        old_unique: u32,
        unique: [u8; 16],
        index: u32,
        arity: u8,
        free: u32,
    ) -> &'static FunEntry {
        Resolver.fun(module, old_unique, unique, index, arity, free)
    }

    fn this_node(&self) -> (Term, u32) {
        Resolver.this_node()
    }

    fn magic(&mut self, numbers: [u32; 3]) -> Option<Arc<MagicValue>> {
        self.magic.entry(numbers).or_insert_with(|| known().find(numbers)).clone()
    }
}
