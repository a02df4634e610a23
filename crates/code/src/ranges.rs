//! Finds the module, function and line of a code address.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use atoll_heap::immovable;
use atoll_heap::settings;
use atoll_term::{Build, Export, FunEntry, Term, Word, atoms};
use parking_lot::{Mutex, RwLock};

use crate::part::part;
use crate::server::{Source, second_engine};

/// A place in a source file that code words from `offset` on come from.
#[derive(Clone, Copy, Debug)]
pub struct LineEntry {
    /// Word offset.
    pub offset: u32,
    /// Index into the files, 0 is the module's own.
    pub file: u32,
    /// Line; 0 is "unknown".
    pub line: u32,
}

/// Code of single functions of a module.
#[derive(Debug, Default)]
pub struct Pieces {
    pub(crate) list: Vec<Arc<ModuleCode>>,
    /// The module was purged: there will be no more.
    pub(crate) is_closed: bool,
}

/// One version of a module's code.
#[derive(Debug)]
pub struct ModuleCode {
    /// Module (atom).
    pub module: Term,
    /// The code. Words are never moved; the engine may patch them before the code is published.
    pub words: Box<[Word]>,
    /// Instructions that call built-in functions: their first words.
    pub built_in_calls: Box<[u32]>,
    /// Functions in order: first word, name, arity.
    pub functions: Vec<(u32, Term, u8)>,
    /// For each of them, where calls enter it: the first word of its first instruction.
    pub entries: Vec<u32>,
    /// Lines in order of their offsets.
    pub lines: Vec<LineEntry>,
    /// Source files.
    pub files: Vec<Arc<str>>,
    /// Literal terms. They may be kept longer than the code.
    pub literals: Option<Arc<immovable::Block>>,
    /// Fun entries that this version defines.
    pub funs: Vec<&'static FunEntry>,
    /// MD5 of the module.
    pub md5: [u8; 16],
    /// Exported functions: name, arity, first word.
    pub exports: Vec<(Term, u8, u32)>,
    /// Attributes, external format.
    pub attributes: Option<Box<[u8]>>,
    /// Compile information, external format.
    pub compile_info: Option<Box<[u8]>>,
    /// The `on_load` function's first word.
    pub on_load: Option<u32>,
    /// The functions that the file declares as native ones (`-nifs`), as indices; none if it says nothing of that.
    pub declared_native: Vec<usize>,
    /// The file that it was made of, if an engine may come back to it.
    pub source: Option<Arc<Source>>,
    /// Code of single functions that was made later ([`crate::add_piece`]).
    pub pieces: RwLock<Pieces>,
    /// How many versions of modules were loaded before this one.
    pub serial: u64,
    /// Its native library. The code gives it up when it is purged.
    pub library: Mutex<Option<Arc<dyn Library>>>,
}

/// A native library, of which this crate knows nothing.
pub trait Library: Any + Send + Sync {
    /// The code is purged: no process calls its functions any more.
    fn purged(self: Arc<Self>);
}

impl std::fmt::Debug for dyn Library {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("native library")
    }
}

impl ModuleCode {
    /// Address of a word.
    pub fn address(&self, offset: u32) -> *mut Word {
        self.words.as_ptr().wrapping_add(offset as usize).cast_mut()
    }

    /// The function and line of the instruction that contains or ends before an address in this code.
    pub(crate) fn frame_at(&self, address: *const Word) -> Option<Frame> {
        let before = address.wrapping_sub(1) as usize;
        let offset = ((before - self.words.as_ptr() as usize) / size_of::<Word>()) as u32;
        let function = self.functions.partition_point(|(start, ..)| *start <= offset).checked_sub(1)?;
        let (start, name, arity) = self.functions[function];
        let line =
            self.lines.partition_point(|entry| entry.offset <= offset).checked_sub(1).map(|index| self.lines[index]);
        let line = line.filter(|entry| entry.offset >= start && entry.line > 0);
        let location = line.and_then(|entry| Some((self.files.get(entry.file as usize)?.clone(), entry.line)));
        Some(Frame { module: self.module, name, arity, location })
    }

    /// Bytes that it takes, without its literals.
    pub fn bytes(&self) -> usize {
        size_of::<ModuleCode>()
            + size_of_val(&*self.words)
            + size_of_val(&*self.built_in_calls)
            + size_of_val(&*self.functions)
            + size_of_val(&*self.entries)
            + size_of_val(&*self.lines)
            + size_of_val(&*self.funs)
            + size_of_val(&*self.exports)
            + self.attributes.as_ref().map_or(0, |bytes| bytes.len())
            + self.compile_info.as_ref().map_or(0, |bytes| bytes.len())
    }

    /// Whether an address lies in this code, or in a piece of it.
    pub fn contains(&self, address: *const Word) -> bool {
        self.words.as_ptr_range().contains(&address)
            || self.pieces.read().list.iter().any(|piece| piece.contains(address))
    }
}

impl Drop for ModuleCode {
    fn drop(&mut self) {
        if settings().verify {
            // A process that still enters this code fails at once.
            self.words.fill(0);
        }
    }
}

/// The serial number of code that is about to be added.
pub(crate) fn next_serial() -> u64 {
    part().loaded.fetch_add(1, Ordering::AcqRel)
}

/// How many versions of modules have been loaded so far: an address that is noted now cannot mean code with this serial
/// number or a later one, which may come to stand where code was freed.
pub fn loaded_versions() -> u64 {
    part().loaded.load(Ordering::Acquire)
}

pub(crate) fn add(code: &Arc<ModuleCode>) {
    let mut ranges = part().ranges.write();
    ranges.insert(code.words.as_ptr() as usize, code.clone());
    part().changes.fetch_add(1, Ordering::Release);
}

pub(crate) fn remove(code: &ModuleCode) {
    let mut ranges = part().ranges.write();
    ranges.remove(&(code.words.as_ptr() as usize));
    part().changes.fetch_add(1, Ordering::Release);
}

/// Visits all code there is.
pub(crate) fn each_code(mut visit: impl FnMut(&ModuleCode)) {
    for code in part().ranges.read().values() {
        visit(code);
    }
}

/// The code that an address lies in.
pub fn find_code(address: *const Word) -> Option<Arc<ModuleCode>> {
    let ranges = part().ranges.read();
    let (_, code) = ranges.range(..=address as usize).next_back()?;
    // Pieces stand in the table by themselves. Their module's lock is not taken here: who adds a piece holds it.
    code.words.as_ptr_range().contains(&address).then(|| code.clone())
}

/// Whether two return addresses are behind the same call, of which each engine may have code of its own.
pub fn is_same_place(a: *const Word, b: *const Word) -> bool {
    if a == b || second_engine().is_none() {
        return a == b;
    }
    let codes = (find_code(a.wrapping_sub(1)), find_code(b.wrapping_sub(1)));
    let (Some(one), Some(other)) = codes else { return false };
    !Arc::ptr_eq(&one, &other)
        && one.serial == other.serial
        && one.frame_at(a).is_some_and(|frame| other.frame_at(b) == Some(frame))
}

/// What stands at a code address.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// Module (atom).
    pub module: Term,
    /// Function (atom).
    pub name: Term,
    /// Arity.
    pub arity: u8,
    /// File and line, if known.
    pub location: Option<(Arc<str>, u32)>,
}

impl Frame {
    /// `[{file, File}, {line, Line}]`, or `[]` if they are not known. Frames of one trace share the names of files.
    pub fn location_term(&self, heap: &mut (impl Build + ?Sized), files: &mut Files) -> Term {
        let Some((file, line)) = &self.location else { return Term::NIL };
        let file = files.entry(file, heap);
        let line = heap.tuple(&[atoms::LINE, Term::small(i64::from(*line))]);
        heap.list([file, line])
    }
}

/// The files of one stack trace, as `{file, File}`.
#[derive(Default)]
pub struct Files(Vec<(*const u8, Term)>);

impl Files {
    fn entry(&mut self, file: &Arc<str>, heap: &mut (impl Build + ?Sized)) -> Term {
        // A module has each name of a file once, so names at different places are compared no further.
        if let Some((_, known)) = self.0.iter().find(|(name, _)| *name == file.as_ptr()) {
            return *known;
        }
        let name = heap.string(file);
        let entry = heap.tuple(&[atoms::FILE, name]);
        self.0.push((file.as_ptr(), entry));
        entry
    }
}

/// Entries of a stack trace, unless something else is set.
pub(crate) const USUAL_BACKTRACE: usize = 8;

/// How many entries a stack trace has at most.
pub fn backtrace_depth() -> usize {
    part().backtrace_depth.load(Ordering::Relaxed).max(1)
}

/// How many frames of a stack `process_info` shows: as many, or none.
pub fn shown_stack_depth() -> usize {
    part().backtrace_depth.load(Ordering::Relaxed)
}

/// The most entries that a program can ask for, as in OTP.
const MOST_BACKTRACE: usize = 64;

/// Sets how many entries stack traces have at most, at least one; what was set before.
pub fn set_backtrace_depth(entries: usize) -> usize {
    part().backtrace_depth.swap(entries.min(MOST_BACKTRACE), Ordering::Relaxed)
}

/// A process that goes on at this address is in a built-in function.
pub fn note_built_in_place(address: *const Word, export: &'static Export) {
    part().built_in_places.write().insert(address as usize, export);
}

/// The function and line of the instruction that contains or ends before `address`: for a return address, the call.
pub fn frame_of(address: *const Word) -> Option<Frame> {
    frame_at(address, u64::MAX)
}

/// As [`frame_of`], for an address that was noted when [`loaded_versions`] gave `versions`.
pub fn frame_at(address: *const Word, versions: u64) -> Option<Frame> {
    let Some(code) = find_code(address.wrapping_sub(1)) else { return built_in_frame(address) };
    if code.serial < versions { code.frame_at(address) } else { None }
}

/// The built-in function that a process is in which goes on at this address.
pub(crate) fn built_in_frame(address: *const Word) -> Option<Frame> {
    let before = address.wrapping_sub(1);
    let export = *part().built_in_places.read().get(&(before as usize))?;
    Some(Frame { module: export.module, name: export.name, arity: export.arity, location: None })
}
