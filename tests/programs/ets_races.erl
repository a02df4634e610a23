%% ETS: processes that change the name, the owner or the heir of one table at the same time, or delete it. Whichever is first, the
%% table has one name and one owner, or is gone with its name.
-module(ets_races).
-export([main/1]).

-define(ROUNDS, 150).

main(_) ->
    [p({Name, lists:usort([F() || _ <- lists:seq(1, ?ROUNDS)])}) || {Name, F} <- [
        {rename_rename, fun rename_rename/0},
        {rename_delete, fun rename_delete/0},
        {rename_new, fun rename_new/0},
        {rename_crosswise, fun rename_crosswise/0},
        {rename_whereis, fun rename_whereis/0},
        {new_delete, fun new_delete/0},
        {delete_new, fun delete_new/0},
        {delete_delete, fun delete_delete/0},
        {delete_end, fun delete_end/0},
        {rename_end, fun rename_end/0},
        {give_end, fun() -> give_end(none) end},
        {give_end_heir, fun() -> give_end(self()) end},
        {give_delete, fun give_delete/0},
        {end_end_of_heir, fun end_end_of_heir/0},
        {heir_none, fun heir_none/0},
        {fix_delete, fun fix_delete/0}
    ]].

%% One of two renames succeeds.
rename_rename() ->
    ra = ets:new(ra, [named_table, public]),
    Results = both(fun() -> ets:rename(ra, rb) end, fun() -> ets:rename(ra, rc) end),
    Used = used(),
    [Name] = Used,
    true = Results =:= [rb, badarg] andalso Name =:= rb orelse Results =:= [badarg, rc] andalso Name =:= rc,
    free(Used).

%% A table is renamed or deleted, not both.
rename_delete() ->
    ra = ets:new(ra, [named_table, public]),
    T = ets:whereis(ra),
    Results = both(fun() -> ets:rename(ra, rb) end, fun() -> ets:delete(ra) end),
    Used = used(),
    case Results of
        [rb, badarg] -> [rb] = Used, rb = ets:info(T, name);
        [badarg, true] -> [] = Used, undefined = ets:info(T)
    end,
    free(Used).

%% One of two tables gets a name.
rename_new() ->
    ra = ets:new(ra, [named_table, public]),
    Results = both(fun() -> ets:rename(ra, rb) end, fun() -> ets:new(rb, [named_table]) end),
    Used = used(),
    %% The second table ends with the process that made it.
    true = Results =:= [rb, badarg] andalso Used =:= [rb] orelse Results =:= [badarg, rb] andalso Used =:= [ra],
    free(Used).

rename_crosswise() ->
    [ra, rb] = [ets:new(Name, [named_table, public]) || Name <- [ra, rb]],
    Results = both(fun() -> ets:rename(ra, rb) end, fun() -> ets:rename(rb, ra) end),
    Used = used(),
    {Results, Used, free(Used)}.

%% A reader finds the table under one name.
rename_whereis() ->
    ra = ets:new(ra, [named_table, public]),
    Look = fun() ->
        New = ets:whereis(rb) =/= undefined,
        Old = ets:whereis(ra) =/= undefined,
        not (New andalso Old) andalso lists:all(fun(_) -> ets:whereis(ra) =/= undefined orelse ets:whereis(rb) =/= undefined end, [1, 2, 3])
    end,
    [rb, true] = both(fun() -> ets:rename(ra, rb) end, Look),
    free(used()).

%% A table that is deleted as soon as it has a name is gone for good.
new_delete() ->
    Parent = self(),
    Delete = fun Delete() -> try ets:delete(ra) catch error:badarg -> Delete() end end,
    [_, true] = both(fun() -> ets:new(ra, [named_table, public, {heir, Parent, x}]) end, Delete),
    Left = [T || T <- ets:all(), ets:info(T, name) =:= ra],
    {Left, free(used())}.

%% Who sees no table of a name can make one.
delete_new() ->
    ra = ets:new(ra, [named_table, public]),
    New = fun New() -> case ets:info(ra, size) of undefined -> ets:new(ra, [named_table]); _ -> New() end end,
    [true, ra] = both(fun() -> ets:delete(ra) end, New),
    free(used()).

delete_delete() ->
    ra = ets:new(ra, [named_table, public]),
    T = ets:whereis(ra),
    Results = both(fun() -> ets:delete(ra) end, fun() -> ets:delete(T) end),
    {lists:sort(Results), free(used())}.

%% A table whose owner ends while another process deletes it, or renames it, goes to nobody or to its heir.
delete_end() ->
    {P, M} = owner([{heir, self(), x}]),
    [_, _] = both(fun() -> ets:delete(ra) end, fun() -> exit(P, kill) end),
    receive {'DOWN', M, _, _, _} -> ok end,
    Used = used(),
    Owned = [ets:info(Name, owner) =:= self() || Name <- Used],
    Told = receive {'ETS-TRANSFER', ra, P, x} -> true after 0 -> false end,
    %% The heir deletes what it got, or another process has.
    true = lists:all(fun(Mine) -> Mine andalso Told end, Owned),
    free(Used).

rename_end() ->
    {P, M} = owner([{heir, self(), x}]),
    [rb, _] = both(fun() -> ets:rename(ra, rb) end, fun() -> exit(P, kill) end),
    receive {'DOWN', M, _, _, _} -> ok end,
    receive {'ETS-TRANSFER', Name, P, x} when Name =:= ra; Name =:= rb -> ok end,
    Used = used(),
    {Used, ets:info(rb, owner) =:= self(), free(Used)}.

%% A table that is given to a process which ends: it goes with that process, or to its heir; or it was not given.
give_end(Heir) ->
    T = ets:new(ra, [named_table, public | [{heir, Heir, x} || Heir =/= none]]),
    {P, M} = spawn_monitor(fun() -> receive {go, Time} -> wait(Time) end end),
    Time = soon(),
    P ! {go, Time},
    wait(Time),
    Given = attempt(fun() -> ets:give_away(T, P, gift) end),
    receive {'DOWN', M, _, _, _} -> ok end,
    Used = used(),
    Mine = [ets:info(Name, owner) =:= self() || Name <- Used],
    Told = receive {'ETS-TRANSFER', ra, P, x} -> true after 0 -> false end,
    case {Given, Heir} of
        {badarg, _} -> {[true], false} = {Mine, Told};
        {true, none} -> {[], false} = {Mine, Told};
        {true, _} -> {[true], true} = {Mine, Told}
    end,
    free(Used).

give_delete() ->
    ra = ets:new(ra, [named_table, public]),
    {P, M} = spawn_monitor(fun() -> receive stop -> ok end end),
    Self = self(),
    D = spawn_link(fun() -> receive {go, Time} -> wait(Time) end, Self ! {self(), attempt(fun() -> ets:delete(ra) end)} end),
    Time = soon(),
    D ! {go, Time},
    wait(Time),
    Given = attempt(fun() -> ets:give_away(ra, P, gift) end),
    true = receive {D, Deleted} -> Deleted end,
    true = Given =:= true orelse Given =:= badarg,
    P ! stop,
    receive {'DOWN', M, _, _, _} -> ok end,
    free(used()).

%% Owner and heir end at the same time.
end_end_of_heir() ->
    {H, MH} = spawn_monitor(fun() -> receive stop -> ok end end),
    {P, MP} = owner([{heir, H, x}]),
    [_, _] = both(fun() -> exit(P, kill) end, fun() -> exit(H, kill) end),
    [receive {'DOWN', M, _, _, _} -> ok end || M <- [MH, MP]],
    free(used()).

%% What the new owner says of the heir stays.
heir_none() ->
    Self = self(),
    H = spawn_link(fun() ->
        until(fun() -> ets:info(ra, owner) =:= self() end),
        true = ets:setopts(ra, {heir, none}),
        receive {'ETS-TRANSFER', ra, _, _} -> ok end,
        receive look -> Self ! {heir, ets:info(ra, heir)} end
    end),
    {P, M} = owner([{heir, H, lists:seq(1, 100)}]),
    exit(P, kill),
    receive {'DOWN', M, _, _, _} -> ok end,
    H ! look,
    {receive {heir, Heir} -> Heir end, until(fun() -> ets:whereis(ra) =:= undefined end), free(used())}.

fix_delete() ->
    ra = ets:new(ra, [named_table, public]),
    T = ets:whereis(ra),
    [Fixed, true] = both(fun() -> ets:safe_fixtable(T, true) end, fun() -> ets:delete(T) end),
    true = Fixed =:= true orelse Fixed =:= badarg,
    free(used()).

%% A process with the table ra.
owner(Options) ->
    Self = self(),
    {P, M} = spawn_monitor(fun() -> ra = ets:new(ra, [named_table, public | Options]), Self ! {self(), ready}, receive stop -> ok end end),
    receive {P, ready} -> {P, M} end.

%% Names that lead to a table.
used() -> [Name || Name <- [ra, rb, rc], ets:whereis(Name) =/= undefined].

%% Deletes these tables; afterwards all names are free.
free(Used) ->
    [true = ets:delete(Name) || Name <- Used],
    [begin Name = ets:new(Name, [named_table]), ets:delete(Name) end || Name <- [ra, rb, rc]],
    length([T || T <- ets:all(), lists:member(ets:info(T, name), [ra, rb, rc])]).

%% The results of two functions that two processes call at the same time; both have ended then.
both(F, G) ->
    Self = self(),
    Run = fun(H) -> fun() -> receive {go, Time} -> wait(Time) end, Self ! {self(), attempt(H)}, receive stop -> ok end end end,
    Processes = [spawn_monitor(Run(H)) || H <- [F, G]],
    Time = soon(),
    [P ! {go, Time} || {P, _} <- Processes],
    Results = [receive {P, Result} -> Result end || {P, _} <- Processes],
    [begin P ! stop, receive {'DOWN', M, _, _, _} -> ok end end || {P, M} <- Processes],
    Results.

attempt(F) -> try F() catch error:badarg -> badarg end.

soon() -> erlang:monotonic_time(microsecond) + 30.

wait(Time) -> until(fun() -> erlang:monotonic_time(microsecond) >= Time end).

until(F) ->
    case F() of
        true -> true;
        false -> until(F)
    end.

p(X) -> io:format("~p~n", [X]).
