%% A process is killed in a dirty call: see native_killed.rs.
-module(native_killed).
-export([main/1]).
-nifs([make/1, rest/1, is_resting/0]).

make(_) -> erlang:nif_error(not_loaded).
rest(_) -> erlang:nif_error(not_loaded).
is_resting() -> erlang:nif_error(not_loaded).

main(_) ->
    ok = erlang:load_nif(filename:join(filename:dirname(code:which(?MODULE)), "native_killed"), 0),
    Self = self(),
    Bytes = binary:copy(<<"bytes">>, 1000),
    {Pid, Monitor} = spawn_monitor(fun() ->
        Thing = make(Self),
        rest(here),
        Self ! {Thing, Bytes}
    end),
    wait(fun is_resting/0),
    exit(Pid, kill),
    receive {'DOWN', Monitor, process, Pid, killed} -> ok end,
    true = is_resting(),
    io:format("~p~n", [owners(Bytes)]),
    wait(fun() -> not is_resting() end),
    receive Gone -> io:format("~p~n", [Gone]) after 10000 -> io:format("kept~n") end,
    wait(fun() -> owners(Bytes) =:= 1 end),
    io:format("~p~n", [owners(Bytes)]).

wait(Until) ->
    case Until() of
        true -> ok;
        false -> timer:sleep(1), wait(Until)
    end.

owners(Bytes) ->
    {binary, All} = process_info(self(), binary),
    Size = byte_size(Bytes),
    [Owners] = [Count || {_, Length, Count} <- All, Length =:= Size],
    Owners.
