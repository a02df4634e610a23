//! Float text compared with what the installed Erlang writes and reads, on some hundred thousand cases.

use std::process::Command;

use atoll_operations::float_text::{FloatFormat, FloatText, float_from_text, float_prefix, float_text};

#[test]
fn floats_are_written_and_read_as_erlang_does() {
    let oracle = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/float_oracle.escript");
    let Ok(output) = Command::new("escript").args([oracle, "25"]).output() else {
        eprintln!("skipped: no escript here");
        return;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let (mut written, mut read, mut wrong) = (0, 0, Vec::new());
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let good = match *words {
            ["read", text, result, prefix, length] => {
                read += 1;
                let whole =
                    float_from_text(text.as_bytes()).map_or("badarg".to_owned(), |float| float.to_bits().to_string());
                let (value, end) = float_prefix(text.as_bytes())
                    .map_or(("none".to_owned(), 0), |(float, end)| (float.to_bits().to_string(), end));
                whole == result && value == prefix && end.to_string() == length
            }
            [bits, kind, digits, expected] => {
                written += 1;
                let digits = digits.parse().unwrap();
                let format = match kind {
                    "short" => FloatFormat::Short,
                    "scientific" => FloatFormat::Scientific(digits),
                    _ => FloatFormat::Decimals { digits, compact: kind == "compact" },
                };
                let mut ours = FloatText::new();
                let written = float_text(&mut ours, f64::from_bits(bits.parse().unwrap()), format);
                written.map_or("badarg", |()| &*ours) == expected
            }
            _ => false,
        };
        if !good {
            wrong.push(line);
        }
    }
    assert!(written > 100_000 && read > 10_000, "{written} written, {read} read");
    assert!(wrong.is_empty(), "{} differ, as {:#?}", wrong.len(), &wrong[..wrong.len().min(20)]);
}
