%% Code loaded while it runs: old and current code, fully qualified calls, funs of old code, purge.
-module(hot_code).
-export([main/1]).

main(_) ->
    logger:set_primary_config(level, none),
    load(1),
    io:format("~w~n", [hot:version()]),
    P = spawn(hot, loop, []),
    F = hot:make_fun(),
    io:format("~w ~w~n", [ask(P, version), F(5)]),
    load(2),
    io:format("~w ~w ~w~n", [hot:version(), ask(P, version), F(5)]),
    io:format("~w~n", [ask(P, switch)]),
    io:format("~w~n", [ask(P, version)]),
    io:format("~w ~w~n", [erlang:check_process_code(self(), hot), erlang:check_old_code(hot)]),
    G = hot:make_fun(),
    io:format("~w~n", [G(5)]),
    R = monitor(process, P),
    {Q, RQ} = spawn_monitor(fun() -> receive {run, To} -> To ! {old, F(1)} end end),
    io:format("~w~n", [code:purge(hot)]),
    io:format("~w~n", [receive {'DOWN', RQ, process, Q, X} -> X after 100 -> alive end]),
    io:format("~w~n", [try F(5) catch C:E -> {C, kind(E)} end]),
    io:format("~w~n", [code:delete(hot)]),
    io:format("~w~n", [try hot:version() catch C2:E2 -> {C2, E2} end]),
    io:format("~w~n", [code:soft_purge(hot)]),
    exit(P, kill),
    receive {'DOWN', R, _, _, _} -> ok end,
    io:format("~w~n", [code:soft_purge(hot)]),
    io:format("~w~n", [erlang:module_loaded(hot)]),
    load(3),
    io:format("~w ~w~n", [hot:version(), hot:module_info(attributes) =/= []]),
    io:format("~w~n", [element(1, code:load_binary(hot, "hot.beam", <<"not a beam file">>))]),
    io:format("~w~n", [hot:version()]),
    io:format("~w~n", [apply(hot, version, [])]).

kind({badfun, _}) -> badfun;
kind(E) -> E.

ask(P, What) -> P ! {What, self()}, receive {P, A} -> A after 20000 -> none end.

load(V) ->
    Source = ["-module(hot).", "-export([version/0, loop/0, make_fun/0]).",
              "version() -> " ++ integer_to_list(V) ++ ".",
              "loop() -> receive {version, F} -> F ! {self(), version()}, loop(); {switch, F} -> F ! {self(), switching}, hot:loop() end.",
              "make_fun() -> fun(X) -> X * version() end."],
    Forms = [begin {ok, T, _} = erl_scan:string(S), {ok, Form} = erl_parse:parse_form(T), Form end || S <- Source],
    {ok, hot, Binary} = compile:forms(Forms, []),
    code:purge(hot),
    {module, hot} = code:load_binary(hot, "hot.beam", Binary).
