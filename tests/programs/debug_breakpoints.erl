%% Functions with a debugger's breakpoint: the process's error handler is called in their place.
-module(debug_breakpoints).
-export([main/1, breakpoint/3, undefined_function/3, undefined_lambda/3, exported/2]).

main(_) ->
    io:format("~0p~n", [[tried(fun() -> erts_debug:breakpoint(What, Flag) end) || {What, Flag} <- [
        {{debug_breakpoints, not_there, 1}, true}, {{not_a_module, '_', '_'}, true},
        {{'_', exported, 2}, true}, {{debug_breakpoints, '_', 2}, true}, {{debug_breakpoints, exported, 2}, on},
        {debug_breakpoints, true}, {{debug_breakpoints, exported, x}, true}]]]),
    process_flag(error_handler, debug_breakpoints),
    call(none),
    io:format("~0p~n", [set(exported, 2, true)]),
    call(exported),
    io:format("~0p ~0p~n", [set(walk, 2, true), set(rest, 1, true)]),
    call(walk),
    F = fun(X) -> {in_fun, X} end,
    {name, Name} = erlang:fun_info(F, name),
    io:format("~0p~n", [set(Name, 1, true)]),
    io:format("~0p~n", [F(1)]),
    io:format("~0p~n", [set(Name, 1, false)]),
    io:format("~0p~n", [F(1)]),
    io:format("~0p ~0p ~0p~n", [set(exported, 2, false), set(walk, 2, false), set(rest, 1, false)]),
    call(ended),
    io:format("~0p~n", [erlang:trace_info({debug_breakpoints, walk, 2}, all)]).

tried(Fun) ->
    try Fun() catch Class:Reason -> {Class, Reason} end.

set(Name, Arity, Flag) ->
    erts_debug:breakpoint({debug_breakpoints, Name, Arity}, Flag).

call(Label) ->
    io:format("~0p: ~0p ~0p ~0p ~0p~n", [Label, exported(1, 2), ?MODULE:exported([a], <<"b">>), walk(<<1, 2, 3:3>>, []),
        tried(fun() -> apply(?MODULE, exported, [0, none]) end)]).

exported(A, B) when A =/= 0 -> {exported, A, B}.

%% The rest of the binary is handed on with its position.
walk(<<Byte, Rest/bitstring>>, Seen) -> walk(Rest, [Byte | Seen]);
walk(Rest, Seen) -> {rest(Rest), Seen}.

rest(<<Bits:3>>) -> {three, Bits};
rest(Other) -> Other.

breakpoint(Module, Function, Arguments) ->
    {interpreted, Module, Function, Arguments}.

undefined_function(Module, Function, Arguments) ->
    error_handler:undefined_function(Module, Function, Arguments).

undefined_lambda(Module, Fun, Arguments) ->
    error_handler:undefined_lambda(Module, Fun, Arguments).
