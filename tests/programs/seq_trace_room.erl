%% Messages that are taken with a token, and told of, between the request for heap room and the terms that fill it. Heaps of
%% all sizes, so that the room is all that is left.
-module(seq_trace_room).
-export([main/1, run/2, count/1]).

main(_) ->
    Tracer = spawn(?MODULE, count, [0]),
    seq_trace:set_system_tracer(Tracer),
    [io:format("~w~n", [{Words, run(Words)}]) || Words <- lists:seq(0, 400, 2)],
    seq_trace:reset_trace(),
    Tracer ! {report, self()},
    receive {told, Count} -> io:format("~w~n", [Count]) end.

run(Words) ->
    {Pid, Monitor} = spawn_monitor(?MODULE, run, [Words, self()]),
    seq_trace:set_token(label, {a, "label"}),
    seq_trace:set_token('receive', true),
    seq_trace:set_token(timestamp, true),
    [Pid ! {message, N} || N <- lists:seq(1, 9)],
    seq_trace:set_token([]),
    Result = receive {result, Pid, What} -> What end,
    receive {'DOWN', Monitor, _, _, Reason} -> {Result, Reason} end.

run(Words, Parent) ->
    _ = lists:seq(1, Words div 2),
    Taken = [take() || _ <- lists:seq(1, 9)],
    seq_trace:set_token([]),
    Parent ! {result, self(), erlang:phash2(Taken)}.

take() ->
    receive {message, N} -> {N, [N], {N, N}, [N, N, N], {N, N, N, N}} end.

count(N) ->
    receive
        {seq_trace, _, _, _} -> count(N + 1);
        {report, To} -> To ! {told, N}
    end.
