//! Modules of random functions without processes.

use fastrand::Rng;

use super::expression::{Generator, Type};
use super::literal;

/// How much of everything a module has.
struct Extent {
    functions: usize,
    /// Variables of each function that hold what the compiler cannot know: one of each of these types, or so many of
    /// any.
    unknown: Option<usize>,
    /// Fewest and most expressions of a function, and how deep they are nested.
    expressions: (usize, usize),
    depth: usize,
}

const WHOLE: Extent = Extent { functions: 12, unknown: None, expressions: (2, 5), depth: 4 };
/// To compile one takes a tenth of the time.
const SMALL: Extent = Extent { functions: 100, unknown: Some(2), expressions: (1, 1), depth: 3 };

/// What all modules share. `short/1` gives the hash of a long result for the result, because to print a million
/// characters with a verified collection at every thirteenth place takes minutes. `n/1` replaces what prints
/// differently from run to run: funs, and the order of large maps, which with atoms in their keys depends on when each
/// atom was first seen. `exactly/1` sorts terms that are equal by `==` by where they have floats, so that what it gives
/// does not depend on the order of what it is given.
const SUPPORT: &str = r#"
t(Number, F) ->
    try F() of V -> io:format("~w: ~w~n", [Number, short(V)])
    catch C:R -> io:format("~w! ~w ~w~n", [Number, C, short(R)])
    end.

short(V) ->
    case left(V, 5000) of
        0 -> {long, erlang:phash2(V)};
        _ -> n(V)
    end.

left(_, 0) -> 0;
left([H | T], N) -> left(T, left(H, N - 1));
left(T, N) when is_tuple(T) -> left(tuple_to_list(T), N - 1);
left(M, N) when is_map(M) -> left(maps:to_list(M), N - 1);
left(B, N) when is_bitstring(B) -> max(0, N - 1 - byte_size(B) div 4);
left(_, N) -> N - 1.

n(F) when is_function(F) -> {a_fun, element(2, erlang:fun_info(F, arity))};
n([H | T]) -> [n(H) | n(T)];
n(T) when is_tuple(T) -> list_to_tuple(n(tuple_to_list(T)));
n(M) when map_size(M) > 32 -> {large_map, n(pairs(M))};
n(M) when is_map(M) -> maps:from_list([{n(K), n(V)} || {K, V} <- maps:to_list(M)]);
n(T) -> T.

pairs(M) -> exactly(maps:to_list(M)).

exactly(L) -> [T || {T, _} <- lists:sort([{T, floats(T)} || T <- L])].

floats(F) when is_float(F) -> a_float;
floats([H | T]) -> [floats(H) | floats(T)];
floats(T) when is_tuple(T) -> list_to_tuple(floats(tuple_to_list(T)));
floats(M) when is_map(M) -> maps:map(fun(_, V) -> floats(V) end, M);
floats(T) -> T.

id(X) -> X.

up(N, N, _, Acc) -> Acc;
up(I, N, F, Acc) -> up(I + 1, N, F, erlang:phash2({F(I), Acc})).

down(0, _) -> [];
down(N, F) -> [F(N) | down(N - 1, F)].
"#;

/// A module with this name.
pub fn module(name: &str, random: Rng) -> String {
    made(name, random, &WHOLE)
}

/// A module of many small functions with this name.
pub fn small(name: &str, random: Rng) -> String {
    made(name, random, &SMALL)
}

fn made(name: &str, random: Rng, extent: &Extent) -> String {
    let mut g = Generator::new(random);
    let mut text = format!("-module({name}).\n-export([main/1, id/1]).\n\nmain(_) ->\n");
    let calls: Vec<String> = (0..extent.functions).map(|number| format!("    t({number}, fun f{number}/0)")).collect();
    text += &calls.join(",\n");
    text += ".\n";
    text += SUPPORT;
    for number in 0..extent.functions {
        text += &function(number, extent, &mut g);
    }
    text
}

fn function(number: usize, extent: &Extent, g: &mut Generator) -> String {
    let mut lines = Vec::new();
    // The first variables hold what the compiler cannot know, so that it does not evaluate everything itself.
    let unknown = match extent.unknown {
        None => Type::ALL.to_vec(),
        Some(count) => (0..count).map(|_| g.pick(&Type::ALL)).collect(),
    };
    for kind in unknown {
        let value = value(kind, &mut g.random);
        lines.push(format!("    {} = id({value})", g.bind(kind)));
    }
    let (fewest, most) = extent.expressions;
    for _ in 0..g.random.usize(fewest..=most) {
        let kind = Type::ALL[g.random.usize(..Type::ALL.len())];
        let value = g.expression(kind, extent.depth);
        lines.push(format!("    {} = {value}", g.bind(kind)));
    }
    let all: Vec<String> = g.forget();
    format!("\nf{number}() ->\n{},\n    {{{}}}.\n", lines.join(",\n"), all.join(", "))
}

/// A value of this type.
fn value(kind: Type, random: &mut Rng) -> String {
    match kind {
        Type::Int => literal::integer(random),
        Type::Float => literal::float(random),
        Type::Atom => literal::atom(random).to_owned(),
        Type::Bool => (if random.bool() { "true" } else { "false" }).to_owned(),
        Type::Bits => literal::bits(random),
        Type::Ints => format!("[{}, {}, 3]", literal::integer(random), literal::integer(random)),
        Type::List => format!("[{} | {}]", literal::term(random, 2), "[x, 1]"),
        Type::Tuple => format!("{{{}, {}}}", literal::term(random, 1), literal::atom(random)),
        Type::Map => format!("#{{a => {}, 1 => b}}", literal::term(random, 1)),
        Type::Any => literal::term(random, 3),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn pairs_come_in_one_order() {
        let folder = std::env::temp_dir().join(format!("atoll-pairs-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let source = folder.join("ordered.erl");
        let main = r#"-module(ordered).
-compile([nowarn_unused_function]).
-export([main/1]).
main(_) ->
    Keys = [1, 1.0, a, 2.0, 2, {1, 2.0}, {1.0, 2}, {1, 2}, [1.0 | 1], [1 | 1.0], #{k => 1}, #{k => 1.0}, #{1 => k},
        #{1.0 => k}],
    Pairs = [{K, v} || K <- Keys],
    Turned = [lists:nthtail(N, Pairs) ++ lists:sublist(Pairs, N) || N <- lists:seq(0, length(Pairs) - 1)],
    Orders = Turned ++ [lists:reverse(Order) || Order <- Turned],
    io:format("~w ~w~n", [[] =:= [Order || Order <- Orders, exactly(Order) =/= exactly(Pairs)],
        lists:sort(Pairs) == exactly(Pairs)]).
"#;
        std::fs::write(&source, format!("{main}{SUPPORT}")).unwrap();
        let finished = crate::compile(&[source], &folder)
            .map_err(|error| error.to_string())
            .and_then(|()| crate::Stock::find(&folder.join("stock")).map_err(|error| error.to_string()))
            .and_then(|stock| {
                stock.run(&folder, "ordered", Duration::from_secs(60)).map_err(|error| error.to_string())
            });
        std::fs::remove_dir_all(&folder).unwrap();
        let finished = finished.unwrap();
        assert_eq!(String::from_utf8_lossy(&finished.stdout), "true true\n");
    }
}
