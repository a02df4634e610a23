//! Random literal terms, with the edges of each type.

use fastrand::Rng;

use super::pick;

const ATOMS: [&str; 8] = ["a", "b", "ok", "true", "false", "undefined", "'two words'", "'\\x{fc}'"];

/// An integer: often small, often at an edge, sometimes long.
pub fn integer(random: &mut Rng) -> String {
    let edge = |shift: u32, random: &mut Rng| {
        let value = (1i128 << shift) + i128::from(random.i8(-2..=2));
        if random.bool() { value } else { -value }
    };
    match random.u8(..10) {
        0..=4 => random.i64(-20..=300).to_string(),
        5 => edge(pick(random, &[7, 8, 15, 16, 27, 28, 31, 32]), random).to_string(),
        6 | 7 => edge(pick(random, &[58, 59, 60, 61, 62, 63, 64, 65]), random).to_string(),
        8 => random.i64(..).to_string(),
        _ => {
            let digits: String = (0..random.usize(20..60)).map(|_| char::from(b'0' + random.u8(..10))).collect();
            format!("{}1{digits}", if random.bool() { "-" } else { "" })
        }
    }
}

/// A float.
pub fn float(random: &mut Rng) -> String {
    match random.u8(..5) {
        0 => pick(random, &["0.0", "-0.0", "1.0", "-1.5", "0.1", "1.0e22", "1.0e23", "5.0e-324"]).to_owned(),
        1 => pick(random, &["1.7976931348623157e308", "9007199254740992.0", "9007199254740993.0", "1.0e-5"]).to_owned(),
        2 => format!("{}.0", random.i32(..)),
        _ => format!("{:.6}", (random.f64() - 0.5) * 2000.0),
    }
}

/// An atom.
pub fn atom(random: &mut Rng) -> &'static str {
    pick(random, &ATOMS)
}

/// A binary, empty to beyond what fits on a heap.
pub fn binary(random: &mut Rng) -> String {
    let size = match random.u8(..4) {
        0 => 0,
        1 | 2 => random.usize(1..12),
        _ => random.usize(60..90),
    };
    let bytes: Vec<String> = (0..size).map(|_| random.u8(..).to_string()).collect();
    format!("<<{}>>", bytes.join(","))
}

/// A bitstring.
pub fn bits(random: &mut Rng) -> String {
    if random.bool() { binary(random) } else { format!("<<{}:{}>>", random.u32(..), random.u8(..40)) }
}

/// Any term that can be written down.
pub fn term(random: &mut Rng, depth: usize) -> String {
    let many = |random: &mut Rng| {
        let count = random.usize(..5);
        (0..count).map(|_| term(random, depth - 1)).collect::<Vec<_>>()
    };
    match random.u8(..if depth == 0 { 7 } else { 13 }) {
        0..=2 => integer(random),
        3 => float(random),
        4 => atom(random).to_owned(),
        5 => bits(random),
        6 => pick(random, &["[]", "{}", "#{}", "\"text\"", "<<>>"]).to_owned(),
        7 | 8 => format!("[{}]", many(random).join(", ")),
        9 => format!("[{} | {}]", term(random, depth - 1), term(random, depth - 1)),
        10 | 11 => format!("{{{}}}", many(random).join(", ")),
        _ => {
            let pairs: Vec<String> = (0..random.usize(..4))
                .map(|index| format!("{{{index}, {}}} => {}", atom(random), term(random, depth - 1)))
                .collect();
            format!("#{{{}}}", pairs.join(", "))
        }
    }
}
