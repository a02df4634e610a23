use atoll_term::{ScratchHeap, atoms};

use super::*;
use crate::oracle::{Oracle, Random};

const FLAGS: [(BitFlags, &str); 4] = [
    (BitFlags { little: false, signed: false }, "big,unsigned"),
    (BitFlags { little: false, signed: true }, "big,signed"),
    (BitFlags { little: true, signed: false }, "little,unsigned"),
    (BitFlags { little: true, signed: true }, "little,signed"),
];

/// `{Value, Rest}` of one segment behind `before` bits, or `none`.
fn matched(
    heap: &mut ScratchHeap,
    value: Term,
    before: usize,
    get: impl FnOnce(&mut ScratchHeap, Term) -> Option<Term>,
) -> Term {
    let context = start_match(heap, value).unwrap();
    if skip(context, before)
        && let Some(found) = get(heap, context)
    {
        let rest = get_binary_all(heap, context, 1).unwrap();
        return heap.tuple(&[found, rest]);
    }
    atoms::NONE
}

fn input(random: &mut Random, heap: &mut ScratchHeap) -> (Term, usize) {
    let most = if random.below(4) == 0 { 1500 } else { 150 };
    let bits = random.below(most) as usize;
    let before = random.below(25) as usize;
    let mut bytes = random.bytes((before + bits).div_ceil(8));
    match random.below(6) {
        0 => bytes.fill(0xff),
        1 => bytes.fill(0),
        _ => {}
    }
    let whole = heap.bitstring(&bytes, before + bits);
    (heap.part_of_bits(whole, before, bits), random.below(20) as usize)
}

#[test]
fn random_segments_as_on_stock() {
    let (mut oracle, mut random) = (Oracle::default(), Random(11));
    for _ in 0..1500 {
        let (value, before) = input(&mut random, &mut oracle.heap);
        let size = match random.below(5) {
            0 => [8, 16, 32, 64][random.below(4) as usize],
            1 => random.below(1600) as usize,
            _ => random.below(140) as usize,
        };
        let arguments = [value, Term::small(before as i64), Term::small(size as i64)];
        for (flags, name) in FLAGS {
            let result =
                matched(&mut oracle.heap, value, before, |heap, context| get_integer(heap, context, size, flags));
            oracle.expect(&format!("{{match,{{integer,{name}}}}}"), &arguments, Ok(result));
        }
        let result = matched(&mut oracle.heap, value, before, |heap, context| get_binary(heap, context, size));
        oracle.expect("{match,binary}", &arguments, Ok(result));
        for (little, order) in [(false, "big"), (true, "little")] {
            let size = [0, 16, 32, 64, 17][random.below(5) as usize];
            let arguments = [value, Term::small(before as i64), Term::small(size as i64)];
            let flags = BitFlags { little, signed: false };
            let result =
                matched(&mut oracle.heap, value, before, |heap, context| get_float(heap, context, size, flags));
            oracle.expect(&format!("{{match,{{float,{order}}}}}"), &arguments, Ok(result));
        }
    }
    oracle.check();
}

#[test]
fn utf_segments_as_on_stock() {
    let (mut oracle, mut random) = (Oracle::default(), Random(12));
    let encodings = [
        (SegmentType::Utf8, false, "utf8,big"),
        (SegmentType::Utf16, false, "utf16,big"),
        (SegmentType::Utf16, true, "utf16,little"),
        (SegmentType::Utf32, false, "utf32,big"),
        (SegmentType::Utf32, true, "utf32,little"),
    ];
    for _ in 0..4000 {
        let (encoding, little, name) = encodings[random.below(5) as usize];
        let flags = BitFlags { little, signed: false };
        let most = if random.below(2) == 0 { 0x11_0000 } else { 0x3000 };
        let value = random.below(most);
        let Some((encoded, bits)) = utf::encode(value, encoding, flags) else { continue };
        let mut bytes = (encoded << (64 - bits)).to_be_bytes();
        if random.below(2) == 0 {
            bytes[random.below(4) as usize] ^= 1 << random.below(8);
        }
        let before = random.below(10) as usize;
        let length = bits.saturating_sub(random.below(3) as usize * random.below(9) as usize);
        let pad = u128::from(u64::from_be_bytes(bytes)) << 64 >> before;
        let whole = oracle.heap.bitstring(&pad.to_be_bytes(), before + length);
        let result = matched(&mut oracle.heap, whole, before, |_, context| get_utf(context, encoding, flags));
        oracle.expect(&format!("{{match,{{{name}}}}}"), &[whole, Term::small(before as i64)], Ok(result));
    }
    oracle.check();
}

#[test]
fn commands_run_in_order_or_not_at_all() {
    let heap = &mut ScratchHeap::new();
    let value = heap.binary(b"\x01\x02\x03rest");
    let context = start_match(heap, value).unwrap();
    let mut commands = vec![
        MatchCommand::EnsureAtLeast { stride: 24, unit: 8 },
        MatchCommand::ExactlyEqual { live: 0, bits: 8, value: 1 },
        MatchCommand::Integer { live: 0, flags: BitFlags::default(), bits: 8, destination: Register::X(1) },
        MatchCommand::Skip { stride: 8 },
        MatchCommand::GetTail { live: 0, unit: 8, destination: Register::X(2) },
    ];
    let mut stored = Vec::new();
    assert!(run(heap, context, &commands, |register, term| stored.push((register, term))));
    assert_eq!(stored[0], (Register::X(1), Term::small(2)));
    assert_eq!(stored[1].1.bits().unwrap().to_bytes().as_ref(), b"rest");
    assert!(test_tail(context, 32) && test_unit(context, 16) && !test_unit(context, 7));

    set_position(context, Term::small(0));
    commands.push(MatchCommand::EnsureExactly { stride: 8 });
    assert!(!run(heap, context, &commands, |_, _| ()));
    assert_eq!(get_position(context), Some(Term::small(0)));
    assert!(match_string(context, b"\x01\x02", 16) && !match_string(context, b"\x04", 8));
    assert_eq!(start_match(heap, context), Some(context));
    assert_eq!(start_match(heap, atoms::OK), None);
}

#[test]
fn long_parts_share_and_short_ones_do_not() {
    let heap = &mut ScratchHeap::new();
    let value = heap.binary(&[7; 100]);
    let context = start_match(heap, value).unwrap();
    assert_eq!(get_tail(heap, context), Some(value));
    assert_eq!(get_binary(heap, context, 128).unwrap().boxed_kind(), Some(Kind::HeapBits));
    let long = get_binary(heap, context, 136).unwrap();
    assert_eq!((long.boxed_kind(), long.boxed_terms()[2]), (Some(Kind::SubBits), value));
    assert!(!skip(context, 800) && skip_all(context, 8) && test_tail(context, 0));
}
