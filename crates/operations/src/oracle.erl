%% Answers on stock Erlang what the operations' tests ask: reads {Name, Arguments} terms from a file and
%% prints one line for each, in the notation of oracle.rs.
-mode(compile).

main([File]) ->
    {ok, Calls} = file:consult(File),
    [io:put_chars([answer(Call), $\n]) || Call <- Calls].

answer({Name, Arguments}) ->
    try call(Name, Arguments) of
        Value -> show(Value)
    catch
        Class:Reason -> ["! ", show(Class), $\s, show(Reason)]
    end.

call({Module, Name}, Arguments) -> apply(Module, Name, Arguments);
call(Name, Arguments) -> apply(erlang, Name, Arguments).

show(Value) when is_integer(Value) -> integer_to_list(Value);
show(Value) when is_float(Value) -> io_lib:format("f~16.16.0b", [binary:decode_unsigned(<<Value/float>>)]);
show(Value) when is_atom(Value) -> atom_to_list(Value);
show([]) -> "[]";
show([Head | Tail]) -> [$[, show(Head), tail(Tail)];
show(Value) when is_tuple(Value) -> [${, lists:join($,, [show(Element) || Element <- tuple_to_list(Value)]), $}];
show(Value) when is_bitstring(Value) ->
    Padding = (8 - bit_size(Value) rem 8) rem 8,
    Bytes = binary_to_list(<<Value/bitstring, 0:Padding>>),
    [$<, integer_to_list(bit_size(Value)), $:, [io_lib:format("~2.16.0b", [Byte]) || Byte <- Bytes], $>].

tail([]) -> "]";
tail([Head | Tail]) -> [$,, show(Head), tail(Tail)];
tail(Tail) -> [$|, show(Tail), $]].
