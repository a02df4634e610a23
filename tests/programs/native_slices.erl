%% A native function says when the time slice is used up: when all of it is, wherever the scheduler looks at the process.
-module(native_slices).
-export([main/1, consume/1]).
-nifs([consume/1]).

consume(_) -> erlang:nif_error(not_loaded).

main(_) ->
    ok = erlang:load_nif(filename:join(filename:dirname(code:which(?MODULE)), "native_slices"), 0),
    % How much of the present slice is left is not known, so each round begins with a new one. A collection in a round
    % may use up some of it.
    Rounds = [in_new_slice(Used) || Used <- lists:seq(1, 400)],
    io:format("~p~n", [length([usual || [0, 0, 0, 1] <- Rounds]) > 200]),
    Me = self(),
    Pid = spawn(fun() ->
        receive go -> ok end,
        Me ! {answers, [begin Answer = consume(100), traced(Round), Answer end || Round <- lists:seq(1, 20)]}
    end),
    erlang:trace_pattern({?MODULE, traced, 1}, true, [local]),
    1 = erlang:trace(Pid, true, [call, running]),
    Pid ! go,
    receive {answers, Answers} -> io:format("~p~n", [Answers]) end,
    % Each slice that was used up ends.
    io:format("~p~n", [length(events(Pid)) >= 20]).

in_new_slice(Used) ->
    erlang:yield(),
    erlang:bump_reductions(Used),
    [consume(25) || _ <- [1, 2, 3, 4]].

traced(_) -> ok.

events(Pid) ->
    Delivered = erlang:trace_delivered(Pid),
    receive {trace_delivered, Pid, Delivered} -> ok end,
    told(Pid).

told(Pid) ->
    receive
        {trace, Pid, Out, _} when Out =:= out; Out =:= out_exited -> [Out | told(Pid)];
        {trace, Pid, _, _} -> told(Pid)
    after 0 -> []
    end.
