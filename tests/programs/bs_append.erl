%% Appending to a binary in a loop, to shared binaries, and to sub-binaries.
-module(bs_append).
-export([main/1, id/1]).

main(_) ->
    B = grow(0, 5000, <<>>),
    p({byte_size(B), erlang:phash2(B)}),
    p({bit_size(bits(0, 999, <<>>)), erlang:phash2(bits(0, 999, <<>>))}),
    %% Two continuations of one binary must not see each other.
    Base = grow(0, 300, <<>>),
    A1 = <<Base/binary, "first">>,
    A2 = <<Base/binary, "second">>,
    A3 = <<A1/binary, "third">>,
    p([binary:part(X, byte_size(X), -9) || X <- [A1, A2, A3]]),
    p(byte_size(Base)),
    %% Matching on the binary between appends.
    p(interleaved(200, <<>>, 0)),
    %% A binary sent away while it grows.
    Self = self(),
    Pid = spawn(fun() -> Self ! {self(), [receive {bin, X} -> {byte_size(X), erlang:phash2(X)} end || _ <- lists:seq(1, 5)]} end),
    lists:foldl(fun(I, Acc) -> New = <<Acc/binary, (binary:copy(<<I>>, 50))/binary>>, Pid ! {bin, New}, New end, <<>>, lists:seq(1, 5)),
    receive {Pid, Answer} -> p(Answer) end,
    Sub = binary:part(Base, 10, 100),
    Sub2 = <<Sub/binary, 1, 2, 3>>,
    p({byte_size(Sub2), binary:part(Base, 110, 3) =:= <<1, 2, 3>>}),
    p(erlang:phash2(lists:foldl(fun(I, Acc) -> <<Acc/binary, I:32/little, (float(I)):64/float, "x", (integer_to_binary(I))/binary>> end,
                                <<"start">>, lists:seq(1, 1000)))),
    p([t(fun() -> <<(id(a))/binary, 1>> end), t(fun() -> <<(id(<<1:1>>))/binary, 1>> end)]),
    p(<<(id(<<1:1>>))/bitstring, 1:7>>),
    p(erlang:phash2(<< <<C:6>> || C <- lists:seq(0, 63) >>)),
    p(erlang:phash2(<< <<C:8, D:8>> || <<C, D>> <= grow(0, 1000, <<>>), C > D >>)).

grow(N, N, Acc) -> Acc;
grow(I, N, Acc) -> grow(I + 1, N, <<Acc/binary, (I rem 251)>>).

bits(N, N, Acc) -> Acc;
bits(I, N, Acc) -> bits(I + 1, N, <<Acc/bitstring, I:3>>).

interleaved(0, Acc, Sum) -> {Sum, byte_size(Acc)};
interleaved(N, Acc, Sum) ->
    New = <<Acc/binary, N:16>>,
    <<_:(byte_size(New) - 2)/binary, Last:16>> = New,
    <<First, _/binary>> = New,
    interleaved(N - 1, New, Sum + Last + First).

t(F) -> try F() catch C:R -> {C, R} end.

p(X) -> io:format("~w~n", [X]).

id(X) -> X.
