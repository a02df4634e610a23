%% Every guard test, operator and BIF, on terms of every type; failing guards are false.
-module(guards).
-export([main/1, id/1]).

main(_) ->
    Ts = [0, 1, -5, 1 bsl 65, 0.0, 2.5, a, true, false, '', [], [1], [1 | 2], "abc", {}, {a}, {a, b}, #{}, #{a => 1}, <<>>, <<"bin">>, <<1:3>>, fun lists:map/2, fun() -> ok end, self(), make_ref()],
    [io:format("~s: ~w~n", [name(T), tests(T)]) || T <- Ts],
    [io:format("~s: ~w~n", [name(T), bifs(T)]) || T <- Ts],
    [io:format("~s ~s: ~w~n", [name(A), name(B), compare(A, B)]) || A <- lists:sublist(Ts, 8), B <- lists:sublist(Ts, 8)],
    io:format("~w~n", [[logic(A, B) || A <- [true, false, x], B <- [true, false, x]]]),
    io:format("~w~n", [[alternatives(X) || X <- [1, a, {}, [1], "x", #{}]]]),
    io:format("~w~n", [[in_range(X) || X <- [0, 1, 5, 10, 11, 5.5, a]]]),
    io:format("~w~n", [[self_guard(X) || X <- [self(), node(), 1]]]).

tests(T) ->
    [F(T) || F <- [fun(X) when is_integer(X) -> 1; (_) -> 0 end, fun(X) when is_float(X) -> 1; (_) -> 0 end, fun(X) when is_number(X) -> 1; (_) -> 0 end, fun(X) when is_atom(X) -> 1; (_) -> 0 end,
                   fun(X) when is_boolean(X) -> 1; (_) -> 0 end, fun(X) when is_list(X) -> 1; (_) -> 0 end, fun(X) when is_tuple(X) -> 1; (_) -> 0 end, fun(X) when is_map(X) -> 1; (_) -> 0 end,
                   fun(X) when is_binary(X) -> 1; (_) -> 0 end, fun(X) when is_bitstring(X) -> 1; (_) -> 0 end, fun(X) when is_function(X) -> 1; (_) -> 0 end, fun(X) when is_function(X, 2) -> 1; (_) -> 0 end,
                   fun(X) when is_pid(X) -> 1; (_) -> 0 end, fun(X) when is_reference(X) -> 1; (_) -> 0 end, fun(X) when is_port(X) -> 1; (_) -> 0 end, fun(X) when is_record(X, a, 2) -> 1; (_) -> 0 end,
                   fun([_ | _]) -> 1; (_) -> 0 end, fun({_, _}) -> 1; (_) -> 0 end, fun(X) when X -> 1; (_) -> 0 end, fun(X) when not X -> 1; (_) -> 0 end]].

%% What each BIF lets through, with its value outside of the guard.
bifs(T) ->
    [F(T) || F <- [fun(X) when abs(X) >= 0 -> abs(X); (_) -> '-' end, fun(X) when length(X) >= 0 -> length(X); (_) -> '-' end, fun(X) when hd(X) =:= 1 -> hd(X); (_) -> '-' end, fun(X) when tl(X) =:= [] -> tl(X); (_) -> '-' end,
                   fun(X) when element(1, X) =:= a -> element(1, X); (_) -> '-' end, fun(X) when tuple_size(X) > 0 -> tuple_size(X); (_) -> '-' end, fun(X) when map_size(X) >= 0 -> map_size(X); (_) -> '-' end,
                   fun(X) when map_get(a, X) =:= 1 -> map_get(a, X); (_) -> '-' end, fun(X) when is_map_key(a, X) -> yes; (_) -> '-' end, fun(X) when byte_size(X) >= 0 -> byte_size(X); (_) -> '-' end, fun(X) when bit_size(X) >= 0 -> bit_size(X); (_) -> '-' end,
                   fun(X) when size(X) >= 0 -> size(X); (_) -> '-' end, fun(X) when round(X) >= 0 -> round(X); (_) -> '-' end, fun(X) when trunc(X) >= 0 -> trunc(X); (_) -> '-' end, fun(X) when floor(X) >= 0 -> floor(X); (_) -> '-' end,
                   fun(X) when ceil(X) >= 0 -> ceil(X); (_) -> '-' end, fun(X) when float(X) >= 0 -> 'float'; (_) -> '-' end, fun(X) when binary_part(X, 0, 1) =:= <<"b">> -> part; (_) -> '-' end, fun(X) when node(X) =:= node() -> here; (_) -> '-' end,
                   fun(X) when X + 1 > 0 -> plus; (_) -> '-' end, fun(X) when X div 2 >= 0 -> divided; (_) -> '-' end, fun(X) when X band 1 =:= 1 -> odd; (_) -> '-' end, fun(X) when X bsl 1 > X -> shifted; (_) -> '-' end, fun(X) when bnot X < 0 -> negated; (_) -> '-' end,
                   fun(X) when -X < 0 -> minus; (_) -> '-' end, fun(X) when 10 / X > 0 -> quotient; (_) -> '-' end, fun(X) when 10 rem X =:= 0 -> divides; (_) -> '-' end]].

compare(A, B) ->
    [if A < B -> lt; true -> '-' end, if A =< B -> le; true -> '-' end, if A == B -> eq; true -> '-' end, if A =:= B -> id; true -> '-' end, if A /= B -> ne; true -> '-' end, if A =/= B -> nid; true -> '-' end, if A >= B -> ge; true -> '-' end, if A > B -> gt; true -> '-' end].

logic(A, B) ->
    [if A and B -> 1; true -> 0 end, if A or B -> 1; true -> 0 end, if A xor B -> 1; true -> 0 end, if A andalso B -> 1; true -> 0 end, if A orelse B -> 1; true -> 0 end, if not A -> 1; true -> 0 end, if not (A andalso B) -> 1; true -> 0 end].

alternatives(X) when is_integer(X); is_atom(X) -> simple;
alternatives(X) when hd(X) =:= 1; tuple_size(X) =:= 0 -> structured;
alternatives(X) when is_list(X), length(X) =:= 1; is_map(X), map_size(X) =:= 0 -> last;
alternatives(_) -> none.

in_range(X) when is_integer(X), 1 =< X, X =< 10 -> in;
in_range(X) when is_number(X), X >= 1, X =< 10 -> between;
in_range(_) -> out.

self_guard(X) when X =:= self() -> me;
self_guard(X) when X =:= node() -> my_node;
self_guard(_) -> other.

name(T) when is_function(T) -> "fun";
name(T) when is_pid(T) -> "pid";
name(T) when is_reference(T) -> "ref";
name(T) -> io_lib:format("~w", [T]).

id(X) -> X.
