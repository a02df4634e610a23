%% What a tracer hears of a process whose native functions send, in its time slice and apart.
-module(native_traced).
-export([main/1]).
-nifs([tell/2, tell_apart/2]).

tell(_, _) -> erlang:nif_error(not_loaded).
tell_apart(_, _) -> erlang:nif_error(not_loaded).

main(_) ->
    ok = erlang:load_nif(filename:join(filename:dirname(code:which(?MODULE)), "native_traced"), 0),
    Self = self(),
    {Gone, End} = spawn_monitor(fun() -> ok end),
    receive {'DOWN', End, process, Gone, normal} -> ok end,
    {Pid, Monitor} = spawn_monitor(fun() ->
        receive go -> ok end,
        here = tell(Self, here),
        apart = tell_apart(Self, apart),
        Self ! between,
        nobody = tell_apart(Gone, nobody)
    end),
    erlang:trace(Pid, true, [send, running, procs]),
    Pid ! go,
    receive {'DOWN', Monitor, process, Pid, normal} -> ok end,
    [io:format("~p~n", [Event]) || Event <- once([shown(Event, Pid, Self) || Event <- events()])].

%% A machine may stop a process for others at any time: how often it does in a row does not matter.
once([out, in, out, in | Events]) -> once([out, in | Events]);
once([Event | Events]) -> [Event | once(Events)];
once([]) -> [].

events() -> receive Event -> [Event | events()] after 100 -> [] end.

%% Functions of the machine's own that are not seen have other names.
shown({trace, Pid, Event, {_, _, _}}, Pid, _) when Event =:= in; Event =:= out -> Event;
shown({trace, Pid, send, Message, Self}, Pid, Self) -> {send, Message};
shown({trace, Pid, Event, What}, Pid, _) -> {Event, What};
shown(Message, _, _) -> Message.
