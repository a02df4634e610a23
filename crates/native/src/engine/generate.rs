//! What is generated for a function: its own code, and copies of short functions that it calls.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use atoll_code::{Linked, ModuleCode, TranslatedFunction, entry_of};

use super::Engine;
use crate::compile::{Compiled, Piece, Source};
use crate::exits::Exits;
use crate::flow::{Flow, Head};
use crate::ways::{reason, way};

/// A function of which native code of another has a copy.
pub(super) struct CalledInPlace {
    /// Address of its first instruction for the first engine.
    pub(super) entry: usize,
    /// Index of its first instruction in the file.
    pub(super) start: usize,
    pub(super) exits: Exits,
    /// Native code looks at its allocation sites.
    pub(super) checks_sites: bool,
}

/// What native code has of a function that it calls in place.
pub(super) struct CodeInPlace {
    pub(super) function: usize,
    pub(super) made: TranslatedFunction,
    pub(super) general: HashSet<usize>,
    pub(super) called: CalledInPlace,
}

/// Native code of a function before it is put in place.
pub(crate) struct Generated {
    /// Index of the function's first instruction in the file.
    pub(super) start: usize,
    /// Index of the first instruction behind its entry's label.
    pub(super) first: usize,
    /// Its regions.
    pub(crate) heads: BTreeMap<usize, Head>,
    pub(super) made: TranslatedFunction,
    /// For each head but the first: its mark in `made`.
    pub(super) marks: BTreeMap<usize, u32>,
    pub(super) exits: Exits,
    pub(super) in_place: Vec<CodeInPlace>,
    /// It looks at the function's allocation sites.
    pub(super) checks_sites: bool,
    pub(crate) compiled: Compiled,
}

fn exits_of(flow: &Flow<'_>) -> Exits {
    Exits::new((flow.start..flow.end).map(|index| reason(flow.instruction(index), flow.way(index))))
}

impl Engine {
    /// Generates a function's native code. `None`: it stays with the first engine. `all`: also code that would win
    /// little.
    pub(crate) fn generate(
        &self,
        code: &Arc<ModuleCode>,
        linked: &Linked,
        function: usize,
        all: bool,
    ) -> Option<Generated> {
        let entry = entry_of(code, function)? as usize;
        let mut compiler = self.compiler.lock();
        let settings = compiler.settings;
        let flow = Flow::new(linked, function, all, settings.exits, |instruction| {
            way(linked, settings, self.lend_builds, instruction)
        })?;
        let marked: Vec<u32> =
            flow.heads.iter().filter(|(_, kind)| **kind != Head::Function).map(|(index, _)| *index as u32).collect();
        let made = self.translator.translate_function(linked, code, function, &marked);
        let marks: BTreeMap<usize, u32> = marked.iter().map(|index| *index as usize).zip(made.marks.clone()).collect();
        let exits = exits_of(&flow);
        let general = self.general(entry);
        let is_called = |callee: &usize| {
            let flow = Flow::new(linked, *callee, true, settings.exits, |instruction| {
                way(linked, settings, self.lend_builds, instruction)
            })?;
            let entry =
                entry_of(code, *callee).filter(|entry| flow.is_leaf() && self.is_plain(*entry as usize))? as usize;
            let made = self.translator.translate_function(linked, code, *callee, &[]);
            let checks_sites = self.checks_sites(entry);
            let called = CalledInPlace { entry, start: flow.start, exits: exits_of(&flow), checks_sites };
            Some((flow, CodeInPlace { function: *callee, made, general: self.general(entry), called }))
        };
        let (flows, in_place): (Vec<Flow<'_>>, Vec<CodeInPlace>) = flow.called().iter().filter_map(is_called).unzip();
        let none = BTreeMap::new();
        let Flow { start, entry: first, heads, .. } = &flow;
        let (start, first, heads) = (*start, *first, heads.clone());
        let words = made.words.as_ptr();
        let checks_sites = self.checks_sites(entry);
        let mut sources = vec![Source {
            flow,
            piece: Piece {
                parent: code,
                words,
                places: &made.places,
                exits: &exits.counts,
                general: &general,
                marks: &marks,
                checks_sites,
            },
        }];
        sources.extend(flows.into_iter().zip(&in_place).map(|(flow, CodeInPlace { made, general, called, .. })| {
            Source {
                flow,
                piece: Piece {
                    parent: code,
                    words: made.words.as_ptr(),
                    places: &made.places,
                    exits: &called.exits.counts,
                    general,
                    marks: &none,
                    checks_sites: called.checks_sites,
                },
            }
        }));
        let compiled = compiler.compile(&sources)?;
        drop(sources);
        Some(Generated { start, first, heads, made, marks, exits, in_place, checks_sites, compiled })
    }

    /// Instructions of a function that are made for all types.
    fn general(&self, entry: usize) -> HashSet<usize> {
        self.state.lock().general.get(&entry).cloned().unwrap_or_default()
    }
}
