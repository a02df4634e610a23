%% Answers on stock Erlang what the operations' tests ask: reads {Name, Arguments} terms from a file and
%% prints one line for each, in the notation of oracle.rs.
-mode(compile).

main([File, Code]) ->
    {ok, Calls} = file:consult(File),
    {ok, Module, Binary} = compile:file(Code, [binary]),
    {module, Module} = code:load_binary(Module, Code, Binary),
    put(cases, Module),
    [io:put_chars([answer(Call), $\n]) || Call <- Calls].

answer({Name, Arguments}) ->
    try call(Name, Arguments) of
        Value -> show(Value)
    catch
        Class:Reason -> ["! ", show(Class), $\s, show(Reason)]
    end.

%% A failure's reason is {Reason, Cause}, with the cause that the top of the stack trace gives.
call(construct, [Name]) ->
    try apply(get(cases), Name, [])
    catch
        error:Reason:Trace ->
            {_, _, _, Info} = hd(Trace),
            ErrorInfo = proplists:get_value(error_info, Info, #{}),
            error({Reason, maps:get(cause, ErrorInfo, none)})
    end;
call({match, Type}, Arguments) -> match(Type, Arguments);
call({Module, Name}, Arguments) -> apply(Module, Name, Arguments);
call(Name, Arguments) -> apply(erlang, Name, Arguments).

%% {Value, Rest} of a match behind Skip bits, or none.
match({integer, big, unsigned}, [Bits, Skip, Size]) ->
    case Bits of <<_:Skip, X:Size/big-unsigned, Rest/bits>> -> {X, Rest}; _ -> none end;
match({integer, big, signed}, [Bits, Skip, Size]) ->
    case Bits of <<_:Skip, X:Size/big-signed, Rest/bits>> -> {X, Rest}; _ -> none end;
match({integer, little, unsigned}, [Bits, Skip, Size]) ->
    case Bits of <<_:Skip, X:Size/little-unsigned, Rest/bits>> -> {X, Rest}; _ -> none end;
match({integer, little, signed}, [Bits, Skip, Size]) ->
    case Bits of <<_:Skip, X:Size/little-signed, Rest/bits>> -> {X, Rest}; _ -> none end;
match({float, big}, [Bits, Skip, Size]) ->
    case Bits of <<_:Skip, X:Size/big-float, Rest/bits>> -> {X, Rest}; _ -> none end;
match({float, little}, [Bits, Skip, Size]) ->
    case Bits of <<_:Skip, X:Size/little-float, Rest/bits>> -> {X, Rest}; _ -> none end;
match(binary, [Bits, Skip, Size]) ->
    case Bits of <<_:Skip, X:Size/bits, Rest/bits>> -> {X, Rest}; _ -> none end;
match({utf8, big}, [Bits, Skip]) ->
    case Bits of <<_:Skip, X/utf8, Rest/bits>> -> {X, Rest}; _ -> none end;
match({utf16, big}, [Bits, Skip]) ->
    case Bits of <<_:Skip, X/utf16, Rest/bits>> -> {X, Rest}; _ -> none end;
match({utf16, little}, [Bits, Skip]) ->
    case Bits of <<_:Skip, X/utf16-little, Rest/bits>> -> {X, Rest}; _ -> none end;
match({utf32, big}, [Bits, Skip]) ->
    case Bits of <<_:Skip, X/utf32, Rest/bits>> -> {X, Rest}; _ -> none end;
match({utf32, little}, [Bits, Skip]) ->
    case Bits of <<_:Skip, X/utf32-little, Rest/bits>> -> {X, Rest}; _ -> none end.

show(Value) when is_integer(Value) -> integer_to_list(Value);
show(Value) when is_float(Value) -> io_lib:format("f~16.16.0b", [binary:decode_unsigned(<<Value/float>>)]);
show(Value) when is_atom(Value) -> atom_to_list(Value);
show([]) -> "[]";
show([Head | Tail]) -> [$[, show(Head), tail(Tail)];
show(Value) when is_tuple(Value) -> [${, lists:join($,, [show(Element) || Element <- tuple_to_list(Value)]), $}];
show(Value) when is_map(Value) ->
    ["#{", lists:join($,, [[show(Key), "=>", show(Element)] || {Key, Element} <- lists:sort(maps:to_list(Value))]), $}];
show(Value) when is_bitstring(Value) ->
    Padding = (8 - bit_size(Value) rem 8) rem 8,
    Bytes = binary_to_list(<<Value/bitstring, 0:Padding>>),
    [$<, integer_to_list(bit_size(Value)), $:, [io_lib:format("~2.16.0b", [Byte]) || Byte <- Bytes], $>].

tail([]) -> "]";
tail([Head | Tail]) -> [$,, show(Head), tail(Tail)];
tail(Tail) -> [$|, show(Tail), $]].
