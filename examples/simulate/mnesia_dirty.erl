%% Mnesia itself: a transaction and a dirty update of the same record. The dirty one takes no lock, so that either may
%% undo what the other has done. All of OTP is booted for it; see docs/simulate.md.
-module(mnesia_dirty).
-export([start/0]).

start() ->
    ok = mnesia:start(),
    {atomic, ok} = mnesia:create_table(account, [{attributes, [name, sum]}]),
    ok = mnesia:dirty_write({account, alice, 100}),
    Add = fun(Read, Write, Sum) ->
        [{account, alice, Before}] = Read({account, alice}),
        ok = Write({account, alice, Before + Sum})
    end,
    Workers = [
        spawn_monitor(fun() ->
            {atomic, ok} = mnesia:transaction(fun() -> Add(fun mnesia:read/1, fun mnesia:write/1, 10) end)
        end),
        spawn_monitor(fun() -> Add(fun mnesia:dirty_read/1, fun mnesia:dirty_write/1, 30) end)
    ],
    [receive {'DOWN', Monitor, process, Worker, normal} -> ok end || {Worker, Monitor} <- Workers],
    [{account, alice, Sum}] = mnesia:dirty_read({account, alice}),
    io:format("~p~n", [Sum]),
    halt(case Sum of 140 -> 0; _ -> 1 end).
