%% The process dictionary: put, get, erase, many keys, all kinds of keys.
-module(process_dict).
-export([main/1]).

main(_) ->
    p(put(a, 1)), p(put(a, 2)), p(get(a)), p(get(none)), p(erase(a)), p(erase(a)), p(get(a)),
    Keys = [1, 1.0, a, "s", <<"b">>, {t, 1}, [x], #{k => v}, 1 bsl 70],
    [put(K, {value, K}) || K <- Keys],
    p([get(K) || K <- Keys]),
    p(get(2)),
    p(lists:sort(erlang:get_keys({value, 1.0}))),
    p(length(erlang:get_keys())),
    [put({key, N}, N * N) || N <- lists:seq(1, 2000)],
    p(length(get())),
    p(lists:sum([get({key, N}) || N <- lists:seq(1, 2000)])),
    p(lists:sum([erase({key, N}) || N <- lists:seq(1, 2000, 2)])),
    p(lists:sum([V || {{key, _}, V} <- get()])),
    [put({key, N}, {N, lists:seq(1, N rem 5)}) || N <- lists:seq(1, 500)],
    erlang:garbage_collect(),
    p(erlang:phash2(lists:sort([X || {{key, K}, _} = X <- get(), K =< 500]))),
    {dictionary, D} = process_info(self(), dictionary),
    p(length(D) =:= length(get())),
    Self = self(),
    spawn(fun() -> put(own, child), Self ! {child, get(own), length(get())} end),
    p(receive {child, X, N} -> {X, N} end),
    Erased = erase(),
    p(length(Erased)),
    p(get()).




p(X) -> io:format("~w~n", [X]).
