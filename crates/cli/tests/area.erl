%% One list is built, by code that builds it for nothing else, and sent.
-module(area).
-export([main/1]).

main(_) ->
    Self = self(),
    Receiver = spawn(fun() -> receive {Sender, List} -> Sender ! length(List) end end),
    Receiver ! {Self, build(1500, [])},
    receive Length -> io:format("~w~n", [Length]) end.

build(0, Built) -> Built;
build(N, Built) -> build(N - 1, [N | Built]).
