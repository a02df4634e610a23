%% Calls with a fresh reference while the mailbox is full: the compiler's receive markers.
-module(receive_marker).
-export([main/1, server/1]).

main(_) ->
    Server = spawn(?MODULE, server, [0]),
    [self() ! {noise, N} || N <- lists:seq(1, 2000)],
    p([call(Server, {add, N}) || N <- lists:seq(1, 200)]),
    p(monitored_call(Server, {add, 5})),
    p(two_refs(Server)),
    p(ref_later(Server)),
    p(lists:sum([receive {noise, N} -> N end || _ <- lists:seq(1, 2000)])),
    Server ! stop,
    %% The server may be gone before it is monitored.
    p(element(1, monitored_call(Server, {add, 1}))),
    p(receive M -> M after 0 -> empty end).

server(Sum) ->
    receive
        {call, From, Ref, {add, N}} -> From ! {Ref, Sum + N}, server(Sum + N);
        stop -> ok
    end.

call(Server, Request) ->
    Ref = make_ref(),
    Server ! {call, self(), Ref, Request},
    receive {Ref, Answer} -> Answer end.

monitored_call(Server, Request) ->
    Ref = erlang:monitor(process, Server),
    Server ! {call, self(), Ref, Request},
    receive
        {Ref, Answer} -> erlang:demonitor(Ref, [flush]), {ok, Answer};
        {'DOWN', Ref, process, _, Reason} -> {down, Reason}
    end.

two_refs(Server) ->
    R1 = make_ref(),
    Server ! {call, self(), R1, {add, 1}},
    R2 = make_ref(),
    Server ! {call, self(), R2, {add, 1}},
    B = receive {R2, B0} -> B0 end,
    A = receive {R1, A0} -> A0 end,
    B - A.

%% The reference passes through a function before it is matched.
ref_later(Server) ->
    Ref = new(),
    Server ! {call, self(), Ref, {add, 10}},
    wait(Ref).

new() -> make_ref().

wait(Ref) -> receive {Ref, A} -> A after 20000 -> timeout end.

p(X) -> io:format("~w~n", [X]).
