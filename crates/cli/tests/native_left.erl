%% Resources whose last references were those of processes that have ended: see native_left.rs.
-module(native_left).
-export([main/1]).
-nifs([make/0, destroyed/0]).

make() -> erlang:nif_error(not_loaded).
destroyed() -> erlang:nif_error(not_loaded).

main(Arguments) ->
    ok = erlang:load_nif(filename:join(filename:dirname(code:which(?MODULE)), "native_left"), 0),
    Kept = make(),
    [one(Number, End) || {Number, End} <- lists:enumerate([fun put_away/0, fun killed/0, fun sent/0, fun put_away/0])],
    io:format("~p~n", [destroyed()]),
    %% One that is in use is spared, however many processes end.
    [wait_for(spawn_monitor(fun() -> ok end)) || _ <- lists:seq(1, 100)],
    timer:sleep(200),
    io:format("~p ~p~n", [destroyed(), is_reference(Kept)]),
    Arguments =:= ["halt"] andalso halt(0).

one(Number, End) ->
    wait_for(End()),
    %% Nobody collects here; a second on an idle machine would be a hundred times too long.
    io:format("~p~n", [wait(Number, 1000)]).

put_away() ->
    spawn_monitor(fun() -> put(resource, make()) end).

killed() ->
    Main = self(),
    Started = {Pid, _} = spawn_monitor(fun() ->
        put(resource, [make()]),
        Main ! ready,
        receive never -> ok end
    end),
    receive ready -> ok end,
    exit(Pid, kill),
    Started.

%% In a message that is never received.
sent() ->
    {Pid, Monitor} = spawn_monitor(fun() -> receive done -> ok end end),
    wait_for(spawn_monitor(fun() -> Pid ! {unread, make()} end)),
    Pid ! done,
    {Pid, Monitor}.

wait_for({Pid, Monitor}) ->
    receive {'DOWN', Monitor, process, Pid, _} -> ok end.

wait(Number, Left) ->
    case destroyed() of
        Number -> destroyed;
        _ when Left =:= 0 -> late;
        _ -> receive after 10 -> wait(Number, Left - 1) end
    end.
