//! Conversion of character data compared with the installed Erlang, on some ten thousand random cases.

use std::process::Command;

use atoll_etf::{DecodeOptions, EncodeOptions, Resolve, decode, encode};
use atoll_operations::Exception;
use atoll_operations::unicode::{Converted, Encoding, convert, only_binary};
use atoll_term::{Export, FunEntry, ScratchHeap, Term, atoms};

/// The data has neither functions nor identifiers.
struct Nothing;

impl Resolve for Nothing {
    fn export(&mut self, _module: Term, _name: Term, _arity: u8) -> &'static Export {
        unreachable!("no functions in character data")
    }

    fn fun(&mut self, _: Term, _: u32, _: [u8; 16], _: u32, _: u8, _: u32) -> &'static FunEntry {
        unreachable!("no functions in character data")
    }

    fn this_node(&self) -> (Term, u32) {
        (atoms::NONODE_NOHOST, 0)
    }
}

fn bytes(hexadecimal: &str) -> Vec<u8> {
    (0..hexadecimal.len() / 2).map(|at| u8::from_str_radix(&hexadecimal[at * 2..at * 2 + 2], 16).unwrap()).collect()
}

fn term(converted: Result<Converted, Exception>, heap: &mut ScratchHeap, list: bool) -> Term {
    let made = converted.and_then(|converted| if list { converted.to_list(heap) } else { converted.to_binary(heap) });
    made.unwrap_or_else(|exception| exception.reason)
}

#[test]
fn character_data_converts_as_in_erlang() {
    let oracle = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/unicode_oracle.escript");
    let Ok(output) = Command::new("escript").args([oracle, "25", "30000"]).output() else {
        eprintln!("skipped: no escript here");
        return;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let (mut cases, mut wrong) = (0, Vec::new());
    for line in text.lines() {
        let (encoding, hexadecimal) = line.split_once(' ').unwrap();
        let encoding = if encoding == "latin1" { Encoding::Latin1 } else { Encoding::Utf8 };
        let mut heap = ScratchHeap::new();
        let expected = bytes(hexadecimal);
        let (case, _) = decode(&expected, DecodeOptions::default(), &mut Nothing, &mut heap).unwrap();
        let data = case.tuple_elements().unwrap()[0];
        let binary = convert(only_binary(data), encoding, &mut heap);
        let binary = term(binary, &mut heap, false);
        let list = convert(data, encoding, &mut heap);
        let list = term(list, &mut heap, true);
        let ours = atoll_term::Build::tuple(&mut heap, &[data, binary, list]);
        let ours = encode(ours, EncodeOptions::default(), (atoms::NONODE_NOHOST, 0)).unwrap();
        cases += 1;
        if ours != expected {
            wrong.push(line);
        }
    }
    assert!(cases == 30_000, "{cases} cases");
    assert!(wrong.is_empty(), "{} differ, as {:#?}", wrong.len(), &wrong[..wrong.len().min(5)]);
}
