%% Periodic tasks that together ask for a part of one processor, in percent. Each has to finish what a period gives it
%% to do before the next period begins. How many do not, and the longest delay, with and without deadlines that the
%% scheduler knows: run it with +S 1, and with `--scheduler levels` and `--scheduler deadline`.
-module(deadlines).
-export([main/1, task/5, work/2]).

%% In milliseconds.
-define(PERIODS, [4, 5, 8, 10, 16, 20, 32, 40, 64, 80, 128, 160]).

main(Args) ->
    [Percent, Seconds] = numbers(Args, [80, 5]),
    %% Hot code, for the calibration too.
    work(3000000, 1),
    PerMillisecond = calibrate(),
    Tasks = length(?PERIODS),
    Start = erlang:monotonic_time(millisecond) + 50,
    End = Start + Seconds * 1000,
    [
        spawn_link(?MODULE, task, [self(), Start, End, Period, round(PerMillisecond * Period * Percent / 100 / Tasks)])
     || Period <- ?PERIODS
    ],
    Results = [receive {done, Period, Jobs, Missed, Latest} -> {Period, Jobs, Missed, Latest} end || Period <- ?PERIODS],
    Jobs = lists:sum([N || {_, N, _, _} <- Results]),
    Missed = lists:sum([N || {_, _, N, _} <- Results]),
    Latest = lists:max([Time || {_, _, _, Time} <- Results]),
    io:format("~w% of a processor: ~w of ~w jobs late, at most ~w us~n", [Percent, Missed, Jobs, Latest]),
    [io:format("  period ~w ms: ~w of ~w late~n", [Period, Late, All]) || {Period, All, Late, _} <- Results].

task(Parent, Start, End, Period, Work) -> task(Parent, Start, End, Period, Work, {0, 0, 0}).

task(Parent, Release, End, Period, _, {Jobs, Missed, Latest}) when Release >= End ->
    Parent ! {done, Period, Jobs, Missed, Latest};
task(Parent, Release, End, Period, Work, {Jobs, Missed, Latest}) ->
    Deadline = Release + Period,
    %% Before it sleeps, so that it is woken in its place.
    try atoll:deadline(self(), erlang:convert_time_unit(Deadline, millisecond, native)) catch error:undef -> ok end,
    erlang:send_after(Release, self(), begins, [{abs, true}]),
    receive begins -> ok end,
    work(Work, 1),
    Late = erlang:monotonic_time(microsecond) - Deadline * 1000,
    Result = {Jobs + 1, Missed + if Late > 0 -> 1; true -> 0 end, max(Latest, Late)},
    task(Parent, Deadline, End, Period, Work, Result).

work(0, N) -> N;
work(Left, N) -> work(Left - 1, (N * 5 + 1) band 16#ffffff).

calibrate() ->
    Rounds = 4000000,
    {Micros, _} = timer:tc(fun() -> work(Rounds, 1) end),
    Rounds * 1000 / Micros.

numbers(Args, Defaults) ->
    Given = [list_to_integer(A) || A <- Args],
    Given ++ lists:nthtail(length(Given), Defaults).
