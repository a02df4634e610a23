//! Guards and bodies: from terms to steps of a stack machine.

use atoll_term::{Term, View, atoms, map};
use smallvec::{SmallVec, smallvec};

use super::compile::{Context, Places};
use super::functions::{GET_CONTROL_WORD, find_function};
use super::{Action, Operation};
use crate::partial::variable;

/// What a list of expressions is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expressions {
    /// Each must be `true`.
    Guards,
    /// The last one's value counts.
    Body,
}

enum Task {
    Expression(Term),
    Emit(Operation),
    /// A short cut to a label.
    ShortCut(bool, usize),
    Label(usize),
}

/// What is to be done, the next one last.
type Tasks = SmallVec<[Task; 8]>;

pub(super) fn compile_expressions(
    context: &mut Context,
    places: &Places,
    expressions: &[Term],
    use_of: Expressions,
) -> Vec<Operation> {
    let mut compiler = Compiler { context, places, operations: Vec::new(), labels: Vec::new(), use_of };
    for (number, expression) in expressions.iter().enumerate() {
        compiler.expression(*expression);
        match use_of {
            Expressions::Guards => compiler.operations.push(Operation::Require),
            Expressions::Body if number + 1 < expressions.len() => compiler.operations.push(Operation::Drop),
            Expressions::Body => {}
        }
    }
    let Compiler { mut operations, labels, .. } = compiler;
    for operation in &mut operations {
        if let Operation::ShortCut(_, target) = operation {
            *target = labels[*target];
        }
    }
    operations
}

struct Compiler<'c> {
    context: &'c mut Context,
    places: &'c Places,
    operations: Vec<Operation>,
    /// The step that each label stands for.
    labels: Vec<usize>,
    use_of: Expressions,
}

impl Compiler<'_> {
    fn expression(&mut self, expression: Term) {
        let mut tasks: Tasks = smallvec![Task::Expression(expression)];
        while let Some(task) = tasks.pop() {
            match task {
                Task::Emit(operation) => self.operations.push(operation),
                Task::ShortCut(on, label) => self.operations.push(Operation::ShortCut(on, label)),
                Task::Label(label) => self.labels[label] = self.operations.len(),
                Task::Expression(term) => self.one(term, &mut tasks),
            }
        }
    }

    fn one(&mut self, term: Term, tasks: &mut Tasks) {
        let operation = match term.view() {
            View::Atom(atoms::DOLLAR_UNDERSCORE) => Operation::Object,
            View::Atom(_) if atoms::atom_name(term) == "$$" => Operation::AllVariables,
            View::Atom(_) => match variable(term) {
                Some(number) => match self.places.get(number) {
                    Some(place) => Operation::Variable(place),
                    None => return self.context.fault(format!("Variable ${number} is unbound.")),
                },
                None => Operation::Immediate(term),
            },
            View::Cons(..) => return self.list(term, tasks),
            View::Tuple(elements) => return self.tuple(term, elements, tasks),
            View::Map(map) => {
                let pairs: Vec<(Term, Term)> = map::MapIter::new(&map).collect();
                tasks.push(Task::Emit(Operation::Map(pairs.len())));
                tasks.extend(pairs.iter().rev().flat_map(|(key, value)| [*value, *key]).map(Task::Expression));
                return;
            }
            _ if term.is_immediate() => Operation::Immediate(term),
            _ => Operation::Constant(self.context.constant(term)),
        };
        self.operations.push(operation);
    }

    fn list(&mut self, list: Term, tasks: &mut Tasks) {
        let mut elements = Vec::new();
        let mut rest = list;
        while rest.is_cons() {
            elements.push(rest.head());
            rest = rest.tail();
        }
        let plain = |term: &Term| term.is_immediate() && !(term.is_atom() && is_special(*term));
        if elements.iter().chain([&rest]).all(plain) {
            let constant = self.context.constant(list);
            return self.operations.push(Operation::Constant(constant));
        }
        tasks.push(Task::Emit(Operation::List(elements.len())));
        tasks.push(Task::Expression(rest));
        tasks.extend(elements.into_iter().rev().map(Task::Expression));
    }

    fn tuple(&mut self, term: Term, elements: &[Term], tasks: &mut Tasks) {
        if let [inner] = elements
            && let Some(parts) = inner.tuple_elements()
        {
            tasks.push(Task::Emit(Operation::Tuple(parts.len())));
            tasks.extend(parts.iter().rev().copied().map(Task::Expression));
            return;
        }
        let Some((name, arguments)) = elements.split_first().filter(|(name, _)| name.is_atom() && !is_special(**name))
        else {
            return self.context.fault_in(term, |term| {
                format!("{term} is neither a function call, nor a tuple (tuples are written {{{{ ... }}}}).")
            });
        };
        let name = atoms::atom_name(*name);
        match (name, arguments) {
            ("const", [constant]) => {
                let operation = match constant.is_immediate() {
                    true => Operation::Immediate(*constant),
                    false => Operation::Constant(self.context.constant(*constant)),
                };
                self.operations.push(operation);
            }
            ("const", _) => {
                self.context.fault_in(term, |term| {
                    format!("Special form 'const' called with more than one argument in {term}.")
                });
            }
            ("and" | "or" | "andalso" | "orelse", []) => {
                self.context.fault_in(term, |term| format!("Special form '{name}' called without arguments in {term}."))
            }
            ("and" | "or", _) => {
                let operator: fn(bool, bool) -> bool = if name == "and" { |a, b| a && b } else { |a, b| a || b };
                tasks.push(Task::Emit(Operation::Logical(arguments.len(), operator)));
                tasks.extend(arguments.iter().rev().copied().map(Task::Expression));
            }
            ("andalso" | "orelse", [others @ .., last]) => {
                let label = self.labels.len();
                self.labels.push(0);
                tasks.extend([Task::Label(label), Task::Expression(*last)]);
                for argument in others.iter().rev() {
                    tasks.push(Task::ShortCut(name == "orelse", label));
                    tasks.push(Task::Expression(*argument));
                }
            }
            _ if self.context.dialect.refuses(name) => {
                self.context.fault(format!("Function {name}/{} is not for messages.", arguments.len()));
            }
            ("caller", []) if self.context.dialect.is_trace() && self.use_of != Expressions::Guards => {
                tasks.push(Task::Emit(Operation::Calling));
            }
            ("caller_line", []) if self.context.dialect.is_trace() && self.use_of != Expressions::Guards => {
                tasks.push(Task::Emit(Operation::CallingLine));
            }
            ("set_tcw", [_]) if self.context.dialect.is_trace() && self.use_of != Expressions::Guards => {
                tasks.push(Task::Emit(Operation::SetControlWord));
                tasks.extend(arguments.iter().copied().map(Task::Expression));
            }
            ("get_tcw", []) if self.context.dialect.is_trace() => {
                tasks.push(Task::Emit(Operation::Call(&GET_CONTROL_WORD)));
            }
            ("process_dump", []) if self.context.dialect.is_trace() && self.use_of != Expressions::Guards => {
                tasks.push(Task::Emit(Operation::Dump));
            }
            ("get_seq_token", []) if self.context.dialect.is_trace() && self.use_of != Expressions::Guards => {
                tasks.push(Task::Emit(Operation::Token));
            }
            ("is_seq_trace", []) if self.context.dialect.is_trace() => {
                tasks.push(Task::Emit(Operation::HasToken));
            }
            ("set_seq_token", [_, _]) if self.context.dialect.is_trace() && self.use_of != Expressions::Guards => {
                tasks.push(Task::Emit(Operation::SetToken));
                tasks.extend(arguments.iter().rev().copied().map(Task::Expression));
            }
            (
                "message" | "return_trace" | "exception_trace" | "silent" | "enable_trace" | "disable_trace" | "trace"
                | "display",
                _,
            ) => self.action(name, term, arguments, tasks),
            _ => match find_function(name, arguments.len()) {
                Some(function) => {
                    tasks.push(Task::Emit(Operation::Call(function)));
                    tasks.extend(arguments.iter().rev().copied().map(Task::Expression));
                }
                None => self.context.fault(format!("Function {name}/{} does_not_exist.", arguments.len())),
            },
        }
    }

    fn action(&mut self, name: &str, term: Term, arguments: &[Term], tasks: &mut Tasks) {
        if !self.context.dialect.is_trace() {
            return self.context.fault(format!("Special form '{name}' used in wrong dialect."));
        }
        if self.use_of == Expressions::Guards {
            return self.context.fault(format!("Special form '{name}' cannot be used in guards."));
        }
        let (action, counts) = match name {
            "message" => (Action::Message, 1..=1),
            "silent" => (Action::Silent, 1..=1),
            "display" => (Action::Display, 1..=1),
            "enable_trace" => (Action::EnableTrace, 1..=2),
            "disable_trace" => (Action::DisableTrace, 1..=2),
            "trace" => (Action::Trace, 2..=3),
            "return_trace" => (Action::ReturnTrace, 0..=0),
            _ => (Action::ExceptionTrace, 0..=0),
        };
        if !counts.contains(&arguments.len()) {
            let how = if *counts.end() == 0 { "with arguments" } else { "with wrong number of arguments" };
            return self.context.fault_in(term, |term| format!("Special form '{name}' called {how} in {term}."));
        }
        tasks.push(Task::Emit(Operation::Act(action, arguments.len())));
        tasks.extend(arguments.iter().rev().copied().map(Task::Expression));
    }
}

/// Whether an atom does not stand for itself in an expression.
fn is_special(atom: Term) -> bool {
    variable(atom).is_some() || atom == atoms::DOLLAR_UNDERSCORE || atoms::atom_name(atom) == "$$"
}
