%% Calls of built-in functions with arguments that nobody would write: what comes back, or which error.
-module(hostile_calls).
-export([main/1, id/1]).

id(X) -> X.

main(_) ->
    lists:foreach(fun call/1, calls()).

call({M, F, Arguments}) ->
    Result =
        try apply(id(M), F, Arguments)
        catch Class:Reason -> {Class, Reason}
        end,
    io:format("~p:~p/~p ~0p~n", [M, F, length(Arguments), shown(Result)]).

shown(Result) when is_reference(Result) -> reference;
shown(Result) -> Result.

calls() ->
    Sums = [0, 1, 77, 65521, 134217727, (1 bsl 32) - 1, 1 bsl 32, -1, 1 bsl 70],
    Long = list_to_binary(lists:duplicate(256, $a)),
    Names = [<<Long/binary, 228>>, <<228, Long/binary>>, Long, binary:copy(<<228>>, 256), binary:copy(<<228>>, 1021)],
    Lists = [lists:duplicate(256, 228), lists:duplicate(256, -1), lists:duplicate(256, $a) ++ [b], lists:duplicate(256, $a) ++ b],
    Subjects = [<<>>, <<"a">>, a, <<1:1>>],
    Patterns = [<<>>, [<<>>], [], a, <<"b">>],
    Scopes = [[], [{scope, {0, 0}}], [{scope, {1, 0}}], [{scope, {1, -1}}], [{scope, {2, 0}}], [foo], a],
    Specifications = [[a, b], [a | b], ["abc" | c], [{a, b}], [{[], [], []}, b, c], [b, {[], [], []}], [], a],
    [{erlang, F, [X, 77, Length]} || F <- [adler32_combine, crc32_combine], X <- Sums, Length <- [0, 1, 65521, 1 bsl 32, -1, a], X =< 65521 orelse Length =:= 1 bsl 32]
    ++ [{erlang, F, [X, Data]} || F <- [adler32, crc32], X <- Sums, Data <- [[], <<>>, [[] | <<>>], "a", a]]
    ++ [{erlang, F, [Name]} || F <- [binary_to_atom, binary_to_existing_atom], Name <- Names]
    ++ [{erlang, F, [Name]} || F <- [list_to_atom, list_to_existing_atom], Name <- Lists]
    ++ [{erlang, function_exported, [a, b, Arity]} || Arity <- [-1, 0, 255, 256, 1 bsl 70, c]]
    ++ [{binary, F, [Subject, Pattern, Scope]} || F <- [match, matches, split], Subject <- Subjects, Pattern <- Patterns, Scope <- Scopes]
    ++ [{erlang, match_spec_test, [[], Specification, Kind]} || Specification <- Specifications, Kind <- [trace, table, a]]
    ++ [{re, run, ["a\0bc", Pattern]} || Pattern <- ["\0", "a\0b", "a\0(", <<0, 1>>, [$a, <<0>>]]].
