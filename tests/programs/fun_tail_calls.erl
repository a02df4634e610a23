%% A loop through a fun needs no more stack than one through a function.
-module(fun_tail_calls).
-export([main/1, next/3]).

main(_) ->
    Plain = fun(Self, Left) -> put(left, Left), step(Self, Left) end,
    io:format("~p~n", [Plain(Plain, 100000)]),
    Free = {some, value},
    Closure = fun(Self, Left) -> put(left, Free), step(Self, Left) end,
    io:format("~p~n", [Closure(Closure, 100000)]),
    put(external, true),
    io:format("~p~n", [next(fun ?MODULE:next/3, 100000, a)]),
    %% What is no fun, and a wrong arity: the caller stands in the trace once.
    [show(fun() -> call(Wrong) end) || Wrong <- [nothing, fun() -> ok end, fun lists:map/2]],
    show(fun() -> call(fun(_) -> exit(inside) end) end),
    io:format("~p~n", [call(fun(X) -> {X, Free} end)]).

step(_, 0) -> stack();
step(Fun, Left) ->
    put(left, Left),
    Fun(Fun, Left - 1).

next(_, 0, _) -> stack();
next(Fun, Left, Kept) ->
    put(left, Left),
    Fun(Fun, Left - 1, Kept).

stack() ->
    {stack_size, Words} = process_info(self(), stack_size),
    Words < 1000.

call(Fun) ->
    put(called, Fun),
    Fun(1).

show(Call) ->
    try Call() of
        Value -> io:format("~p~n", [Value])
    catch
        Class:Reason:Trace ->
            Kind = if is_tuple(Reason) -> element(1, Reason); true -> Reason end,
            io:format("~p ~p ~p~n", [Class, Kind, [{F, A} || {_, F, A, _} <- lists:sublist(Trace, 3)]])
    end.
