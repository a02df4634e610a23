%% Persistent terms of every type; old values stay valid.
-module(proc_persistent_term).
-export([main/1]).

main(_) ->
    Ref = make_ref(),
    Value = #{x => [1, 2.5, <<"abc">>, 1 bsl 100, -(1 bsl 70)], y => {Ref, self(), fun erlang:self/0}, [] => {}},
    p(persistent_term:put({a, "b"}, Value)),
    p(persistent_term:get({a, "b"}) =:= Value),
    B = binary:copy(<<"xy">>, 1000),
    p(persistent_term:put(big, {B, binary:part(B, 10, 100), << <<1:3>> || _ <- lists:seq(1, 11) >>})),
    {B1, B2, B3} = persistent_term:get(big),
    p({B1 =:= B, byte_size(B2), B3}),
    X = 17,
    persistent_term:put(f, fun(Y) -> {X, Y} end),
    p((persistent_term:get(f))(3)),
    p(try persistent_term:get(nokey) catch C:E -> {C, E} end),
    p(persistent_term:get(nokey, default)),
    p(persistent_term:erase(big)),
    p(persistent_term:erase(big)),
    erlang:garbage_collect(),
    p({B1 =:= B, byte_size(B2), B3}),
    Deep = lists:foldl(fun(I, A) -> {I, A} end, nil, lists:seq(1, 100000)),
    persistent_term:put(deep, Deep),
    p(depth(persistent_term:get(deep), 0)),
    Counter = counters:new(2, []),
    persistent_term:put(counter, Counter),
    counters:add(persistent_term:get(counter), 1, 5),
    p(counters:get(Counter, 1)),
    M = maps:from_list([{I, [I * 2]} || I <- lists:seq(1, 1000)]),
    persistent_term:put(m, M),
    p(persistent_term:get(m) =:= M),
    Self = self(),
    [spawn(fun() -> Self ! maps:get(N, persistent_term:get(m)) end) || N <- [1, 500, 1000]],
    p(lists:sort([receive Got -> Got end || _ <- [1, 2, 3]])),
    persistent_term:put(m, other),
    p({persistent_term:get(m), maps:get(7, M)}),
    p(lists:sort([K || {K, _} <- persistent_term:get(), lists:member(K, [deep, m, counter, f, {a, "b"}])])),
    p([is_integer(maps:get(K, persistent_term:info())) || K <- [count, memory]]).

depth(nil, N) -> N;
depth({_, Rest}, N) -> depth(Rest, N + 1).

p(X) -> io:format("~w~n", [X]).
