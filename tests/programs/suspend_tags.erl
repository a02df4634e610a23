%% suspend_process/2 with tags, of processes that end, and of none.
-module(suspend_tags).
-export([main/1]).

main(_) ->
    Waits = spawn(fun() -> receive stop -> ok end end),
    p([suspend(Waits, [{asynchronous, Tag}]) || Tag <- [tag, {a, "text", 1.5, <<0:300/unit:8>>}]]),
    p([answer(), answer()]),
    p(suspend(Waits, [unless_suspending, {asynchronous, again}])),
    p(answer()),
    p([suspend(Waits, Options) || Options <- [[asynchronous], [unless_suspending], [{asynchronous}], [{asynchronous, a, b}], [other]]]),
    Runs = spawn(fun run/0),
    p({suspend(Runs, [{asynchronous, runs}]), answer(), process_info(Runs, status)}),
    {Dead, Monitor} = spawn_monitor(fun() -> ok end),
    receive {'DOWN', Monitor, _, _, _} -> ok end,
    p({suspend(Dead, [{asynchronous, dead}]), answer(), suspend(Dead, [asynchronous]), suspend(Dead, [])}),
    p({suspend(self(), [{asynchronous, self}]), suspend(self(), [])}),
    p(lists:usort([ends(Number) || Number <- lists:seq(1, 300)]) -- [badarg, exited, suspended]),
    %% Stock gives the reason `exited' where the process ends between its look and its request, which is rare.
    p(lists:usort([ends_waited_for() || _ <- lists:seq(1, 300)]) -- [true, {error, badarg}, {error, exited}]).

suspend(Pid, Options) -> try erlang:suspend_process(Pid, Options) catch Class:Reason -> {Class, Reason} end.

answer() -> receive Answer -> Answer after 5000 -> none end.

run() -> run().

%% One of three answers, whenever the process ends.
ends(Number) ->
    Pid = spawn(fun() -> ok end),
    true = suspend(Pid, [{asynchronous, Number}]),
    receive {Number, What} -> exit(Pid, kill), What after 5000 -> none end.

ends_waited_for() ->
    Pid = spawn(fun() -> ok end),
    Result = suspend(Pid, []),
    exit(Pid, kill),
    Result.

p(Term) -> io:format("~p~n", [Term]).
