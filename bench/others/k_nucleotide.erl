%% How often each run of letters stands in a long sequence: parts of a binary as keys of a map.
-module(k_nucleotide).
-export([main/1]).

main(Args) ->
    [Size, Repetitions] = numbers(Args, [60000, 6]),
    Start = erlang:monotonic_time(microsecond),
    Answer = repeat(Repetitions, Size, none),
    Micros = erlang:monotonic_time(microsecond) - Start,
    io:format("k_nucleotide ~w x~w: ~w~n", [Size, Repetitions, Answer]),
    io:format(standard_error, "result: k_nucleotide ~w us~n", [Micros]).

repeat(0, _, Answer) -> Answer;
repeat(N, Size, _) -> repeat(N - 1, Size, exercise(Size)).

exercise(N) ->
    Sequence = sequence(N, 42, <<>>),
    [top(count(Sequence, Length, 0, #{})) || Length <- [1, 2, 3, 4, 6, 12]].

count(Sequence, Length, At, Counts) when At + Length =< byte_size(Sequence) ->
    Key = binary:part(Sequence, At, Length),
    New = case Counts of
        #{Key := Count} -> Counts#{Key := Count + 1};
        #{} -> Counts#{Key => 1}
    end,
    count(Sequence, Length, At + 1, New);
count(_, _, _, Counts) -> Counts.

top(Counts) ->
    {{Count, Key}, Distinct} = maps:fold(fun(K, C, {Best, D}) -> {erlang:max({C, K}, Best), D + 1} end, {{0, <<>>}, 0}, Counts),
    {Count, erlang:phash2(Key), Distinct}.

sequence(0, _, Sequence) -> Sequence;
sequence(N, Seed, Sequence) ->
    Next = (Seed * 3877 + 29573) rem 139968,
    Letter = case Next * 100 div 139968 of
        P when P < 30 -> $A;
        P when P < 50 -> $C;
        P when P < 70 -> $G;
        _ -> $T
    end,
    sequence(N - 1, Next, <<Sequence/binary, Letter>>).

numbers(Args, Defaults) ->
    Given = [list_to_integer(A) || A <- Args],
    Given ++ lists:nthtail(length(Given), Defaults).
