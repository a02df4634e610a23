%% A native library of our own: its functions in time slices and on threads of their own, resources, messages.
-module(native_library).
-export([main/1]).
-nifs([private_data/0, describe/1, binaries/1, maps/1, make_thing/1, drop_thing/1, thing_number/1, watch/2,
       wait_for_pipe/2, end_wait/2, many/2, many_dirty/2, many_waiting/2, count_down/3, from_thread/1, hashes/2]).

private_data() -> erlang:nif_error(not_loaded).
describe(_) -> erlang:nif_error(not_loaded).
binaries(_) -> erlang:nif_error(not_loaded).
maps(_) -> erlang:nif_error(not_loaded).
make_thing(_) -> erlang:nif_error(not_loaded).
drop_thing(_) -> erlang:nif_error(not_loaded).
thing_number(_) -> erlang:nif_error(not_loaded).
watch(_, _) -> erlang:nif_error(not_loaded).
wait_for_pipe(_, _) -> erlang:nif_error(not_loaded).
end_wait(_, _) -> erlang:nif_error(not_loaded).
many(_, _) -> erlang:nif_error(not_loaded).
many_dirty(_, _) -> erlang:nif_error(not_loaded).
many_waiting(_, _) -> erlang:nif_error(not_loaded).
count_down(_, _, _) -> erlang:nif_error(not_loaded).
from_thread(_) -> erlang:nif_error(not_loaded).
hashes(_, _) -> erlang:nif_error(not_loaded).

main(_) ->
    Path = filename:join(filename:dirname(code:which(?MODULE)), "native_library"),
    {'EXIT', {not_loaded, _}} = (catch private_data()),
    {error, {Missing, _}} = erlang:load_nif(Path ++ "_that_is_not_there", 0),
    show(Missing),
    {error, {Refused, Why}} = erlang:load_nif(Path, no_number),
    show({Refused, Why}),
    ok = erlang:load_nif(Path, 42),
    {error, {Again, _}} = erlang:load_nif(Path, 42),
    show({Again, private_data()}),
    [show(describe(Term)) || Term <- terms()],
    [show(binaries(Size)) || Size <- [0, 8, 64, 65, 1000]],
    show(maps(#{1 => one, 2 => two, {a} => [x]})),
    show(lists:sort(element(1, maps(maps:from_list([{N, N} || N <- lists:seq(1, 100)]))))),
    {'EXIT', {Reason, [{?MODULE, maps, Arguments, []} | _]}} = (catch maps([not_a_map])),
    show({Reason, Arguments}),
    {'EXIT', {badarg, [{?MODULE, binaries, [x], []} | _]}} = (catch binaries(x)),
    [show(hashes(A, B)) || {A, B} <- [{1, 1.0}, {a, b}, {"list", "list"}, {#{a => 1}, {x}}]],
    resources(),
    monitors(),
    pipes(),
    Shared = [{N, list_to_binary(integer_to_list(N))} || N <- lists:seq(1, 50)],
    [check_many(Function, Shared) || Function <- [fun many/2, fun many_dirty/2, fun many_waiting/2]],
    {'EXIT', {badarg, [{?MODULE, many_dirty, [-1, x], []} | _]}} = (catch many_dirty(-1, x)),
    show(count_down(10, 1, [])),
    {'EXIT', {Threads, [{?MODULE, count_down, [4, raise, []], []} | _]}} = (catch count_down(4, raise, [])),
    show(Threads),
    Shared = from_thread(Shared),
    receive {told, Told} -> show({length(Told), lists:all(fun({_, Term}) -> Term =:= Shared end, Told)}) end,
    collected_meanwhile(),
    killed(),
    ok.

terms() ->
    [0, -7, 1 bsl 40, -(1 bsl 62), 1 bsl 63, 1 bsl 64, 2.5, atom, 'with space', [], "abc", "longer", [1 | 2], {}, {a, "b"},
     #{}, #{a => b}, <<>>, <<"bytes">>, <<1:3>>, binary:part(<<"0123456789">>, 3, 4), ["io", [<<"list">>], $s],
     [256], fun erlang:abs/1].

resources() ->
    One = make_thing(1),
    show({is_reference(One), thing_number(One), thing_number(binary_to_term(term_to_binary(One)))}),
    {'EXIT', {badarg, _}} = (catch thing_number(make_ref())),
    Other = make_thing(1),
    show({One =:= One, One =:= Other}),
    Self = self(),
    {Pid, Monitor} = spawn_monitor(fun() -> Self ! {number, thing_number(make_thing(2))} end),
    receive {number, Number} -> show(Number) end,
    receive {'DOWN', Monitor, process, Pid, normal} -> ok end,
    ok = drop_thing(3),
    receive {destroyed, 3} -> show(destroyed) after 10000 -> show(not_destroyed) end,
    show({thing_number(One), thing_number(Other)}).

monitors() ->
    Thing = make_thing(4),
    Pid = spawn(fun() -> receive stop -> ok end end),
    0 = watch(Thing, Pid),
    Pid ! stop,
    receive {down, Pid} -> show(down) after 10000 -> show(no_down) end,
    show(watch(Thing, Pid) > 0),
    4 = thing_number(Thing).

pipes() ->
    Thing = make_thing(5),
    Reference = make_ref(),
    {0, End} = wait_for_pipe(Thing, Reference),
    receive {select, Thing, Reference, ready_input} -> show(ready) after 10000 -> show(not_ready) end,
    show(end_wait(Thing, End)),
    5 = thing_number(Thing).

check_many(Function, Shared) ->
    {Kind, List} = Function(500, Shared),
    show({Kind, length(List), lists:usort([Term =:= Shared || {_, Term} <- List])}).

%% A process is collected while a function of it is on another thread, and gets its result.
collected_meanwhile() ->
    Self = self(),
    Pids = [spawn_link(fun() ->
        Data = lists:duplicate(20, {N, integer_to_binary(N bsl 100)}),
        Results = [element(2, many_dirty(200, Data)) || _ <- lists:seq(1, 5)],
        Self ! {done, self(), lists:all(fun(List) -> lists:all(fun({_, Term}) -> Term =:= Data end, List) end, Results)}
    end) || N <- lists:seq(1, 4)],
    [garbage_collect(Pid) || Pid <- Pids],
    show([receive {done, Pid, Result} -> Result end || Pid <- Pids]).

%% A process that is killed while a function of it is on another thread.
killed() ->
    {Pid, Monitor} = spawn_monitor(fun() -> many_waiting(300000, {some, "data"}) end),
    exit(Pid, kill),
    receive {'DOWN', Monitor, process, Pid, killed} -> show(killed) end.

show(Term) -> io:format("~p~n", [Term]).
