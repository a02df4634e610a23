%% What a library wants of the machine's end: see native_halt.rs.
-module(native_halt).
-export([main/1]).
-nifs([at_once/0, dirty/0, again/0, are_busy/1, late/0]).

at_once() -> erlang:nif_error(not_loaded).
dirty() -> erlang:nif_error(not_loaded).
again() -> erlang:nif_error(not_loaded).
are_busy(_) -> erlang:nif_error(not_loaded).
late() -> erlang:nif_error(not_loaded).

main([Flush]) ->
    ok = erlang:load_nif(filename:join(filename:dirname(code:which(?MODULE)), "native_halt"), 0),
    refused = late(),
    %% One scheduler is this process's, and two wait in a function.
    [spawn(Function) || Function <- [fun at_once/0, fun dirty/0, fun again/0]],
    wait(),
    halt(3, [{flush, Flush =:= "flush"}]).

wait() ->
    case are_busy(3) of
        true -> ok;
        false -> timer:sleep(1), wait()
    end.
