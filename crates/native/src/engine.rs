//! Which functions are compiled, when, and how their native code is put in the place of the first engine's.
//!
//! Schedulers look every few thousand reductions at where their process is ([`TakesOver::met`]). A
//! function that is met several times is compiled by a thread of this engine; nothing waits for that thread.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use atoll_code::{Linked, ModuleCode, TakesOver, Translate, add_piece, entry_of, find_code, hold_entries, take_over};
use atoll_platform::debugger::KnownCode;
use atoll_platform::executable::{CodeSpace, Executable};
use atoll_platform::threads;
use atoll_runtime::core::{Core, Exit, Handler, dispatch, handler};
use atoll_runtime::mark::{Gates, gates};
use atoll_runtime::{built_in, entry};
use atoll_term::Word;
use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::compile::{Compiler, Plans, Settings, SiteChecks};
use crate::exits::{ExitCounts, Exits};
use crate::files::Files;
use crate::flow::Head;
use crate::kept::{Functions, Kept};
use crate::names::Names;

mod generate;
mod review;
mod sites;

pub(crate) use generate::Generated;
use generate::{CalledInPlace, CodeInPlace};

/// When functions are compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Those that turn out to be hot, beside the program.
    Hot,
    /// Each at its first call, which waits for it. For tests.
    Eager,
}

/// What was compiled, for the record of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Compilations {
    /// Functions that have native code.
    pub functions: u64,
    /// Functions that were looked at and stay with the first engine.
    pub refused: u64,
    /// Bytes of machine code.
    pub code_bytes: u64,
    /// Bytes of memory that hold it.
    pub held_bytes: u64,
    /// Regions whose code an earlier run had made.
    pub kept: u64,
    /// Time that compiling took, in microseconds.
    pub micros: u64,
    /// How often native code left to the first engine.
    pub exits: ExitCounts,
}

/// How long a crash waits for who is at work here.
const PATIENCE: Duration = Duration::from_secs(1);

/// How long the end of a machine waits for the function that is being compiled.
const LONGEST: Duration = Duration::from_millis(20);

/// A function with native code.
struct Unit {
    /// `Module:Name/Arity`
    name: String,
    /// Address of its first instruction for the first engine.
    entry: usize,
    /// The handler that stood there.
    original: Word,
    /// Words of marks, with the handlers of marks in use.
    marks: Vec<(usize, Word)>,
    is_active: bool,
    /// The function: its module, its index there.
    code: Weak<ModuleCode>,
    function: usize,
    /// Index of its first instruction in the file.
    start: usize,
    /// For each of its instructions: how often native code left in front of it.
    exits: Exits,
    /// As `exits`, of functions whose calls are written in place.
    in_place: Vec<CalledInPlace>,
    /// It looks at the function's allocation sites.
    checks_sites: bool,
    /// Keeps the code.
    block: Executable,
    /// Keeps what the code refers to.
    _plans: Plans,
    /// Debuggers know the code as long as this is there.
    _known: Option<KnownCode>,
}

/// A function that waits for its native code.
struct Waiting {
    code: Arc<ModuleCode>,
    function: usize,
    /// How often it was met.
    met: u32,
}

#[derive(Default)]
struct State {
    /// How often functions were met, by the addresses of their first instructions.
    met: HashMap<usize, u32>,
    /// Functions that wait, by the addresses of their first instructions.
    waiting: HashMap<usize, Waiting>,
    /// Functions that need not be looked at again, by the addresses of their first instructions.
    settled: HashSet<usize>,
    /// By the first words of their code for the first engine.
    units: HashMap<usize, Unit>,
    /// Units of a module, by the module's first word.
    of_module: HashMap<usize, Vec<usize>>,
    /// Instructions of functions that left native code often, by the addresses of the functions' first instructions.
    general: HashMap<usize, HashSet<usize>>,
    /// Functions whose allocation sites native code looks at, by the addresses of their first instructions.
    changed_sites: HashSet<usize>,
    /// In eager mode: what stands at first instructions that were not reached yet.
    untouched: HashMap<usize, Word>,
    is_review_due: bool,
    /// How often modules were met of which earlier runs have compiled functions, by their first words.
    in_use: HashMap<usize, u32>,
    /// Bytes of memory that hold code.
    held: usize,
    counted: Compilations,
}

/// The second engine.
pub struct Engine {
    translator: &'static dyn Translate,
    mode: Mode,
    /// Most bytes of generated code.
    limit: usize,
    lend_builds: bool,
    site_checks: SiteChecks,
    gates: Gates,
    names: Names,
    /// Places where schedulers have met processes so far.
    met: AtomicU64,
    state: Mutex<State>,
    wake: Condvar,
    compiler: Mutex<Compiler>,
    /// Functions that earlier runs have compiled.
    hot: Functions,
    /// In eager mode: files of functions that were compiled.
    files: Mutex<Files>,
}

/// What a machine has of this engine.
#[derive(Default)]
pub struct Part {
    engine: OnceLock<Engine>,
}

atoll_platform::part_of_machine!(Part);

/// Fewest samples in which a function has to be met before it is compiled.
const HOT: u32 = 4;
/// As [`HOT`], of a function that an earlier run has compiled.
const KNOWN: u32 = 1;
/// Samples in which a module has to be met before all of its functions are compiled that earlier runs have compiled. A
/// start of OTP meets many modules a few times, and ends before it would gain from their code.
const IN_USE: u32 = 16;
/// Words of the first engine's code for each sample in which a function has to be met: a longer function takes longer
/// to compile, so it has to run longer first.
const WORDS_A_SAMPLE: u32 = 32;

/// Samples between two reviews of native code, for functions whose counts passed the one that has the engine look at
/// once ([`left_often`]): two threads that count at the same time may skip a number.
const REVIEWED: u64 = 1024;

/// Starts the engine: code that is loaded from now on may be compiled. Returns false where this processor has no code
/// generator.
pub fn start(
    translator: &'static dyn Translate,
    settings: Settings,
    lend_builds: bool,
    mode: Mode,
    limit: usize,
    names: Names,
    kept: Option<Kept>,
) -> bool {
    if !atoll_runtime::mark::IS_POSSIBLE {
        return false;
    }
    let gates = gates();
    // `perf` looks for names of code that belongs to no file, and a debugger writes breakpoints into no page of one.
    let space = CodeSpace::new(names.perf.is_some() || names.debuggers);
    let Some(compiler) = Compiler::new(settings, gates, space, kept) else { return false };
    let made = Engine {
        translator,
        mode,
        limit,
        lend_builds,
        site_checks: settings.site_checks,
        gates,
        names,
        met: AtomicU64::new(0),
        state: Mutex::default(),
        wake: Condvar::new(),
        hot: compiler.kept.as_ref().map(|kept| kept.hot().clone()).unwrap_or_default(),
        compiler: Mutex::new(compiler),
        files: Mutex::default(),
    };
    if part().engine.set(made).is_err() {
        return false;
    }
    let Some(engine) = part().engine.get() else { return false };
    atoll_code::set_second_engine(engine);
    if mode == Mode::Hot {
        let thread = std::thread::Builder::new().name("compiler".to_owned()).stack_size(8 << 20);
        return threads::start(thread, || engine.work()).is_ok();
    }
    true
}

/// The engine of the machine that this thread works for, if it has one.
pub(crate) fn engine() -> Option<&'static Engine> {
    part().engine.get()
}

/// The function that has native code at an address, `Module:Name/Arity`. A thread asks that has crashed or that looks
/// into a crash: the answer is `None` where another thread is at work here.
pub fn function_at(address: usize) -> Option<String> {
    let state = part().engine.get()?.state.try_lock_for(PATIENCE)?;
    let unit = state.units.values().find(|unit| unit.block.contains(address))?;
    Some(unit.name.clone())
}

/// Writes the code that is to be kept for later runs. The machine is about to end.
pub fn save() {
    if let Some(engine) = part().engine.get() {
        engine.save();
    }
}

/// What was compiled so far.
pub fn compilations() -> Option<Compilations> {
    let engine = part().engine.get()?;
    let kept = engine.compiler.lock().kept.as_ref().map_or(0, |kept| kept.hits);
    let state = engine.state.lock();
    let mut counted = Compilations { held_bytes: state.held as u64, kept, ..state.counted };
    state.units.values().for_each(|unit| unit.all_exits().for_each(|exits| exits.add_to(&mut counted.exits)));
    Some(counted)
}

impl Unit {
    fn all_exits(&self) -> impl Iterator<Item = &Exits> {
        self.in_place.iter().map(|called| &called.exits).chain([&self.exits])
    }
}

impl Engine {
    /// Compiles what turns out to be hot, until the machine ends.
    fn work(&'static self) {
        threads::give_way();
        let mut files = Files::default();
        loop {
            let (hottest, is_review_due) = {
                let mut state = self.state.lock();
                while state.waiting.is_empty() && !state.is_review_due {
                    if files.is_empty() {
                        self.wake.wait(&mut state);
                    } else if self.wake.wait_for(&mut state, Files::KEPT).timed_out() {
                        files = Files::default();
                        MutexGuard::unlocked(&mut state, || self.save());
                    }
                }
                let hottest = state.waiting.iter().max_by_key(|(_, waiting)| waiting.met).map(|(entry, _)| *entry);
                let hottest = hottest.and_then(|entry| state.waiting.remove(&entry));
                (hottest, std::mem::take(&mut state.is_review_due))
            };
            let anew = if is_review_due { self.review() } else { Vec::new() };
            let first = hottest.map(|Waiting { code, function, .. }| (code, function));
            for (code, function) in first.into_iter().chain(anew) {
                if let Some(linked) = files.of(&code) {
                    self.compile(&code, linked, function);
                }
            }
        }
    }

    /// Writes the code that is to be kept, unless a long function is being compiled.
    fn save(&self) {
        if let Some(mut compiler) = self.compiler.try_lock_for(LONGEST)
            && let Some(kept) = &mut compiler.kept
        {
            kept.save();
        }
    }

    /// Compiles a function and puts its native code in place.
    fn compile(&self, code: &Arc<ModuleCode>, linked: &Linked, function: usize) -> bool {
        let started = Instant::now();
        let done = self.state.lock().held < self.limit && self.make(code, linked, function).is_some();
        let mut state = self.state.lock();
        state.counted.micros += started.elapsed().as_micros() as u64;
        if done {
            state.counted.functions += 1;
        } else {
            state.counted.refused += 1;
        }
        done
    }

    fn make(&self, code: &Arc<ModuleCode>, linked: &Linked, function: usize) -> Option<()> {
        let entry = entry_of(code, function)? as usize;
        if !self.is_plain(entry) {
            return None;
        }
        let generated = self.generate(code, linked, function, self.mode == Mode::Eager)?;
        let Generated { start, first, heads, mut made, marks, exits, in_place, checks_sites, compiled } = generated;
        let address = |head: usize| compiled.block.start().as_ptr() as Word + compiled.heads[&head] as Word;
        let mut used = Vec::with_capacity(marks.len());
        for (head, mark) in &marks {
            let gate = if heads[head] == Head::Return { self.gates.return_ } else { self.gates.point };
            made.words[*mark as usize] = gate;
            made.words[*mark as usize + 1] = address(*head);
            used.push((&raw const made.words[*mark as usize] as usize, gate));
        }
        let code_of_entry = address(first);
        let this = &linked.module.functions[function];
        let name = format!("{}:{}/{}", linked.module.name(), linked.module.atom(this.name), this.arity);
        let known = self.names.add(compiled.block.start(), compiled.size, &name);
        let size = compiled.size as u64;
        let entries = hold_entries();
        // A library may have put its own function in the place of one of these meanwhile.
        if !in_place.iter().map(|one| one.called.entry).chain([entry]).all(|entry| self.is_plain(entry)) {
            return None;
        }
        let piece = add_piece(code, linked, function, made)?;
        let mut called = Vec::with_capacity(in_place.len());
        for CodeInPlace { function, made, called: one, .. } in in_place {
            add_piece(code, linked, function, made)?;
            called.push(one);
        }
        let mut state = self.state.lock();
        // Code that was made before, on other assumptions, is left at its marks.
        let State { units, of_module, .. } = &mut *state;
        for place in of_module.get(&(code.words.as_ptr() as usize)).into_iter().flatten() {
            if let Some(unit) = units.get_mut(place).filter(|unit| unit.entry == entry && unit.is_active) {
                unit.is_active = false;
                self.switch(unit, false);
            }
        }
        // SAFETY: the last word of the function's `func_info` is kept for this; native code and the handler that enters
        // it read the word after the handler below was stored.
        unsafe { AtomicU64::from_ptr((entry as *mut Word).sub(1)) }.store(code_of_entry, Ordering::Release);
        let is_stale = |entry: usize, checks_sites: bool| !checks_sites && state.changed_sites.contains(&entry);
        let original =
            if is_stale(entry, checks_sites) || called.iter().any(|one| is_stale(one.entry, one.checks_sites)) {
                // A site has changed meanwhile.
                state.settled.remove(&entry);
                None
            } else {
                // SAFETY: the native code was made of this function.
                unsafe { take_over(code, function, self.gates.function, &entries) }
            };
        let untouched = state.untouched.remove(&entry);
        let unit = Unit {
            name,
            entry,
            original: untouched.or(original).unwrap_or_default(),
            marks: used,
            is_active: original.is_some(),
            code: Arc::downgrade(code),
            function,
            start,
            exits,
            in_place: called,
            checks_sites,
            block: compiled.block,
            _plans: compiled.plans,
            _known: known,
        };
        if original.is_none() {
            self.switch(&unit, false);
        }
        let place = piece.words.as_ptr() as usize;
        state.held += unit.block.size();
        state.units.insert(place, unit);
        state.of_module.entry(code.words.as_ptr() as usize).or_default().push(place);
        state.counted.code_bytes += size;
        Some(())
    }

    /// Whether the code at a function's entry is that of its instructions: not of a built-in function, not a
    /// breakpoint.
    fn is_plain(&self, entry: usize) -> bool {
        // SAFETY: the address is that of an instruction in code that is held.
        let present = unsafe { AtomicU64::from_ptr(entry as *mut Word) }.load(Ordering::Acquire);
        let present = match self.state.lock().untouched.get(&entry) {
            Some(original) if present == handler(first_call as Handler) => *original,
            _ => present,
        };
        let special: [Handler; 3] = [built_in::built_in_body, built_in::native_body, entry::missing_built_in];
        !special.iter().any(|one| handler(*one) == present)
    }

    /// Puts a unit's native code in place, or takes it away.
    fn switch(&self, unit: &Unit, on: bool) {
        let set = |address: usize, from: Word, to: Word| {
            // SAFETY: the address is that of an instruction in code that lives as long as the unit; engines read it by
            // atomic operations.
            let word = unsafe { AtomicU64::from_ptr(address as *mut Word) };
            let _ = word.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed);
        };
        for (mark, gate) in &unit.marks {
            let (from, to) = if on { (self.gates.passed, *gate) } else { (*gate, self.gates.passed) };
            set(*mark, from, to);
        }
        if on {
            set(unit.entry, unit.original, self.gates.function);
        } else {
            set(unit.entry, self.gates.function, unit.original);
        }
    }

    /// Counts that a process is in the function at an address, or returns to it.
    fn count(&self, address: *const Word) {
        let Some(code) = find_code(address).filter(|code| code.source.is_some()) else { return };
        let Some(function) = function_around(&code, address) else { return };
        let Some(entry) = entry_of(&code, function).map(|entry| entry as usize) else { return };
        let end = code.functions.get(function + 1).map_or(code.words.len() as u32, |(start, ..)| *start);
        let known = self.hot.get(&code.md5);
        let needed = match known.is_some_and(|known| known.contains(&(function as u32))) {
            true => KNOWN,
            false => HOT.max((end - code.functions[function].0) / WORDS_A_SAMPLE),
        };
        let mut state = self.state.lock();
        if let Some(known) = known {
            self.expect(&mut state, &code, known);
        }
        if let Some(waiting) = state.waiting.get_mut(&entry) {
            waiting.met += 1;
            return;
        }
        if state.settled.contains(&entry) {
            return;
        }
        let met = state.met.entry(entry).or_default();
        *met += 1;
        let met = *met;
        if met >= needed {
            state.met.remove(&entry);
            state.settled.insert(entry);
            state.waiting.insert(entry, Waiting { code, function, met });
            self.wake.notify_one();
        }
    }

    /// A module is met of which earlier runs have compiled these functions. They wait behind those that this run has
    /// met.
    fn expect(&self, state: &mut State, code: &Arc<ModuleCode>, known: &BTreeSet<u32>) {
        let met = state.in_use.entry(code.words.as_ptr() as usize).or_default();
        *met += 1;
        if *met != IN_USE {
            return;
        }
        for function in known.iter().map(|function| *function as usize) {
            let Some(entry) = entry_of(code, function) else { continue };
            if state.settled.insert(entry as usize) {
                state.met.remove(&(entry as usize));
                state.waiting.insert(entry as usize, Waiting { code: code.clone(), function, met: 0 });
            }
        }
        self.wake.notify_one();
    }

    /// In eager mode, a function is called for the first time.
    fn first_call(&self, address: *const Word) {
        let compiled = find_code(address).is_some_and(|code| {
            let function = (0..code.functions.len()).find(|index| entry_of(&code, *index) == Some(address));
            let mut files = self.files.lock();
            function.zip(files.of(&code)).is_some_and(|(function, linked)| self.compile(&code, linked, function))
        });
        if !compiled && let Some(original) = self.state.lock().untouched.remove(&(address as usize)) {
            // SAFETY: the address is that of an instruction of code that runs; the word was there before.
            unsafe { AtomicU64::from_ptr(address.cast_mut()) }.store(original, Ordering::Release);
        }
    }
}

/// The function of the code that an address of it belongs to.
fn function_around(code: &ModuleCode, address: *const Word) -> Option<usize> {
    let offset = ((address as usize - code.words.as_ptr() as usize) / size_of::<Word>()) as u32;
    code.functions.partition_point(|(start, ..)| *start <= offset).checked_sub(1)
}

/// Stands at the first instruction of a function that is compiled when it is called.
unsafe fn first_call(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    if let Some(engine) = part().engine.get() {
        engine.first_call(ip);
    }
    // SAFETY: another handler stands there now.
    unsafe { dispatch(ip, hp, e, reds, c) }
}

/// Goes on at an instruction in front of which native code has left so often that the engine ought to look at it.
pub(crate) unsafe fn left_often(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    if let Some(engine) = part().engine.get() {
        engine.have_reviewed();
    }
    // SAFETY: native code leaves at an instruction, with what its handler takes.
    unsafe { dispatch(ip, hp, e, reds, c) }
}

impl TakesOver for Engine {
    fn give_back(&self, code: &ModuleCode) {
        let mut state = self.state.lock();
        let State { units, of_module, settled, .. } = &mut *state;
        for place in of_module.get(&(code.words.as_ptr() as usize)).into_iter().flatten() {
            if let Some(unit) = units.get_mut(place).filter(|unit| unit.is_active) {
                unit.is_active = false;
                settled.remove(&unit.entry);
                self.switch(unit, false);
            }
        }
        let inside = code.words.as_ptr_range();
        let inside = inside.start as usize..inside.end as usize;
        let untouched: Vec<(usize, Word)> =
            state.untouched.iter().filter(|(entry, _)| inside.contains(entry)).map(|(e, w)| (*e, *w)).collect();
        for (entry, original) in untouched {
            state.untouched.remove(&entry);
            // SAFETY: as for `first_call`.
            unsafe { AtomicU64::from_ptr(entry as *mut Word) }.store(original, Ordering::Release);
        }
    }

    fn met(&self, places: [*const Word; 2]) {
        if self.mode != Mode::Hot {
            return;
        }
        if self.met.fetch_add(1, Ordering::Relaxed).is_multiple_of(REVIEWED) {
            self.have_reviewed();
        }
        places.into_iter().for_each(|address| self.count(address));
    }

    fn loaded(&self, code: &Arc<ModuleCode>) {
        if self.mode != Mode::Eager {
            return;
        }
        let entries = hold_entries();
        let mut state = self.state.lock();
        for function in 0..code.functions.len() {
            let Some(entry) = entry_of(code, function) else { continue };
            // SAFETY: the code is not in use yet, and the handler does what the function does.
            if let Some(original) = unsafe { take_over(code, function, handler(first_call as Handler), &entries) } {
                state.untouched.insert(entry as usize, original);
            }
        }
    }

    fn forget(&self, code: &ModuleCode) {
        let start = code.words.as_ptr() as usize;
        let inside = start..code.words.as_ptr_range().end as usize;
        let mut state = self.state.lock();
        if let Some(unit) = state.units.remove(&start) {
            state.held -= unit.block.size();
            unit.all_exits().for_each(|exits| exits.add_to(&mut state.counted.exits));
        }
        state.of_module.remove(&start);
        state.settled.retain(|entry| !inside.contains(entry));
        state.changed_sites.retain(|entry| !inside.contains(entry));
        state.met.retain(|entry, _| !inside.contains(entry));
        state.in_use.remove(&start);
        state.untouched.retain(|entry, _| !inside.contains(entry));
        state.waiting.retain(|_, waiting| waiting.code.words.as_ptr() as usize != start);
    }

    fn site_changed(&self, site: *const Word) {
        self.check_sites_at(site);
    }
}
