%% A token round a ring of 30 processes, 300 times.
-module(ring_small).
-export([main/1]).

main(_) ->
    First = lists:foldl(fun(_, Next) -> spawn(fun() -> member(Next, 0) end) end, self(), lists:seq(1, 29)),
    First ! {token, 300 * 30},
    io:format("~w~n", [lead(First, [])]).

lead(First, Seen) ->
    receive
        {token, 0} -> First ! {stop, 0}, lead(First, Seen);
        {token, N} -> First ! {token, N - 1}, lead(First, [N | Seen]);
        {stop, Sum} -> {length(Seen), hd(Seen), lists:last(Seen), Sum}
    end.

member(Next, Count) ->
    receive
        {token, 0} -> Next ! {token, 0}, member(Next, Count);
        {token, N} -> Next ! {token, N - 1}, member(Next, Count + 1);
        {stop, Sum} -> Next ! {stop, Sum + Count}
    end.
