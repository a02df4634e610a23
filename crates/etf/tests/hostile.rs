//! Bytes that mean harm: they must be refused or understood, quickly, in little memory, and never end the machine.

mod support;

use std::io::Write;

use atoll_etf::{DecodeError, DecodeOptions, EncodeOptions, decode, encode, encoded_size};
use atoll_term::atoms::existing_atom;
use atoll_term::{Allocate, Build, ScratchHeap, Term, View};
use support::{Machine, NODE, read};

/// A heap that counts the words asked of it.
#[derive(Default)]
struct Counting {
    heap: ScratchHeap,
    words: usize,
}

impl Allocate for Counting {
    fn allocate(&mut self, words: usize) -> std::ptr::NonNull<u64> {
        self.words += words;
        self.heap.allocate(words)
    }

    fn adopt(&mut self, object: std::ptr::NonNull<u64>) {
        self.heap.adopt(object);
    }
}

/// Xorshift (Marsaglia 2003), so that a failure comes again.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

fn every_tag() -> Vec<Vec<u8>> {
    let node = b"d\0\x03a@b";
    let joined = |parts: &[&[u8]]| parts.concat();
    let pid = joined(&[b"X", node, &[0; 12]]);
    let parts: Vec<Vec<u8>> = vec![
        b"a\x07".into(),
        b"b\xff\xff\xff\xff".into(),
        joined(&[b"c1.5e+00", &[0; 24]]),
        b"F\x3f\xf8\0\0\0\0\0\0".into(),
        b"d\0\x01a".into(),
        b"s\x01\xe5".into(),
        b"v\0\x02\xc3\xa5".into(),
        b"w\x02\xc3\xa5".into(),
        joined(&[b"g", node, &[1; 9]]),
        pid.clone(),
        joined(&[b"f", node, &[1; 5]]),
        joined(&[b"Y", node, &[1; 8]]),
        joined(&[b"x", node, &[1; 12]]),
        joined(&[b"e", node, &[0; 5]]),
        joined(&[b"r\0\x03", node, &[0; 13]]),
        joined(&[b"Z\0\x03", node, &[0; 16]]),
        b"k\0\x03abc".into(),
        b"m\0\0\0\x03abc".into(),
        b"M\0\0\0\x03\x05abc".into(),
        b"n\x09\x01123456789".into(),
        b"o\0\0\0\x09\x00123456789".into(),
        b"qd\0\x01md\0\x01fa\x02".into(),
        joined(&[b"p\0\0\0\x50\x01", &[7; 16], &[0, 0, 0, 3, 0, 0, 0, 1], b"d\0\x01ma\x03a\x09", &pid, b"j"]),
    ];
    let tuple = joined(&[&[131, 104, parts.len() as u8], &parts.concat()]);
    let list = joined(&[&[131, 108, 0, 0, 0, parts.len() as u8], &parts.concat(), b"j"]);
    let map = joined(&[&[131, 116, 0, 0, 0, parts.len() as u8 / 2], &parts[..parts.len() / 2 * 2].concat()]);
    if cfg!(miri) {
        // Miri reports zlib-rs, which frees its state while a function still has a reference to it.
        return vec![tuple, list, map];
    }
    let mut stream = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    stream.write_all(&tuple[1..]).unwrap();
    let packed = joined(&[&[131, 80], &(tuple.len() as u32 - 1).to_be_bytes(), &stream.finish().unwrap()]);
    vec![tuple, list, map, packed]
}

#[test]
fn every_damage_is_survived() {
    const ROUNDS: usize = if cfg!(miri) { 20 } else { 200_000 };
    let mut random = Random(25);
    let whole = every_tag();
    for bytes in &whole {
        assert!(read(bytes, &mut ScratchHeap::new()).is_ok(), "{bytes:?}");
        for end in (0..bytes.len()).step_by(if cfg!(miri) { 97 } else { 1 }) {
            assert!(read(&bytes[..end], &mut ScratchHeap::new()).is_err(), "cut at {end}");
        }
    }
    let mut understood = 0;
    for round in 0..ROUNDS {
        let mut bytes = whole[round % whole.len()].clone();
        for _ in 0..=random.below(3) {
            let at = random.below(bytes.len());
            bytes[at] = random.below(256) as u8;
        }
        let mut heap = Counting::default();
        let options = DecodeOptions { safe: round % 2 == 0 };
        if let Ok((term, used)) = decode(&bytes, options, &mut Machine, &mut heap) {
            understood += 1;
            assert!(used <= bytes.len());
            assert!(encode(term, EncodeOptions::default(), NODE).is_ok());
        }
        assert!(heap.words < 10_000, "{} words for {bytes:?}", heap.words);
    }
    assert!(understood > ROUNDS / 200);
}

#[test]
fn large_counts_reserve_nothing() {
    for head in
        [&b"\x83l"[..], b"\x83i", b"\x83t", b"\x83m", b"\x83o", b"\x83M", b"\x83P", b"\x83h\xff", b"\x83k", b"\x83n"]
    {
        for filler in [0xff, 0x6a, 0x00] {
            let mut heap = Counting::default();
            let bytes = [head, &[0xff; 4], &[filler; 40]].concat();
            assert_eq!(
                decode(&bytes, DecodeOptions::default(), &mut Machine, &mut heap).map(|_| ()),
                Err(DecodeError::Malformed)
            );
            assert!(heap.words < 1000);
        }
    }
}

#[test]
fn deep_terms_need_no_deep_stack() {
    const DEPTH: usize = if cfg!(miri) { 100 } else { 3_000_000 };
    for opening in [&b"h\x01"[..], b"l\0\0\0\x01", b"t\0\0\0\x01j"] {
        // A list's head is deep, and its tail comes behind.
        let tails = if opening[0] == b'l' { DEPTH } else { 0 };
        let bytes = [b"\x83", &opening.repeat(DEPTH)[..], b"a\x01", &b"j".repeat(tails)].concat();
        let mut heap = ScratchHeap::new();
        let (term, used) = read(&bytes, &mut heap).unwrap();
        assert_eq!(used, bytes.len());
        if opening[0] == b'l' {
            // The innermost is the list of one byte: the string form is shorter than the one that came in.
            assert_eq!(encoded_size(term, EncodeOptions::default(), NODE), Ok(bytes.len() - 4));
        } else {
            assert_eq!(encode(term, EncodeOptions::default(), NODE).as_ref(), Ok(&bytes));
        }
    }
    // A list that goes on in its tail.
    let long = [b"\x83", &b"l\0\0\0\x01j".repeat(DEPTH)[..], b"a\x01"].concat();
    let mut heap = ScratchHeap::new();
    let (list, _) = read(&long, &mut heap).unwrap();
    assert!(matches!(list.view(), View::Cons(..)));
}

#[test]
fn safe_terms_create_nothing() {
    let safe = |bytes: &[u8]| {
        let mut heap = ScratchHeap::new();
        decode(bytes, DecodeOptions { safe: true }, &mut Machine, &mut heap).map(|_| ())
    };
    assert_eq!(safe(b"\x83d\0\x15never_seen_in_any_way"), Err(DecodeError::Unsafe));
    assert_eq!(existing_atom("never_seen_in_any_way"), None);
    assert_eq!(safe(b"\x83d\0\x02ok"), Ok(()));
    assert_eq!(safe(b"\x83qd\0\x05listsd\0\x02oka\x02"), Err(DecodeError::Unsafe));
}

#[test]
fn what_is_no_term_is_not_encoded() {
    assert!(encode(Term::NONE, EncodeOptions::default(), NODE).is_err());
    let mut heap = ScratchHeap::new();
    let tuple = heap.tuple(&[Term::catch_mark(8)]);
    assert!(encode(tuple, EncodeOptions::default(), NODE).is_err());
}
