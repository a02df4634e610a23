//! From specifications to programs.

use std::collections::BTreeMap;

use atoll_operations::list;
use atoll_term::{Term, View, atoms, map, text};

use super::expression::{Expressions, compile_expressions};
use super::{Clause, Compiled, Dialect, Operation, PatternOperation, Program};
use crate::partial::variable;

/// What is the same for all clauses: constants, and the faults found.
pub(super) struct Context {
    pub(super) dialect: Dialect,
    pub(super) constants: Vec<Term>,
    pub(super) faults: Vec<String>,
}

impl Context {
    pub(super) fn constant(&mut self, term: Term) -> usize {
        self.constants.push(term);
        self.constants.len() - 1
    }

    pub(super) fn fault(&mut self, message: impl Into<String>) {
        self.faults.push(message.into());
    }

    /// A fault with the term that it is about.
    pub(super) fn fault_in(&mut self, term: Term, message: impl FnOnce(String) -> String) {
        let shown = text::to_string(term);
        self.faults.push(message(shown));
    }
}

/// Compiles a specification.
///
/// # Errors
/// What is wrong with it, in the words of OTP.
pub fn compile(specification: Term, dialect: Dialect) -> Result<Compiled, Vec<String>> {
    let mut context = Context { dialect, constants: Vec::new(), faults: Vec::new() };
    let Some(parts) = list::elements(specification) else {
        let kind = if specification.is_cons() { "proper list" } else { "list" };
        return Err(vec![format!("Match programs are not in a {kind}.")]);
    };
    let Some(parts) = parts.iter().map(triple).collect::<Option<Vec<_>>>() else {
        return Err(vec!["Match program part is not a tuple of arity 3.".into()]);
    };
    let clauses = parts.iter().map(|[head, guards, body]| clause(&mut context, *head, *guards, *body)).collect();
    if context.faults.is_empty() {
        Ok(Compiled { program: Program { clauses, dialect }, constants: context.constants })
    } else {
        Err(context.faults)
    }
}

/// The head, guards and body of a clause.
fn triple(part: &Term) -> Option<&[Term; 3]> {
    part.tuple_elements().and_then(|elements| elements.try_into().ok())
}

fn clause(context: &mut Context, head: Term, guards: Term, body: Term) -> Clause {
    let (pattern, places) = pattern(context, head);
    let expressions = |context: &mut Context, list: Term, use_of: Expressions| -> Vec<Operation> {
        match list::elements(list) {
            Some(elements)
                if elements.is_empty() && use_of == Expressions::Body && context.dialect == Dialect::Table =>
            {
                context.fault("Body clause does not return anything.");
                Vec::new()
            }
            Some(elements) => compile_expressions(context, &places, &elements, use_of),
            None if list.is_cons() => {
                context.fault("Match expression is not a proper list.");
                Vec::new()
            }
            None if use_of == Expressions::Body => {
                context.fault("Body clause does not return anything.");
                Vec::new()
            }
            None => {
                context.fault("Match expression is not a list.");
                Vec::new()
            }
        }
    };
    let guards = expressions(context, guards, Expressions::Guards);
    let body = expressions(context, body, Expressions::Body);
    Clause { pattern, guards, body, variables: places.into_values().collect() }
}

/// The steps of a pattern, and the places of its variables by their numbers.
fn pattern(context: &mut Context, head: Term) -> (Vec<PatternOperation>, BTreeMap<u32, usize>) {
    let mut operations = Vec::new();
    let mut places = BTreeMap::new();
    let mut pending = vec![head];
    while let Some(term) = pending.pop() {
        let operation = match term.view() {
            View::Atom(atoms::UNDERSCORE) => PatternOperation::Any,
            View::Atom(_) => match variable(term) {
                Some(number) => {
                    let next = places.len();
                    match *places.entry(number).or_insert(next) {
                        place if place == next => PatternOperation::Bind(place),
                        place => PatternOperation::Same(place),
                    }
                }
                None => PatternOperation::Immediate(term),
            },
            View::Tuple(elements) => {
                pending.extend(elements.iter().rev());
                PatternOperation::Tuple(elements.len())
            }
            View::Cons(head, tail) => {
                pending.extend([tail, head]);
                PatternOperation::Cons
            }
            View::Map(map) => {
                let pairs: Vec<(Term, Term)> = map::MapIter::new(&map).collect();
                let mut keys = Vec::with_capacity(pairs.len());
                for (key, _) in &pairs {
                    if let Some(open) = first_open(*key) {
                        let what = if open == atoms::UNDERSCORE { "Underscore" } else { "Variable" };
                        context.fault(format!("{what} found in map key."));
                    }
                    keys.push(context.constant(*key));
                }
                pending.extend(pairs.iter().rev().map(|(_, value)| *value));
                PatternOperation::Map(keys)
            }
            View::Float(value) => PatternOperation::Float(value.to_bits()),
            _ if term.is_immediate() => PatternOperation::Immediate(term),
            _ => PatternOperation::Constant(context.constant(term)),
        };
        operations.push(operation);
    }
    (operations, places)
}

/// The first part of a term that stands for anything.
pub(crate) fn first_open(term: Term) -> Option<Term> {
    let mut pending = vec![term];
    while let Some(term) = pending.pop() {
        match term.view() {
            View::Atom(_) if crate::partial::is_open(term) => return Some(term),
            View::Tuple(elements) => pending.extend(elements.iter().rev()),
            View::Cons(head, tail) => pending.extend([tail, head]),
            View::Map(map) => pending.extend(map::MapIter::new(&map).flat_map(|(key, value)| [key, value])),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use atoll_term::{Build, ScratchHeap};

    use super::*;

    #[test]
    fn patterns_become_steps() {
        let heap = &mut ScratchHeap::new();
        let [x, y] = ["$1", "$2"].map(|name| atoms::atom(name).unwrap());
        let list = heap.cons(x, y);
        let one = Term::small(1);
        let head = heap.tuple(&[atoms::OK, x, list, one, atoms::UNDERSCORE]);
        let mut context = Context { dialect: Dialect::Table, constants: Vec::new(), faults: Vec::new() };
        let (operations, places) = pattern(&mut context, head);
        use PatternOperation::*;
        let steps = [Tuple(5), Immediate(atoms::OK), Bind(0), Cons, Same(0), Bind(1), Immediate(one), Any];
        assert_eq!(operations, steps);
        assert_eq!(places, BTreeMap::from([(1, 0), (2, 1)]));
    }

    #[test]
    fn every_fault_is_found() {
        let heap = &mut ScratchHeap::new();
        let [x, unknown] = ["$1", "no_such_function"].map(|name| atoms::atom(name).unwrap());
        let call = heap.tuple(&[unknown, Term::small(1)]);
        let guards = heap.list([call]);
        let body = heap.list([x]);
        let clause = heap.tuple(&[atoms::UNDERSCORE, guards, body]);
        let specification = heap.list([clause]);
        let faults = compile(specification, Dialect::Table).map(|_| ()).unwrap_err();
        assert_eq!(faults, ["Function no_such_function/1 does_not_exist.", "Variable $1 is unbound."]);
        assert!(compile(Term::NIL, Dialect::Table).is_ok());
        assert!(compile(x, Dialect::Table).is_err());
    }
}
