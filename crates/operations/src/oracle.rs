//! Stock Erlang as the judge of tests: results are collected, then checked in one run of `escript`.

use std::fmt::Write as _;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use atoll_term::{Build, ScratchHeap, Term, View, atoms};

use crate::exception::Exception;

/// Calls made here, to be made on stock Erlang too.
#[derive(Default)]
pub(crate) struct Oracle {
    /// Where arguments and results live.
    pub heap: ScratchHeap,
    calls: String,
    results: Vec<String>,
    functions: usize,
    code: String,
}

impl Oracle {
    /// Notes the result of a call. `name` is the Erlang text of a function of `erlang`, or `{Module, Function}`.
    pub fn expect(&mut self, name: &str, arguments: &[Term], result: Result<Term, Exception>) {
        let arguments: Vec<String> = arguments.iter().map(|term| source(*term)).collect();
        let _ = writeln!(self.calls, "{{{name}, [{}]}}.", arguments.join(","));
        self.results.push(match result {
            Ok(term) => show(term),
            Err(exception) => format!("! {} {}", show(exception.class.atom()), show(exception.reason)),
        });
    }

    /// Notes the result of the bit syntax `<<Segments>>`, which stock compiles; a failure's reason is
    /// `{Reason, Cause}`. Values in `segments` ought to be calls of `id`, which hides them from the compiler.
    pub fn expect_construction(&mut self, segments: &str, result: Result<Term, Exception>) {
        let number = self.functions;
        self.functions += 1;
        let _ = writeln!(self.code, "f{number}() -> <<{segments}>>.");
        let name = atoms::atom(&format!("f{number}")).expect("an atom");
        self.expect("construct", &[name], result);
    }

    /// Makes the calls on stock Erlang and compares.
    pub fn check(self) {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        assert!(!self.results.is_empty());
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let file = std::env::temp_dir().join(format!("atoll-oracle-{}-{number}", std::process::id()));
        let code = file.with_extension("erl");
        std::fs::write(&file, &self.calls).expect("calls can be written");
        let module = code.file_stem().unwrap_or_default().to_string_lossy();
        let head = format!("-module('{module}').\n-compile([export_all, nowarn_export_all]).\nid(Value) -> Value.\n");
        std::fs::write(&code, head + &self.code).expect("code can be written");
        let output = Command::new("escript")
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/src/oracle.erl"))
            .args([&file, &code])
            .output()
            .expect("stock Erlang is installed");
        let _ = std::fs::remove_file(&file);
        let _ = std::fs::remove_file(&code);
        let answers = String::from_utf8_lossy(&output.stdout).into_owned();
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert_eq!(answers.lines().count(), self.results.len(), "{complaint}");
        let different: Vec<String> = (self.calls.lines().zip(&self.results).zip(answers.lines()))
            .filter(|((_, ours), stock)| ours != stock)
            .map(|((call, ours), stock)| format!("{call}\n  here:  {ours}\n  stock: {stock}"))
            .collect();
        let shown = different.len().min(20);
        assert!(different.is_empty(), "{} results differ:\n{}", different.len(), different[..shown].join("\n"));
    }
}

/// The text of a value in the notation of the answers.
fn show(term: Term) -> String {
    match term.view() {
        View::Float(value) => format!("f{:016x}", value.to_bits()),
        View::Atom(atom) => atoms::atom_name(atom).to_string(),
        View::Bits(bits) => {
            let bytes: String = bits.to_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
            format!("<{}:{bytes}>", bits.length())
        }
        _ => compound(term, show),
    }
}

/// The text of a value as Erlang source.
pub(crate) fn source(term: Term) -> String {
    match term.view() {
        View::Float(value) => {
            let text = format!("{value:e}");
            let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
            let point = if digits.contains('.') { "" } else { ".0" };
            format!("{digits}{point}e{exponent}")
        }
        View::Atom(atom) => format!("'{}'", atoms::atom_name(atom)),
        View::Bits(bits) => {
            let whole = bits.length() / 8;
            let mut parts: Vec<String> = (0..whole).map(|index| bits.byte(index).to_string()).collect();
            let rest = bits.length() % 8;
            if rest != 0 {
                parts.push(format!("{}:{rest}", bits.byte(whole) >> (8 - rest)));
            }
            format!("<<{}>>", parts.join(","))
        }
        _ => compound(term, source),
    }
}

fn compound(term: Term, show: fn(Term) -> String) -> String {
    match term.view() {
        View::Tuple(elements) => {
            format!("{{{}}}", elements.iter().map(|term| show(*term)).collect::<Vec<_>>().join(","))
        }
        View::Map(map) => {
            let mut pairs: Vec<(Term, Term)> = atoll_term::map::MapIter::new(&map).collect();
            pairs.sort_by(|(a, _), (b, _)| atoll_term::compare_exact(*a, *b));
            let texts: Vec<String> =
                pairs.iter().map(|(key, value)| format!("{}=>{}", show(*key), show(*value))).collect();
            format!("#{{{}}}", texts.join(","))
        }
        View::Nil => "[]".to_string(),
        View::Cons(head, mut tail) => {
            let mut text = format!("[{}", show(head));
            while let View::Cons(head, rest) = tail.view() {
                let _ = write!(text, ",{}", show(head));
                tail = rest;
            }
            match tail.is_nil() {
                true => text + "]",
                false => text + "|" + &show(tail) + "]",
            }
        }
        _ => term.to_bigint().expect("a value that tests use").to_string(),
    }
}

/// Numbers that are random enough for tests, the same in every run.
pub(crate) struct Random(pub u64);

impl Random {
    /// The next 64 bits.
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 11) % limit
    }

    /// Bytes.
    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }

    /// An integer of any size up to `limbs`, near powers of two more often than elsewhere.
    pub fn integer(&mut self, heap: &mut ScratchHeap, limbs: u64) -> Term {
        let negative = self.below(2) == 0;
        match self.below(4) {
            0 => heap.integer(self.below(40) as i64 - 20),
            1 => {
                let bit = self.below(64 * limbs) as usize;
                let power = num_bigint::BigInt::from(1) << bit;
                let near = power + (self.below(5) as i64 - 2);
                heap.bigint(&if negative { -near } else { near })
            }
            _ => {
                let bits = self.below(64 * limbs) as usize + 1;
                let mut magnitude: Vec<u64> = (0..bits.div_ceil(64)).map(|_| self.next()).collect();
                if let Some(top) = magnitude.last_mut() {
                    *top >>= (64 - bits % 64) % 64;
                }
                heap.big_from_limbs(negative, &magnitude)
            }
        }
    }

    /// A finite float that is not subnormal.
    pub fn float(&mut self) -> f64 {
        match self.below(4) {
            0 => (self.below(41) as f64 - 20.0) / 2.0,
            1 => self.next() as i64 as f64 / 65536.0,
            2 => [0.0, -0.0, f64::MAX, f64::MIN, f64::MIN_POSITIVE, 1e22, 9007199254740993.0][self.below(7) as usize],
            _ => Some(f64::from_bits(self.next())).filter(|float| float.is_normal()).unwrap_or(0.1),
        }
    }
}
