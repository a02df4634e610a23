%% Words of a text counted, sorted and printed: strings as lists and binaries, the string module.
-module(text).
-export([main/1, text/2]).

main(Args) ->
    [Size, Repetitions] = numbers(Args, [20000, 4]),
    Start = erlang:monotonic_time(microsecond),
    Answer = repeat(Repetitions, Size, none),
    Micros = erlang:monotonic_time(microsecond) - Start,
    io:format("text ~w x~w: ~w~n", [Size, Repetitions, Answer]),
    io:format(standard_error, "result: text ~w us~n", [Micros]).

repeat(0, _, Answer) -> Answer;
repeat(N, Size, _) -> repeat(N - 1, Size, exercise(Size)).

exercise(N) ->
    Text = text(N, 42),
    Words = string:lexemes(Text, " .,\n"),
    Counts = lists:foldl(fun(W, M) -> maps:update_with(string:lowercase(W), fun(C) -> C + 1 end, 1, M) end, #{}, Words),
    Sorted = lists:sort(fun({A, X}, {B, Y}) -> {-X, A} =< {-Y, B} end, maps:to_list(Counts)),
    Report = lists:flatten([io_lib:format("~s: ~w~n", [W, C]) || {W, C} <- Sorted]),
    Binary = unicode:characters_to_binary(lists:join($\s, Words)),
    {length(Words), length(Sorted), length(Report), length(binary:matches(Binary, <<"er">>)),
     byte_size(iolist_to_binary(string:replace(Binary, "la", "LA", all))), erlang:phash2(Report)}.

%% Words of two to five syllables by a linear congruential generator.
text(0, _) -> [];
text(N, Seed) ->
    {Word, Next} = word(2 + Seed rem 4, Seed, []),
    Word ++ mark(N) ++ text(N - 1, Next).

mark(N) when N rem 11 =:= 0 -> ".\n";
mark(N) when N rem 7 =:= 0 -> ", ";
mark(_) -> " ".

word(0, Seed, Acc) -> {lists:append(lists:reverse(Acc)), Seed};
word(K, Seed, Acc) ->
    Next = (Seed * 1103515245 + 12345) band 16#7FFFFFFF,
    Syllable = element((Next bsr 16) rem 12 + 1, {"la", "er", "to", "Mi", "na", "su", "re", "ko", "Ba", "li", "en", "da"}),
    word(K - 1, Next, [Syllable | Acc]).

numbers(Args, Defaults) ->
    Given = [list_to_integer(A) || A <- Args],
    Given ++ lists:nthtail(length(Given), Defaults).
