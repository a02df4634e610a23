//! What the loader proves of code, what it puts tests in front of, and what it refuses.

mod support;

use atoll_loader::{Holder, Instruction as I, Module, Shape, Source, TypeTest, load, load_among};
use support::assembler::{Arg::*, Assembler};

/// A module with `f/1`, whose entry is label 2, and room for more behind it.
fn file(body: impl FnOnce(&mut Assembler)) -> Vec<u8> {
    let mut assembler = Assembler::new("m");
    assembler.exports.push(("f", 1, 2));
    assembler.imports = vec![("erlang", "setelement", 3), ("erlang", "+", 2), ("erlang", "garbage_collect", 0)];
    assembler.function("f", 1, 1);
    body(&mut assembler);
    assembler.file()
}

/// Ends a chain of instructions.
fn done(_: &mut Assembler) {}

#[track_caller]
fn module(body: impl FnOnce(&mut Assembler)) -> Module {
    load(&file(body)).expect("a good file")
}

/// The tests that were put into the code.
#[track_caller]
fn guards(body: impl FnOnce(&mut Assembler)) -> Vec<I> {
    let module = module(body);
    module.guards.iter().map(|index| module.code[*index as usize].clone()).collect()
}

#[track_caller]
fn refused(body: impl FnOnce(&mut Assembler), problem: &str) {
    let error = load(&file(body)).expect_err("a bad file").to_string();
    assert!(error.contains(problem), "{error:?} does not say {problem:?}");
}

fn expects(shape: Shape) -> Vec<I> {
    vec![I::Expect { shape, value: Source::X(0) }]
}

#[test]
fn what_was_tested_is_proven() {
    // is_tuple, test_arity, get_tuple_element
    assert_eq!(
        guards(|a| done(a.op(57, &[F(1), X(0)]).op(58, &[F(1), X(0), U(2)]).op(66, &[X(0), U(1), X(0)]).op(19, &[]))),
        []
    );
    // is_list, is_nil to a label where it is a cons
    let not_nil = |a: &mut Assembler| {
        a.op(55, &[F(1), X(0)]).op(52, &[F(3), X(0)]).op(19, &[]);
        a.op(1, &[U(3)]).op(162, &[X(0), X(0)]).op(19, &[]);
    };
    assert_eq!(guards(not_nil), []);
}

#[test]
fn what_was_not_tested_is_tested() {
    let element = |position| move |a: &mut Assembler| done(a.op(66, &[X(0), U(position), X(0)]).op(19, &[]));
    assert_eq!(guards(element(2)), expects(Shape::Tuple { least: 3 }));
    assert_eq!(guards(|a| done(a.op(162, &[X(0), X(0)]).op(19, &[]))), expects(Shape::Cons));
    // Too small a tuple, on one of two ways.
    let either = |a: &mut Assembler| {
        a.op(57, &[F(1), X(0)]).op(58, &[F(3), X(0), U(2)]);
        a.op(1, &[U(3)]).op(66, &[X(0), U(1), X(0)]).op(19, &[]);
    };
    assert_eq!(guards(either), expects(Shape::Tuple { least: 2 }));
    // A test with a label goes there.
    let arity = guards(|a| done(a.op(58, &[F(1), X(0), U(2)]).op(19, &[])));
    assert!(matches!(arity[..], [I::Test { test: TypeTest::Tuple, .. }]), "{arity:?}");
}

#[test]
fn a_test_of_one_copy_tells_of_the_other() {
    let copies = |a: &mut Assembler| {
        a.op(64, &[X(0), X(1)]).op(56, &[F(1), X(1)]).op(64, &[Nil, X(1)]).op(162, &[X(0), X(0)]).op(19, &[]);
    };
    assert_eq!(guards(copies), []);
}

/// `f/1` calls `g/1`, and takes an element of the result, which it does `levels` deep.
fn calls(position: u64, body: impl FnOnce(&mut Assembler)) -> impl FnOnce(&mut Assembler) {
    move |a| {
        a.op(12, &[U(0), U(1)]).op(4, &[U(1), F(12)]).op(66, &[X(0), U(position), X(0)]).op(18, &[U(0)]).op(19, &[]);
        a.function("g", 1, 11);
        body(a);
    }
}

#[test]
fn results_and_arguments_are_followed() {
    // test_heap, put_tuple2: a pair
    let pair = |a: &mut Assembler| done(a.op(16, &[U(3), U(1)]).op(164, &[X(0), List(vec![X(0), X(0)])]).op(19, &[]));
    assert_eq!(guards(calls(1, pair)), []);
    assert_eq!(guards(calls(2, pair)), expects(Shape::Tuple { least: 3 }));
    assert_eq!(guards(calls(1, |a| done(a.op(19, &[])))), expects(Shape::Tuple { least: 2 }));
    // A function that the machine has its own code for gives anything.
    let file = file(calls(1, pair));
    let module = load_among(&file, |module, name, arity| (module, name, arity) == ("m", "g", 1)).expect("a good file");
    assert_eq!(module.guards.len(), 1);

    // The argument of a function that nobody else calls; `true` for one that is exported.
    for exported in [false, true] {
        let mut a = Assembler::new("m");
        a.exports.push(("f", 1, 2));
        if exported {
            a.exports.push(("g", 1, 12));
        }
        a.function("f", 1, 1);
        a.op(16, &[U(3), U(1)]).op(164, &[X(0), List(vec![X(0), X(0)])]).op(6, &[U(1), F(12)]);
        a.function("g", 1, 11);
        a.op(66, &[X(0), U(1), X(0)]).op(19, &[]);
        assert_eq!(load(&a.file()).expect("a good file").guards.len(), usize::from(exported));
    }
}

#[test]
fn results_of_two_calls_are_two_values() {
    let body = |a: &mut Assembler| {
        a.op(12, &[U(1), U(1)]).op(172, &[List(vec![Y(0)])]).op(4, &[U(1), F(12)]).op(64, &[X(0), Y(0)]);
        a.op(64, &[Nil, X(0)]).op(4, &[U(1), F(12)]).op(56, &[F(3), X(0)]).op(162, &[Y(0), X(0)]);
        a.op(1, &[U(3)]).op(18, &[U(1)]).op(19, &[]);
        a.function("g", 1, 11);
        a.op(19, &[]);
    };
    assert_eq!(guards(body), [I::Expect { shape: Shape::Cons, value: Source::Y(0) }]);
}

#[test]
fn labels_move_with_the_tests() {
    let module = module(|a| {
        a.op(66, &[X(0), U(0), X(0)]).op(61, &[F(3)]).op(1, &[U(3)]).op(66, &[X(0), U(0), X(0)]).op(19, &[]);
        a.function("g", 1, 11);
        a.op(19, &[]);
    });
    assert_eq!(module.guards.len(), 2);
    for (number, place) in module.labels.iter().enumerate().filter(|(_, place)| **place != Module::NO_PLACE) {
        assert_eq!(module.code[*place as usize], I::Label(atoll_loader::Label(number as u32)));
    }
    let [f, g] = module.functions[..] else { panic!("two functions") };
    assert_eq!((f.end, g.start, g.end as usize), (g.start, g.start, module.code.len()));
    assert!(matches!(module.code[g.start as usize], I::Label(_)));
}

#[test]
fn slots_without_terms_are_set_where_a_test_may_raise() {
    let module = module(|a| {
        done(a.op(12, &[U(2), U(1)]).op(66, &[X(0), U(0), Y(0)]).op(18, &[U(2)]).op(64, &[Nil, X(0)]).op(19, &[]))
    });
    let first = module.guards[0] as usize;
    assert_eq!(module.code[first], I::InitYregs([0, 1].into()));
    assert!(matches!(module.code[first + 1], I::Expect { .. }));
}

#[test]
fn room_is_asked_for() {
    let cons = |a: &mut Assembler| done(a.op(69, &[X(0), Nil, X(0)]).op(19, &[]));
    refused(cons, "no heap room");
    assert_eq!(guards(|a| cons(a.op(16, &[U(2), U(1)]))), []);
    refused(|a| cons(a.op(16, &[U(2), U(1)]).op(69, &[X(0), Nil, X(0)])), "no heap room");
    // `+` may need any room.
    refused(|a| cons(a.op(16, &[U(2), U(1)]).op(125, &[F(0), U(1), U(1), X(0), I(1), X(0)])), "no heap room");
    // What one of two ways asked for is there on both only where they meet behind it.
    let one_way = |a: &mut Assembler| cons(a.op(57, &[F(3), X(0)]).op(16, &[U(2), U(1)]).op(1, &[U(3)]));
    refused(one_way, "no heap room");
    // A float's room, or words in its place.
    let float = |a: &mut Assembler| done(a.op(96, &[Fr(0), X(0)]).op(19, &[]));
    let conv = |a: &mut Assembler| done(a.op(97, &[X(0), Fr(0)]));
    refused(
        |a| {
            conv(a);
            float(a.op(16, &[U(1), U(1)]))
        },
        "no heap room",
    );
    assert_eq!(
        guards(|a| {
            conv(a);
            float(a.op(16, &[Alloc(0, 1, 0), U(1)]))
        }),
        []
    );
    assert_eq!(
        guards(|a| {
            conv(a);
            float(a.op(16, &[U(2), U(1)]))
        }),
        []
    );
    refused(|a| float(a.op(16, &[U(2), U(1)])), "floating-point register 0 holds no value");
    // Another process may have written it.
    let across = |a: &mut Assembler| {
        a.op(12, &[U(0), U(1)]).op(97, &[X(0), Fr(0)]).op(4, &[U(1), F(2)]).op(16, &[U(2), U(0)]);
        float(a);
    };
    refused(across, "floating-point register 0 holds no value");
}

#[test]
fn only_new_tuples_are_written_to() {
    let set = |position: u64, call: bool, between: bool| {
        move |a: &mut Assembler| {
            a.op(12, &[U(0), U(1)]).op(64, &[A("v"), X(2)]).op(64, &[X(0), X(1)]).op(64, &[I(3), X(0)]);
            if call {
                a.op(7, &[U(3), U(0)]);
            }
            if between {
                a.op(16, &[U(2), U(1)]);
            }
            a.op(67, &[A("w"), X(0), U(position)]).op(18, &[U(0)]).op(19, &[]);
        }
    };
    assert_eq!(guards(set(2, true, false)), []);
    assert_eq!(guards(set(3, true, false)), expects(Shape::Tuple { least: 4 }));
    refused(set(2, false, false), "only a new tuple");
    refused(set(2, true, true), "only a new tuple");
}

#[test]
fn match_contexts_stay_among_matches() {
    let start = |a: &mut Assembler| done(a.op(166, &[F(3), X(0), U(1), X(0)]));
    let end = |a: &mut Assembler| done(a.op(1, &[U(3)]).op(64, &[Nil, X(0)]).op(19, &[]));
    refused(
        |a| {
            start(a);
            a.op(19, &[]);
            end(a)
        },
        "a match context",
    );
    refused(
        |a| {
            start(a);
            a.op(16, &[U(2), U(1)]).op(69, &[X(0), Nil, X(0)]).op(19, &[]);
            end(a)
        },
        "a match context",
    );
    // Passed on, to a function that matches, and to one that does not.
    let passes = |matches: bool| {
        move |a: &mut Assembler| {
            start(a);
            a.op(6, &[U(1), F(12)]);
            end(a);
            a.function("g", 1, 11);
            if matches {
                a.op(166, &[F(13), X(0), U(1), X(0)]).op(64, &[Nil, X(0)]).op(19, &[]).op(1, &[U(13)]);
            }
            a.op(19, &[]);
        }
    };
    assert_eq!(guards(passes(true)), []);
    refused(passes(false), "a match context");
}

#[test]
fn matches_that_may_fail_have_a_label() {
    // bs_get_binary2 and bs_test_unit
    refused(|a| done(a.op(119, &[F(0), X(0), U(1), A("all"), U(8), U(0), X(0)]).op(19, &[])), "a label is missing");
    refused(|a| done(a.op(131, &[F(0), X(0), U(8)]).op(19, &[])), "a label is missing");
}

#[test]
fn a_message_is_kept_where_more_than_registers_may_lead_into_it() {
    // `loop_rec`, what is done with the message, and `loop_rec_end` (label 5).
    let looks = |does: &dyn Fn(&mut Assembler)| {
        guards(|a| {
            a.op(12, &[U(1), U(1)]).op(172, &[List(vec![Y(0)])]).op(1, &[U(3)]).op(23, &[F(4), X(0)]);
            does(a);
            a.op(1, &[U(5)]).op(24, &[F(3)]).op(1, &[U(4)]).op(64, &[Nil, X(0)]).op(18, &[U(1)]).op(19, &[]);
        })
    };
    assert_eq!(looks(&|_| ()), []);
    // is_tuple, test_arity, get_tuple_element; a constant in a slot
    let element = |a: &mut Assembler, to| {
        done(a.op(57, &[F(5), X(0)]).op(58, &[F(5), X(0), U(2)]).op(66, &[X(0), U(1), to]));
    };
    let tests = |a: &mut Assembler| {
        element(a, X(0));
        a.op(64, &[Nil, Y(0)]).op(125, &[F(5), U(1), U(1), X(0), I(1), X(1)]);
    };
    assert_eq!(looks(&tests), []);
    // An element in a slot, on one of the ways; a move; a swap; a cons; a call; a timeout.
    assert_eq!(looks(&|a| element(a, Y(0))), [I::KeepMessage]);
    assert_eq!(looks(&|a| done(a.op(64, &[X(0), Y(0)]))), [I::KeepMessage]);
    assert_eq!(looks(&|a| done(a.op(169, &[X(0), Y(0)]))), [I::KeepMessage]);
    assert_eq!(looks(&|a| done(a.op(16, &[U(2), U(1)]).op(69, &[X(0), Nil, X(0)]))), [I::KeepMessage]);
    assert_eq!(looks(&|a| done(a.op(4, &[U(1), F(2)]))), [I::KeepMessage]);
    assert_eq!(looks(&|a| done(a.op(22, &[]))), [I::KeepMessage]);
    // Another look begins anew; a message that was looked at in a slot is there already.
    assert_eq!(looks(&|a| done(a.op(64, &[X(0), Y(0)]).op(23, &[F(4), X(0)]))), []);
    assert_eq!(looks(&|a| done(a.op(23, &[F(4), Y(0)]))), [I::KeepMessage]);
}

#[test]
fn where_a_message_is_when_it_is_taken() {
    // `loop_rec` into X0, the tests that it is a pair, what is done with it, and the place where others are left.
    let taken = |does: &dyn Fn(&mut Assembler)| {
        let module = module(|a| {
            a.op(12, &[U(1), U(1)]).op(172, &[List(vec![Y(0)])]).op(1, &[U(3)]).op(23, &[F(4), X(0)]);
            a.op(57, &[F(5), X(0)]).op(58, &[F(5), X(0), U(2)]);
            does(a);
            a.op(1, &[U(5)]).op(24, &[F(3)]).op(1, &[U(4)]).op(25, &[F(3)]);
        });
        let in_place = module.code.iter().any(|one| matches!(one, I::LoopRec { in_place: true, .. }));
        let holders = module.code.iter().filter_map(|one| match one {
            I::RemoveMessage(holder) => Some(*holder),
            _ => None,
        });
        (in_place, holders.collect::<Vec<_>>())
    };
    // What follows `remove_message`.
    let ends = |a: &mut Assembler| done(a.op(18, &[U(1)]).op(19, &[]));
    let returns = |a: &mut Assembler| {
        a.op(64, &[Nil, X(0)]);
        ends(a);
    };
    let nothing = |way: &dyn Fn(&mut Assembler)| {
        taken(&|a| {
            way(a);
            a.op(21, &[]);
            returns(a);
        })
    };
    // X0 is not read again. An element takes its place, in front of the end or behind it; the message is returned.
    assert_eq!(nothing(&|_| ()), (true, vec![Holder::Unread(0)]));
    assert_eq!(nothing(&|a| done(a.op(66, &[X(0), U(1), X(0)]))), (true, vec![Holder::Nothing]));
    let late = taken(&|a| {
        a.op(21, &[]).op(125, &[F(0), U(1), U(1), I(1), I(2), X(1)]).op(66, &[X(0), U(1), X(0)]);
        ends(a);
    });
    assert_eq!(late, (true, vec![Holder::Read(0)]));
    let whole = taken(&|a| {
        a.op(21, &[]);
        ends(a);
    });
    assert_eq!(whole, (true, vec![Holder::Read(0)]));
    // A collection looks at X0, and nothing reads it then. A call reads its arguments, and leaves nothing.
    let collects = taken(&|a| {
        a.op(21, &[]).op(16, &[U(2), U(1)]);
        returns(a);
    });
    assert_eq!(collects, (true, vec![Holder::Unread(0)]));
    let call = |arity| {
        taken(&|a| {
            a.op(21, &[]).op(4, &[U(arity), F(2)]);
            ends(a);
        })
    };
    assert_eq!(call(1), (true, vec![Holder::Read(0)]));
    // Two ways to two ends.
    let two = taken(&|a| {
        a.op(66, &[X(0), U(0), X(1)]).op(43, &[F(6), X(1), Nil]).op(21, &[]);
        returns(a);
        a.op(1, &[U(6)]).op(66, &[X(0), U(1), X(0)]).op(21, &[]);
        ends(a);
    });
    assert_eq!(two, (true, vec![Holder::Unread(0), Holder::Nothing]));
    // Two ways to one end, of which one has overwritten X0.
    let joined = taken(&|a| {
        a.op(66, &[X(0), U(0), X(1)]).op(43, &[F(6), X(1), Nil]).op(66, &[X(0), U(1), X(0)]);
        a.op(1, &[U(6)]).op(21, &[]);
        ends(a);
    });
    assert_eq!(joined, (false, vec![Holder::Unknown]));
    // Another register has it; a guard function gives something of it; a call may do anything.
    assert_eq!(nothing(&|a| done(a.op(64, &[X(0), X(1)]))), (false, vec![Holder::Unknown]));
    assert_eq!(nothing(&|a| done(a.op(64, &[X(0), Y(0)]))), (false, vec![Holder::Unknown]));
    assert_eq!(nothing(&|a| done(a.op(64, &[Nil, X(1)]).op(169, &[X(0), X(1)]))), (false, vec![Holder::Unknown]));
    assert_eq!(nothing(&|a| done(a.op(125, &[F(5), U(1), U(1), X(0), I(1), X(1)]))), (false, vec![Holder::Unknown]));
    assert_eq!(nothing(&|a| done(a.op(4, &[U(1), F(2)]))), (false, vec![Holder::Unknown]));
    // Room that was asked for is not taken by the message.
    let room = |a: &mut Assembler| {
        a.op(16, &[U(2), U(1)]).op(21, &[]);
        ends(a);
    };
    assert_eq!(taken(&room), (false, vec![Holder::Unknown]));
}

#[test]
fn functions_loop_by_calls() {
    let round = "a loop that lets nobody else run";
    refused(|a| done(a.op(61, &[F(2)])), round);
    refused(|a| done(a.op(57, &[F(3), X(0)]).op(19, &[]).op(1, &[U(3)]).op(55, &[F(2), X(0)]).op(19, &[])), round);
    // A handler that goes back to its `try`.
    let handler = |a: &mut Assembler| {
        a.op(12, &[U(1), U(1)]).op(1, &[U(4)]).op(104, &[Y(0), F(3)]).op(72, &[Nil]);
        a.op(1, &[U(3)]).op(106, &[Y(0)]).op(61, &[F(4)]);
    };
    refused(handler, round);
    // Back, but not round; round in `receive`.
    let back = |a: &mut Assembler| {
        a.op(61, &[F(4)]).op(1, &[U(3)]).op(19, &[]).op(1, &[U(4)]).op(61, &[F(3)]);
    };
    assert_eq!(guards(back), []);
    let waits = |a: &mut Assembler| {
        a.op(1, &[U(3)]).op(23, &[F(4), X(0)]).op(24, &[F(3)]).op(1, &[U(4)]).op(25, &[F(3)]);
    };
    assert_eq!(guards(waits), []);
}

#[test]
fn segments_need_a_start() {
    let put = |a: &mut Assembler| done(a.op(89, &[F(0), I(8), U(1), U(0), I(7)]));
    let init = |a: &mut Assembler| done(a.op(109, &[F(0), U(1), U(0), U(1), U(0), X(1)]));
    assert_eq!(
        guards(|a| {
            init(a);
            put(a);
            put(a);
            a.op(19, &[]);
        }),
        []
    );
    refused(
        |a| {
            put(a);
            a.op(19, &[]);
        },
        "no bitstring was started",
    );
    refused(
        |a| {
            init(a);
            a.op(16, &[U(2), U(1)]);
            put(a);
            a.op(19, &[]);
        },
        "no bitstring was started",
    );
}

#[test]
fn a_handler_sees_slots_as_they_were_left() {
    let body = |a: &mut Assembler| {
        a.op(12, &[U(2), U(1)]).op(172, &[List(vec![Y(0), Y(1)])]).op(16, &[U(3), U(1)]);
        a.op(164, &[Y(0), List(vec![X(0), X(0)])]).op(104, &[Y(1), F(3)]).op(64, &[X(0), Y(0)]).op(72, &[X(0)]);
        a.op(1, &[U(3)]).op(106, &[Y(1)]).op(66, &[Y(0), U(1), X(0)]).op(18, &[U(2)]).op(19, &[]);
    };
    assert_eq!(guards(body), [I::Expect { shape: Shape::Tuple { least: 2 }, value: Source::Y(0) }]);
}

#[test]
fn instructions_name_guard_functions_only() {
    refused(|a| done(a.op(9, &[U(2), X(0)]).op(19, &[])), "no guard function");
    // `+` may need heap, and is no instruction without.
    refused(|a| done(a.op(11, &[F(0), U(1), X(0), I(1), X(0)]).op(19, &[])), "no guard function");
}
