//! A copy of a term on any heap, for places outside of all processes.

use std::ptr::NonNull;

use atoll_heap::immovable;
use atoll_process::inspect::magic_value;
use atoll_term::{Build, FunEntry, Term, View, map};

/// What is to be done next; builders take the terms that they need from the end of those that are done.
enum Step {
    Visit(Term),
    List(usize),
    Tuple(usize),
    Map(usize),
    /// The creator stands before the free variables.
    Fun(&'static FunEntry, usize),
}

/// A copy of a term; parts that lie in immovable memory already are shared. Works on terms of any depth.
pub fn copy(term: Term, heap: &mut impl Build) -> Term {
    copy_parts(term, heap, immovable::contains)
}

/// A copy of a term with all its parts, literals of modules too.
pub fn copy_all(term: Term, heap: &mut impl Build) -> Term {
    copy_parts(term, heap, |_| false)
}

fn copy_parts(term: Term, heap: &mut impl Build, stays: fn(Term) -> bool) -> Term {
    let mut steps = vec![Step::Visit(term)];
    let mut done: Vec<Term> = Vec::new();
    while let Some(step) = steps.pop() {
        let built = match step {
            Step::Visit(term) => match visit(term, heap, &mut steps, stays) {
                Some(built) => built,
                None => continue,
            },
            Step::List(length) => {
                // The elements, then the tail.
                let tail = done.pop().unwrap_or(Term::NIL);
                let start = done.len() - length;
                heap.list_with_tail(done.drain(start..), tail)
            }
            Step::Tuple(size) => {
                let elements = done.split_off(done.len() - size);
                heap.tuple(&elements)
            }
            Step::Map(size) => {
                let terms = done.split_off(done.len() - 2 * size);
                let pairs: Vec<(Term, Term)> = terms.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
                map::from_pairs(heap, &pairs)
            }
            Step::Fun(entry, free) => {
                let free = done.split_off(done.len() - free);
                let creator = done.pop().unwrap_or(Term::pid(0));
                heap.fun(entry, creator, &free)
            }
        };
        done.push(built);
    }
    done.pop().unwrap_or(term)
}

/// The copy of a term without parts; of others, the steps to copy it are pushed.
fn visit(term: Term, heap: &mut impl Build, steps: &mut Vec<Step>, stays: fn(Term) -> bool) -> Option<Term> {
    if term.is_immediate() || stays(term) {
        return Some(term);
    }
    let parts = |builder: Step, terms: &[Term], steps: &mut Vec<Step>| {
        steps.push(builder);
        steps.extend(terms.iter().rev().map(|term| Step::Visit(*term)));
    };
    match term.view() {
        View::Cons(..) => {
            let mut terms = Vec::new();
            let mut rest = term;
            while rest.is_cons() && !stays(rest) {
                terms.push(rest.head());
                rest = rest.tail();
            }
            let length = terms.len();
            terms.push(rest);
            parts(Step::List(length), &terms, steps);
        }
        View::Tuple(elements) => parts(Step::Tuple(elements.len()), elements, steps),
        View::Map(map) => {
            let terms: Vec<Term> = map::MapIter::new(&map).flat_map(|(key, value)| [key, value]).collect();
            parts(Step::Map(terms.len() / 2), &terms, steps);
        }
        View::Fun(fun) => {
            parts(Step::Fun(fun.entry, fun.free.len()), fun.free, steps);
            steps.push(Step::Visit(fun.creator));
        }
        View::Big(big) => return Some(heap.big_from_limbs(big.negative, big.limbs)),
        View::Float(value) => return Some(heap.float(value)),
        View::ExternalFun(export) => return Some(heap.external_fun(export)),
        View::External(external) => {
            return Some(heap.external(external.kind, external.node, external.creation, external.data));
        }
        View::Reference(reference) => {
            return Some(match magic_value(term) {
                Some(value) => heap.magic_reference(reference.numbers(), value),
                None => heap.reference(reference.numbers(), reference.alias_of()),
            });
        }
        View::Bits(bits) => {
            if let Some(binary) = term.off_heap_binary() {
                binary.retain();
                return Some(heap.binary_handle(NonNull::from(binary)));
            }
            return Some(heap.bitstring(&bits.to_bytes(), bits.length()));
        }
        View::Small(_) | View::Atom(_) | View::Pid(_) | View::Port(_) | View::Nil | View::Internal => {
            return Some(term);
        }
    }
    None
}
