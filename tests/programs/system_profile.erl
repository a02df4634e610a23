%% erlang:system_profile: settings, errors, what is told of processes, ports and schedulers, and the end of the profiler.
-module(system_profile).
-export([main/1, worker/1]).

main(_) ->
    settings(),
    [processes(Options) || Options <- [[], [exclusive], [timestamp], [monotonic_timestamp], [strict_monotonic_timestamp]]],
    not_itself(),
    ports(),
    schedulers(),
    profiler_ends().

settings() ->
    io:format("~p~n", [erlang:system_profile()]),
    P = profiler(),
    Set = fun(Who, Options) ->
        Result = try hide(P, erlang:system_profile(Who, Options))
                 catch Class:Reason -> {Class, Reason}
                 end,
        io:format("~p ~p: ~p, then ~p~n", [hide(P, Who), Options, Result, hide(P, erlang:system_profile())])
    end,
    Set(P, [runnable_procs, runnable_ports, scheduler, exclusive, timestamp]),
    Set(P, []),
    Set(undefined, []),
    Set(undefined, [no_option]),
    Set(undefined, no_list),
    Set(nobody, []),
    Set(nobody, [scheduler]),
    Set(P, [no_option]),
    Set(P, no_list),
    Set(P, [{scheduler, true}]),
    Set(P, [scheduler | tail]),
    Set(P, [exclusive]),
    Set(P, [monotonic_timestamp]),
    Set(P, [scheduler, runnable_procs]),
    Set(P, [runnable_ports]),
    Set(undefined, []),
    {Gone, Monitor} = spawn_monitor(fun() -> ok end),
    receive {'DOWN', Monitor, process, Gone, _} -> ok end,
    io:format("~p~n", [catch element(1, element(2, catch erlang:system_profile(Gone, [scheduler])))]),
    stop(P).

hide(P, P) -> profiler;
hide(P, {P, Options}) -> {profiler, Options};
hide(_, Other) -> Other.

%% Each step waits for what the last one has to be told of.
processes(Options) ->
    P = profiler(),
    undefined = erlang:system_profile(P, [runnable_procs | Options]),
    W = spawn(?MODULE, worker, [self()]),
    First = told(P, W, 2),
    W ! go,
    Second = told(P, W, 4),
    W ! go,
    Third = told(P, W, 6),
    {P, _} = erlang:system_profile(undefined, []),
    All = First ++ Second ++ Third,
    io:format("~p~n~p~n", [Options, [{What, Where} || {profile, _, What, Where, _} <- All]]),
    io:format("~p~n", [in_order([Time || {profile, _, _, _, Time} <- All])]),
    stop(P).

worker(_) ->
    receive go -> ok end,
    receive go -> ok end.

in_order(Times) ->
    {lists:sort(Times) =:= Times, lists:usort([kind(Time) || Time <- Times])}.

kind({A, B, C}) when is_integer(A), B < 1000000, C < 1000000 -> triple;
kind({A, B}) when is_integer(A), is_integer(B) -> pair;
kind(A) when is_integer(A) -> integer.

not_itself() ->
    P = profiler(),
    undefined = erlang:system_profile(P, [runnable_procs]),
    [told(P, spawn(fun() -> ok end), 2) || _ <- lists:seq(1, 20)],
    io:format("~p~n", [told(P, P, 0)]),
    erlang:system_profile(undefined, []),
    stop(P).

ports() ->
    P = profiler(),
    undefined = erlang:system_profile(P, [runnable_ports]),
    Port = open_port({spawn, "cat"}, [binary]),
    true = port_command(Port, <<"text">>),
    receive {Port, {data, _}} -> ok end,
    Told = told(P, Port, 4),
    io:format("~p~n", [lists:usort([{What, Where} || {profile, _, What, Where, _} <- Told])]),
    io:format("~p~n", [alternate([What || {profile, _, What, _, _} <- Told])]),
    erlang:system_profile(undefined, []),
    port_close(Port),
    stop(P).

alternate([A, B | More]) -> A =/= B andalso alternate([B | More]);
alternate(_) -> true.

schedulers() ->
    P = profiler(),
    undefined = erlang:system_profile(P, [scheduler]),
    Self = self(),
    [begin
         spawn(fun() -> Self ! done end),
         receive done -> ok end,
         receive after 5 -> ok end
     end || _ <- lists:seq(1, 10)],
    Told = any(P, fun({profile, scheduler, _, What, _, _}) -> {true, What}; (_) -> false end, [active, inactive]),
    erlang:system_profile(undefined, []),
    io:format("~p~n", [lists:usort([{kind(Time), is_integer(Number), Number > 0, is_integer(Active), Active >= 0}
                                    || {profile, scheduler, Number, _, Active, Time} <- Told])]),
    stop(P).

profiler_ends() ->
    P = profiler(),
    undefined = erlang:system_profile(P, [runnable_procs, runnable_ports, scheduler]),
    stop(P),
    [spawn(fun() -> ok end) || _ <- lists:seq(1, 100)],
    io:format("~p~n", [erlang:system_profile()]).

%% A process that keeps what it is told.
profiler() -> spawn(fun() -> profiler([]) end).

profiler(Told) ->
    receive
        {stop, From} ->
            From ! {stopped, self()};
        {ask, From, Id, Least} ->
            case [Event || Event <- Told, element(2, Event) =:= Id] of
                Events when length(Events) >= Least ->
                    From ! {self(), lists:reverse(Events)},
                    profiler([Event || Event <- Told, element(2, Event) =/= Id]);
                _ ->
                    From ! {self(), wait},
                    profiler(Told)
            end;
        Event ->
            profiler([Event | Told])
    end.

stop(P) ->
    Monitor = monitor(process, P),
    P ! {stop, self()},
    receive {'DOWN', Monitor, process, P, _} -> ok end,
    receive {stopped, P} -> ok end.

%% What was told of a process or port, once there are so many events since the last question, `Upto` in all.
told(P, Id, Upto) ->
    Before = case get({asked, P, Id}) of undefined -> 0; Count -> Count end,
    Events = ask(P, Id, Upto - Before, 3000),
    put({asked, P, Id}, Before + length(Events)),
    Events.

ask(P, Id, Least, Tries) ->
    P ! {ask, self(), Id, Least},
    receive
        {P, wait} when Tries > 0 -> receive after 10 -> ask(P, Id, Least, Tries - 1) end;
        {P, wait} -> exit({not_told, Id, Least});
        {P, Events} -> Events
    end.

%% What was told once each of `Wanted` was seen.
any(P, Select, Wanted) -> any(P, Select, Wanted, [], 1000).

any(_, _, [], Told, _) -> Told;
any(P, Select, Wanted, Told, Tries) when Tries > 0 ->
    Self = self(),
    spawn(fun() -> Self ! done end),
    receive done -> ok end,
    receive after 10 -> ok end,
    Events = ask(P, scheduler, 0, 1),
    Seen = lists:filtermap(Select, Events),
    any(P, Select, Wanted -- Seen, Events ++ Told, Tries - 1).
