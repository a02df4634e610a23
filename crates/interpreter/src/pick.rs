//! Choosing the handler that is specialised for where its operands are. Macros, because a generic function cannot
//! be passed as an argument before it is specialised.

use atoll_loader::instruction::TypeTest;

use crate::handlers::test;
use crate::operand::{K, Operand, X, Y};
use atoll_runtime::core::Handler;

/// One source.
macro_rules! by_source {
    ($($handler:ident)::+, $s:expr) => {
        match $s {
            Operand::X(_) => $($handler)::+::<crate::operand::X> as Handler,
            Operand::Y(_) => $($handler)::+::<crate::operand::Y> as Handler,
            Operand::K(_) => $($handler)::+::<crate::operand::K> as Handler,
        }
    };
}

/// A constant flag and one source.
macro_rules! by_flag_source {
    ($($handler:ident)::+, $flag:literal, $s:expr) => {
        match $s {
            Operand::X(_) => $($handler)::+::<$flag, crate::operand::X> as Handler,
            Operand::Y(_) => $($handler)::+::<$flag, crate::operand::Y> as Handler,
            Operand::K(_) => $($handler)::+::<$flag, crate::operand::K> as Handler,
        }
    };
}

/// One destination.
macro_rules! by_destination {
    ($($handler:ident)::+, $d:expr) => {
        match $d {
            Operand::Y(_) => $($handler)::+::<crate::operand::Y> as Handler,
            _ => $($handler)::+::<crate::operand::X> as Handler,
        }
    };
}

/// A constant flag and one destination.
macro_rules! by_flag_destination {
    ($($handler:ident)::+, $flag:literal, $d:expr) => {
        match $d {
            Operand::Y(_) => $($handler)::+::<$flag, crate::operand::Y> as Handler,
            _ => $($handler)::+::<$flag, crate::operand::X> as Handler,
        }
    };
}

/// One source, one destination.
macro_rules! by_source_destination {
    ($($handler:ident)::+, $s:expr, $d:expr) => {{
        use crate::operand::{K, X, Y};
        match ($s, $d) {
            (Operand::X(_), Operand::Y(_)) => $($handler)::+::<X, Y> as Handler,
            (Operand::Y(_), Operand::Y(_)) => $($handler)::+::<Y, Y> as Handler,
            (Operand::K(_), Operand::Y(_)) => $($handler)::+::<K, Y> as Handler,
            (Operand::X(_), _) => $($handler)::+::<X, X> as Handler,
            (Operand::Y(_), _) => $($handler)::+::<Y, X> as Handler,
            (Operand::K(_), _) => $($handler)::+::<K, X> as Handler,
        }
    }};
}

/// A constant flag and two sources.
macro_rules! by_two_sources {
    ($($handler:ident)::+, $flag:literal, $s:expr, $t:expr) => {{
        use crate::operand::{K, X, Y};
        match ($s, $t) {
            (Operand::X(_), Operand::X(_)) => $($handler)::+::<$flag, X, X> as Handler,
            (Operand::X(_), Operand::Y(_)) => $($handler)::+::<$flag, X, Y> as Handler,
            (Operand::X(_), Operand::K(_)) => $($handler)::+::<$flag, X, K> as Handler,
            (Operand::Y(_), Operand::X(_)) => $($handler)::+::<$flag, Y, X> as Handler,
            (Operand::Y(_), Operand::Y(_)) => $($handler)::+::<$flag, Y, Y> as Handler,
            (Operand::Y(_), Operand::K(_)) => $($handler)::+::<$flag, Y, K> as Handler,
            (Operand::K(_), Operand::X(_)) => $($handler)::+::<$flag, K, X> as Handler,
            (Operand::K(_), Operand::Y(_)) => $($handler)::+::<$flag, K, Y> as Handler,
            (Operand::K(_), Operand::K(_)) => $($handler)::+::<$flag, K, K> as Handler,
        }
    }};
}

/// Two sources.
macro_rules! by_sources {
    ($($handler:ident)::+, $s:expr, $t:expr) => {{
        use crate::operand::{K, X, Y};
        match ($s, $t) {
            (Operand::X(_), Operand::X(_)) => $($handler)::+::<X, X> as Handler,
            (Operand::X(_), Operand::Y(_)) => $($handler)::+::<X, Y> as Handler,
            (Operand::X(_), Operand::K(_)) => $($handler)::+::<X, K> as Handler,
            (Operand::Y(_), Operand::X(_)) => $($handler)::+::<Y, X> as Handler,
            (Operand::Y(_), Operand::Y(_)) => $($handler)::+::<Y, Y> as Handler,
            (Operand::Y(_), Operand::K(_)) => $($handler)::+::<Y, K> as Handler,
            (Operand::K(_), Operand::X(_)) => $($handler)::+::<K, X> as Handler,
            (Operand::K(_), Operand::Y(_)) => $($handler)::+::<K, Y> as Handler,
            (Operand::K(_), Operand::K(_)) => $($handler)::+::<K, K> as Handler,
        }
    }};
}

/// Two sources, one destination.
macro_rules! by_two_sources_destination {
    ($($handler:ident)::+, $s:expr, $t:expr, $d:expr) => {{
        use crate::operand::{K, X, Y};
        match ($s, $t, matches!($d, Operand::Y(_))) {
            (Operand::X(_), Operand::X(_), false) => $($handler)::+::<X, X, X> as Handler,
            (Operand::X(_), Operand::Y(_), false) => $($handler)::+::<X, Y, X> as Handler,
            (Operand::X(_), Operand::K(_), false) => $($handler)::+::<X, K, X> as Handler,
            (Operand::Y(_), Operand::X(_), false) => $($handler)::+::<Y, X, X> as Handler,
            (Operand::Y(_), Operand::Y(_), false) => $($handler)::+::<Y, Y, X> as Handler,
            (Operand::Y(_), Operand::K(_), false) => $($handler)::+::<Y, K, X> as Handler,
            (Operand::K(_), Operand::X(_), false) => $($handler)::+::<K, X, X> as Handler,
            (Operand::K(_), Operand::Y(_), false) => $($handler)::+::<K, Y, X> as Handler,
            (Operand::K(_), Operand::K(_), false) => $($handler)::+::<K, K, X> as Handler,
            (Operand::X(_), Operand::X(_), true) => $($handler)::+::<X, X, Y> as Handler,
            (Operand::X(_), Operand::Y(_), true) => $($handler)::+::<X, Y, Y> as Handler,
            (Operand::X(_), Operand::K(_), true) => $($handler)::+::<X, K, Y> as Handler,
            (Operand::Y(_), Operand::X(_), true) => $($handler)::+::<Y, X, Y> as Handler,
            (Operand::Y(_), Operand::Y(_), true) => $($handler)::+::<Y, Y, Y> as Handler,
            (Operand::Y(_), Operand::K(_), true) => $($handler)::+::<Y, K, Y> as Handler,
            (Operand::K(_), Operand::X(_), true) => $($handler)::+::<K, X, Y> as Handler,
            (Operand::K(_), Operand::Y(_), true) => $($handler)::+::<K, Y, Y> as Handler,
            (Operand::K(_), Operand::K(_), true) => $($handler)::+::<K, K, Y> as Handler,
        }
    }};
}

/// `+` and `-`; constants are small integers.
macro_rules! by_arithmetic {
    ($add:literal, $s:expr, $t:expr, $d:expr) => {{
        use crate::handlers::arithmetic::add_subtract;
        use crate::operand::{K, Small, X, Y};
        match ($s, $t, matches!($d, Operand::Y(_))) {
            (Operand::X(_), Operand::X(_), false) => add_subtract::<$add, X, X, X> as Handler,
            (Operand::X(_), Operand::Y(_), false) => add_subtract::<$add, X, Y, X> as Handler,
            (Operand::X(_), Operand::K(_), false) => add_subtract::<$add, X, Small, X> as Handler,
            (Operand::Y(_), Operand::X(_), false) => add_subtract::<$add, Y, X, X> as Handler,
            (Operand::Y(_), Operand::Y(_), false) => add_subtract::<$add, Y, Y, X> as Handler,
            (Operand::Y(_), Operand::K(_), false) => add_subtract::<$add, Y, Small, X> as Handler,
            (Operand::K(_), Operand::X(_), false) => add_subtract::<$add, Small, X, X> as Handler,
            (Operand::K(_), Operand::Y(_), false) => add_subtract::<$add, Small, Y, X> as Handler,
            (Operand::X(_), Operand::X(_), true) => add_subtract::<$add, X, X, Y> as Handler,
            (Operand::X(_), Operand::Y(_), true) => add_subtract::<$add, X, Y, Y> as Handler,
            (Operand::X(_), Operand::K(_), true) => add_subtract::<$add, X, Small, Y> as Handler,
            (Operand::Y(_), Operand::X(_), true) => add_subtract::<$add, Y, X, Y> as Handler,
            (Operand::Y(_), Operand::Y(_), true) => add_subtract::<$add, Y, Y, Y> as Handler,
            (Operand::Y(_), Operand::K(_), true) => add_subtract::<$add, Y, Small, Y> as Handler,
            (Operand::K(_), Operand::X(_), true) => add_subtract::<$add, Small, X, Y> as Handler,
            (Operand::K(_), Operand::Y(_), true) => add_subtract::<$add, Small, Y, Y> as Handler,
            (Operand::K(_), Operand::K(_), false) => add_subtract::<$add, K, K, X> as Handler,
            (Operand::K(_), Operand::K(_), true) => add_subtract::<$add, K, K, Y> as Handler,
        }
    }};
}

/// `is_lt` and `is_ge` with a small constant on one side.
macro_rules! by_order {
    ($less:literal, $s:expr, $t:expr) => {{
        use crate::handlers::test::compare_order;
        use crate::operand::{Small, X, Y};
        match ($s, $t) {
            (Operand::X(_), Operand::K(k)) if k.is_small() => compare_order::<$less, X, Small> as Handler,
            (Operand::Y(_), Operand::K(k)) if k.is_small() => compare_order::<$less, Y, Small> as Handler,
            (Operand::K(k), Operand::X(_)) if k.is_small() => compare_order::<$less, Small, X> as Handler,
            (Operand::K(k), Operand::Y(_)) if k.is_small() => compare_order::<$less, Small, Y> as Handler,
            (s, t) => by_two_sources!(test::compare_order, $less, s, t),
        }
    }};
}

/// Moves all from one kind of place to one kind of place: 3, or 4.
macro_rules! by_moves {
    ($four:expr, $from_y:expr, $to_y:expr) => {{
        use crate::handlers::data::move_many;
        use crate::operand::{X, Y};
        match ($four, $from_y, $to_y) {
            (false, false, false) => move_many::<3, X, X> as Handler,
            (false, false, true) => move_many::<3, X, Y> as Handler,
            (false, true, false) => move_many::<3, Y, X> as Handler,
            (false, true, true) => move_many::<3, Y, Y> as Handler,
            (true, false, false) => move_many::<4, X, X> as Handler,
            (true, false, true) => move_many::<4, X, Y> as Handler,
            (true, true, false) => move_many::<4, Y, X> as Handler,
            (true, true, true) => move_many::<4, Y, Y> as Handler,
        }
    }};
}

/// A test for a cons, a frame, and the cons taken apart.
macro_rules! by_list_frame {
    ($united:literal, $h:expr, $t:expr) => {{
        use crate::handlers::data::list_frame;
        use crate::operand::{X, Y};
        let y = |operand: Operand| matches!(operand, Operand::Y(_));
        match (y($h), y($t)) {
            (false, false) => list_frame::<$united, X, X> as Handler,
            (false, true) => list_frame::<$united, X, Y> as Handler,
            (true, false) => list_frame::<$united, Y, X> as Handler,
            (true, true) => list_frame::<$united, Y, Y> as Handler,
        }
    }};
}

/// A register read and two written.
macro_rules! by_list {
    ($($handler:ident)::+, $s:expr, $h:expr, $t:expr) => {{
        use crate::operand::{X, Y};
        let y = |operand: Operand| matches!(operand, Operand::Y(_));
        match (y($s), y($h), y($t)) {
            (false, false, false) => $($handler)::+::<X, X, X> as Handler,
            (false, false, true) => $($handler)::+::<X, X, Y> as Handler,
            (false, true, false) => $($handler)::+::<X, Y, X> as Handler,
            (false, true, true) => $($handler)::+::<X, Y, Y> as Handler,
            (true, false, false) => $($handler)::+::<Y, X, X> as Handler,
            (true, false, true) => $($handler)::+::<Y, X, Y> as Handler,
            (true, true, false) => $($handler)::+::<Y, Y, X> as Handler,
            (true, true, true) => $($handler)::+::<Y, Y, Y> as Handler,
        }
    }};
}

/// Head (0) or tail (1) of a cons.
macro_rules! by_half {
    ($half:literal, $s:expr, $d:expr) => {{
        use crate::handlers::data::get_half;
        use crate::operand::{X, Y};
        match (matches!($s, Operand::Y(_)), matches!($d, Operand::Y(_))) {
            (false, false) => get_half::<$half, X, X> as Handler,
            (false, true) => get_half::<$half, X, Y> as Handler,
            (true, false) => get_half::<$half, Y, X> as Handler,
            (true, true) => get_half::<$half, Y, Y> as Handler,
        }
    }};
}

/// Two moves.
macro_rules! by_two_moves {
    ($($handler:ident)::+, $s:expr, $d:expr, $t:expr, $u:expr) => {{
        use crate::operand::{K, X, Y};
        match ($s, matches!($d, Operand::Y(_)), $t, matches!($u, Operand::Y(_))) {
            (Operand::X(_), false, Operand::X(_), false) => $($handler)::+::<X, X, X, X> as Handler,
            (Operand::X(_), false, Operand::X(_), true) => $($handler)::+::<X, X, X, Y> as Handler,
            (Operand::X(_), false, Operand::Y(_), false) => $($handler)::+::<X, X, Y, X> as Handler,
            (Operand::X(_), false, Operand::Y(_), true) => $($handler)::+::<X, X, Y, Y> as Handler,
            (Operand::X(_), false, Operand::K(_), false) => $($handler)::+::<X, X, K, X> as Handler,
            (Operand::X(_), false, Operand::K(_), true) => $($handler)::+::<X, X, K, Y> as Handler,
            (Operand::X(_), true, Operand::X(_), false) => $($handler)::+::<X, Y, X, X> as Handler,
            (Operand::X(_), true, Operand::X(_), true) => $($handler)::+::<X, Y, X, Y> as Handler,
            (Operand::X(_), true, Operand::Y(_), false) => $($handler)::+::<X, Y, Y, X> as Handler,
            (Operand::X(_), true, Operand::Y(_), true) => $($handler)::+::<X, Y, Y, Y> as Handler,
            (Operand::X(_), true, Operand::K(_), false) => $($handler)::+::<X, Y, K, X> as Handler,
            (Operand::X(_), true, Operand::K(_), true) => $($handler)::+::<X, Y, K, Y> as Handler,
            (Operand::Y(_), false, Operand::X(_), false) => $($handler)::+::<Y, X, X, X> as Handler,
            (Operand::Y(_), false, Operand::X(_), true) => $($handler)::+::<Y, X, X, Y> as Handler,
            (Operand::Y(_), false, Operand::Y(_), false) => $($handler)::+::<Y, X, Y, X> as Handler,
            (Operand::Y(_), false, Operand::Y(_), true) => $($handler)::+::<Y, X, Y, Y> as Handler,
            (Operand::Y(_), false, Operand::K(_), false) => $($handler)::+::<Y, X, K, X> as Handler,
            (Operand::Y(_), false, Operand::K(_), true) => $($handler)::+::<Y, X, K, Y> as Handler,
            (Operand::Y(_), true, Operand::X(_), false) => $($handler)::+::<Y, Y, X, X> as Handler,
            (Operand::Y(_), true, Operand::X(_), true) => $($handler)::+::<Y, Y, X, Y> as Handler,
            (Operand::Y(_), true, Operand::Y(_), false) => $($handler)::+::<Y, Y, Y, X> as Handler,
            (Operand::Y(_), true, Operand::Y(_), true) => $($handler)::+::<Y, Y, Y, Y> as Handler,
            (Operand::Y(_), true, Operand::K(_), false) => $($handler)::+::<Y, Y, K, X> as Handler,
            (Operand::Y(_), true, Operand::K(_), true) => $($handler)::+::<Y, Y, K, Y> as Handler,
            (Operand::K(_), false, Operand::X(_), false) => $($handler)::+::<K, X, X, X> as Handler,
            (Operand::K(_), false, Operand::X(_), true) => $($handler)::+::<K, X, X, Y> as Handler,
            (Operand::K(_), false, Operand::Y(_), false) => $($handler)::+::<K, X, Y, X> as Handler,
            (Operand::K(_), false, Operand::Y(_), true) => $($handler)::+::<K, X, Y, Y> as Handler,
            (Operand::K(_), false, Operand::K(_), false) => $($handler)::+::<K, X, K, X> as Handler,
            (Operand::K(_), false, Operand::K(_), true) => $($handler)::+::<K, X, K, Y> as Handler,
            (Operand::K(_), true, Operand::X(_), false) => $($handler)::+::<K, Y, X, X> as Handler,
            (Operand::K(_), true, Operand::X(_), true) => $($handler)::+::<K, Y, X, Y> as Handler,
            (Operand::K(_), true, Operand::Y(_), false) => $($handler)::+::<K, Y, Y, X> as Handler,
            (Operand::K(_), true, Operand::Y(_), true) => $($handler)::+::<K, Y, Y, Y> as Handler,
            (Operand::K(_), true, Operand::K(_), false) => $($handler)::+::<K, Y, K, X> as Handler,
            (Operand::K(_), true, Operand::K(_), true) => $($handler)::+::<K, Y, K, Y> as Handler,
        }
    }};
}

pub(crate) use {
    by_arithmetic, by_destination, by_flag_destination, by_flag_source, by_half, by_list, by_list_frame, by_moves,
    by_order, by_source, by_source_destination, by_sources, by_two_moves, by_two_sources, by_two_sources_destination,
};

/// The handler of a type test.
pub fn type_test(kind: TypeTest, s: Operand) -> Handler {
    macro_rules! choose {
        ($($test:ident),*) => {
            match kind {
                $(TypeTest::$test => match s {
                    Operand::X(_) => test::type_test::<{ TypeTest::$test as u8 }, X> as Handler,
                    Operand::Y(_) => test::type_test::<{ TypeTest::$test as u8 }, Y> as Handler,
                    Operand::K(_) => test::type_test::<{ TypeTest::$test as u8 }, K> as Handler,
                },)*
            }
        };
    }
    choose!(
        Integer,
        Float,
        Number,
        Atom,
        Pid,
        Reference,
        Port,
        Nil,
        Binary,
        Bitstring,
        List,
        NonemptyList,
        Tuple,
        Map,
        Function,
        Boolean,
        NativeRecord
    )
}
