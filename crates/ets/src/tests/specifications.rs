//! Match specifications: what they are told of traced calls, and what they do beside giving a result.

use atoll_term::atoms::{self, atom};

use super::*;
use crate::match_spec::{Action, Object, Tokens, Traced, control_word, set_control_word};

const CALLS: Dialect = Dialect::Trace(Traced::Calls);

/// `[{'_', Guards, Body}]`
fn specification(heap: &mut Mutator, guards: &[Term], body: &[Term]) -> Term {
    let (guards, body) = (heap.list(guards.to_vec()), heap.list(body.to_vec()));
    let clause = heap.tuple(&[atom("_").unwrap(), guards, body]);
    heap.list([clause])
}

/// `{Name}` or `{Name, Argument}`
fn call(heap: &mut Mutator, name: &str, arguments: &[Term]) -> Term {
    let name = atom(name).unwrap();
    heap.tuple(&[&[name], arguments].concat())
}

#[test]
fn a_traced_call_knows_its_caller_and_what_the_process_looks_like() {
    let heap = &mut heap();
    let [calling, line, dump] = [1, 2, 3].map(|number| heap.tuple(&[Term::small(number)]));
    let parts = ["caller", "caller_line", "process_dump"].map(|name| {
        let part = call(heap, name, &[]);
        call(heap, "message", &[part])
    });
    let specification = specification(heap, &[], &parts);
    let compiled = compile(specification, CALLS).unwrap();
    let mut matcher = Matcher::new(&compiled, Term::pid(1)).called_from(calling, line).showing(dump);
    assert!(matcher.is_true(heap, Object::Own(Term::NIL)));
    let actions = [calling, line, dump].map(|term| (Action::Message, term));
    assert_eq!(matcher.actions, actions);
    let mut matcher = Matcher::new(&compiled, Term::pid(1));
    assert!(matcher.is_true(heap, Object::Own(Term::NIL)));
    assert!(matcher.actions.iter().all(|(_, term)| *term == atoms::UNDEFINED));
}

/// The label alone, which is an immediate.
struct Label(Term);

impl Tokens for Label {
    fn token(&mut self, heap: &mut Mutator) -> Term {
        if self.0.is_nil() { Term::NIL } else { heap.tuple(&[self.0]) }
    }

    fn set(&mut self, _heap: &mut Mutator, item: Term, value: Term) -> bool {
        let is_label = item == atom("label").unwrap();
        if is_label {
            self.0 = value;
        }
        is_label
    }
}

#[test]
fn tokens_are_read_and_set_where_there_are_any() {
    let heap = &mut heap();
    let label = atom("label").unwrap();
    let has = call(heap, "is_seq_trace", &[]);
    let set = call(heap, "set_seq_token", &[label, Term::small(9)]);
    let token = call(heap, "get_seq_token", &[]);
    let told = call(heap, "message", &[token]);
    let specification = specification(heap, &[has], &[set, told]);
    let compiled = compile(specification, CALLS).unwrap();
    assert!(!Matcher::new(&compiled, Term::pid(1)).is_true(heap, Object::Own(Term::NIL)));
    let mut tokens = Label(Term::small(1));
    let mut matcher = Matcher::new(&compiled, Term::pid(1)).with_tokens(&mut tokens);
    assert!(matcher.is_true(heap, Object::Own(Term::NIL)));
    let (action, told) = matcher.actions[0];
    assert_eq!((action, told.tuple_elements().unwrap()), (Action::Message, &[Term::small(9)][..]));
    assert_eq!(tokens.0, Term::small(9));
}

#[test]
fn the_control_word_is_set_by_what_is_traced_and_not_by_a_test() {
    let heap = &mut heap();
    let set = call(heap, "set_tcw", &[Term::small(5)]);
    let specification = specification(heap, &[], &[set]);
    let compiled = compile(specification, CALLS).unwrap();
    let before = set_control_word(2);
    assert!(Matcher::new(&compiled, Term::pid(1)).is_true(heap, Object::Own(Term::NIL)));
    assert_eq!(control_word(), 2);
    let mut tokens = Label(Term::NIL);
    let mut matcher = Matcher::new(&compiled, Term::pid(1)).with_tokens(&mut tokens);
    assert!(matcher.is_true(heap, Object::Own(Term::NIL)));
    assert_eq!(set_control_word(before), 5);
}

#[test]
fn a_body_may_be_empty_where_nothing_is_to_be_returned() {
    let heap = &mut heap();
    let specification = specification(heap, &[], &[]);
    assert!(compile(specification, CALLS).is_ok());
    let faults = compile(specification, Dialect::Table).map(|_| ()).unwrap_err();
    assert_eq!(faults, ["Body clause does not return anything."]);
}
