//! Finds the module, function and line of a code address.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use atoll_heap::immovable;
use atoll_heap::statistics::VERIFY;
use atoll_term::{FunEntry, Term, Word};
use parking_lot::RwLock;

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
    pub files: Vec<Box<str>>,
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
    /// How many versions of modules were loaded before this one.
    pub serial: u64,
}

impl ModuleCode {
    /// Address of a word.
    pub fn address(&self, offset: u32) -> *mut Word {
        self.words.as_ptr().wrapping_add(offset as usize).cast_mut()
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

    /// Whether an address lies in this code.
    pub fn contains(&self, address: *const Word) -> bool {
        self.words.as_ptr_range().contains(&address)
    }
}

impl Drop for ModuleCode {
    fn drop(&mut self) {
        if VERIFY.load(Ordering::Relaxed) {
            // A process that still enters this code fails at once.
            self.words.fill(0);
        }
    }
}

static RANGES: RwLock<BTreeMap<usize, Arc<ModuleCode>>> = RwLock::new(BTreeMap::new());
static LOADED: AtomicU64 = AtomicU64::new(0);

/// The serial number of code that is about to be added.
pub(crate) fn next_serial() -> u64 {
    LOADED.fetch_add(1, Ordering::AcqRel)
}

/// How many versions of modules have been loaded so far: an address that is noted now cannot mean code with this serial
/// number or a later one, which may come to stand where code was freed.
pub fn loaded_versions() -> u64 {
    LOADED.load(Ordering::Acquire)
}

pub(crate) fn add(code: &Arc<ModuleCode>) {
    RANGES.write().insert(code.words.as_ptr() as usize, code.clone());
}

pub(crate) fn remove(code: &ModuleCode) {
    RANGES.write().remove(&(code.words.as_ptr() as usize));
}

/// Visits all code there is.
pub(crate) fn each_code(mut visit: impl FnMut(&ModuleCode)) {
    for code in RANGES.read().values() {
        visit(code);
    }
}

/// The code that an address lies in.
pub fn find_code(address: *const Word) -> Option<Arc<ModuleCode>> {
    let ranges = RANGES.read();
    let (_, code) = ranges.range(..=address as usize).next_back()?;
    code.contains(address).then(|| code.clone())
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
    pub location: Option<(Box<str>, u32)>,
}

/// Entries of a stack trace (`backtrace_depth`).
static BACKTRACE_DEPTH: AtomicUsize = AtomicUsize::new(8);

/// How many entries a stack trace has at most.
pub fn backtrace_depth() -> usize {
    BACKTRACE_DEPTH.load(Ordering::Relaxed).max(1)
}

/// Sets how many entries stack traces have at most, at least one; what was set before.
pub fn set_backtrace_depth(entries: usize) -> usize {
    BACKTRACE_DEPTH.swap(entries, Ordering::Relaxed)
}

/// The function and line of the instruction that contains or ends before `address`: for a return address, the call.
pub fn frame_of(address: *const Word) -> Option<Frame> {
    frame_at(address, u64::MAX)
}

/// As [`frame_of`], for an address that was noted when [`loaded_versions`] gave `versions`.
pub fn frame_at(address: *const Word, versions: u64) -> Option<Frame> {
    let before = address.wrapping_sub(1);
    let code = find_code(before).filter(|code| code.serial < versions)?;
    let offset = ((before as usize - code.words.as_ptr() as usize) / size_of::<Word>()) as u32;
    let function = code.functions.partition_point(|(start, ..)| *start <= offset).checked_sub(1)?;
    let (start, name, arity) = code.functions[function];
    let line = code.lines.partition_point(|entry| entry.offset <= offset).checked_sub(1).map(|index| code.lines[index]);
    let line = line.filter(|entry| entry.offset >= start && entry.line > 0);
    let location = line.and_then(|entry| Some((code.files.get(entry.file as usize)?.clone(), entry.line)));
    Some(Frame { module: code.module, name, arity, location })
}
