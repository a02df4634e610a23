//! Loading modules: the newest version is current, the one before it is old, and both can run.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use atoll_etf::{DecodeOptions, decode};
use atoll_heap::immovable;
use atoll_loader::{LoadError, Module};
use atoll_term::{Allocate, Export, FunEntry, MeasuringHeap, Term, Word, atoms};
use parking_lot::Mutex;

use crate::built_in_points;
use crate::new_maps::{self, NewMaps};
use crate::part::part;
use crate::ranges::{self, LineEntry, ModuleCode};
use crate::registry::{LiteralResolver, Resolver, registry};
use crate::retired::retire_code;

/// Why a module cannot be loaded.
#[derive(Debug)]
pub enum CodeError {
    /// The file is not valid.
    File(LoadError),
    /// A literal or an atom in it is not valid.
    Content(String),
    /// The old version has not been purged yet.
    NotPurged,
}

impl std::fmt::Display for CodeError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CodeError::File(error) => write!(out, "{error}"),
            CodeError::Content(what) => out.write_str(what),
            CodeError::NotPurged => out.write_str("the old version of the module has not been purged"),
        }
    }
}

impl std::error::Error for CodeError {}

/// A file's names resolved to the machine's.
pub struct Linked {
    /// The file.
    pub module: Module,
    /// Its atoms.
    pub atoms: Vec<Term>,
    /// Its literals, in the immovable range, and behind them tuples of keys of its new maps.
    pub literals: Vec<Term>,
    /// What its instructions make new maps of.
    pub new_maps: NewMaps,
    /// What it imports.
    pub imports: Vec<&'static Export>,
    /// Its funs.
    pub lambdas: Vec<&'static FunEntry>,
}

/// What an engine makes of a file.
pub struct Translated {
    /// The code, with addresses inside it as if it stood at its present place, which is kept.
    pub words: Box<[Word]>,
    /// Word offset of every label (`u32::MAX`: none).
    pub labels: Vec<u32>,
    /// First word of each function, in the order of the file's functions.
    pub functions: Vec<u32>,
    /// Where calls of built-in functions are described, as `runtime` does for all engines: a handler, then the
    /// function's address, its arity and its export.
    pub built_in_calls: Vec<u32>,
    /// Lines in order of offset: word offset, index into the file's line table.
    pub lines: Vec<(u32, u32)>,
    /// Called when the code is loaded: only from then on may an engine change its words, until [`Translate::forget`].
    pub loaded: Option<Box<dyn FnOnce() + Send + Sync>>,
}

/// An engine's way to make code.
pub trait Translate: Sync {
    /// Translates a linked file.
    fn translate(&self, linked: &Linked) -> Translated;

    /// Translates one function once more, by its index in the file, each instruction by itself. What lies outside of
    /// the function is where it is in `code`, the function's module as it was loaded.
    fn translate_function(
        &self,
        linked: &Linked,
        code: &ModuleCode,
        function: usize,
        marks: &[u32],
    ) -> TranslatedFunction;

    /// This code is about to be freed. The world is stopped, and no process is inside of it.
    fn forget(&self, _words: &[Word]) {}
}

/// What [`Translate::translate_function`] makes.
pub struct TranslatedFunction {
    /// The code, at its place.
    pub words: Box<[Word]>,
    /// For each of the function's instructions: the first word of its code, behind its mark.
    pub places: Vec<u32>,
    /// For each instruction of `marks`, in their order: the first word of the mark in front of it. A mark is an
    /// instruction of two words that does nothing until an engine changes it.
    pub marks: Vec<u32>,
    /// As [`Translated::built_in_calls`].
    pub built_in_calls: Vec<u32>,
    /// As [`Translated::lines`].
    pub lines: Vec<(u32, u32)>,
    /// As [`Translated::loaded`].
    pub loaded: Option<Box<dyn FnOnce() + Send + Sync>>,
}

/// An engine that takes functions over from the first one, by changing words of their code.
pub trait TakesOver: Sync {
    /// The functions of this code are to be run by the first engine from now on: breakpoints are about to be set.
    fn give_back(&self, code: &ModuleCode);

    /// A process is at the first of these places in the code, and returns to the second, which may be none. Schedulers
    /// tell every few thousand reductions, whichever processes these were of.
    fn met(&self, places: [*const Word; 2]);

    /// This code has been loaded, and is about to be used.
    fn loaded(&self, code: &Arc<ModuleCode>);

    /// This code is about to be freed. The world is stopped, and no process is inside of it.
    fn forget(&self, code: &ModuleCode);

    /// Another handler stands at the allocation site at this address. Native code of its function looks at it from now
    /// on.
    fn site_changed(&self, site: *const Word);
}

/// Sets the second engine; the first call counts.
pub fn set_second_engine(engine: &'static dyn TakesOver) {
    let _ = part().second.set(engine);
}

/// The second engine, if there is one.
pub fn second_engine() -> Option<&'static dyn TakesOver> {
    part().second.get().copied()
}

/// Sets the engine; the first call counts.
pub fn set_translator(translator: &'static dyn Translate) {
    let _ = part().translator.set(translator);
}

/// The engine.
pub(crate) fn translator() -> Option<&'static dyn Translate> {
    part().translator.get().copied()
}

/// The versions of a module.
#[derive(Clone, Debug, Default)]
pub struct LoadedModule {
    /// The newest version.
    pub current: Option<Arc<ModuleCode>>,
    /// The one before it.
    pub old: Option<Arc<ModuleCode>>,
    /// A version that becomes the newest when its `on_load` function has returned `ok`.
    pub pending: Option<Arc<ModuleCode>>,
}

/// A module that is ready to be made current.
pub struct Prepared {
    code: ModuleCode,
    lambdas: Vec<(&'static FunEntry, u32)>,
    loaded: Option<Box<dyn FnOnce() + Send + Sync>>,
    waits: bool,
}

impl Prepared {
    /// Name of the module.
    pub fn module(&self) -> Term {
        self.code.module
    }

    /// MD5 of the module.
    pub fn md5(&self) -> [u8; 16] {
        self.code.md5
    }

    /// Whether it has an `on_load` function.
    pub fn has_on_load(&self) -> bool {
        self.code.on_load.is_some()
    }

    /// Has the module wait for [`finish_on_load`], as one with an `on_load` function does.
    pub fn wait(&mut self) {
        self.waits = true;
    }

    /// Makes an exported function without arguments the `on_load` function, if there is one of this name.
    pub fn set_on_load(&mut self, name: Term) {
        let found = self.code.exports.iter().find(|(exported, arity, _)| (*exported, *arity) == (name, 0));
        self.code.on_load = found.map(|(_, _, offset)| *offset).or(self.code.on_load);
    }
}

/// Reads, checks and translates a file; nothing of the running system changes.
pub fn prepare(bytes: &[u8]) -> Result<Prepared, CodeError> {
    prepare_module(read(bytes)?, bytes)
}

/// As [`prepare`], but traces will not show lines.
pub fn prepare_without_lines(bytes: &[u8]) -> Result<Prepared, CodeError> {
    let mut file = read(bytes)?;
    file.lines = Default::default();
    prepare_module(file, bytes)
}

fn read(bytes: &[u8]) -> Result<Module, CodeError> {
    let is_built_in = |module: &str, name: &str, arity| match (atoms::atom(module), atoms::atom(name)) {
        (Ok(module), Ok(name)) => registry().built_in_number(module, name, arity).is_some(),
        _ => false,
    };
    atoll_loader::load_among(bytes, is_built_in).map_err(CodeError::File)
}

/// The file that code was made of, for engines that come back to it.
#[derive(Debug)]
pub struct Source {
    bytes: Box<[u8]>,
    literals: Vec<Term>,
}

impl ModuleCode {
    /// The file that the code was made of, read and linked again. `None` if that cannot be. Its literals are those of
    /// this code, and live as long as it does.
    pub fn linked(&self) -> Option<Linked> {
        let source = self.source.as_ref()?;
        let mut file = read(&source.bytes).ok()?;
        if self.lines.is_empty() {
            file.lines = Default::default();
        }
        let atoms = file.atoms.iter().map(|name| atoms::atom(name)).collect::<Result<Vec<_>, _>>().ok()?;
        Some(link(file, atoms, source.literals.clone()))
    }
}

fn link(file: Module, atom_terms: Vec<Term>, literals: Vec<Term>) -> Linked {
    let module = atom_terms[0];
    let name = |index: atoll_loader::instruction::AtomIndex| atom_terms[index.0 as usize];
    let imports = file
        .imports
        .iter()
        .map(|import| registry().export(name(import.module), name(import.name), import.arity))
        .collect();
    let lambdas: Vec<&'static FunEntry> = file
        .lambdas
        .iter()
        .map(|lambda| {
            let identity = (lambda.old_unique, file.md5, lambda.index);
            let arity = lambda.arity.saturating_sub(lambda.free.min(255) as u8);
            registry().fun_entry(module, name(lambda.name), identity, arity, lambda.free)
        })
        .collect();
    let new_maps = new_maps::new_maps(&file, &atom_terms, &literals);
    Linked { module: file, atoms: atom_terms, literals, new_maps, imports, lambdas }
}

fn prepare_module(file: Module, bytes: &[u8]) -> Result<Prepared, CodeError> {
    let atom_error = |error: atoms::AtomError| CodeError::Content(error.to_string());
    let atom_terms =
        file.atoms.iter().map(|name| atoms::atom(name)).collect::<Result<Vec<_>, _>>().map_err(atom_error)?;
    let module = atom_terms[0];
    check_terms(&[("Attr", &file.attributes), ("CInf", &file.compile_info)])?;
    let (block, literals) = decode_literals(&file, &atom_terms)?;
    let source = second_engine().map(|_| Arc::new(Source { bytes: bytes.into(), literals: literals.clone() }));
    let linked = link(file, atom_terms, literals);
    let file = &linked.module;
    let translator = part().translator.get().expect("an engine is installed before code is loaded");
    let translated = translator.translate(&linked);
    let label = |label: atoll_loader::instruction::Label| translated.labels[label.0 as usize];
    let functions = file
        .functions
        .iter()
        .zip(&translated.functions)
        .map(|(function, start)| (*start, linked.atoms[function.name.0 as usize], function.arity))
        .collect();
    let entries = file.functions.iter().map(|function| label(function.entry)).collect();
    let lines = line_entries(file, &translated.lines);
    let exports = file
        .exports
        .iter()
        .map(|export| (linked.atoms[export.name.0 as usize], export.arity, label(export.label)))
        .collect();
    let lambda_places =
        linked.lambdas.iter().zip(&file.lambdas).map(|(entry, lambda)| (*entry, label(lambda.label))).collect();
    let code = ModuleCode {
        module,
        built_in_calls: translated.built_in_calls.into_boxed_slice(),
        functions,
        entries,
        lines,
        files: file.lines.files.iter().map(|name| Arc::from(&**name)).collect(),
        literals: block.map(Arc::new),
        funs: linked.lambdas.clone(),
        md5: file.md5,
        exports,
        attributes: file.attributes.clone(),
        compile_info: file.compile_info.clone(),
        on_load: file.on_load.map(label),
        declared_native: declared_native(file),
        words: translated.words,
        source,
        pieces: Default::default(),
        serial: 0,
        library: Mutex::default(),
    };
    Ok(Prepared { code, lambdas: lambda_places, loaded: translated.loaded, waits: false })
}

/// Functions that begin as the compiler has those begin that `-nifs` names.
fn declared_native(file: &Module) -> Vec<usize> {
    let begins = |function: &atoll_loader::Function| {
        let code = &file.code[function.start as usize..function.end as usize];
        code.iter().any(|instruction| matches!(instruction, atoll_loader::instruction::Instruction::NifStart))
    };
    (0..file.functions.len()).filter(|index| begins(&file.functions[*index])).collect()
}

/// What `module_info` decodes later has to be terms.
fn check_terms(chunks: &[(&str, &Option<Box<[u8]>>)]) -> Result<(), CodeError> {
    for (name, chunk) in chunks {
        let bytes = chunk.as_deref().unwrap_or_default();
        if !bytes.is_empty() {
            let mut heap = MeasuringHeap::default();
            let decoded = decode(bytes, DecodeOptions::default(), &mut Resolver, &mut heap);
            decoded.map_err(|error| CodeError::Content(format!("{name}: {error}")))?;
        }
    }
    Ok(())
}

/// The literals of a file, and the tuples of keys of its new maps behind them.
fn decode_literals(file: &Module, atoms: &[Term]) -> Result<(Option<immovable::Block>, Vec<Term>), CodeError> {
    let mut measure = MeasuringHeap::default();
    let mut resolver = LiteralResolver::default();
    let measured = decode_each(file, &mut resolver, &mut measure)?;
    let words = measure.words() + new_maps::words_of_keys(file, atoms, &measured);
    if words == 0 && file.literals.is_empty() {
        return Ok((None, Vec::new()));
    }
    let mut block = immovable::Block::new(words);
    let mut terms = decode_each(file, &mut resolver, &mut block)?;
    new_maps::add_keys(file, atoms, &mut terms, &mut block);
    Ok((Some(block), terms))
}

fn decode_each<H: Allocate>(
    file: &Module,
    resolver: &mut LiteralResolver,
    heap: &mut H,
) -> Result<Vec<Term>, CodeError> {
    let content = |index: usize, error: atoll_etf::DecodeError| {
        CodeError::Content(format!("literal {index} of module {} is not a valid term: {error}", file.atoms[0]))
    };
    let mut terms = Vec::with_capacity(file.literals.len());
    for (index, literal) in file.literals.iter().enumerate() {
        let decoded = decode(literal, DecodeOptions::default(), resolver, heap);
        terms.push(decoded.map_err(|error| content(index, error))?.0);
    }
    Ok(terms)
}

/// Makes a prepared module current; what was current becomes old. A module with an `on_load` function waits for
/// [`finish_on_load`] first, in the place of one that waits already. Returns the module's name, and whether it waits.
pub fn load(mut prepared: Prepared) -> Result<(Term, bool), CodeError> {
    let mut modules = part().modules.write();
    let entry = modules.entry(prepared.code.module).or_default();
    if entry.current.is_some() && entry.old.is_some() {
        return Err(CodeError::NotPurged);
    }
    if let Some(waits) = entry.pending.take() {
        // Its `on_load` function may still run, and call its funs.
        retire_code(waits);
    }
    prepared.code.serial = ranges::next_serial();
    let code = Arc::new(prepared.code);
    built_in_points::prepare(&code);
    ranges::add(&code);
    if let Some(loaded) = prepared.loaded {
        loaded();
    }
    if let Some(engine) = second_engine() {
        engine.loaded(&code);
    }
    for (entry, offset) in prepared.lambdas {
        entry.address.store(code.address(offset), Ordering::Release);
    }
    let module = code.module;
    let waits = prepared.waits || code.on_load.is_some();
    if waits {
        entry.pending = Some(code);
    } else {
        publish(entry, code);
    }
    Ok((module, waits))
}

/// Ends the wait of a module for its `on_load` function: it becomes current if `keep`; otherwise it becomes old, so
/// that it can be purged, or, where there is old code already, it is purged at once. So is old code for which there is
/// no room. Returns whether anything was purged; `None`: no module of this name waits.
pub fn finish_on_load(name: Term, keep: bool) -> Option<bool> {
    let mut modules = part().modules.write();
    let entry = modules.get_mut(&name)?;
    let code = entry.pending.take()?;
    if keep {
        let old = if entry.current.is_some() { entry.old.take() } else { None };
        let is_purged = old.is_some();
        old.into_iter().for_each(retire);
        publish(entry, code);
        return Some(is_purged);
    }
    if entry.old.is_none() {
        entry.old = Some(code);
        return Some(false);
    }
    retire(code);
    Some(true)
}

fn publish(entry: &mut LoadedModule, code: Arc<ModuleCode>) {
    if let Some(current) = entry.current.take() {
        undefine_exports(&current, Some(&code));
        entry.old = Some(current);
    }
    for (name, arity, offset) in &code.exports {
        let export = registry().export(code.module, *name, *arity);
        if export.built_in.load(Ordering::Acquire) == Export::NOT_BUILT_IN {
            export.address.store(code.address(*offset), Ordering::Release);
            export.defined.store(true, Ordering::Release);
        }
    }
    entry.current = Some(code);
}

fn undefine_exports(old: &ModuleCode, new: Option<&ModuleCode>) {
    for (name, arity, _) in &old.exports {
        let kept = new.is_some_and(|new| new.exports.iter().any(|(n, a, _)| n == name && a == arity));
        if !kept && let Some(export) = registry().existing_export(old.module, *name, *arity) {
            registry().undefine(export);
        }
    }
}

/// Adds code of one function of loaded code, made later. It is freed when the code that it belongs to was purged and
/// no process is inside of it.
///
/// `None`: the module was purged in the meantime.
pub fn add_piece(
    parent: &ModuleCode,
    linked: &Linked,
    function: usize,
    made: TranslatedFunction,
) -> Option<Arc<ModuleCode>> {
    let mut pieces = parent.pieces.write();
    if pieces.is_closed {
        return None;
    }
    let lines = line_entries(&linked.module, &made.lines);
    let (_, name, arity) = parent.functions[function];
    let piece = Arc::new(ModuleCode {
        module: parent.module,
        words: made.words,
        built_in_calls: made.built_in_calls.into_boxed_slice(),
        functions: vec![(0, name, arity)],
        entries: vec![0],
        lines,
        files: parent.files.clone(),
        literals: parent.literals.clone(),
        funs: Vec::new(),
        md5: parent.md5,
        exports: Vec::new(),
        attributes: None,
        compile_info: None,
        on_load: None,
        declared_native: Vec::new(),
        source: None,
        pieces: Default::default(),
        serial: parent.serial,
        library: Default::default(),
    });
    built_in_points::prepare(&piece);
    ranges::add(&piece);
    if let Some(loaded) = made.loaded {
        loaded();
    }
    pieces.list.push(piece.clone());
    Some(piece)
}

fn line_entries(file: &Module, lines: &[(u32, u32)]) -> Vec<LineEntry> {
    lines
        .iter()
        .map(|(offset, entry)| {
            let (file, line) = file.lines.entries.get(*entry as usize).copied().unwrap_or((0, 0));
            LineEntry { offset: *offset, file, line }
        })
        .collect()
}

/// The versions of a module, if it was ever loaded.
pub fn module(name: Term) -> Option<LoadedModule> {
    part().modules.read().get(&name).cloned()
}

/// The version of a module that an address lies in, also where it lies in a piece of it.
pub fn version_at(address: *const Word) -> Option<Arc<ModuleCode>> {
    let code = ranges::find_code(address)?;
    let LoadedModule { current, old, pending } = module(code.module)?;
    let mut versions = [current, old, pending].into_iter().flatten();
    Some(versions.find(|version| version.contains(address)).unwrap_or(code))
}

/// Whether a module has current code.
pub fn is_loaded(name: Term) -> bool {
    part().modules.read().get(&name).is_some_and(|module| module.current.is_some())
}

/// Whether a module has old code.
pub fn has_old_code(name: Term) -> bool {
    part().modules.read().get(&name).is_some_and(|module| module.old.is_some())
}

/// Names of all modules with current code.
pub fn loaded_modules() -> Vec<Term> {
    let modules = part().modules.read();
    let loaded = modules.iter().filter(|(_, module)| module.current.is_some());
    loaded.map(|(name, _)| *name).collect()
}

/// Makes the current code old; returns whether there was any (`None`: there is old code already).
pub fn delete_module(name: Term) -> Option<bool> {
    let mut modules = part().modules.write();
    let Some(entry) = modules.get_mut(&name) else { return Some(false) };
    if entry.old.is_some() && entry.current.is_some() {
        return None;
    }
    let Some(current) = entry.current.take() else { return Some(false) };
    undefine_exports(&current, None);
    entry.old = Some(current);
    Some(true)
}

/// Takes the old code out; returns whether there was any. Its memory is freed when nothing refers to it any more
/// ([`crate::find_unused`]).
pub fn purge(name: Term) -> bool {
    let mut modules = part().modules.write();
    let old = modules.get_mut(&name).and_then(|entry| entry.old.take());
    // What a native library does at its end may take long.
    drop(modules);
    let is_purged = old.is_some();
    old.into_iter().for_each(retire);
    is_purged
}

/// Takes away what leads to this code: its funs and its addresses.
fn retire(code: Arc<ModuleCode>) {
    for entry in &code.funs {
        let address = entry.address.load(Ordering::Acquire);
        if code.contains(address) {
            registry().undefine_fun(entry);
        }
    }
    let mut pieces = code.pieces.write();
    pieces.is_closed = true;
    for piece in &pieces.list {
        ranges::remove(piece);
        retire_code(piece.clone());
    }
    drop(pieces);
    ranges::remove(&code);
    let library = code.library.lock().take();
    if let Some(library) = library {
        library.purged();
    }
    retire_code(code);
}
