%% The debugger stops a function of another node, and looks at it step by step. `main/1` gets the node's name, and prints
%% the same whichever machines the two run on.
-module(stepped).
-export([main/1]).

-define(TEXT, "-module(walked).\n-export([f/2]).\nf(A, B) ->\n    C = A + B,\n    D = C * 2,\n    {C, D}.\n").

main(Other) ->
    pong = net_adm:ping(Other),
    ok = global:sync(),
    Folder = filename:dirname(code:which(?MODULE)),
    Source = filename:join(Folder, "walked.erl"),
    ok = file:write_file(Source, ?TEXT),
    {ok, walked} = compile:file(Source, [debug_info, {outdir, Folder}]),
    say(interpreted, int:ni(Source)),
    ok = int:break(walked, 5),
    Call = rpc:async_call(Other, walked, f, [1, 2]),
    Stopped = stopped(),
    Other = node(Stopped),
    say(stopped, at(Stopped)),
    {ok, Interpreter} = int:attached(Stopped),
    say(variables, int:meta(Interpreter, bindings, nostack)),
    say(calls, int:meta(Interpreter, backtrace, 5)),
    ok = int:subscribe(),
    int:meta(Interpreter, step),
    receive {int, {new_status, Stopped, break, Place}} -> say(stepped, Place) end,
    say(variables, int:meta(Interpreter, bindings, nostack)),
    ok = int:continue(Stopped),
    say(returned, rpc:yield(Call)),
    ok = int:no_break(walked),
    say(called, rpc:call(Other, walked, f, [3, 4])),
    say(done, ok).

%% The process that has come to a breakpoint.
stopped() ->
    case [Pid || {Pid, _, break, _} <- int:snapshot()] of
        [Pid] -> Pid;
        [] -> timer:sleep(20), stopped()
    end.

at(Pid) -> [{Call, Status, Place} || {Each, Call, Status, Place} <- int:snapshot(), Each =:= Pid].

say(What, Result) -> io:format("~p: ~0p~n", [What, Result]).
