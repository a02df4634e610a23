%% Resources of a native library are destroyed when no term refers to them any more.
%% differential: allocates
-module(native_destroyed).
-export([main/1]).
-nifs([make/1]).

make(_) -> erlang:nif_error(not_loaded).

main(_) ->
    ok = erlang:load_nif(filename:join(filename:dirname(code:which(?MODULE)), "native_destroyed"), 0),
    forget(self(), 3),
    garbage_collect(),
    [receive destroyed -> show(destroyed) after 10000 -> show(kept) end || _ <- [1, 2, 3]],
    Kept = make(self()),
    garbage_collect(),
    receive destroyed -> show(destroyed) after 100 -> show(kept) end,
    true = is_reference(Kept),
    Self = self(),
    {Pid, Monitor} = spawn_monitor(fun() -> forget(Self, 2) end),
    receive {'DOWN', Monitor, process, Pid, normal} -> ok end,
    garbage_collect(),
    [receive destroyed -> show(destroyed) after 10000 -> show(kept) end || _ <- [1, 2]],
    show(is_reference(Kept)).

forget(_, 0) -> ok;
forget(Owner, Count) ->
    true = is_reference(make(Owner)),
    forget(Owner, Count - 1).

show(Term) -> io:format("~p~n", [Term]).
