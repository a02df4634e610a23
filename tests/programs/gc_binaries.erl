%% Heap and reference-counted binaries across collections, sub-binaries that keep their parent.
-module(gc_binaries).
-export([main/1]).

main(_) ->
    Sizes = [0, 1, 63, 64, 65, 100, 1000, 10000],
    Bins = [binary:copy(<<(S rem 256)>>, S) || S <- Sizes],
    Subs = [binary:part(B, byte_size(B) div 3, byte_size(B) div 3) || B <- Bins],
    churn(300),
    erlang:garbage_collect(),
    io:format("~w~n", [[erlang:phash2(B) || B <- Bins]]),
    io:format("~w~n", [[{byte_size(B), erlang:phash2(B)} || B <- Subs]]),
    only_sub(),
    Self = self(),
    Echo = spawn(fun Loop() -> receive {From, B} -> From ! {self(), B}, Loop() end end),
    R = [begin Echo ! {Self, B}, receive {Echo, B2} -> B2 =:= B end end || B <- Bins ++ Subs],
    io:format("~w~n", [lists:usort(R)]),
    {_, Words} = lists:foldl(fun(I, {B, Acc}) ->
                                     New = <<B/binary, I:32>>,
                                     case I rem 50 of 0 -> erlang:garbage_collect(); _ -> ok end,
                                     {New, [binary:part(New, byte_size(New) - 4, 4) | Acc]}
                             end, {<<>>, []}, lists:seq(1, 500)),
    io:format("~w~n", [lists:sum([N || <<N:32>> <- Words])]),
    io:format("~w~n", [lists:sum([binary:referenced_byte_size(binary:copy(W)) || W <- Words])]),
    Text = << <<(integer_to_binary(N))/binary, $,>> || N <- lists:seq(1, 3000) >>,
    io:format("~w~n", [lists:sum([binary_to_integer(B) || B <- binary:split(Text, <<",">>, [global, trim])])]).

churn(0) -> ok;
churn(N) -> _ = [binary:copy(<<N>>, 100), binary:copy(<<N>>, 30)], churn(N - 1).

%% The parent is garbage, its part is live.
only_sub() ->
    S = [binary:part(binary:copy(<<N>>, 5000), 2500, 70) || N <- lists:seq(1, 50)],
    erlang:garbage_collect(),
    io:format("~w~n", [lists:sum([binary:first(B) + binary:last(B) || B <- S])]).
