//! Text of terms against stock `erl`.

mod support;

use atoll_term::text::{self, Floats, TextOptions};
use atoll_term::{Build, ScratchHeap, Term};
use support::{ask, assert_none, fields};

#[test]
fn text_is_that_of_display() {
    let Some(answers) = ask("text", 5_000) else { return };
    let printed = String::from_utf8(answers.printed).expect("text in UTF-8");
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines.len(), answers.records.len());
    let mut failures = Vec::new();
    for (record, line) in answers.records.iter().zip(lines) {
        let text = text::to_string(*record);
        if text != line {
            failures.push(format!("{text} instead of {line}"));
        }
    }
    assert_none(&failures);
}

#[test]
fn strings_are_latin1() {
    let mut heap = ScratchHeap::new();
    let string = heap.string("räk\n\"\\\t");
    assert_eq!(text::to_string(string), "\"räk\\n\\\"\\\t\"");
    let numbers = heap.string("ő");
    assert_eq!(text::to_string(numbers), "[337]");
}

#[test]
fn shortest_floats_are_those_of_erl() {
    let Some(answers) = ask("float", 10_000) else { return };
    for record in &answers.records {
        let &[float, shortest, scientific] = fields(record) else { panic!("a record") };
        let value = float.as_float().expect("a float");
        let characters = |bits: Term| String::from_utf8(bits.bits().unwrap().to_bytes().into_owned()).unwrap();
        assert_eq!(text::float_shortest(value), characters(shortest));
        assert_eq!(text::float_scientific(value, 20), characters(scientific));
    }
}

#[test]
fn limits_cut_the_text() {
    let mut heap = ScratchHeap::new();
    let inner = heap.tuple(&[Term::small(1), Term::small(2)]);
    let middle = heap.tuple(&[inner, Term::small(3)]);
    let list = heap.list((0..1000).map(Term::small));
    let cut = |term, limit, depth| {
        let mut out = String::from("> ");
        text::write(&mut out, term, TextOptions { floats: Floats::Shortest, strings: false, limit, depth });
        out
    };
    assert_eq!(cut(middle, usize::MAX, usize::MAX), "> {{1,2},3}");
    assert_eq!(cut(middle, usize::MAX, 1), "> {{...,...},3}");
    assert_eq!(cut(middle, usize::MAX, 0), "> {...,...}");
    assert_eq!(cut(list, 8, usize::MAX), "> [0,1,2,3...");
    let binary = heap.binary(&[7; 500]);
    assert_eq!(cut(binary, 6, usize::MAX), "> <<7,7,...>>");
}
