%% Match patterns that change the trace flags of another process while others make garbage: the caller goes on with its
%% own terms, and the changes come in their order.
-module(trace_others).
-export([main/1, traced/2, arguments/1]).

-define(CALLS, 1000).

main(_) ->
    Self = self(),
    [Other, Second] = [spawn_link(fun idle/0) || _ <- [1, 2]],
    Tracer = spawn_link(fun() -> compare(0, 0) end),
    Busy = [spawn_link(fun() -> garbage([], 0) end) || _ <- [1, 2]],
    Change = fun(Pid) -> [{trace, Pid, [timestamp], [procs]}, {trace, Pid, [procs], [timestamp]},
                          {trace, Pid, [timestamp], [procs]}] end,
    Message = {message, {{kept, '$1', ['$2', '$1']}}},
    Pattern = [{['$1', '$2'], [], Change(Other) ++ Change(Second) ++ [Message]}],
    1 = erlang:trace_pattern({?MODULE, traced, 2}, Pattern, [local]),
    {Caller, Ref} = spawn_opt(fun() ->
        1 = erlang:trace(self(), true, [call, {tracer, Tracer}]),
        Wrong = calls(?CALLS, Other, Second, 0),
        exit({wrong, Wrong})
    end, [monitor, {priority, high}]),
    receive {'DOWN', Ref, process, Caller, Reason} -> io:format("~p~n", [Reason]) end,
    [begin unlink(P), exit(P, kill) end || P <- Busy],
    io:format("~p~n", [[erlang:trace_info(P, flags) || P <- [Other, Second]]]),
    io:format("~p~n", [[erlang:trace_info(P, tracer) =:= {tracer, Tracer} || P <- [Other, Second]]]),
    Tracer ! {how_many, Self},
    receive {compared, Right, Wrong} -> io:format("~p right, ~p wrong~n", [Right, Wrong]) end,
    %% A process that has ended.
    {Gone, GoneRef} = spawn_monitor(fun() -> ok end),
    receive {'DOWN', GoneRef, process, Gone, normal} -> ok end,
    1 = erlang:trace_pattern({?MODULE, traced, 2}, [{'_', [], Change(Gone)}], [local]),
    1 = erlang:trace(self(), true, [call, {tracer, Tracer}]),
    {a, b} = traced(a, b),
    1 = erlang:trace(self(), false, [call]),
    io:format("~p~n", [erlang:trace_info(Gone, flags)]).

%% Each process is traced after a call. The caller ends that for one of them.
calls(0, _, _, Wrong) -> Wrong;
calls(N, Other, Second, Wrong) ->
    {A, B} = ?MODULE:arguments(N),
    Same = traced(A, B) =:= ?MODULE:arguments(N),
    1 = erlang:trace(Other, false, [procs]),
    Off = erlang:trace_info(Other, flags) =:= {flags, []},
    On = erlang:trace_info(Second, flags) =:= {flags, [procs]},
    calls(N - 1, Other, Second, case Same andalso Off andalso On of true -> Wrong; false -> Wrong + 1 end).

arguments(N) ->
    A = {N, [N, integer_to_list(N)]},
    {A, [N | A]}.

traced(A, B) -> {A, B}.

garbage(_, 500) -> garbage([], 0);
garbage(L, N) -> garbage([{N, lists:seq(1, 10)} | L], N + 1).

idle() -> receive _ -> idle() end.

%% The tracer: each message must have the arguments of the call.
compare(Right, Wrong) ->
    receive
        {how_many, To} -> To ! {compared, Right, Wrong};
        {trace, _, call, {_, _, [{N, [N, T]} = A, [N | A] = B]}, {kept, A, [B, A]}} ->
            case integer_to_list(N) of
                T -> compare(Right + 1, Wrong);
                _ -> compare(Right, Wrong + 1)
            end;
        _ -> compare(Right, Wrong + 1)
    end.
