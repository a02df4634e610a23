//! `erlang:trace_pattern/2,3`: breakpoints on functions, and what they are for.

use parking_lot::RwLock;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use atoll_code::{Duty, ModuleCode, TracedFunction, breakpoint_at, traced_function};
use atoll_ets::match_spec::{Dialect, KeptProgram, Traced, compile};
use atoll_operations::list;
use atoll_process::{BuiltIn, Caller, Outcome, Own, Stopped, badarg};
use atoll_term::atoms::{LazyAtom, known_atom};
use atoll_term::{Build, Export, Term, Word, atoms};

use crate::trace_events;
use crate::trace_points::{CallTracing, Meta, Pattern, built_in, place_of};
use crate::tracers::{is_tracer, shown, tracer_of};

/// The tracing of calls in modules that a machine loads later.
#[derive(Default)]
pub struct OnLoad(RwLock<Option<CallTracing>>);

atoll_platform::part_of_machine!(OnLoad);

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("erts_debug", "breakpoint", 2, set_interpreted),
    BuiltIn::new("erts_internal", "trace_pattern", 3, trace_pattern),
];

static META: LazyAtom = LazyAtom::new("meta");
static WILDCARD: LazyAtom = LazyAtom::new("_");

/// What to do with a pattern.
#[derive(Clone)]
enum Change {
    Set(Arc<Pattern>),
    Clear,
    Restart,
    Pause,
}

impl Change {
    /// The pattern that is set.
    fn pattern(&self) -> Option<Arc<Pattern>> {
        match self {
            Change::Set(pattern) => Some(pattern.clone()),
            _ => None,
        }
    }
}

/// Which kinds of tracing a call of `trace_pattern` concerns.
#[derive(Default)]
struct Kinds {
    global: bool,
    local: bool,
    meta: Option<Term>,
    count: bool,
    time: bool,
}

fn kinds(caller: &Caller<'_>, flags: Term) -> Option<Kinds> {
    let mut kinds = Kinds::default();
    for flag in list::elements(flags)? {
        match flag.tuple_elements() {
            Some(&[key, pid]) if key == META.get() && is_tracer(pid) => kinds.meta = Some(pid),
            None if flag.is_atom() => match atoms::atom_name(flag) {
                "global" => kinds.global = true,
                "local" => kinds.local = true,
                "meta" => kinds.meta = Some(caller.process.pid),
                "call_count" => kinds.count = true,
                "call_time" => kinds.time = true,
                _ => return None,
            },
            Some(&[key, module, state]) if key == META.get() => kinds.meta = Some(tracer_of(module, state)?),
            _ => return None,
        }
    }
    let here = kinds.local || kinds.meta.is_some() || kinds.count || kinds.time;
    if kinds.global && here {
        return None;
    }
    kinds.global |= !here;
    Some(kinds)
}

fn change(caller: &mut Caller<'_>, specification: Term, traced: Traced) -> Option<Change> {
    Some(match specification {
        atoms::TRUE | Term::NIL => Change::Set(Arc::new(Pattern(None))),
        atoms::FALSE => Change::Clear,
        word if word.is_atom() => match atoms::atom_name(word) {
            "restart" => Change::Restart,
            "pause" => Change::Pause,
            _ => return None,
        },
        _ => {
            let compiled = compile(specification, Dialect::Trace(traced)).ok()?;
            Change::Set(Arc::new(Pattern(Some(KeptProgram::new(caller.heap(), specification, compiled)))))
        }
    })
}

/// Which functions are meant.
struct Selection {
    module: Option<Term>,
    name: Option<Term>,
    arity: Option<i64>,
}

fn selection(term: Term) -> Option<Selection> {
    let &[module, name, arity] = term.tuple_elements()? else { return None };
    let any = WILDCARD.get();
    if !(module.is_atom() && name.is_atom()) || module == any && name != any || name == any && arity != any {
        return None;
    }
    let arity = match arity {
        arity if arity == any => None,
        arity => Some(arity.as_small()?),
    };
    Some(Selection { module: (module != any).then_some(module), name: (name != any).then_some(name), arity })
}

impl Selection {
    fn accepts(&self, name: Term, arity: u8) -> bool {
        self.name.is_none_or(|wanted| wanted == name) && self.arity.is_none_or(|wanted| wanted == i64::from(arity))
    }

    /// The code that may hold such functions.
    fn modules(&self) -> Vec<Arc<ModuleCode>> {
        let names = match self.module {
            Some(module) => vec![module],
            None => atoll_code::loaded_modules(),
        };
        names.into_iter().filter_map(|name| atoll_code::module(name)?.current).collect()
    }
}

/// `trace_pattern(Functions, Specification, Flags)`: how many functions it concerns.
fn trace_pattern(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let &[functions, specification, flags] = arguments else { return Err(badarg()) };
    let word = atoms::name_if_atom(functions);
    if word == "on_load" {
        let kinds = kinds(caller, flags).ok_or_else(badarg)?;
        let change = change(caller, specification, Traced::Calls).ok_or_else(badarg)?;
        let mut kept = part().0.write();
        let mut tracing = kept.take().unwrap_or_default();
        tracing.global = kinds.global;
        if kinds.global {
            tracing.calls = change.pattern();
        } else {
            change_local(&mut tracing, &kinds, &change);
        }
        *kept = (!tracing.is_empty()).then_some(tracing);
        return Ok(Term::small(0));
    }
    if matches!(word, "send" | "receive") {
        let traced = if word == "send" { Traced::Sends } else { Traced::Receives };
        let choice = match change(caller, specification, traced).ok_or_else(badarg)? {
            Change::Set(pattern) => Some(pattern),
            Change::Clear => None,
            Change::Restart | Change::Pause => return Err(badarg()),
        };
        trace_events::set(caller, word == "send", choice);
        return Ok(Term::small(1));
    }
    let kinds = kinds(caller, flags).ok_or_else(badarg)?;
    let selection = selection(functions).ok_or_else(badarg)?;
    let change = change(caller, specification, Traced::Calls).ok_or_else(badarg)?;
    if matches!(change, Change::Restart | Change::Pause) && !(kinds.count || kinds.time) {
        return Err(badarg());
    }
    let _stopped = Stopped::or_again(caller.own, arguments)?;
    let modules = selection.modules();
    let count: i64 = modules.iter().map(|code| apply(&selection, &kinds, &change, code)).sum();
    let count = count + apply_to_built_ins(&selection, &kinds, &change, &modules);
    Ok(Term::small(count))
}

/// `erts_debug:breakpoint(Functions, Bool)`: how many functions it concerns.
fn set_interpreted(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let interpreted = match arguments[1] {
        atoms::TRUE => true,
        atoms::FALSE => false,
        _ => return Err(badarg()),
    };
    let selection = selection(arguments[0]).ok_or_else(badarg)?;
    let _stopped = Stopped::or_again(caller.own, arguments)?;
    let mut count = 0;
    for code in selection.modules() {
        for (index, (_, name, arity)) in code.functions.iter().enumerate() {
            if selection.accepts(*name, *arity) && built_in(code.module, *name, *arity).is_none() {
                set_local(&code, index, |tracing| tracing.interpreted = interpreted);
                count += 1;
            }
        }
    }
    Ok(Term::small(count))
}

/// The functions of this code are traced no more.
fn untrace(asker: &mut Own, code: &ModuleCode) {
    let is_traced = |index: &usize| atoll_code::entry_of(code, *index).is_some_and(|at| breakpoint_at(at).is_some());
    let traced: Vec<usize> = (0..code.functions.len()).filter(is_traced).collect();
    if !traced.is_empty() {
        let _stopped = Stopped::after_others(Some(asker));
        traced.into_iter().for_each(|index| atoll_code::set_breakpoint(code, index, None));
    }
}

/// Nor are calls through the exports of this code, which is current.
fn untrace_exports(code: &ModuleCode) {
    for (function, arity, offset) in &code.exports {
        let export = atoll_code::registry().existing_export(code.module, *function, *arity);
        let traced = export.filter(|export| breakpoint_at(atoll_code::export_key(export)).is_some());
        if let Some(export) = traced.filter(|_| built_in(code.module, *function, *arity).is_none()) {
            set_global(traced_function(code.module, *function, *arity), code.address(*offset), export, None);
        }
    }
}

/// New code of a module waits for its `on_load` function: the present code is traced no more, whatever comes of that.
pub fn waits_for_on_load(asker: &mut Own, module: Term) {
    if let Some(code) = atoll_code::module(module).and_then(|module| module.current) {
        untrace(asker, &code);
        untrace_exports(&code);
    }
}

/// Code that was replaced is traced no more.
fn forget_replaced(asker: &mut Own, module: Term) {
    let Some(versions) = atoll_code::module(module) else { return };
    if let Some(old) = versions.old {
        untrace(asker, &old);
    }
    if let Some(code) = versions.current {
        untrace_exports(&code);
    }
}

/// A module was deleted: its code, which is old now, is traced no more.
pub fn deleted(asker: &mut Own, module: Term) {
    forget_replaced(asker, module);
}

/// Code of a module was loaded: its functions are traced as was asked for (`trace_pattern(on_load, ...)`).
pub fn loaded(asker: &mut Own, module: Term) {
    forget_replaced(asker, module);
    let Some(wanted) = part().0.read().clone() else { return };
    let Some(code) = atoll_code::module(module).and_then(|module| module.current) else { return };
    let selection = Selection { module: Some(module), name: None, arity: None };
    let _stopped = Stopped::after_others(Some(asker));
    let set = |kinds: Kinds, pattern: Option<Arc<Pattern>>| {
        let pattern = pattern.unwrap_or_else(|| Arc::new(Pattern(None)));
        apply(&selection, &kinds, &Change::Set(pattern), &code);
    };
    let none = Kinds::default;
    if wanted.calls.is_some() {
        set(Kinds { global: wanted.global, local: !wanted.global, ..none() }, wanted.calls);
    }
    if let Some(Meta { pattern, tracer, .. }) = wanted.meta {
        set(Kinds { meta: Some(tracer), ..none() }, Some(pattern));
    }
    if wanted.count.is_some() || wanted.time.is_some() {
        set(Kinds { count: wanted.count.is_some(), time: wanted.time.is_some(), ..none() }, None);
    }
}

/// Applies a change to the functions of a module; the world is stopped. Returns how many there were.
fn apply(selection: &Selection, kinds: &Kinds, change: &Change, code: &ModuleCode) -> i64 {
    let mut count = 0;
    for (index, (_, name, arity)) in code.functions.iter().enumerate() {
        let Some(entry) = atoll_code::entry_of(code, index) else { continue };
        let export = atoll_code::registry().existing_export(code.module, *name, *arity);
        let is_exported = code.exports.iter().any(|(exported, own, _)| exported == name && own == arity);
        let is_built_in = built_in(code.module, *name, *arity).is_some();
        if !selection.accepts(*name, *arity) || is_built_in {
            continue;
        }
        if kinds.global {
            if matches!(change, Change::Set(_)) {
                // What is traced through its export is traced in no other way, and what has none not at all.
                set_local(code, index, |tracing| *tracing = CallTracing::default());
            }
            if is_exported {
                count += 1;
                if let Some(export) = export {
                    set_global(traced_function(code.module, *name, *arity), entry, export, change.pattern());
                }
            }
            continue;
        }
        count += 1;
        if let (Some(export), Change::Set(_)) = (export, change) {
            set_global(traced_function(code.module, *name, *arity), entry, export, None);
        }
        set_local(code, index, |tracing| change_local(tracing, kinds, change));
    }
    count
}

/// Applies a change to built-in functions; the world is stopped. Returns how many there were.
fn apply_to_built_ins(selection: &Selection, kinds: &Kinds, change: &Change, modules: &[Arc<ModuleCode>]) -> i64 {
    let all_count = !atoll_code::is_loaded(known_atom("init"));
    let mut changes = Vec::new();
    let mut count = 0;
    for (module, function, arity) in atoll_code::registry().built_in_names() {
        if !selection.accepts(function, arity) || selection.module.is_some_and(|wanted| wanted != module) {
            continue;
        }
        // A native function need not be exported by its module, and there is none while its module is not loaded. Where
        // libraries are loaded when they are called first, without OTP's `init`, all count as loaded.
        let code = modules.iter().find(|code| code.module == module);
        let is_one = |own: &Term, own_arity: u8| *own == function && own_arity == arity;
        let is_there = code.map_or(all_count, |code| code.functions.iter().any(|(_, own, arity)| is_one(own, *arity)));
        let is_exported = code.is_none_or(|code| code.exports.iter().any(|(own, arity, _)| is_one(own, *arity)));
        if !is_there || kinds.global && !is_exported {
            continue;
        }
        count += 1;
        let Some(export) = built_in(module, function, arity) else { continue };
        let old = breakpoint_at(atoll_code::export_key(export));
        let mut tracing = old.as_ref().and_then(CallTracing::of).cloned().unwrap_or_default();
        match (kinds.global, change) {
            (true, Change::Set(pattern)) => {
                tracing = CallTracing { calls: Some(pattern.clone()), global: true, ..CallTracing::default() };
            }
            (true, _) if tracing.global => tracing = CallTracing::default(),
            (true, _) => {}
            (false, Change::Set(_)) => {
                if std::mem::take(&mut tracing.global) {
                    tracing.calls = None;
                }
                change_local(&mut tracing, kinds, change);
            }
            (false, _) if tracing.global => {}
            (false, _) => change_local(&mut tracing, kinds, change),
        }
        if old.is_some() || !tracing.is_empty() {
            changes.push((export, (!tracing.is_empty()).then(|| Arc::new(tracing) as Duty)));
        }
    }
    atoll_code::set_built_in_breakpoints(changes);
    count
}

fn change_local(tracing: &mut CallTracing, kinds: &Kinds, change: &Change) {
    let set = change.pattern();
    if kinds.local {
        tracing.calls.clone_from(&set);
    }
    if let Some(pid) = kinds.meta {
        tracing.meta = set.clone().map(|pattern| Meta { pattern, tracer: pid, gone: Arc::default() });
    }
    if kinds.count {
        match (change, &tracing.count) {
            (Change::Set(_), _) => tracing.count = Some(Arc::default()),
            (Change::Clear, _) => tracing.count = None,
            (Change::Restart, Some(count)) => count.restart(),
            (Change::Pause, Some(count)) => count.pause(),
            _ => {}
        }
    }
    if kinds.time {
        match (change, &tracing.time) {
            (Change::Set(_), _) => tracing.time = Some(Arc::default()),
            (Change::Clear, _) => tracing.time = None,
            (Change::Restart, Some(times)) => times.clear(),
            (Change::Pause, Some(times)) => times.pause(),
            _ => {}
        }
    }
}

fn set_local(code: &ModuleCode, index: usize, change: impl FnOnce(&mut CallTracing)) {
    let old = atoll_code::entry_of(code, index).and_then(breakpoint_at);
    let mut tracing = old.as_ref().and_then(CallTracing::of).cloned().unwrap_or_default();
    change(&mut tracing);
    if old.is_some() || !tracing.is_empty() {
        let duty = (!tracing.is_empty()).then(|| Arc::new(tracing) as Duty);
        atoll_code::set_breakpoint(code, index, duty);
    }
}

fn set_global(
    function: &'static TracedFunction,
    entry: *const Word,
    export: &'static Export,
    calls: Option<Arc<Pattern>>,
) {
    let duty =
        calls.map(|calls| Arc::new(CallTracing { calls: Some(calls), global: true, ..CallTracing::default() }) as Duty);
    atoll_code::set_export_breakpoint(export, entry, function, duty);
}

/// `trace_info({M, F, A}, Item)`
pub fn function_info(caller: &mut Caller<'_>, function: (Term, Term, Term), item: Term) -> Outcome {
    let (module, function, arity) = function;
    let well_formed = module.is_atom() && function.is_atom() && item.is_atom();
    let arity = arity.as_small().filter(|_| well_formed).ok_or_else(badarg)?;
    let Ok(arity) = u8::try_from(arity) else { return Ok(caller.heap().tuple(&[item, atoms::UNDEFINED])) };
    let place = place_of(module, function, arity);
    let is_built_in = built_in(module, function, arity).is_some();
    let export = atoll_code::registry().existing_export(module, function, arity);
    let global = export.filter(|_| !is_built_in).and_then(|export| breakpoint_at(atoll_code::export_key(export)));
    let local = place.and_then(breakpoint_at);
    if place.is_none() {
        return Ok(caller.heap().tuple(&[item, atoms::UNDEFINED]));
    }
    let (local, is_global) = match (&local, &global) {
        (_, Some(point)) => (CallTracing::of(point), true),
        (Some(point), None) => {
            let tracing = CallTracing::of(point);
            (tracing, tracing.is_some_and(|tracing| tracing.global))
        }
        (None, None) => (None, false),
    };
    let tracing = local.cloned().unwrap_or_default();
    describe(caller, &tracing, is_global, item)
}

/// `trace_info(on_load, Item)`
pub fn on_load_info(caller: &mut Caller<'_>, item: Term) -> Outcome {
    if !item.is_atom() {
        return Err(badarg());
    }
    let tracing = part().0.read().clone().unwrap_or_default();
    describe(caller, &tracing, tracing.global, item)
}

fn describe(caller: &mut Caller<'_>, tracing: &CallTracing, is_global: bool, item: Term) -> Outcome {
    let value = match atoms::atom_name(item) {
        "all" if !tracing.is_untraced() => {
            let words = ["traced", "match_spec", "meta", "meta_match_spec", "call_time", "call_count"];
            let mut pairs = Vec::new();
            for word in words {
                let value = info_item(caller, tracing, is_global, word).ok_or_else(badarg)?;
                // Without a meta tracer the item `meta` is `[]` when a program asks for it alone.
                let value = if value.is_nil() && word == "meta" { atoms::FALSE } else { value };
                pairs.push(caller.heap().tuple(&[known_atom(word), value]));
            }
            caller.heap().list(pairs)
        }
        _ if tracing.is_untraced() => atoms::FALSE,
        word => info_item(caller, tracing, is_global, word).ok_or_else(badarg)?,
    };
    Ok(caller.heap().tuple(&[item, value]))
}

fn info_item(caller: &mut Caller<'_>, tracing: &CallTracing, is_global: bool, item: &str) -> Option<Term> {
    let specification = |caller: &mut Caller<'_>, pattern: &Pattern| match &pattern.0 {
        Some(kept) => crate::copy::copy(*kept.specification(), caller.heap()),
        None => Term::NIL,
    };
    Some(match item {
        "traced" => match &tracing.calls {
            Some(_) if is_global => known_atom("global"),
            Some(_) => known_atom("local"),
            None => atoms::FALSE,
        },
        "match_spec" => match &tracing.calls {
            Some(pattern) => specification(caller, pattern),
            None => atoms::FALSE,
        },
        "meta" => match &tracing.meta {
            Some(meta) if !meta.gone.load(Ordering::Relaxed) => shown(caller.heap(), meta.tracer),
            _ => Term::NIL,
        },
        "meta_match_spec" => match &tracing.meta {
            Some(meta) => specification(caller, &meta.pattern),
            None => atoms::FALSE,
        },
        "call_count" => match &tracing.count {
            Some(count) => caller.heap().integer(count.value() as i64),
            None => atoms::FALSE,
        },
        "call_time" => match &tracing.time {
            Some(times) => times.term(caller.heap()),
            None => atoms::FALSE,
        },
        "call_memory" => atoms::FALSE,
        _ => return None,
    })
}
