%% Selective receive: order kept, patterns, guards, nested receives, many unmatched messages.
-module(receive_selective).
-export([main/1]).

main(_) ->
    [self() ! M || M <- [a, {b, 1}, c, {b, 2}, d, {e, 5}, {e, 50}]],
    p(receive {b, N} -> N end),
    p(receive c -> c end),
    p(receive {e, N2} when N2 > 10 -> N2 end),
    p(flush()),
    [self() ! {n, N3} || N3 <- lists:seq(1, 1000)],
    p(receive {n, 1000} -> last end),
    p(receive {n, X} when X rem 7 =:= 6, X > 500 -> X end),
    Rest = flush(),
    p({length(Rest), hd(Rest), lists:last(Rest)}),
    self() ! outer, self() ! inner, self() ! outer2,
    p(receive inner -> receive outer -> receive outer2 -> nested end end end),
    p(priority()),
    p(reverse_order(300)),
    Pid = self(),
    Children = [spawn(fun() -> receive go -> Pid ! {child, I, I * I} end end) || I <- lists:seq(1, 20)],
    [C ! go || C <- Children],
    p([receive {child, I, S} -> S end || I <- lists:seq(20, 1, -1)]),
    p(in_try()),
    p(in_loop(0)).

%% High before low, whatever the order of arrival.
priority() ->
    [self() ! M || M <- [{low, 1}, {high, 1}, {low, 2}, {high, 2}, {low, 3}]],
    drain([]).

drain(Acc) ->
    receive {high, N} -> drain([{high, N} | Acc])
    after 0 ->
            receive {low, N} -> drain([{low, N} | Acc])
            after 0 -> lists:reverse(Acc)
            end
    end.

reverse_order(N) ->
    [self() ! {m, I} || I <- lists:seq(1, N)],
    lists:sum([receive {m, I} -> I end || I <- lists:seq(N, 1, -1)]).

in_try() ->
    self() ! {bad, 1}, self() ! {good, 2},
    A = try receive {bad, X} -> error({bad, X}) end catch error:R -> R end,
    B = try receive {good, Y} -> Y after 100 -> late end catch _:_ -> no end,
    {A, B}.

in_loop(5) -> done;
in_loop(N) ->
    self() ! {next, N + 1},
    receive {next, M} -> in_loop(M) end.

flush() ->
    receive M -> [M | flush()] after 0 -> [] end.

p(X) -> io:format("~w~n", [X]).
