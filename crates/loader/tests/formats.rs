//! Small files made by hand: what each release writes, and what is refused.

mod support;

use atoll_loader::{
    AtomIndex, BitFlags, HeapNeed, ImportIndex, Instruction as I, Label, LiteralIndex, MatchCommand, Module, Register,
    SegmentSize, Source, TypeTest, load,
};
use support::assembler::{Arg::*, Assembler, Format, form, gzip, zlib};

/// A module `m` with one function `f/1` whose entry is label 2.
fn function(body: impl FnOnce(&mut Assembler)) -> Assembler {
    let mut assembler = Assembler::new("m");
    assembler.exports.push(("f", 1, 2));
    assembler.function("f", 1, 1);
    body(&mut assembler);
    assembler
}

#[track_caller]
fn loads(mut assembler: Assembler) -> Module {
    load(&assembler.file()).expect("a good file")
}

/// The instructions behind the entry.
#[track_caller]
fn body(assembler: Assembler) -> Vec<I> {
    loads(assembler).code.split_off(3)
}

#[track_caller]
fn refused(body: impl FnOnce(&mut Assembler), problem: &str) {
    let mut assembler = function(body);
    let error = load(&assembler.file()).expect_err("a bad file").to_string();
    assert!(error.contains(problem), "{error:?} does not say {problem:?}");
}

#[test]
fn the_smallest_function() {
    let module = loads(function(|a| {
        a.op(19, &[]);
    }));
    assert_eq!(module.name(), "m");
    assert_eq!(module.code.len(), 4);
    assert_eq!(module.labels, [Module::NO_PLACE, 0, 2]);
    let function = module.functions[0];
    assert_eq!((function.arity, function.entry, function.start, function.end), (1, Label(2), 0, 4));
    assert_eq!(module.atom(function.name), "f");
    assert_eq!(module.exports[0].label, Label(2));
}

#[test]
fn both_forms_of_tables() {
    for format in [Format::Old, Format::New] {
        let mut assembler = function(|a| {
            a.op(64, &[Literal(0), X(0)]).op(64, &[A("a_name_of_over_sixteen_bytes"), X(0)]);
            a.op(19, &[]);
        });
        assembler.format = format;
        assembler.literals.push(b"\x83h\x01a\x01".to_vec());
        let module = load(&assembler.file()).expect("a good file");
        assert_eq!(*module.literals[0], *b"\x83h\x01a\x01");
        let Some(&I::Move { source: Source::Atom(atom), .. }) = module.code.get(4) else {
            panic!("{:?}", module.code);
        };
        assert_eq!(module.atom(atom), "a_name_of_over_sixteen_bytes");
        let packed = load(&gzip(&assembler.file())).expect("a good compressed file");
        assert_eq!(packed, module);
    }
}

#[test]
fn update_record_of_otp_26() {
    let code = body(function(|a| {
        let updates = List(vec![U(2), A("v"), U(3), X(1)]);
        a.op(64, &[Nil, X(1)]).op(58, &[F(1), X(0), U(3)]).op(16, &[U(4), U(2)]);
        a.op(181, &[A("copy"), U(3), TypedX(0, 1), X(0), updates]).op(19, &[]);
    }));
    let I::UpdateRecord { size: 3, source: Source::X(0), destination, updates } = &code[4] else {
        panic!("{code:?}");
    };
    assert_eq!(*destination, Register::X(0));
    assert_eq!((updates[0].0, updates[1]), (2, (3, Source::X(1))));
    refused(
        |a| {
            a.op(181, &[A("copy"), U(3), X(0), X(0), List(vec![U(4), X(1)])]).op(19, &[]);
        },
        "element 4 of a tuple of 3",
    );
}

#[test]
fn bs_match_of_otp_26() {
    let mut assembler = function(|a| {
        a.op(170, &[A("no_fail"), U(1), X(0), X(0)]);
        a.op(
            182,
            &[
                F(3),
                X(0),
                List(vec![
                    A("ensure_at_least"),
                    U(48),
                    U(8),
                    A("integer"),
                    U(1),
                    Literal(0),
                    U(16),
                    U(1),
                    X(1),
                    A("skip"),
                    U(8),
                    A("=:="),
                    Nil,
                    U(16),
                    U(0xffff),
                    A("binary"),
                    U(2),
                    Nil,
                    U(1),
                    U(8),
                    X(2),
                    A("get_tail"),
                    U(3),
                    U(8),
                    X(3),
                    A("ensure_exactly"),
                    U(0),
                ]),
            ],
        );
        a.op(64, &[X(3), X(0)]).op(19, &[]);
        a.op(1, &[U(3)]).op(64, &[Nil, X(0)]).op(19, &[]);
    });
    assembler.literals.push(b"\x83l\0\0\0\x02w\x06signedw\x06littlej".to_vec());
    let code = body(assembler);
    assert_eq!(
        code[0],
        I::BsStartMatch { fail: Label::NONE, live: 1, value: Source::X(0), destination: Register::X(0) }
    );
    let commands = [
        MatchCommand::EnsureAtLeast { stride: 48, unit: 8 },
        MatchCommand::Integer {
            live: 1,
            flags: BitFlags { little: true, signed: true },
            bits: 16,
            destination: Register::X(1),
        },
        MatchCommand::Skip { stride: 8 },
        MatchCommand::ExactlyEqual { live: 0, bits: 16, value: 0xffff },
        MatchCommand::Binary { live: 2, bits: 8, destination: Register::X(2) },
        MatchCommand::GetTail { live: 3, unit: 8, destination: Register::X(3) },
        MatchCommand::EnsureExactly { stride: 0 },
    ];
    let expected = I::BsMatch { fail: Label(3), context: Register::X(0), commands: commands.into() };
    assert_eq!(code[1], expected);
    refused(
        |a| {
            a.op(182, &[F(1), X(0), List(vec![A("ensure_at_least"), U(48)])]).op(19, &[]);
        },
        "cut short",
    );
}

#[test]
fn instructions_of_otp_27_to_29() {
    let mut assembler = function(|a| {
        a.op(183, &[U(1), U(7)]);
        a.op(184, &[A("entry"), U(1), U(1), U(1)]);
        a.op(185, &[F(0), U(0), X(0), I(1), I(2), X(0)]);
        a.op(186, &[F(1), X(0)]);
        a.op(187, &[F(1), X(0), A("m"), A("r")]);
    });
    assembler.imports.push(("erlang", "is_integer", 3));
    assembler.lines = Some(b"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x02\0\0\0\x01\x51\x12\x61\0\x05a.hrl".to_vec());
    let module = loads(assembler);
    assert_eq!(module.lines.entries, [(0, 0), (0, 5), (1, 6)]);
    assert_eq!(module.lines.files, ["m.erl".into(), "a.hrl".into()]);
    let arguments = [Source::X(0), Source::Small(1), Source::Small(2)].into();
    let expected = [
        I::Line(1),
        I::Line(1),
        I::Bif { fail: Label(0), bif: ImportIndex(0), arguments, destination: Register::X(0) },
        I::Test { fail: Label(1), test: TypeTest::NativeRecord, value: Source::X(0) },
        I::Unsupported { opcode: 187 },
    ];
    assert_eq!(module.code[3..], expected);
}

#[test]
fn old_instructions_become_new_ones() {
    let code = body(function(|a| {
        a.op(15, &[U(2), Alloc(3, 1, 1), U(1)]).op(17, &[Y(1)]);
        a.op(94, &[]).op(150, &[F(1)]);
        a.op(109, &[F(0), U(2), U(0), U(1), U(0), X(1)]);
        a.op(89, &[F(0), I(16), U(1), U(2), X(0)]);
        a.op(18, &[U(2)]).op(19, &[]);
    }));
    let need = HeapNeed { words: 3, floats: 1, funs: 1 };
    assert_eq!(code[0], I::Allocate { slots: 2, need, live: 1 });
    assert_eq!(code[1], I::InitYregs([0, 1].into()));
    assert_eq!(code[2], I::InitYregs([1].into()));
    let I::BsCreateBin { segments, live: Some(1), destination: Register::X(1), .. } = &code[3] else {
        panic!("{:?}", code[3])
    };
    assert!(
        matches!(segments[..], [segment] if segment.flags.little && segment.size == SegmentSize::Units(Source::Small(16)))
    );
    assert_eq!(code.len(), 6);
}

#[test]
fn a_bitstring_stays_in_pieces_where_one_of_them_reads_what_the_first_has_written() {
    let code = body(function(|a| {
        a.op(109, &[F(0), U(2), U(0), U(1), U(0), X(0)]);
        a.op(89, &[F(0), I(16), U(1), U(0), X(0)]);
        a.op(19, &[]);
    }));
    assert!(matches!(code[0], I::BsInit { bits: false, size: Source::Small(2), .. }));
    assert!(matches!(code[1], I::BsPut { .. }));
}

#[test]
fn constants_become_literals() {
    let module = loads(function(|a| {
        a.op(64, &[I((1 << 59) - 1), X(0)]);
        a.op(64, &[I(1 << 59), X(0)]);
        a.op(64, &[I(-(1 << 59)), X(0)]);
        a.op(64, &[I(-(1 << 59) - 1), X(0)]);
        a.op(64, &[Raw(b"\x07\x3f\xf8\0\0\0\0\0\0"), X(0)]);
        a.op(19, &[]);
    }));
    let sources: Vec<Source> = module.code[3..8]
        .iter()
        .map(|instruction| match instruction {
            I::Move { source, .. } => *source,
            other => panic!("{other:?}"),
        })
        .collect();
    let literal = |index| Source::Literal(LiteralIndex(index));
    let smalls = [Source::Small((1 << 59) - 1), Source::Small(-(1 << 59))];
    assert_eq!(sources, [smalls[0], literal(0), smalls[1], literal(1), literal(2)]);
    assert_eq!(*module.literals[0], *b"\x83n\x08\0\0\0\0\0\0\0\0\x08");
    assert_eq!(*module.literals[1], *b"\x83n\x08\x01\x01\0\0\0\0\0\0\x08");
    assert_eq!(*module.literals[2], *b"\x83F\x3f\xf8\0\0\0\0\0\0");
}

#[test]
fn calls_that_raise_are_plain() {
    let mut assembler = function(|a| {
        a.op(43, &[F(3), X(0), A("a")]);
        a.op(14, &[U(2), U(1)]).op(43, &[F(3), X(0), A("b")]);
        a.op(18, &[U(2)]).op(19, &[]);
        a.op(1, &[U(3)]).op(8, &[U(1), U(0), U(2)]);
    });
    assembler.imports.push(("erlang", "error", 1));
    let code = body(assembler);
    assert_eq!(code.last(), Some(&I::CallExt { arity: 1, target: ImportIndex(0) }));
}

#[test]
fn frames_must_agree() {
    refused(
        |a| {
            a.op(12, &[U(1), U(1)]).op(19, &[]);
        },
        "no frame is wanted",
    );
    refused(
        |a| {
            a.op(64, &[Y(0), X(0)]).op(19, &[]);
        },
        "slot 0 is used with no frame",
    );
    refused(
        |a| {
            a.op(12, &[U(1), U(1)]).op(64, &[X(0), Y(1)]).op(18, &[U(1)]).op(19, &[]);
        },
        "slot 1 is used with a frame of 1",
    );
    refused(
        |a| {
            a.op(12, &[U(1), U(1)]).op(18, &[U(2)]).op(19, &[]);
        },
        "a frame of 2 is wanted",
    );
    refused(
        |a| {
            a.op(12, &[U(3), U(1)]).op(136, &[U(1), U(1)]).op(18, &[U(1)]).op(19, &[]);
        },
        "a frame of 2 is wanted",
    );
    refused(
        |a| {
            a.op(4, &[U(1), F(2)]).op(19, &[]);
        },
        "a call with no frame",
    );
    // A loop that makes its frame larger each time.
    refused(
        |a| {
            a.op(1, &[U(3)]).op(14, &[U(1), U(1)]).op(61, &[F(3)]);
        },
        "no frame is wanted",
    );
    // Two ways with different frames to code that returns.
    refused(
        |a| {
            a.op(43, &[F(3), X(0), A("a")]).op(12, &[U(2), U(1)]);
            a.op(1, &[U(3)]).op(19, &[]);
        },
        "depends on the way taken",
    );
}

#[test]
fn catches_must_nest() {
    let good = |a: &mut Assembler| {
        a.op(12, &[U(1), U(1)]).op(62, &[Y(0), F(3)]);
        a.op(4, &[U(1), F(2)]).op(1, &[U(3)]).op(63, &[Y(0)]).op(18, &[U(1)]).op(19, &[]);
    };
    loads(function(good));
    refused(
        |a| {
            a.op(12, &[U(1), U(1)]).op(62, &[Y(0), F(3)]);
            a.op(18, &[U(1)]).op(19, &[]).op(1, &[U(3)]).op(63, &[Y(0)]);
        },
        "while a catch is active",
    );
    refused(
        |a| {
            a.op(12, &[U(1), U(1)]).op(62, &[Y(0), F(3)]).op(64, &[X(0), Y(0)]);
            a.op(1, &[U(3)]).op(63, &[Y(0)]).op(18, &[U(1)]).op(19, &[]);
        },
        "slot 0 belongs to a catch",
    );
    refused(
        |a| {
            a.op(14, &[U(1), U(1)]).op(63, &[Y(0)]);
        },
        "not the innermost catch",
    );
    refused(
        |a| {
            a.op(12, &[U(1), U(1)]).op(104, &[Y(0), F(3)]).op(105, &[Y(0)]);
            a.op(1, &[U(3)]).op(18, &[U(1)]).op(19, &[]);
        },
        "no handler of this catch",
    );
}

#[test]
fn registers_must_hold_terms() {
    let stale = "X register 1 holds no term";
    refused(|a| drop_term(a.op(64, &[X(1), X(0)])), stale);
    // A call and a collection leave only what they say.
    refused(
        |a| {
            a.op(64, &[Nil, X(1)]).op(12, &[U(0), U(2)]);
            a.op(4, &[U(1), F(2)]).op(64, &[X(1), X(0)]);
        },
        stale,
    );
    refused(|a| drop_term(a.op(64, &[Nil, X(1)]).op(16, &[U(2), U(1)]).op(64, &[X(1), X(0)])), stale);
    refused(|a| drop_term(a.op(16, &[U(2), U(2)])), stale);
    // One way writes the register and the other does not.
    refused(
        |a| {
            a.op(43, &[F(3), X(0), A("a")]).op(64, &[Nil, X(1)]);
            a.op(1, &[U(3)]).op(64, &[X(1), X(0)]);
        },
        stale,
    );
    refused(|a| drop_term(a.op(12, &[U(2), U(1)]).op(64, &[Y(1), X(0)])), "slot 1 holds no term");
    refused(
        |a| drop_term(a.op(12, &[U(2), U(1)]).op(64, &[Nil, Y(1)]).op(16, &[U(2), U(1)])),
        "a slot of the frame holds no term",
    );
    // After trimming, slot 1 has become slot 0.
    refused(
        |a| {
            a.op(12, &[U(2), U(1)]).op(64, &[Nil, Y(0)]);
            a.op(136, &[U(1), U(1)]).op(64, &[Y(0), X(0)]);
        },
        "slot 0 holds no term",
    );
}

fn drop_term(_: &mut Assembler) {}

#[test]
fn code_cannot_run_into_a_handler() {
    let code = body(function(|a| {
        a.op(12, &[U(1), U(1)]).op(104, &[Y(0), F(3)]);
        a.op(43, &[F(4), X(0), A("a")]).op(4, &[U(1), F(2)]).op(61, &[F(3)]);
        a.op(1, &[U(4)]).op(4, &[U(1), F(2)]);
        a.op(1, &[U(3)]).op(106, &[Y(0)]).op(18, &[U(1)]).op(19, &[]);
    }));
    assert_eq!(code[4], I::Unsupported { opcode: 61 }, "for the jump");
    assert_eq!(code[7..9], [I::Unsupported { opcode: 106 }, I::Label(Label(3))]);
    assert_eq!(code[9], I::TryCase { slot: 0 });
}

#[test]
fn a_wait_that_is_woken_does_not_look_at_its_time() {
    loads(function(|a| {
        a.op(1, &[U(3)]).op(26, &[F(3), X(0)]).op(22, &[]);
        a.op(64, &[Nil, X(0)]).op(19, &[]);
    }));
    refused(
        |a| {
            a.op(1, &[U(3)]).op(64, &[X(0), X(1)]).op(26, &[F(3), X(0)]).op(22, &[]);
            a.op(64, &[Nil, X(0)]).op(19, &[]);
        },
        "X register 0 holds no term",
    );
}

#[test]
fn code_stays_in_its_function() {
    refused(
        |a| {
            a.op(64, &[A("x"), X(0)]);
        },
        "falls off the end",
    );
    refused(
        |a| {
            a.op(61, &[F(3)]).function("g", 0, 3).op(19, &[]);
        },
        "in another function",
    );
    refused(
        |a| {
            a.op(61, &[F(9)]);
        },
        "9 is above 2",
    );
    refused(
        |a| {
            a.op(1, &[U(2)]).op(19, &[]);
        },
        "label 2 is defined twice",
    );
    refused(
        |a| {
            a.op(6, &[U(1), F(1)]);
        },
        "label 1 is not a function's entry",
    );
    refused(
        |a| {
            a.op(64, &[Nil, X(1)]).op(6, &[U(2), F(2)]);
        },
        "a function of 1 arguments gets 2",
    );
    refused(
        |a| {
            a.op(61, &[F(3)]).op(1, &[U(4)]).op(19, &[]);
        },
        "label 3 is not defined",
    );
}

#[test]
fn operands_must_be_in_range() {
    refused(
        |a| {
            a.op(64, &[X(1024), X(0)]);
        },
        "1024 is above 1023",
    );
    refused(
        |a| {
            a.op(64, &[Literal(0), X(0)]);
        },
        "literal 0 of 0",
    );
    refused(
        |a| {
            a.op(7, &[U(0), U(0)]);
        },
        "import 0 does not exist",
    );
    refused(
        |a| {
            a.op(171, &[U(0), X(0), List(vec![])]);
        },
        "fun 0 does not exist",
    );
    refused(
        |a| {
            a.op(132, &[F(1), X(0), U(8), U(0)]);
        },
        "string table",
    );
    refused(
        |a| {
            a.op(59, &[X(0), F(1), List(vec![A("a")])]);
        },
        "groups of 2",
    );
    let mixed = vec![A("a"), F(1), I(1), F(1)];
    refused(
        |a| {
            a.op(59, &[X(0), F(1), List(mixed)]);
        },
        "mixed",
    );
    refused(
        |a| {
            a.op(70, &[U(1), X(0)]);
        },
        "put_tuple is obsolete",
    );
    refused(
        |a| {
            a.op(192, &[]);
        },
        "opcode 192 is not known",
    );
    refused(|a| a.exports.push(("g", 1, 2)), "is not the entry of that function");
    refused(|a| a.lambdas.push(("f", 2, 2, 0)), "is not the entry of a function of 2");
}

#[test]
fn containers() {
    let problem = |bytes: &[u8]| load(bytes).expect_err("a bad file").to_string();
    assert!(problem(b"").contains("not a BEAM file"));
    assert!(problem(&form(&[])).contains("no chunk AtU8"));
    assert!(problem(&gzip(b"nothing")).contains("not a BEAM file"));
    let twice = form(&[(b"StrT", vec![]), (b"StrT", vec![])]);
    assert!(problem(&twice).contains("second chunk StrT"));

    // A table of atoms that announces more than the file holds.
    let huge = form(&[(b"AtU8", 0x7fff_ffff_u32.to_be_bytes().to_vec())]);
    assert!(problem(&huge).contains("entries are announced"));
}

#[test]
fn compressed_bombs_stay_small() {
    let with_literals = |literals: Vec<u8>| {
        let mut file = function(|a| {
            a.op(19, &[]);
        })
        .file();
        file.extend(b"LitT");
        file.extend((literals.len() as u32).to_be_bytes());
        file.extend(&literals);
        file.resize(file.len().next_multiple_of(4), 0);
        let size = file.len() as u32 - 8;
        file[4..8].copy_from_slice(&size.to_be_bytes());
        load(&file).expect_err("a bad file").to_string()
    };
    let zeros = zlib(&vec![0; 1 << 20]);
    let announced = |size: u32| [&size.to_be_bytes(), &zeros[..]].concat();
    assert!(with_literals(announced(100)).contains("more than 100 bytes"));
    assert!(with_literals(announced(1 << 31)).contains("cannot hold"));
    assert!(with_literals(announced((1 << 20) + 1)).contains("unpacked"));
    assert!(with_literals(announced(1 << 20)).contains("follow the last entry"));
    assert!(with_literals(b"\0\0\0\x08damaged!".to_vec()).contains("damaged"));
}

#[test]
fn names_of_atoms() {
    let module = loads(function(|a| {
        a.op(19, &[]);
    }));
    assert_eq!(module.atom(AtomIndex(0)), "m");
    let atoms = |data: &[u8]| load(&form(&[(b"AtU8", data.to_vec())])).expect_err("a bad file").to_string();
    assert!(atoms(b"\0\0\0\x01\x02\xff\xff").contains("not UTF-8"));
    assert!(atoms(b"\0\0\0\0").contains("no atom names the module"));
    // 256 characters behind a compact length.
    let long = [b"\xff\xff\xff\xff\x28\x00", &[b'a'; 256][..]].concat();
    assert!(atoms(&long).contains("more than 255 characters"));
}
