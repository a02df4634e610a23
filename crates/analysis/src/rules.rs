//! What is known of functions outside of the module: built-in functions, and what OTP's behaviours promise.
//!
//! A rule gives each argument's fate as a summary of the function would. Functions without a rule and without a summary
//! may do anything with their arguments. A rule that says less than `UNKNOWN` is for functions only that are part of
//! the machine, so that no code can take their place.

use crate::fate::{Fate, Ways};

/// Most arguments of a function.
const MOST: usize = 256;

/// For a function of which nothing is known: it may do anything with its arguments, and return them.
pub(crate) const UNKNOWN: Fate = Fate::perhaps(Ways::UNKNOWN).joined(Fate::LOOKED_AT);
/// The arguments of such a function.
pub(crate) const ALL_UNKNOWN: &[Fate] = &[UNKNOWN; MOST];

const LOOK: Fate = Fate::LOOKED_AT;
const PART: Fate = Fate::PART_IS_RESULT;
const INTO: Fate = Fate::IN_RESULT;
const MAYBE: Fate = Fate::PERHAPS_RESULT;
const CHOSEN: Fate = Fate::CHOSEN;
const ELEMENTS: Fate = Fate::ELEMENTS_IN_RESULT;
const SENT: Fate = Fate::certainly(Ways::SENT).joined(LOOK);
const SENT_AND_RESULT: Fate = SENT.and_result();
const REVERSED: Fate = Fate::REBUILT.joined(UNKNOWN);
const SPAWNED: Fate = Fate::certainly(Ways::SPAWNED).joined(LOOK);
const STORED: Fate = Fate::certainly(Ways::STORED).joined(LOOK);
const PERHAPS_STORED: Fate = Fate::perhaps(Ways::STORED).joined(LOOK);
/// One row, or a list of rows.
const ROWS: Fate = Fate::parts_certainly(Ways::STORED).joined(LOOK);
const SIGNALLED: Fate = Fate::certainly(Ways::SIGNALLED).joined(LOOK);
const PUT: Fate = Fate::perhaps(Ways::DICTIONARY).joined(LOOK);

/// Functions that never fail.
const NOTHING: &[Fate] = &[Fate::DEAD; 2];
const LOOKS: &[Fate] = &[LOOK; 6];
const SPAWNS: &[Fate] = &[SPAWNED; 5];

/// The fates of the arguments of a built-in function, or of one whose contract is known.
pub(crate) fn rule(module: &str, name: &str, arity: u8) -> Option<&'static [Fate]> {
    let found = match module {
        "erlang" => erlang(name, arity),
        "ets" => ets(name, arity),
        "maps" => maps(name, arity),
        "lists" => lists(name, arity),
        "persistent_term" => persistent_term(name, arity),
        "gen_server" | "gen_statem" | "gen_event" => behaviour(name, arity),
        _ => None,
    };
    debug_assert!(found.is_none_or(|fates| fates.len() == usize::from(arity)), "{module}:{name}/{arity}");
    found
}

fn looks(arity: u8) -> Option<&'static [Fate]> {
    LOOKS.get(..arity.into())
}

fn erlang(name: &str, arity: u8) -> Option<&'static [Fate]> {
    Some(match (name, arity) {
        ("!" | "send", 2) => &[LOOK, SENT_AND_RESULT],
        ("send", 3) | ("send_nosuspend", 3) => &[LOOK, SENT, LOOK],
        ("send_nosuspend", 2) => &[LOOK, SENT],
        ("send_after" | "start_timer", 3) => &[LOOK, LOOK, SENT],
        ("send_after" | "start_timer", 4) => &[LOOK, LOOK, SENT, LOOK],
        ("spawn" | "spawn_link" | "spawn_monitor", 1..=4) | ("spawn_opt" | "spawn_request", 2..=5) => {
            &SPAWNS[..arity.into()]
        }
        ("exit", 2) => &[LOOK, SIGNALLED],
        ("error" | "exit" | "throw", 1..=3) | ("raise", 3) => return looks(arity),
        ("put", 2) => &[PUT, PUT],
        ("element", 2) | ("map_get", 2) => &[LOOK, PART],
        ("hd", 1) => &[PART],
        ("tl", 1) | ("iolist_to_binary" | "list_to_bitstring", 1) => &[CHOSEN],
        ("min" | "max", 2) => &[CHOSEN, CHOSEN],
        ("setelement", 3) => &[LOOK, PART, INTO],
        ("append_element" | "insert_element", 2) => &[ELEMENTS, INTO],
        ("make_tuple", 2) => &[LOOK, INTO],
        ("list_to_tuple" | "tuple_to_list", 1) => &[ELEMENTS],
        ("++", 2) | ("append", 2) => &[Fate::REBUILT, CHOSEN],
        ("--", 2) | ("subtract", 2) => &[MAYBE, LOOK],
        ("binary_part" | "split_binary", 2..=3) => &[MAYBE, LOOK, LOOK][..arity.into()],
        (
            "is_atom" | "is_binary" | "is_bitstring" | "is_boolean" | "is_float" | "is_integer" | "is_list" | "is_map"
            | "is_number" | "is_pid" | "is_port" | "is_reference" | "is_tuple" | "is_function",
            1,
        )
        | ("=:=" | "=/=" | "==" | "/=" | "<" | "=<" | ">" | ">=", 2) => &NOTHING[..arity.into()],
        ("+" | "-" | "*" | "/" | "div" | "rem" | "band" | "bor" | "bxor" | "bsl" | "bsr" | "and" | "or" | "xor", 2)
        | ("-" | "+" | "bnot" | "not" | "abs" | "round" | "trunc" | "float" | "ceil" | "floor", 1)
        | ("is_map_key" | "is_function", 2)
        | ("size" | "tuple_size" | "byte_size" | "bit_size" | "map_size" | "length" | "iolist_size", 1)
        | ("self" | "make_ref" | "timestamp" | "now" | "processes" | "get" | "date" | "time" | "localtime", 0)
        | ("node" | "nodes" | "unique_integer" | "monotonic_time" | "system_time" | "garbage_collect", 0..=1)
        | ("get" | "erase" | "whereis" | "is_process_alive" | "registered" | "unregister" | "link" | "unlink", 1)
        | ("register" | "process_flag", 2)
        | ("demonitor" | "cancel_timer" | "read_timer" | "phash2" | "term_to_binary" | "binary_to_term", 1..=2)
        | ("atom_to_list" | "list_to_atom" | "list_to_existing_atom" | "pid_to_list" | "list_to_pid", 1)
        | ("ref_to_list" | "port_to_list" | "fun_to_list" | "list_to_ref" | "list_to_float" | "list_to_binary", 1)
        | ("integer_to_list" | "list_to_integer" | "integer_to_binary" | "binary_to_integer", 1..=2)
        | ("atom_to_binary" | "binary_to_atom" | "binary_to_existing_atom" | "float_to_list", 1..=2)
        | ("float_to_binary", 1..=2)
        | ("binary_to_list", 1 | 3)
        | ("binary_to_float" | "bitstring_to_list" | "md5" | "crc32" | "adler32" | "external_size", 1)
        | ("universaltime" | "erase" | "get_keys", 0)
        | ("function_exported", 3) => return looks(arity),
        _ => return None,
    })
}

fn ets(name: &str, arity: u8) -> Option<&'static [Fate]> {
    Some(match (name, arity) {
        ("insert" | "insert_new", 2) => &[LOOK, ROWS],
        // An heir's data is among the options, and a row begins as the default with the key.
        ("new", 2) => &[LOOK, PERHAPS_STORED],
        ("update_counter", 4) => &[LOOK, PERHAPS_STORED, LOOK, PERHAPS_STORED],
        ("update_element", 3) => &[LOOK, LOOK, PERHAPS_STORED],
        ("lookup" | "member" | "next" | "prev" | "match_object" | "match" | "select" | "take", 2)
        | ("select_count" | "select_delete" | "delete_object" | "info", 2)
        | ("delete", 1..=2)
        | ("first" | "last" | "info" | "delete_all_objects", 1)
        | ("lookup_element" | "update_counter", 3) => return looks(arity),
        _ => return None,
    })
}

fn maps(name: &str, arity: u8) -> Option<&'static [Fate]> {
    Some(match (name, arity) {
        ("get" | "find", 2) => &[LOOK, PART],
        ("is_key", 2) => &[LOOK, LOOK],
        ("put" | "update", 3) => &[MAYBE, INTO, MAYBE],
        ("remove", 2) => &[LOOK, MAYBE],
        ("take", 2) => &[LOOK, MAYBE],
        ("merge", 2) => &[MAYBE, MAYBE],
        ("keys" | "values" | "from_list", 1) => &[PART],
        _ => return None,
    })
}

fn lists(name: &str, arity: u8) -> Option<&'static [Fate]> {
    Some(match (name, arity) {
        ("member", 2) => &[LOOK, LOOK],
        // Not part of the machine.
        ("reverse", 1) => &[REVERSED],
        ("reverse", 2) => &[Fate::REBUILT, CHOSEN],
        ("keymember", 3) => &[LOOK, LOOK, LOOK],
        ("keyfind" | "keysearch", 3) => &[LOOK, LOOK, PART],
        _ => return None,
    })
}

fn persistent_term(name: &str, arity: u8) -> Option<&'static [Fate]> {
    Some(match (name, arity) {
        ("put", 2) => &[STORED, STORED],
        ("get", 0..=1) | ("erase", 1) => return looks(arity),
        ("get", 2) => &[LOOK, CHOSEN],
        _ => return None,
    })
}

/// These are modules and can be replaced: the way to unknown functions stays open beside the promise.
fn behaviour(name: &str, arity: u8) -> Option<&'static [Fate]> {
    const TOLD: Fate = Fate::certainly(Ways::SENT).joined(UNKNOWN);
    Some(match (name, arity) {
        ("call" | "cast" | "reply" | "notify" | "sync_notify", 2) => &[UNKNOWN, TOLD],
        ("call", 3) => &[UNKNOWN, TOLD, UNKNOWN],
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaceable_functions_say_no_less_than_unknown() {
        for (module, name, arity) in [("gen_server", "call", 2), ("gen_server", "call", 3), ("gen_event", "notify", 2)]
        {
            for fate in rule(module, name, arity).expect("a rule") {
                assert!(fate.all_ways().meets(Ways::UNKNOWN));
            }
        }
    }

    #[test]
    fn a_send_as_a_function_sends_and_returns() {
        let fates = rule("erlang", "send", 2).expect("a rule");
        assert!(fates[1].is_certain() && fates[1].ways().meets(Ways::SENT));
        assert!(fates[1].seen_by_caller(Fate::certainly(Ways::STORED)).ways().meets(Ways::STORED));
        assert!(rule("erlang", "no_such_function", 1).is_none());
    }
}
