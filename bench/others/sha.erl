%% SHA-1 of a binary: words of 32 bits, rotations, a tuple of variables.
-module(sha).
-export([main/1]).

main(Args) ->
    [Size, Repetitions] = numbers(Args, [100000, 40]),
    Start = erlang:monotonic_time(microsecond),
    Answer = repeat(Repetitions, Size, none),
    Micros = erlang:monotonic_time(microsecond) - Start,
    io:format("sha ~w x~w: ~w~n", [Size, Repetitions, Answer]),
    io:format(standard_error, "result: sha ~w us~n", [Micros]).

repeat(0, _, Answer) -> Answer;
repeat(N, Size, _) -> repeat(N - 1, Size, exercise(Size)).

exercise(N) -> digest(binary:copy(<<"atoll and erlang">>, N div 16)).

digest(Data) ->
    Bits = bit_size(Data),
    Fill = (447 - Bits) band 511,
    blocks(<<Data/binary, 1:1, 0:Fill, Bits:64>>, 16#67452301, 16#EFCDAB89, 16#98BADCFE, 16#10325476, 16#C3D2E1F0).

blocks(<<>>, A, B, C, D, E) -> {A, B, C, D, E};
blocks(<<Block:64/binary, Rest/binary>>, A, B, C, D, E) ->
    Words = list_to_tuple([W || <<W:32>> <= Block]),
    {A1, B1, C1, D1, E1} = rounds(0, Words, A, B, C, D, E),
    blocks(Rest, add(A, A1), add(B, B1), add(C, C1), add(D, D1), add(E, E1)).

rounds(80, _, A, B, C, D, E) -> {A, B, C, D, E};
rounds(T, Words, A, B, C, D, E) ->
    {Word, Next} = word(T, Words),
    {F, K} = mix(T, B, C, D),
    New = (rotate(A, 5) + F + E + K + Word) band 16#FFFFFFFF,
    rounds(T + 1, Next, New, A, rotate(B, 30), C, D).

word(T, Words) when T < 16 -> {element(T + 1, Words), Words};
word(T, Words) ->
    W = rotate(at(T - 3, Words) bxor at(T - 8, Words) bxor at(T - 14, Words) bxor at(T - 16, Words), 1),
    {W, setelement(T band 15 + 1, Words, W)}.

at(T, Words) -> element(T band 15 + 1, Words).

mix(T, B, C, D) when T < 20 -> {(B band C) bor ((bnot B) band D), 16#5A827999};
mix(T, B, C, D) when T < 40 -> {B bxor C bxor D, 16#6ED9EBA1};
mix(T, B, C, D) when T < 60 -> {(B band C) bor (B band D) bor (C band D), 16#8F1BBCDC};
mix(_, B, C, D) -> {B bxor C bxor D, 16#CA62C1D6}.

rotate(X, N) -> ((X bsl N) bor (X bsr (32 - N))) band 16#FFFFFFFF.

add(A, B) -> (A + B) band 16#FFFFFFFF.

numbers(Args, Defaults) ->
    Given = [list_to_integer(A) || A <- Args],
    Given ++ lists:nthtail(length(Given), Defaults).
