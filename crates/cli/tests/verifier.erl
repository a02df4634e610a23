%% Keeps a term on its stack, and sends large ones to another process, so that every kind of heap has something to look
%% at, for long enough that a check falls on a page of the message area with a gap.
-module(verifier).
-export([main/1]).

main(_) ->
    Echo = spawn(fun() -> echo([]) end),
    io:format("~w~n", [rounds(1500, Echo, 0)]).

rounds(0, _, Sum) -> Sum;
rounds(N, Echo, Sum) ->
    Echo ! {self(), lists:seq(1, 100 + N rem 200)},
    receive {Echo, List} -> lists:sum(List) + rounds(N - 1, Echo, Sum) end.

echo(Kept) ->
    receive {From, List} -> From ! {self(), List}, echo(lists:sublist([List | Kept], 20)) end.
