//! From specifications to programs.

use atoll_operations::list;
use atoll_term::{Term, View, atoms, map, text};
use smallvec::{SmallVec, smallvec};

use super::expression::{Expressions, compile_expressions};
use super::{Clause, Compiled, Dialect, Operation, PatternOperation, Program};
use crate::partial::variable;

/// Where the variables of a pattern are kept, by their numbers, which ascend.
#[derive(Default)]
pub(super) struct Places(SmallVec<[(u32, usize); 8]>);

impl Places {
    pub(super) fn get(&self, number: u32) -> Option<usize> {
        self.0.binary_search_by_key(&number, |(other, _)| *other).ok().map(|index| self.0[index].1)
    }

    /// The place of a variable, and whether it is a new one.
    fn enter(&mut self, number: u32) -> (usize, bool) {
        match self.0.binary_search_by_key(&number, |(other, _)| *other) {
            Ok(index) => (self.0[index].1, false),
            Err(index) => {
                let next = self.0.len();
                self.0.insert(index, (number, next));
                (next, true)
            }
        }
    }
}

/// The elements of a proper list, which are few.
pub(crate) fn few(list: Term) -> Option<SmallVec<[Term; 8]>> {
    list::length(list)?;
    Some(list::heads(list).collect())
}

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
    let Some(parts) = few(specification) else {
        let kind = if specification.is_cons() { "proper list" } else { "list" };
        return Err(vec![format!("Match programs are not in a {kind}.")]);
    };
    if !parts.iter().all(|part| triple(part).is_some()) {
        return Err(vec!["Match program part is not a tuple of arity 3.".into()]);
    }
    let parts = parts.iter().filter_map(triple);
    let clauses = parts.map(|[head, guards, body]| clause(&mut context, *head, *guards, *body)).collect();
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
        match few(list) {
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
    Clause { pattern, guards, body, variables: places.0.iter().map(|(_, place)| *place).collect() }
}

/// The steps of a pattern, and the places of its variables by their numbers.
fn pattern(context: &mut Context, head: Term) -> (Vec<PatternOperation>, Places) {
    let mut operations = Vec::with_capacity(1 + head.tuple_elements().map_or(0, <[Term]>::len));
    let mut places = Places::default();
    let mut pending: SmallVec<[Term; 16]> = smallvec![head];
    while let Some(term) = pending.pop() {
        let operation = match term.view() {
            View::Atom(atoms::UNDERSCORE) => PatternOperation::Any,
            View::Atom(_) => match variable(term) {
                Some(number) => match places.enter(number) {
                    (place, true) => PatternOperation::Bind(place),
                    (place, false) => PatternOperation::Same(place),
                },
                None => PatternOperation::Immediate(term),
            },
            View::Tuple(elements) => {
                pending.extend(elements.iter().rev().copied());
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
        let half = heap.float(0.5);
        let head = heap.tuple(&[atoms::OK, x, list, one, atoms::UNDERSCORE, half]);
        let mut context = Context { dialect: Dialect::Table, constants: Vec::new(), faults: Vec::new() };
        let (operations, places) = pattern(&mut context, head);
        use PatternOperation::*;
        let head = [Tuple(6), Immediate(atoms::OK), Bind(0), Cons, Same(0), Bind(1)];
        let steps = [&head[..], &[Immediate(one), Any, Float(0.5_f64.to_bits())]].concat();
        assert_eq!(operations, steps);
        assert_eq!([1, 2, 3].map(|number| places.get(number)), [Some(0), Some(1), None]);
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
