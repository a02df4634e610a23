%% Traced functions that go on with the matching of a binary, and what a traced `receive` tells of the time.
-module(trace_binaries).
-export([main/1, id/1]).

main(_) ->
    Self = self(),
    Pid = spawn(fun() ->
        Self ! ready,
        receive go -> ok end,
        Bytes = sum(id(<<1, 2, 3>>), 0),
        Bits = bits(0, id(<<3:4, 5:4, 7:3>>)),
        receive nothing -> ok after 1 -> ok end,
        receive nothing -> ok after 0 -> ok end,
        Self ! {Bytes, Bits}
    end),
    receive ready -> ok end,
    erlang:trace(Pid, true, [call, 'receive']),
    erlang:trace_pattern({?MODULE, '_', '_'}, [{'_', [], [{return_trace}]}], [local]),
    Pid ! go,
    receive {_, _} = Result -> io:format("~p~n", [Result]) end,
    Ref = erlang:trace_delivered(Pid),
    receive {trace_delivered, Pid, Ref} -> ok end,
    erlang:trace_pattern({?MODULE, '_', '_'}, false, [local]),
    [io:format("~p~n", [tl(tl(tuple_to_list(Told)))]) || Told <- told()].

id(X) -> X.

sum(<<Byte, Rest/binary>>, Sum) -> sum(Rest, Sum + Byte);
sum(<<>>, Sum) -> Sum.

bits(Sum, <<Part:4, Rest/bitstring>>) -> bits(Sum + Part, Rest);
bits(Sum, Rest) -> {Sum, Rest}.

told() ->
    receive Told when element(1, Told) =:= trace -> [Told | told()] after 0 -> [] end.
