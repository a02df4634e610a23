use atoll_term::{ScratchHeap, View};

use super::*;
use crate::oracle::{Oracle, Random, source};

fn part(kind: SegmentType, unit: u16, value: Term, size: PartSize) -> Part<'static> {
    Part { kind, unit, flags: BitFlags::default(), value: PartValue::Term(value), size, number: 1 }
}

/// A bitstring at an odd offset of a larger one, or in one of the other representations.
fn bitstring(random: &mut Random, heap: &mut ScratchHeap, most: u64) -> Term {
    let bits = random.below(most) as usize;
    let (before, after) = (random.below(20) as usize, random.below(20) as usize);
    let bytes = random.bytes((before + bits + after).div_ceil(8));
    let whole = heap.bitstring(&bytes, before + bits + after);
    match random.below(3) {
        0 => heap.bitstring(&bytes, bits),
        _ => heap.part_of_bits(whole, before, bits),
    }
}

/// A segment, and its text in Erlang.
fn segment(random: &mut Random, heap: &mut ScratchHeap, first: bool) -> (Part<'static>, String) {
    let flags = BitFlags { little: random.below(2) == 0, signed: random.below(2) == 0 };
    let order = if flags.little { "little" } else { "big" };
    let (kind, unit, value, size, text) = match random.below(9) {
        0..=2 => {
            let limbs = 1 + random.below(4);
            let value = match random.below(40) {
                0 => atoms::OK,
                1 => heap.float(1.0),
                _ => random.integer(heap, limbs),
            };
            let size = match random.below(40) {
                0 => Term::small(-1),
                1 => atoms::ALL,
                2 => random.integer(heap, 3),
                _ => Term::small(random.below(200) as i64),
            };
            // A random size may be large enough to fill the memory of stock Erlang.
            let size = if size.as_small().is_some_and(|size| size > 1000) { Term::small(3) } else { size };
            let unit = 1 + random.below(3) as u16;
            let text = format!("(id({})):(id({}))/{order}-unit:{unit}", source(value), source(size));
            (SegmentType::Integer, unit, value, PartSize::Units(size), text)
        }
        3 => {
            let value = match random.below(10) {
                0 => random.integer(heap, 20),
                1 => random.integer(heap, 1),
                2 => atoms::OK,
                _ => heap.float(random.float()),
            };
            let size = [0, 16, 32, 64, 64, 16, 32, 24][random.below(8) as usize];
            let text = format!("(id({})):(id({size}))/{order}-float", source(value));
            (SegmentType::Float, 1, value, PartSize::Units(Term::small(size)), text)
        }
        4 | 5 => {
            let value = if random.below(30) == 0 { atoms::OK } else { bitstring(random, heap, 1200) };
            let unit = [1, 1, 1, 8][random.below(4) as usize];
            let kind = if first { SegmentType::Append } else { SegmentType::Binary };
            (kind, unit, value, PartSize::All, format!("(id({}))/binary-unit:{unit}", source(value)))
        }
        6 => {
            let value = if random.below(30) == 0 { atoms::OK } else { bitstring(random, heap, 400) };
            let size = Term::small(random.below(30) as i64);
            let text = format!("(id({})):(id({}))/binary-unit:8", source(value), source(size));
            (SegmentType::Binary, 8, value, PartSize::Units(size), text)
        }
        _ => {
            let value = match random.below(12) {
                0 => random.integer(heap, 2),
                1 => Term::small(0xd800 + random.below(0x900) as i64),
                2 => atoms::OK,
                3 => Term::small(random.below(0x11_0000) as i64),
                _ => Term::small(random.below(0x3000) as i64),
            };
            let (kind, name) =
                [(SegmentType::Utf8, "utf8"), (SegmentType::Utf16, "utf16"), (SegmentType::Utf32, "utf32")]
                    [random.below(3) as usize];
            let text = format!("(id({}))/{name}-{order}", source(value));
            (kind, 0, value, PartSize::Undefined, text)
        }
    };
    (Part { flags, ..part(kind, unit, value, size) }, text)
}

/// The cause in the error information, or the atom `none`.
fn cause(exception: Exception) -> Term {
    if exception.error_info.is_none() { atoms::NONE } else { exception.error_info.boxed_terms()[1] }
}

#[test]
fn random_segments_as_on_stock() {
    let (mut oracle, mut random) = (Oracle::default(), Random(5));
    for _ in 0..1200 {
        let count = 1 + random.below(4);
        let mut parts = Vec::new();
        let mut texts = Vec::new();
        for number in 1..=count {
            let (part, text) = segment(&mut random, &mut oracle.heap, number == 1);
            parts.push(Part { number: number as u16, ..part });
            texts.push(text);
        }
        let result = create(&mut oracle.heap, &parts).map_err(|error| {
            let reason = oracle.heap.tuple(&[error.reason, cause(error)]);
            Exception { reason, ..error }
        });
        oracle.expect_construction(&texts.join(","), result);
    }
    oracle.check();
}

#[test]
fn appends_share_one_binary() {
    let heap = &mut ScratchHeap::new();
    let mut whole = heap.binary(b"");
    let mut expected = Vec::new();
    let mut binaries = std::collections::HashSet::new();
    for number in 0..10_000i64 {
        let first = part(SegmentType::Append, 8, whole, PartSize::All);
        let byte = part(SegmentType::Integer, 1, Term::small(number), PartSize::Units(Term::small(8)));
        whole = create(heap, &[first, byte]).unwrap();
        expected.push(number as u8);
        binaries.insert(whole.boxed_terms()[2].word());
    }
    assert_eq!(whole.bits().unwrap().to_bytes(), expected);
    assert!(binaries.len() < 10, "{} copies were made", binaries.len());
}

#[test]
fn an_older_view_keeps_its_bytes() {
    let heap = &mut ScratchHeap::new();
    let start = heap.binary(b"start");
    let add = |heap: &mut ScratchHeap, to: Term, byte: i64| {
        let byte = part(SegmentType::Integer, 1, Term::small(byte), PartSize::Units(Term::small(8)));
        create(heap, &[part(SegmentType::Append, 8, to, PartSize::All), byte]).unwrap()
    };
    let base = add(heap, start, 1);
    let (left, right) = (add(heap, base, 2), add(heap, base, 3));
    assert_eq!(base.bits().unwrap().to_bytes().as_ref(), b"start\x01");
    assert_eq!(left.bits().unwrap().to_bytes().as_ref(), b"start\x01\x02");
    assert_eq!(right.bits().unwrap().to_bytes().as_ref(), b"start\x01\x03");
    assert_eq!(left.boxed_terms()[2], base.boxed_terms()[2]);
    assert_ne!(right.boxed_terms()[2], base.boxed_terms()[2]);
}

#[test]
fn appends_of_any_length_keep_every_older_view() {
    let (heap, mut random) = (&mut ScratchHeap::new(), Random(6));
    let text = |term: Term| {
        let bits = term.bits().unwrap();
        let all: String = bits.to_bytes().iter().map(|byte| format!("{byte:08b}")).collect();
        all[..bits.length()].to_string()
    };
    let mut views = vec![(heap.binary(b""), String::new())];
    for _ in 0..2_000 {
        let (base, start) = views[views.len() - 1 - random.below(views.len().min(3) as u64) as usize].clone();
        let length = [8, 16, random.below(40), random.below(700)][random.below(4) as usize] as usize;
        let added = heap.bitstring(&random.bytes(length / 8 + 1), length);
        let parts =
            [part(SegmentType::Append, 1, base, PartSize::All), part(SegmentType::Binary, 1, added, PartSize::All)];
        let whole = create(heap, &parts).unwrap();
        views.push((whole, start + &text(added)));
        if views.len() > 40 {
            views.drain(..35);
        }
        let (term, expected) = &views[random.below(views.len() as u64) as usize];
        assert_eq!(&text(*term), expected);
    }
}

#[test]
fn private_appends_of_odd_bits() {
    let heap = &mut ScratchHeap::new();
    let mut whole = init_writable(heap, Term::small(10));
    let mut text = String::new();
    for number in 0..5_000u64 {
        let value = number & 7;
        let bits = part(SegmentType::Integer, 1, Term::small(value as i64), PartSize::Units(Term::small(3)));
        whole = create(heap, &[part(SegmentType::PrivateAppend, 1, whole, PartSize::All), bits]).unwrap();
        text += &format!("{value:03b}");
    }
    let View::Bits(bits) = whole.view() else { panic!("no bitstring") };
    assert_eq!(bits.length(), text.len());
    let found: String = bits.to_bytes().iter().map(|byte| format!("{byte:08b}")).collect();
    assert_eq!(found[..text.len()], text);
}

#[test]
fn sizes_beyond_the_machine_are_refused() {
    let heap = &mut ScratchHeap::new();
    for size in [1 << 38, 1 << 58] {
        let large = part(SegmentType::Integer, 256, Term::small(1), PartSize::Units(Term::small(size)));
        assert_eq!(create(heap, &[large]).unwrap_err().reason, atoms::SYSTEM_LIMIT);
    }
    let start = heap.binary(b"start");
    let most = part(SegmentType::Integer, 1, Term::small(1), PartSize::Units(Term::small(MAX_BITS as i64)));
    let error = create(heap, &[part(SegmentType::Append, 8, start, PartSize::All), most]).unwrap_err();
    assert_eq!(error.reason, atoms::SYSTEM_LIMIT);
    assert!(size_in_bits(Term::small(-1), 8).is_err_and(|error| error.reason == atoms::BADARG));
}

#[test]
fn old_instructions() {
    let heap = &mut ScratchHeap::new();
    let size = add_sizes(heap, Term::small(16), Term::small(2), 8).unwrap();
    assert_eq!(size, Term::small(32));
    let mut building = begin(heap, 32);
    building.writer.integer(Term::small(0x102), 16, BitFlags { little: true, signed: false }).unwrap();
    let string = Part { value: PartValue::Bytes(b"ab"), ..part(SegmentType::String, 8, Term::NIL, PartSize::All) };
    write(&mut building.writer, &string).unwrap();
    assert_eq!(building.writer.remaining(), 0);
    assert_eq!(building.writer.string(b"c"), Err(Fault::Size));
    let first = building.finish();
    let mut building = append(heap, first, 8, 8, false).unwrap();
    building.writer.utf(Term::small(0x7f), SegmentType::Utf8, BitFlags::default()).unwrap();
    assert_eq!(building.finish().bits().unwrap().to_bytes().as_ref(), b"\x02\x01ab\x7f");
    assert_eq!(append(heap, atoms::OK, 8, 8, false).unwrap_err(), Fault::Type);
    assert_eq!(utf_size(Term::small(0x20ac), SegmentType::Utf8), Term::small(3));
    assert_eq!(utf_size(Term::small(0x1_f600), SegmentType::Utf16), Term::small(4));
}
