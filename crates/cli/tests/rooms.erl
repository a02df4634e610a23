%% Programs in which room for built-in functions, messages that were taken and large sets of roots come together.
-module(rooms).
-export([main/1, used/1]).

main([Name]) ->
    Parent = self(),
    Name1 = list_to_atom(Name),
    spawn_link(fun() -> run(Name1), Parent ! done end),
    receive done -> io:format("done~n") end.

%% Each message that is taken stays in its fragment, and each reference is made while the heap is full.
run(monitors) ->
    Pids = [spawn(fun() -> receive stop -> ok end end) || _ <- lists:seq(1, 100000)],
    [begin P ! stop, R = monitor(process, P), receive {'DOWN', R, _, _, _} -> ok end end || P <- Pids],
    ok;
%% The same with a large heap that lives.
run(answers) ->
    Kept = lists:seq(1, 1000000),
    Server = spawn(fun Server() -> receive From -> From ! {answer, From}, Server() end end),
    answers(100000, Server),
    length(Kept);
%% A head of its own for each monitor's message.
run(tags) ->
    P = spawn(fun() -> receive stop -> ok end end),
    [monitor(process, P, [{tag, {tag, I}}]) || I <- lists:seq(1, 20000)],
    P ! stop,
    [receive {{tag, _}, _, _, _, _} -> ok end || _ <- lists:seq(1, 20000)];
%% Its building is not counted.
run(pauses) ->
    Kept = build(),
    true = atoll_heap:count_pauses_from_now(),
    length(Kept);
run(all_pauses) ->
    length(build());
%% Two hundred megabytes, once.
run(copy) ->
    200000000 = byte_size(binary:copy(<<"abcdefghij">>, 20000000));
run(encode) ->
    Part = binary:copy(<<"ab">>, 5000000),
    Parts = lists:duplicate(20, Part),
    Encoded = term_to_binary(Parts),
    true = byte_size(Encoded) > 200000000,
    <<131, 108, 20:32, 109, 10000000:32, "abab", _/binary>> = Encoded;
run(same) ->
    200000000 = byte_size(unicode:characters_to_binary(binary:copy(<<"abcdefghij">>, 20000000)));
%% Nothing but built-in functions allocates.
run(built_in) ->
    decode(10000, term_to_binary(lists:seq(1, 1000)));
run(errors) ->
    errors(600000);
%% Many processes that need the same, and keep all that they make.
run(alike) ->
    alike(5000);
%% Large sets of roots beside a small heap.
run(dictionary) ->
    integers(100000),
    garbage_collect(),
    allocate(500000, 0);
run(tagged) ->
    P = spawn(fun() -> receive stop -> ok end end),
    tagged(10000, P),
    garbage_collect(),
    allocate(500000, 0).

alike(0) -> ok;
alike(N) ->
    {P, R} = spawn_monitor(fun() -> ?MODULE:used(chain(200, nil)) end),
    receive {'DOWN', R, _, P, _} -> ok end,
    alike(N - 1).

chain(0, Chain) -> Chain;
chain(N, Chain) -> chain(N - 1, {1, 2, 3, Chain}).

answers(0, _) -> ok;
answers(N, Server) ->
    Server ! self(),
    receive {answer, _} -> ?MODULE:used(make_ref()) end,
    answers(N - 1, Server).

decode(0, _) -> ok;
decode(N, Binary) ->
    ?MODULE:used(binary_to_term(Binary)),
    decode(N - 1, Binary).

errors(0) -> ok;
errors(N) ->
    catch binary_to_atom(N),
    errors(N - 1).

integers(0) -> ok;
integers(N) ->
    put(N, N),
    integers(N - 1).

tagged(0, _) -> ok;
tagged(N, P) ->
    monitor(process, P, [{tag, {N}}]),
    tagged(N - 1, P).

allocate(0, Last) -> Last;
allocate(N, _) -> allocate(N - 1, {N, N}).

used(_) -> ok.

build() -> [lists:seq(N, N + 10) || N <- lists:seq(1, 100000)].
