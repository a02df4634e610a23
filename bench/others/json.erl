%% Documents written and read again: maps, lists, binaries, numbers.
-module(json).
-export([main/1]).

main(Args) ->
    [Size, Repetitions] = numbers(Args, [400, 100]),
    Start = erlang:monotonic_time(microsecond),
    Answer = repeat(Repetitions, Size, none),
    Micros = erlang:monotonic_time(microsecond) - Start,
    io:format("json ~w x~w: ~w~n", [Size, Repetitions, Answer]),
    io:format(standard_error, "result: json ~w us~n", [Micros]).

repeat(0, _, Answer) -> Answer;
repeat(N, Size, _) -> repeat(N - 1, Size, exercise(Size)).

exercise(N) ->
    Document = [record(I) || I <- lists:seq(1, N)],
    Text = iolist_to_binary(encode(Document)),
    {Again, <<>>} = value(Text),
    {byte_size(Text), Again =:= Document, erlang:phash2(Again)}.

record(I) ->
    #{<<"id">> => I, <<"name">> => <<"user ", (integer_to_binary(I))/binary>>, <<"active">> => I rem 3 =/= 0,
      <<"score">> => I / 4, <<"tags">> => [<<"one">>, <<"two \"quoted\"">>, <<"three\n">>],
      <<"address">> => #{<<"street">> => <<"Main">>, <<"number">> => I band 255, <<"extra">> => null}}.

encode(null) -> <<"null">>;
encode(true) -> <<"true">>;
encode(false) -> <<"false">>;
encode(I) when is_integer(I) -> integer_to_binary(I);
encode(F) when is_float(F) -> float_to_binary(F, [{decimals, 4}, compact]);
encode(B) when is_binary(B) -> [$", escape(B), $"];
encode([]) -> <<"[]">>;
encode([First | Rest]) -> [$[, encode(First), [[$,, encode(One)] || One <- Rest], $]];
encode(Map) ->
    Pairs = [[encode(K), $:, encode(V)] || {K, V} <- maps:to_list(Map)],
    [${, lists:join($,, Pairs), $}].

escape(B) -> << <<(escaped(C))/binary>> || <<C>> <= B >>.

escaped($") -> <<"\\\"">>;
escaped($\n) -> <<"\\n">>;
escaped($\\) -> <<"\\\\">>;
escaped(C) -> <<C>>.

value(<<C, Rest/binary>>) when C =:= $\s; C =:= $\n -> value(Rest);
value(<<"null", Rest/binary>>) -> {null, Rest};
value(<<"true", Rest/binary>>) -> {true, Rest};
value(<<"false", Rest/binary>>) -> {false, Rest};
value(<<$", Rest/binary>>) -> string(Rest, <<>>);
value(<<"[]", Rest/binary>>) -> {[], Rest};
value(<<$[, Rest/binary>>) -> elements(Rest, []);
value(<<${, Rest/binary>>) -> pairs(Rest, #{});
value(Text) -> number(Text, 0).

elements(Text, Before) ->
    case value(Text) of
        {One, <<$,, Rest/binary>>} -> elements(Rest, [One | Before]);
        {One, <<$], Rest/binary>>} -> {lists:reverse(Before, [One]), Rest}
    end.

pairs(Text, Map) ->
    {Key, <<$:, Rest/binary>>} = value(Text),
    case value(Rest) of
        {One, <<$,, More/binary>>} -> pairs(More, Map#{Key => One});
        {One, <<$}, More/binary>>} -> {Map#{Key => One}, More}
    end.

string(<<$", Rest/binary>>, Text) -> {Text, Rest};
string(<<$\\, $n, Rest/binary>>, Text) -> string(Rest, <<Text/binary, $\n>>);
string(<<$\\, C, Rest/binary>>, Text) -> string(Rest, <<Text/binary, C>>);
string(<<C, Rest/binary>>, Text) -> string(Rest, <<Text/binary, C>>).

number(Text, Length) ->
    case Text of
        <<_:Length/binary, C, _/binary>> when C >= $0, C =< $9; C =:= $-; C =:= $. -> number(Text, Length + 1);
        <<Digits:Length/binary, Rest/binary>> ->
            try binary_to_integer(Digits) of
                Integer -> {Integer, Rest}
            catch
                error:badarg -> {binary_to_float(Digits), Rest}
            end
    end.

numbers(Args, Defaults) ->
    Given = [list_to_integer(A) || A <- Args],
    Given ++ lists:nthtail(length(Given), Defaults).
