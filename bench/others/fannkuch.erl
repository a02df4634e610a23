%% Flips of permutations, the longest of which is looked for: lists that are split and reversed.
-module(fannkuch).
-export([main/1]).

main(Args) ->
    [Size, Repetitions] = numbers(Args, [9, 6]),
    Start = erlang:monotonic_time(microsecond),
    Answer = repeat(Repetitions, Size, none),
    Micros = erlang:monotonic_time(microsecond) - Start,
    io:format("fannkuch ~w x~w: ~w~n", [Size, Repetitions, Answer]),
    io:format(standard_error, "result: fannkuch ~w us~n", [Micros]).

repeat(0, _, Answer) -> Answer;
repeat(N, Size, _) -> repeat(N - 1, Size, exercise(Size)).

exercise(N) -> permutations(lists:seq(1, N), N, {0, 0, 0}).

%% All permutations, each made of the one before by turning the first K elements round.
permutations(Permutation, 1, {Most, Checksum, Index}) ->
    Flips = flips(Permutation, 0),
    Signed = if Index rem 2 =:= 0 -> Flips; true -> -Flips end,
    {erlang:max(Most, Flips), Checksum + Signed, Index + 1};
permutations(Permutation, K, State) -> turned(Permutation, K, K, State).

turned(_, _, 0, State) -> State;
turned(Permutation, K, Left, State) ->
    turned(turn(Permutation, K), K, Left - 1, permutations(Permutation, K - 1, State)).

turn([First | Rest], K) -> insert(Rest, K - 1, First).

insert(Rest, 0, First) -> [First | Rest];
insert([X | Rest], K, First) -> [X | insert(Rest, K - 1, First)].

flips([1 | _], Count) -> Count;
flips([First | _] = Permutation, Count) -> flips(flip(First, Permutation, []), Count + 1).

flip(0, Rest, Flipped) -> Flipped ++ Rest;
flip(N, [X | Rest], Flipped) -> flip(N - 1, Rest, [X | Flipped]).

numbers(Args, Defaults) ->
    Given = [list_to_integer(A) || A <- Args],
    Given ++ lists:nthtail(length(Given), Defaults).
