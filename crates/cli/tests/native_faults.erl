%% Calls a function of a native library that does what it should not: main([Function, Kind]).
-module(native_faults).
-export([main/1]).
-nifs([normal/2, dirty/2]).

normal(_, _) -> erlang:nif_error(not_loaded).
dirty(_, _) -> erlang:nif_error(not_loaded).

main([Function, Kind]) ->
    ok = erlang:load_nif(filename:join(filename:dirname(code:which(?MODULE)), "native_faults"), 0),
    Arguments = [list_to_atom(Kind), {list_to_binary(lists:duplicate(100, $b)), [1.5, 1 bsl 70], #{a => "text"}}],
    Result = case Function of
        "normal" -> apply(fun normal/2, Arguments);
        "dirty" -> apply(fun dirty/2, Arguments)
    end,
    true = Result =:= list_to_tuple(Arguments),
    io:format("whole~n").
