//! Running programs.

use atoll_heap::{Mutator, Stored};
use atoll_operations::guards;
use atoll_term::{Build, Term, atoms, exactly_equal, map};
use smallvec::SmallVec;

use super::functions::{Code, Function, control_word, set_control_word};
use super::{Action, Clause, Compiled, Dialect, KeptProgram, Operation, PatternOperation, Program, Tokens};

/// What a program is run on.
#[derive(Clone, Copy)]
pub enum Object<'s> {
    /// A stored term: what the result takes of it is fetched.
    Stored(&'s Stored),
    /// A term on the caller's heap.
    Own(Term),
}

impl Object<'_> {
    fn term(&self) -> &Term {
        match self {
            Object::Stored(stored) => stored.term(),
            Object::Own(term) => term,
        }
    }
}

/// A value of the stack machine.
#[derive(Clone, Copy)]
struct Value {
    term: Term,
    /// Part of something stored, so not the caller's to keep.
    foreign: bool,
}

impl Value {
    fn own(term: Term) -> Value {
        Value { term, foreign: false }
    }
}

enum Source<'p> {
    Own(&'p [Term]),
    Kept(&'p KeptProgram),
}

/// A program about to be run on many objects.
pub struct Matcher<'p> {
    program: &'p Program,
    source: Source<'p>,
    caller: Term,
    calling: Term,
    calling_line: Term,
    dump: Term,
    tokens: Option<&'p mut dyn Tokens>,
    variables: SmallVec<[Term; 8]>,
    pending: SmallVec<[Term; 16]>,
    stack: SmallVec<[Value; 8]>,
    /// What the last run asked to be done, with arguments.
    pub actions: Vec<(Action, Term)>,
}

/// An operation in a guard failed.
struct Failed;

impl<'p> Matcher<'p> {
    /// For a program that was just compiled: what it refers to lies on the heap of the caller, or on none.
    pub fn new(compiled: &'p Compiled, caller: Term) -> Matcher<'p> {
        Matcher::with_source(&compiled.program, Source::Own(&compiled.constants), caller)
    }

    /// For a program that was kept.
    pub fn kept(kept: &'p KeptProgram, caller: Term) -> Matcher<'p> {
        Matcher::with_source(&kept.program, Source::Kept(kept), caller)
    }

    fn with_source(program: &'p Program, source: Source<'p>, caller: Term) -> Matcher<'p> {
        let (variables, pending, stack, actions) = Default::default();
        let (calling, calling_line, tokens) = (atoms::UNDEFINED, atoms::UNDEFINED, None);
        let dump = atoms::UNDEFINED;
        Matcher { program, source, caller, calling, calling_line, dump, tokens, variables, pending, stack, actions }
    }

    /// For calls that this function makes: `{M, F, A}` and `{M, F, A, {File, Line}}` on the caller's heap.
    pub fn called_from(self, calling: Term, calling_line: Term) -> Matcher<'p> {
        Matcher { calling, calling_line, ..self }
    }

    /// For a process that this binary on its heap shows.
    pub fn showing(self, dump: Term) -> Matcher<'p> {
        Matcher { dump, ..self }
    }

    /// For a process with these tokens.
    pub fn with_tokens(self, tokens: &'p mut dyn Tokens) -> Matcher<'p> {
        Matcher { tokens: Some(tokens), ..self }
    }

    fn token(&mut self, heap: &mut Mutator) -> Term {
        self.tokens.as_mut().map_or(Term::NIL, |tokens| tokens.token(heap))
    }

    fn constant(&self, index: usize) -> Value {
        match &self.source {
            Source::Own(constants) => Value::own(constants[index]),
            Source::Kept(kept) => {
                let constants = kept.part(1);
                let constants = constants.tuple_elements().unwrap_or_default();
                Value { term: constants[index], foreign: true }
            }
        }
    }

    /// The result for an object, if a clause matches: a term for the caller to keep.
    pub fn run(&mut self, heap: &mut Mutator, object: Object<'_>) -> Option<Term> {
        let value = self.value(heap, object)?;
        Some(self.fetch(heap, object, value))
    }

    /// Whether the result for an object is `true`.
    pub fn is_true(&mut self, heap: &mut Mutator, object: Object<'_>) -> bool {
        self.value(heap, object).is_some_and(|value| value.term == atoms::TRUE)
    }

    fn value(&mut self, heap: &mut Mutator, object: Object<'_>) -> Option<Value> {
        let program = self.program;
        for clause in &program.clauses {
            self.actions.clear();
            if !self.matches(clause, *object.term())
                || self.evaluate(heap, clause, &clause.guards, object, false).is_err()
            {
                continue;
            }
            let evaluated = self.evaluate(heap, clause, &clause.body, object, true);
            let value = self.stack.pop().filter(|_| evaluated.is_ok()).unwrap_or(Value::own(atoms::EXIT_UPPER));
            return Some(match program.dialect {
                Dialect::Table => value,
                Dialect::Trace(_) => Value::own(atoms::TRUE),
            });
        }
        None
    }

    fn fetch(&self, heap: &mut Mutator, object: Object<'_>, value: Value) -> Term {
        match (object, &self.source) {
            _ if !value.foreign || value.term.is_immediate() => value.term,
            (Object::Stored(stored), _) => stored.fetch_part(heap, value.term),
            (Object::Own(_), Source::Kept(kept)) => kept.stored.fetch_part(heap, value.term),
            (Object::Own(_), Source::Own(_)) => value.term,
        }
    }

    fn matches(&mut self, clause: &Clause, term: Term) -> bool {
        self.variables.clear();
        self.pending.clear();
        self.pending.push(term);
        for operation in &clause.pattern {
            let Some(term) = self.pending.pop() else { return false };
            let matched = match operation {
                PatternOperation::Any => true,
                PatternOperation::Immediate(immediate) => term == *immediate,
                PatternOperation::Bind(place) => {
                    debug_assert_eq!(*place, self.variables.len());
                    self.variables.push(term);
                    true
                }
                PatternOperation::Same(place) => exactly_equal(term, self.variables[*place]),
                PatternOperation::Float(bits) => term.as_float().is_some_and(|value| value.to_bits() == *bits),
                PatternOperation::Constant(index) => exactly_equal(term, self.constant(*index).term),
                PatternOperation::Cons if term.is_cons() => {
                    self.pending.extend([term.tail(), term.head()]);
                    true
                }
                PatternOperation::Cons => false,
                PatternOperation::Tuple(size) => match term.tuple_elements() {
                    Some(elements) if elements.len() == *size => {
                        self.pending.extend(elements.iter().rev().copied());
                        true
                    }
                    _ => false,
                },
                PatternOperation::Map(keys) => {
                    let values = term.is_map().then(|| {
                        let key = |index: &usize| map::get(term, self.constant(*index).term);
                        keys.iter().rev().map(key).collect::<Option<Vec<Term>>>()
                    });
                    values.flatten().is_some_and(|values| {
                        self.pending.extend(values);
                        true
                    })
                }
            };
            if !matched {
                return false;
            }
        }
        true
    }

    /// Evaluates guards or a body. In a body what fails has the value `'EXIT'`.
    fn evaluate(
        &mut self,
        heap: &mut Mutator,
        clause: &Clause,
        operations: &[Operation],
        object: Object<'_>,
        is_body: bool,
    ) -> Result<(), Failed> {
        self.stack.clear();
        let is_foreign = matches!(object, Object::Stored(_));
        let failed = |_| if is_body { Ok(Value::own(atoms::EXIT_UPPER)) } else { Err(Failed) };
        let mut next = 0;
        while let Some(operation) = operations.get(next) {
            next += 1;
            let value = match operation {
                Operation::Immediate(term) => Value::own(*term),
                Operation::Constant(index) => self.constant(*index),
                Operation::Variable(place) => Value { term: self.variables[*place], foreign: is_foreign },
                Operation::Calling => Value::own(self.calling),
                Operation::CallingLine => Value::own(self.calling_line),
                Operation::Dump => Value::own(self.dump),
                Operation::Token => Value::own(self.token(heap)),
                Operation::HasToken => Value::own(Term::boolean(self.token(heap) != Term::NIL)),
                Operation::SetControlWord => {
                    let word = self.take(heap, object, 1)[0].as_small().and_then(|word| u32::try_from(word).ok());
                    // A test changes nothing.
                    let old =
                        word.map(|word| if self.tokens.is_some() { set_control_word(word) } else { control_word() });
                    match old {
                        Some(old) => Value::own(Term::small(old.into())),
                        None => failed(Failed)?,
                    }
                }
                Operation::SetToken => {
                    let parts = self.take(heap, object, 2);
                    let tokens = self.tokens.as_mut();
                    let is_set = tokens.is_none_or(|tokens| tokens.set(heap, parts[0], parts[1]));
                    if is_set { Value::own(atoms::TRUE) } else { failed(Failed)? }
                }
                Operation::Object => Value { term: *object.term(), foreign: is_foreign },
                Operation::AllVariables => {
                    let values = clause.variables.iter().map(|place| self.variables[*place]);
                    let values: SmallVec<[Term; 8]> =
                        values.map(|term| self.fetch(heap, object, Value { term, foreign: is_foreign })).collect();
                    Value::own(heap.list(values))
                }
                Operation::Tuple(size) => {
                    let elements = self.take(heap, object, *size);
                    Value::own(heap.tuple(&elements))
                }
                Operation::List(size) => {
                    let mut elements = self.take(heap, object, *size + 1);
                    let tail = elements.pop().unwrap_or(Term::NIL);
                    Value::own(heap.list_with_tail(elements, tail))
                }
                Operation::Map(size) => {
                    let elements = self.take(heap, object, *size * 2);
                    let pairs: SmallVec<[(Term, Term); 4]> =
                        elements.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
                    Value::own(map::from_pairs(heap, &pairs))
                }
                Operation::Call(function) => self.call(heap, object, function).or_else(failed)?,
                Operation::Logical(size, operator) => {
                    let from = self.stack.len() - size;
                    let values = self.stack.drain(from..).map(|value| guards::as_boolean(value.term));
                    let booleans = values.collect::<Option<Vec<bool>>>();
                    match booleans.and_then(|booleans| booleans.into_iter().reduce(operator)) {
                        Some(result) => Value::own(Term::boolean(result)),
                        None => failed(Failed)?,
                    }
                }
                Operation::ShortCut(on, target) => {
                    match self.stack.last().and_then(|value| guards::as_boolean(value.term)) {
                        Some(value) if value != *on => {
                            self.stack.pop();
                        }
                        Some(_) => next = *target,
                        None => {
                            self.stack.pop();
                            self.stack.push(failed(Failed)?);
                            next = *target;
                        }
                    }
                    continue;
                }
                Operation::Act(action, count) => {
                    let mut arguments = self.take(heap, object, *count);
                    let argument = match action {
                        Action::Message | Action::Silent | Action::Display => arguments.pop().unwrap_or(Term::NIL),
                        _ => heap.list(arguments),
                    };
                    self.actions.push((*action, argument));
                    Value::own(atoms::TRUE)
                }
                Operation::Require => match self.stack.pop() {
                    Some(value) if value.term == atoms::TRUE => continue,
                    _ => return Err(Failed),
                },
                Operation::Drop => {
                    self.stack.pop();
                    continue;
                }
            };
            self.stack.push(value);
        }
        Ok(())
    }

    /// Takes the topmost values, as terms that the caller may keep.
    fn take(&mut self, heap: &mut Mutator, object: Object<'_>, count: usize) -> SmallVec<[Term; 8]> {
        let from = self.stack.len() - count;
        let taken = self.stack[from..].iter().map(|value| self.fetch(heap, object, *value)).collect();
        self.stack.truncate(from);
        taken
    }

    fn call(&mut self, heap: &mut Mutator, object: Object<'_>, function: &Function) -> Result<Value, Failed> {
        if matches!(function.code, Code::PartOfPair(_) | Code::Part(_)) {
            let arguments = self.take(heap, object, function.arity());
            self.stack.extend(arguments.into_iter().map(Value::own));
        }
        let from = self.stack.len() - function.arity();
        let mut arguments = [Value::own(Term::NIL); 3];
        for (place, value) in arguments.iter_mut().zip(self.stack.drain(from..)) {
            *place = value;
        }
        // What a function gives is new, or part of its arguments.
        let foreign = arguments.iter().any(|value| value.foreign);
        let [first, second, third] = arguments.map(|value| value.term);
        let result = match function.code {
            Code::Caller => Ok(self.caller),
            Code::Zero(code) => Ok(code()),
            Code::One(code) => code(heap, first),
            Code::Two(code) | Code::PartOfPair(code) => code(heap, first, second),
            Code::Three(code) | Code::Part(code) => code(heap, first, second, third),
            Code::Type(test) => Ok(Term::boolean(guards::is_of_type(test, first))),
            Code::Compare(comparison, false) => Ok(Term::boolean(guards::holds(comparison, first, second))),
            Code::Compare(comparison, true) => Ok(Term::boolean(guards::holds(comparison, second, first))),
        };
        result.map(|term| Value { term, foreign }).map_err(|_| Failed)
    }
}
