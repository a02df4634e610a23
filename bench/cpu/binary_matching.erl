%% Parsing and building binaries: variable-length integers, framed records, and JSON-like text.
-module(binary_matching).
-export([main/1, encode/2]).

main(Args) ->
    [Size, Repetitions] = numbers(Args, [20000, 100]),
    Start = erlang:monotonic_time(microsecond),
    Answer = repeat(Repetitions, Size, none),
    Micros = erlang:monotonic_time(microsecond) - Start,
    io:format("binary_matching ~w x~w: ~w~n", [Size, Repetitions, Answer]),
    io:format(standard_error, "result: binary_matching ~w us~n", [Micros]).

repeat(0, _, Answer) -> Answer;
repeat(N, Size, _) -> repeat(N - 1, Size, exercise(Size)).

exercise(N) ->
    Frames = encode(N, <<>>),
    {Count, Sum} = frames(Frames, 0, 0),
    Text = text(N, <<>>),
    {byte_size(Frames), Count, Sum, byte_size(Text), lists:sum(parse(Text))}.

encode(0, Acc) -> Acc;
encode(N, Acc) ->
    Payload = binary:copy(<<(N rem 256)>>, N rem 20),
    encode(N - 1, <<Acc/binary, (varint(N * 37))/binary, (byte_size(Payload)):16, Payload/binary, N:32/little>>).

varint(N) when N < 128 -> <<N>>;
varint(N) -> <<1:1, N:7, (varint(N bsr 7))/binary>>.

frames(<<>>, Count, Sum) -> {Count, Sum};
frames(Data, Count, Sum) ->
    {Id, <<Size:16, Payload:Size/binary, Check:32/little, Rest/binary>>} = read_varint(Data, 0, 0),
    frames(Rest, Count + 1, Sum + Id + Check + bytes(Payload, 0)).

read_varint(<<1:1, N:7, Rest/binary>>, Shift, Acc) -> read_varint(Rest, Shift + 7, Acc bor (N bsl Shift));
read_varint(<<0:1, N:7, Rest/binary>>, Shift, Acc) -> {Acc bor (N bsl Shift), Rest}.

bytes(<<B, Rest/binary>>, Sum) -> bytes(Rest, Sum + B);
bytes(<<>>, Sum) -> Sum.

text(0, Acc) -> Acc;
text(N, Acc) -> text(N - 1, <<Acc/binary, "{\"id\": ", (integer_to_binary(N))/binary, ", \"name\": \"item\"}\n">>).

parse(<<"\"id\": ", Rest/binary>>) -> number(Rest, 0);
parse(<<_, Rest/binary>>) -> parse(Rest);
parse(<<>>) -> [].

number(<<D, Rest/binary>>, N) when D >= $0, D =< $9 -> number(Rest, N * 10 + D - $0);
number(Rest, N) -> [N | parse(Rest)].

numbers(Args, Defaults) ->
    Given = [list_to_integer(A) || A <- Args],
    Given ++ lists:nthtail(length(Given), Defaults).
