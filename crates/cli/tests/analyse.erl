-module(analyse).
-export([main/1, ask/2, give/3]).

main(_) ->
    P = spawn(fun() -> ok end),
    P ! {numbers, build(10, [])},
    P ! hello,
    ask(P, 3).

build(0, Built) -> Built;
build(N, Built) ->
    build(N - 1, [{N, a} | Built]).

ask(P, What) ->
    P ! {ask, What},
    receive {answer, Answer} -> P ! Answer end,
    local(What, P).

give(P, Fun, X) ->
    P ! Fun(X),
    ets:insert(table, {P, X}).

local(X, Y) ->
    T = {X, Y},
    receive go -> T > Y; {Z, _} -> Z end.
