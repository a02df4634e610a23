%% OTP's compiler on one source file ("BEAM compiler" of Wilhelmsson 2002, section 6, and Johansson et al. 2002).
%% main([File]).
-module(compiler).
-export([main/1]).

main([File]) ->
    %% Without OTP's kernel nobody has started it.
    case whereis(file_server_2) of
        undefined -> {ok, _} = file_server:start();
        _ -> ok
    end,
    Start = erlang:monotonic_time(microsecond),
    {ok, Module, Code, _} = compile:file(File, [binary, deterministic, return]),
    Time = erlang:monotonic_time(microsecond) - Start,
    io:format("~w: ~w bytes, check sum ~w~n", [Module, byte_size(Code), erlang:crc32(Code)]),
    io:format(standard_error, "result: compiler ~w us~n", [Time]).
