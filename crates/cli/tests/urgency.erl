%% Which of several processes that are woken at once runs first.
-module(urgency).
-export([main/1, worker/2]).

main([]) ->
    Now = erlang:monotonic_time(),
    Wanted = [
        {1, 0.25, infinity}, {2, 3, infinity}, {3, 0.25, Now + 2000}, {4, -7.5, Now}, {5, 0.25, Now + 1000}, {6, 0, infinity}
    ],
    Workers = [{Number, spawn_link(?MODULE, worker, [self(), Number])} || {Number, _, _} <- Wanted],
    [receive {ready, Number} -> ok end || {Number, _} <- Workers],
    10.0 = begin atoll:process_priority(self(), 10), atoll:process_priority(self()) end,
    lists:foreach(
        fun({Number, Priority, Deadline}) ->
            {_, Pid} = lists:keyfind(Number, 1, Workers),
            0.0 = atoll:process_priority(Pid, Priority),
            infinity = atoll:deadline(Pid, Deadline),
            {true, true} = {atoll:process_priority(Pid) == Priority, atoll:deadline(Pid) =:= Deadline}
        end, Wanted),
    levels(),
    [Pid ! go || {_, Pid} <- Workers],
    io:format("~w~n", [[receive {runs, Number} -> Number end || _ <- Workers]]),
    wrong().

worker(Parent, Number) ->
    Parent ! {ready, Number},
    receive go -> Parent ! {runs, Number} end.

%% OTP's levels are numbers, too.
levels() ->
    Pid = spawn_link(fun() -> receive stop -> ok end end),
    {priority, normal} = process_info(Pid, priority),
    0.0 = atoll:process_priority(Pid, 1.5),
    {priority, high} = process_info(Pid, priority),
    1.5 = atoll:process_priority(Pid, -2),
    {priority, low} = process_info(Pid, priority),
    Pid ! stop,
    max = process_flag(priority, low),
    -1.0 = atoll:process_priority(self()),
    low = process_flag(priority, max),
    2.0 = atoll:process_priority(self(), 10.0).

wrong() ->
    {Dead, Monitor} = spawn_monitor(fun() -> ok end),
    receive {'DOWN', Monitor, _, _, _} -> ok end,
    Calls = [
        {process_priority, [Dead]}, {process_priority, [self(), high]}, {process_priority, [name, 1]},
        {process_priority, [self(), 1 bsl 2000]}, {deadline, [Dead, infinity]}, {deadline, [self(), 1.5]},
        {deadline, [self(), 1 bsl 70]}, {deadline, [self(), never]}
    ],
    io:format("~w~n", [[catch_error(Call) || Call <- Calls]]).

catch_error({Name, Arguments}) ->
    try apply(atoll, Name, Arguments) of Value -> Value catch Class:Reason -> {Class, Reason} end.
