//! The message analysis: which allocation sites of a module build what becomes a message.
//!
//! Wilhelmsson's thesis (2002, section 5) and Johansson, Sagonas and Wilhelmsson (2002, section 5) want the message
//! area of the hybrid heap to be filled by an escape analysis, which says of each place that allocates whether its
//! objects become messages, stay in their process, or may do either. This is one for BEAM code: it reads the loader's
//! instructions from the end of each function to its beginning and keeps for each register what becomes of the object
//! in it ([`Fate`]). Functions of a module have summaries, so the analysis follows objects through calls; summaries of
//! other modules may be given. `docs/decisions/message-analysis.md` defines it.

#![deny(clippy::dbg_macro, clippy::print_stderr, clippy::print_stdout)]
#![forbid(unsafe_code)]

mod blocks;
mod fate;
mod graph;
mod line;
mod rules;
mod state;
mod transfer;

pub use fate::{Fate, Ways};
pub use line::line_of;
pub use transfer::{Kind, Outside};

use atoll_loader::{AtomIndex, Instruction, Module};

use blocks::Block;
use graph::Graph;
use rules::UNKNOWN;
use state::{Labels, State};
use transfer::{Born, Edge, Findings, Summaries, Walk};

/// What the analysis says of an allocation site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verdict {
    /// No object of the site leaves its process, in whatever way.
    Never,
    /// Objects of the site may leave their process.
    Perhaps,
    /// Each object of the site is sent, stored or handed to a new process, unless an exception comes first.
    Always,
}

/// An allocation site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// Index of the instruction in [`Module::code`].
    pub index: u32,
    /// Index of its function in [`Module::functions`].
    pub function: u32,
    /// What is built.
    pub kind: Kind,
    /// Ways by which an object of the site may leave its process.
    pub ways: Ways,
    /// What follows from that.
    pub verdict: Verdict,
    /// `Always`, or would be if its exported functions had no callers but those of the module.
    pub likely: bool,
    /// The object may go from one round of a recursion to the next, as what accumulates a list does: terms that are
    /// built so are seldom short.
    pub grows: bool,
}

/// The fates of a function's arguments, which its callers are told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary(Box<[Fate]>);

impl Summary {
    /// By argument.
    pub fn arguments(&self) -> &[Fate] {
        &self.0
    }
}

/// Summaries of other modules' functions, by module, name and arity.
pub type Others<'o> = dyn Fn(&str, &str, u8) -> Option<&'o Summary> + 'o;

/// The result of the analysis of one module.
#[derive(Clone, Debug, Default)]
pub struct Analysis {
    /// All sites, in the order of the code.
    pub sites: Vec<Site>,
    summaries: Summaries,
}

impl Analysis {
    /// The site at an instruction.
    pub fn site(&self, index: u32) -> Option<&Site> {
        self.sites.binary_search_by_key(&index, |site| site.index).ok().map(|place| &self.sites[place])
    }

    /// The summary of a function of this module, by its index in [`Module::functions`].
    pub fn summary(&self, module: &Module, function: usize) -> Summary {
        Summary(self.summaries.of(function as u32, module.functions[function].arity).into())
    }
}

/// Analyses a module without knowledge of others. `is_built_in` tells of functions of this module, by name and arity,
/// for which the machine runs code of its own.
pub fn analyse(module: &Module, is_built_in: impl Fn(&str, u8) -> bool) -> Analysis {
    analyse_among(module, is_built_in, &|_, _, _| None)
}

/// As [`analyse`], of those functions alone that have to do with places where something leaves: the sites elsewhere are
/// not in the result, and none of them is `Always` or likely.
pub fn analyse_messages(module: &Module, is_built_in: impl Fn(&str, u8) -> bool) -> Analysis {
    let is_exit = exit_test(module);
    let mut near = Vec::new();
    for (index, function) in module.functions.iter().enumerate() {
        for instruction in &module.code[function.start as usize..function.end as usize] {
            if is_exit(instruction) {
                near.push(index as u32);
                break;
            }
        }
    }
    if near.is_empty() {
        return Analysis::default();
    }
    verdicts(prepare(module, &|_, _, _| None), &is_built_in, Some(&near))
}

/// As [`analyse`], with summaries of the functions that the module calls. The result holds for as long as the functions
/// that it was told of are those that run.
pub fn analyse_among(module: &Module, is_built_in: impl Fn(&str, u8) -> bool, others: &Others<'_>) -> Analysis {
    verdicts(prepare(module, others), &is_built_in, None)
}

fn verdicts(mut walk: Walk<'_, '_>, is_built_in: &dyn Fn(&str, u8) -> bool, near: Option<&[u32]>) -> Analysis {
    let results = run(&mut walk, is_built_in, near);
    let verdict = |site: &Born<Kind>| {
        let fate = site.fate.seen_by_caller(results[site.function as usize]);
        let ways = fate.ways();
        let likely = ways.meets(Ways::SENT | Ways::SPAWNED | Ways::STORED) && fate.is_certain();
        let verdict = match () {
            () if ways.is_empty() => Verdict::Never,
            () if likely && !ways.meets(Ways::RETURNED) => Verdict::Always,
            () => Verdict::Perhaps,
        };
        Site { index: site.index, function: site.function, kind: site.what, ways, verdict, likely, grows: fate.grows() }
    };
    let mut sites: Vec<Site> = walk.findings.sites.iter().map(verdict).collect();
    sites.sort_unstable_by_key(|site| site.index);
    Analysis { sites, summaries: walk.summaries }
}

/// Where the parts of what leaves at one place come into being.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Births {
    /// Allocation sites of the module: indices of the instructions.
    pub sites: Vec<u32>,
    /// What no instruction of the module builds: the instruction where it comes from.
    pub outside: Vec<(u32, Outside)>,
    /// Arguments of functions that other modules call: the function's index, and the argument from 0.
    pub arguments: Vec<(u32, u8)>,
}

/// The places where something leaves its process: indices of sends, and of calls of functions that send, store or
/// spawn.
pub fn exits(module: &Module) -> Vec<u32> {
    let is_exit = exit_test(module);
    (0..module.code.len() as u32).filter(|index| is_exit(&module.code[*index as usize])).collect()
}

fn exit_test(module: &Module) -> impl Fn(&Instruction) -> bool {
    let leaves = |import: &atoll_loader::Import| {
        let rule = rules::rule(module.atom(import.module), module.atom(import.name), import.arity);
        rule.is_some_and(|fates| fates.iter().any(|fate| fate.all_ways().meets(Ways::LEAVING)))
    };
    let leaving: Vec<bool> = module.imports.iter().map(leaves).collect();
    move |instruction| match instruction {
        Instruction::Send => true,
        Instruction::CallExt { target, .. }
        | Instruction::CallExtOnly { target, .. }
        | Instruction::CallExtLast { target, .. } => leaving[target.0 as usize],
        _ => false,
    }
}

/// Traces what leaves at an instruction (one of [`exits`]) back to where it comes from. Analyses the module again.
pub fn births(module: &Module, exit: u32, others: &Others<'_>) -> Births {
    let mut walk = prepare(module, others);
    walk.traced = Some(exit);
    let results = run(&mut walk, &|_, _| false, None);
    let seen = |fate: Fate, function: u32| fate.seen_by_caller(results[function as usize]);
    let mut births = Births::default();
    for site in &walk.findings.sites {
        if seen(site.fate, site.function).top_is_traced() {
            births.sites.push(site.index);
        }
    }
    for origin in &walk.findings.origins {
        if seen(origin.fate, origin.function).is_traced() {
            births.outside.push((origin.index, origin.what));
        }
    }
    // Of a fun's body only its own arguments: what its environment holds is traced to where the fun is made.
    let exported = module.exports.iter().map(|export| (export.label, export.arity));
    let bodies = module.lambdas.iter().map(|lambda| (lambda.label, lambda.arity.saturating_sub(lambda.free as u8)));
    for (label, given) in exported.chain(bodies) {
        let function = walk.summaries.entered[label.0 as usize];
        let arity = module.functions.get(function as usize).map_or(0, |function| function.arity);
        for argument in 0..given.min(arity) {
            if seen(walk.summaries.of(function, arity)[usize::from(argument)], function).is_traced() {
                births.arguments.push((function, argument));
            }
        }
    }
    births.sites.sort_unstable();
    births.outside.sort_unstable_by_key(|(index, _)| *index);
    births.arguments.sort_unstable();
    births.arguments.dedup();
    births
}

fn prepare<'m, 'o>(module: &'m Module, others: &Others<'o>) -> Walk<'m, 'o> {
    let rule = |import: &atoll_loader::Import| {
        let (owner, name) = (module.atom(import.module), module.atom(import.name));
        let known = rules::rule(owner, name, import.arity);
        known.or_else(|| others(owner, name, import.arity).map(Summary::arguments))
    };
    let summaries = Summaries { entered: Vec::new(), starts: Vec::new(), fates: Vec::new() };
    Walk {
        module,
        rules: module.imports.iter().map(rule).collect(),
        summaries,
        groups: vec![0; module.functions.len()],
        labels: Labels::new(module.labels.len()),
        state: State::default(),
        findings: Findings::default(),
        traced: None,
        function: 0,
    }
}

/// Finds summaries, callees first; the fate of each function's result. `near`: only what has to do with these.
fn run(walk: &mut Walk<'_, '_>, is_built_in: &dyn Fn(&str, u8) -> bool, near: Option<&[u32]>) -> Vec<Fate> {
    let module = walk.module;
    let mut graph = Graph::of(module);
    graph.handlers.iter().for_each(|label| walk.labels.handle(*label));
    let wanted = near.map(|near| graph.around(near.iter().copied()));
    let is_wanted = |function: u32| wanted.as_ref().is_none_or(|wanted| wanted[function as usize]);
    let mut fates = Vec::new();
    for (index, function) in module.functions.iter().enumerate() {
        let name = |atom: AtomIndex| module.atom(atom);
        let built_in = is_wanted(index as u32) && is_built_in(name(function.name), function.arity);
        let replaced = built_in || graph.replaceable[index];
        graph.replaceable[index] = replaced;
        walk.summaries.starts.push(fates.len() as u32);
        let first = if replaced { UNKNOWN } else { Fate::UNREACHED };
        fates.extend(std::iter::repeat_n(first, function.arity.into()));
        // The machine's own functions mean the same inside of their module.
        if built_in && let Some(rule) = rules::rule(module.name(), name(function.name), function.arity) {
            let start = fates.len() - usize::from(function.arity);
            fates[start..].copy_from_slice(rule);
        }
    }
    walk.summaries.fates = fates;
    walk.summaries.entered = std::mem::take(&mut graph.entered);
    // When a function was walked over last, and when its summary changed last.
    let mut times = vec![(0, 0); module.functions.len()];
    let mut now = 0;
    let mut plans = vec![Plan::default(); module.functions.len()];
    let mut number = 0;
    graph.each_group(|group, calls_itself| {
        number += 1;
        group.iter().for_each(|function| walk.groups[*function as usize] = number);
        // Functions that call each other are wanted all or none.
        let mut again = is_wanted(group[0]);
        while again {
            again = false;
            // The group begins with the function that was met first, so callees tend to stand behind.
            for &function in group.iter().rev() {
                let walked = times[function as usize].0;
                if walked > 0 && !graph.calls(function).iter().any(|callee| times[*callee as usize].1 >= walked) {
                    continue;
                }
                now += 1;
                walk.findings.walk = now;
                times[function as usize].0 = now;
                if pass(walk, &graph, &mut plans[function as usize], function) {
                    times[function as usize].1 = now;
                    again = calls_itself;
                }
            }
        }
    });
    walk.findings.keep_last(|function| times[function as usize].0);
    results(walk, &graph, &is_wanted)
}

/// What one walk over a function leaves for the next one.
#[derive(Clone, Debug, Default)]
struct Plan {
    /// If it jumps back.
    order: Option<Vec<Block>>,
    caught: Vec<Fate>,
}

/// Walks over a function until its labels' states do not change. Whether its summary has changed.
fn pass(walk: &mut Walk<'_, '_>, graph: &Graph, plan: &mut Plan, function: u32) -> bool {
    let Walk { module, .. } = *walk;
    let about = &module.functions[function as usize];
    let (start, end) = (about.start as usize, about.end as usize);
    let entry = module.position(about.entry);
    walk.function = function;
    walk.labels.begin();
    walk.state.begin(graph.trims[function as usize], std::mem::take(&mut plan.caught));
    let before = walk.findings.counts();
    loop {
        walk.findings.cut(before);
        walk.labels.pass();
        // Where no clause matches stands in front of what leads there.
        walk.state.raise();
        walk.walk(start..entry);
        match &plan.order {
            None => {
                walk.state.raise();
                walk.walk(entry..end);
            }
            Some(blocks) => blocks.iter().for_each(|block| walk.block(block)),
        }
        if !walk.labels.has_changed() {
            break;
        }
        // Code that jumps back is walked over in an order in which what follows comes first.
        plan.order.get_or_insert_with(|| blocks::in_order(module, entry..end));
    }
    plan.caught = walk.state.end();
    if graph.replaceable[function as usize] {
        return false;
    }
    let summary = walk.summaries.starts[function as usize] as usize;
    let mut changed = false;
    for argument in 0..usize::from(about.arity) {
        let fate = walk.state.x(argument);
        let place = &mut walk.summaries.fates[summary + argument];
        changed |= *place != fate;
        *place = fate;
    }
    changed
}

/// What becomes of each function's result, from callers to callees.
fn results(walk: &Walk<'_, '_>, graph: &Graph, is_wanted: &dyn Fn(u32) -> bool) -> Vec<Fate> {
    let module = walk.module;
    let mut results = vec![Fate::UNREACHED; module.functions.len()];
    let mut is_called = vec![false; module.functions.len()];
    for edge in &walk.findings.edges {
        is_called[edge.callee as usize] = true;
    }
    let mut return_elsewhere = |function: usize| {
        if let Some(result) = results.get_mut(function) {
            // Where the module has callers of its own, what is certain is said of those.
            *result = if is_called[function] { Fate::certainly(Ways::RETURNED) } else { Fate::perhaps(Ways::RETURNED) };
        }
    };
    let exported = module.exports.iter().map(|export| export.label);
    let callable = exported.chain(module.lambdas.iter().map(|lambda| lambda.label)).chain(module.on_load);
    callable.for_each(|label| return_elsewhere(walk.summaries.entered[label.0 as usize] as usize));
    let replaceable = graph.replaceable.iter().enumerate().filter(|(_, replaceable)| **replaceable);
    replaceable.for_each(|(function, _)| return_elsewhere(function));
    // Functions that were left out send nothing of what they call for.
    for function in (0..module.functions.len() as u32).filter(|function| !is_wanted(*function)) {
        for callee in graph.calls(function) {
            results[*callee as usize] = results[*callee as usize].or(Fate::DEAD);
        }
    }
    loop {
        let mut changed = false;
        for Edge { caller, callee, result, .. } in walk.findings.edges.iter().rev() {
            let place = results[*callee as usize];
            let sum = place.or(result.seen_by_caller(results[*caller as usize]));
            changed |= sum != place;
            results[*callee as usize] = sum;
        }
        if !changed {
            return results;
        }
    }
}
