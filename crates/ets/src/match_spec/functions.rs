//! The functions that expressions can call.

use std::cmp::Ordering;
use std::sync::atomic::Ordering::Relaxed;

use atoll_heap::Mutator;
use atoll_loader::{Comparison, TypeTest};
use atoll_operations::{Exception, arithmetic, bit_part, guards};
use atoll_term::{Term, View, compare, this_node};

use crate::registry::part;

type Result = std::result::Result<Term, Exception>;

/// What a function does, by its number of arguments.
#[derive(Clone, Copy)]
pub(super) enum Code {
    /// The caller's pid.
    Caller,
    Zero(fn() -> Term),
    One(fn(&mut Mutator, Term) -> Result),
    Two(fn(&mut Mutator, Term, Term) -> Result),
    Three(fn(&mut Mutator, Term, Term, Term) -> Result),
    /// As the above, but the result may share memory with the first argument in a way that only its owner may have.
    PartOfPair(fn(&mut Mutator, Term, Term) -> Result),
    /// As above.
    Part(fn(&mut Mutator, Term, Term, Term) -> Result),
    /// A test for a type.
    Type(TypeTest),
    /// A comparison; with true, of the second with the first.
    Compare(Comparison, bool),
}

/// A function.
pub(super) struct Function {
    name: &'static str,
    pub(super) code: Code,
}

impl std::fmt::Debug for Function {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}/{}", self.name, self.arity())
    }
}

impl Function {
    /// Number of arguments.
    pub(super) fn arity(&self) -> usize {
        match self.code {
            Code::Caller | Code::Zero(_) => 0,
            Code::One(_) | Code::Type(_) => 1,
            Code::Two(_) | Code::PartOfPair(_) | Code::Compare(..) => 2,
            Code::Three(_) | Code::Part(_) => 3,
        }
    }
}

const fn function(name: &'static str, code: Code) -> Function {
    Function { name, code }
}

/// The trace control word (`system_info(trace_control_word)`).
pub fn control_word() -> u32 {
    part().control_word.load(Relaxed)
}

/// Sets the trace control word; gives what it was.
pub fn set_control_word(word: u32) -> u32 {
    part().control_word.swap(word, Relaxed)
}

/// `get_tcw`, of traced calls alone.
pub(super) static GET_CONTROL_WORD: Function = function("get_tcw", Code::Zero(|| Term::small(control_word().into())));

static FUNCTIONS: &[Function] = &[
    function("is_atom", Code::Type(TypeTest::Atom)),
    function("is_float", Code::Type(TypeTest::Float)),
    function("is_integer", Code::Type(TypeTest::Integer)),
    function("is_list", Code::Type(TypeTest::List)),
    function("is_number", Code::Type(TypeTest::Number)),
    function("is_pid", Code::Type(TypeTest::Pid)),
    function("is_port", Code::Type(TypeTest::Port)),
    function("is_reference", Code::Type(TypeTest::Reference)),
    function("is_tuple", Code::Type(TypeTest::Tuple)),
    function("is_map", Code::Type(TypeTest::Map)),
    function("is_binary", Code::Type(TypeTest::Binary)),
    function("is_function", Code::Type(TypeTest::Function)),
    function("is_map_key", Code::Two(guards::is_map_key)),
    function("is_record", Code::Three(|_, term, tag, size| guards::is_record_of_size(term, tag, size))),
    function("self", Code::Caller),
    function("node", Code::Zero(|| this_node().0)),
    function("node", Code::One(|_, term| node_of(term))),
    function("abs", Code::One(arithmetic::abs)),
    function("element", Code::Two(|_, position, tuple| guards::element(position, tuple))),
    function("hd", Code::One(|_, list| guards::hd(list))),
    function("tl", Code::One(|_, list| guards::tl(list))),
    function("length", Code::One(|_, list| guards::length(list))),
    function("round", Code::One(arithmetic::round)),
    function("trunc", Code::One(arithmetic::trunc)),
    function("float", Code::One(arithmetic::float)),
    function("size", Code::One(|_, term| guards::size(term))),
    function("bit_size", Code::One(|_, term| guards::bit_size(term))),
    function("byte_size", Code::One(|_, term| guards::byte_size(term))),
    function("map_size", Code::One(guards::map_size)),
    function("map_get", Code::Two(guards::map_get)),
    function("binary_part", Code::PartOfPair(bit_part::binary_part_of_pair)),
    function("binary_part", Code::Part(bit_part::binary_part)),
    function("+", Code::One(|_, a| arithmetic::plus(a))),
    function("-", Code::One(arithmetic::negate)),
    function("+", Code::Two(arithmetic::add)),
    function("-", Code::Two(arithmetic::subtract)),
    function("*", Code::Two(arithmetic::multiply)),
    function("/", Code::Two(arithmetic::divide)),
    function("div", Code::Two(arithmetic::integer_divide)),
    function("rem", Code::Two(arithmetic::remainder)),
    function("band", Code::Two(arithmetic::band)),
    function("bor", Code::Two(arithmetic::bor)),
    function("bxor", Code::Two(arithmetic::bxor)),
    function("bnot", Code::One(arithmetic::bnot)),
    function("bsl", Code::Two(arithmetic::bsl)),
    function("bsr", Code::Two(arithmetic::bsr)),
    function(">", Code::Compare(Comparison::Less, true)),
    function(">=", Code::Compare(Comparison::GreaterOrEqual, false)),
    function("<", Code::Compare(Comparison::Less, false)),
    function("=<", Code::Compare(Comparison::GreaterOrEqual, true)),
    function("=:=", Code::Compare(Comparison::ExactlyEqual, false)),
    function("=/=", Code::Compare(Comparison::NotExactlyEqual, false)),
    function("==", Code::Compare(Comparison::Equal, false)),
    function("/=", Code::Compare(Comparison::NotEqual, false)),
    function("not", Code::One(|_, a| guards::not(a))),
    function("xor", Code::Two(|_, a, b| guards::logical(a, b, |a, b| a != b))),
    // Newer releases than OTP 25 have these too.
    function("tuple_size", Code::One(|_, tuple| guards::tuple_size(tuple))),
    function("ceil", Code::One(arithmetic::ceil)),
    function("floor", Code::One(arithmetic::floor)),
    function("is_function", Code::Two(|_, term, arity| guards::is_function(term, arity))),
    function("max", Code::Two(|_, a, b| Ok(if compare(a, b) == Ordering::Less { b } else { a }))),
    function("min", Code::Two(|_, a, b| Ok(if compare(a, b) == Ordering::Greater { b } else { a }))),
];

/// The function with this name and number of arguments.
pub(super) fn find_function(name: &str, arity: usize) -> Option<&'static Function> {
    FUNCTIONS.iter().find(|function| function.name == name && function.arity() == arity)
}

fn node_of(term: Term) -> Result {
    match term.view() {
        View::Pid(_) | View::Port(_) | View::Reference(_) => Ok(this_node().0),
        View::External(external) => Ok(external.node),
        _ => Err(Exception::badarg()),
    }
}
