%% Large and deep messages of every type; shared subterms of modest size; messages to oneself.
-module(message_big).
-export([main/1, echo/0]).

main(_) ->
    Echo = spawn(?MODULE, echo, []),
    Terms = [lists:seq(1, 50000), list_to_tuple(lists:seq(1, 20000)), maps:from_list([{N, {N, [N]}} || N <- lists:seq(1, 3000)]),
             binary:copy(<<"x">>, 100000), [binary:copy(<<N>>, 100) || N <- lists:seq(1, 200)], deep(10000), wide(8),
             [N / 3 || N <- lists:seq(1, 5000)], [1 bsl N || N <- lists:seq(1, 500)], shared(12), lists:duplicate(1000, "same string"),
             fun(X) -> {X, deep(100)} end, {self(), make_ref(), node()}, part(binary:copy(<<1, 2, 3>>, 1000)), <<5:13>>,
             [[[[]]], {}, #{}, "", <<>>]],
    [begin
         Echo ! {self(), T},
         receive {Echo, U} -> io:format("~w ~w~n", [T =:= U, size_of(T)]) end
     end || T <- Terms],
    [begin self() ! T, receive U -> true = (U =:= T) end end || T <- Terms],
    Echo ! {self(), Terms},
    receive {Echo, All} -> io:format("~w~n", [All =:= Terms]) end,
    erlang:garbage_collect(),
    io:format("~w~n", [erlang:phash2([T || T <- Terms, not is_function(T), not is_tuple(T) orelse tuple_size(T) > 3])]),
    %% Many large messages queued at once.
    [self() ! {N, lists:seq(N, N + 500)} || N <- lists:seq(1, 200)],
    io:format("~w~n", [lists:sum([receive {N, L} -> lists:last(L) end || N <- lists:seq(200, 1, -1)])]),
    Env = lists:seq(1, 3000),
    Self = self(),
    spawn(fun() -> Self ! {sum, lists:sum(Env)} end),
    io:format("~w~n", [receive {sum, S} -> S end]).

echo() -> receive {From, T} -> From ! {self(), T}, echo() end.

deep(0) -> leaf;
deep(N) -> {N, [deep(N - 1)]}.

wide(0) -> x;
wide(N) -> [wide(N - 1), wide(N - 1)].

%% 2^N leaves if it were flat.
shared(0) -> {end_of_sharing};
shared(N) -> S = shared(N - 1), {S, S}.

part(B) -> binary:part(B, 100, 2000).

size_of(T) when is_list(T) -> length(T);
size_of(T) when is_tuple(T) -> tuple_size(T);
size_of(T) when is_map(T) -> map_size(T);
size_of(T) when is_bitstring(T) -> bit_size(T);
size_of(F) when is_function(F) -> F(1) =:= {1, deep(100)}.
