%% Funs: closures, named funs, local and external funs, arity, fun_info, equality, application.
-module(fun_basic).
-export([main/1, id/1, twice/1]).

main(_) ->
    N = id(10),
    Add = fun(X) -> X + N end,
    io:format("~w~n", [Add(5)]),
    Compose = fun(F, G) -> fun(X) -> F(G(X)) end end,
    io:format("~w~n", [(Compose(Add, fun twice/1))(7)]),
    Fact = fun Loop(0) -> 1; Loop(K) -> K * Loop(K - 1) end,
    io:format("~w~n", [Fact(30)]),
    Counter = lists:foldl(fun(X, Acc) -> fun() -> X + Acc() end end, fun() -> 0 end, lists:seq(1, 50)),
    io:format("~w~n", [Counter()]),
    External = fun ?MODULE:twice/1,
    io:format("~w ~w ~w~n", [External(4), External, fun lists:map/2]),
    io:format("~w~n", [lists:map(fun erlang:abs/1, [-1, 2, -3])]),
    io:format("~w~n", [[is_function(F) || F <- [Add, External, a, {m, f}]]]),
    io:format("~w~n", [[is_function(F, A) || F <- [Add, External, Compose], A <- [0, 1, 2]]]),
    io:format("~w~n", [[erlang:fun_info(F, arity) || F <- [Add, External, Compose, fun() -> ok end]]]),
    io:format("~w~n", [[erlang:fun_info(External, I) || I <- [type, module, name, env]]]),
    io:format("~w~n", [[erlang:fun_info(Add, I) || I <- [type, module, env]]]),
    io:format("~w~n", [erlang:fun_info(fun erlang:length/1)]),
    io:format("~w ~w~n", [Add =:= Add, fun lists:map/2 =:= fun lists:map/2]),
    io:format("~w ~w~n", [adder(1) =:= adder(1), adder(1) =:= adder(2)]),
    io:format("~w~n", [(id(fun lists:reverse/1))([1, 2, 3])]),
    io:format("~w~n", [apply(Add, [90])]),
    io:format("~w~n", [apply(fun(A, B, C) -> {A, B, C} end, [1, 2, 3])]),
    io:format("~w~n", [[E || {_, E} <- [t(fun() -> (id(Add))() end), t(fun() -> (id(a))(1) end),
                                       t(fun() -> (id({m, f}))(1) end)], is_atom(E)]]),
    io:format("~w~n", [t(fun() -> (id(fun no_module:f/1))(1) end)]),
    io:format("~w~n", [kind(t(fun() -> (id(Add))(1, 2) end))]),
    io:format("~w~n", [t(fun() -> (id(not_fun))() end)]).

adder(N) -> fun(X) -> X + N end.

kind({error, {badarity, {F, Args}}}) -> {badarity, is_function(F, 1), Args}.

twice(X) -> 2 * X.

t(F) -> try F() catch C:R -> {C, R} end.

id(X) -> X.
