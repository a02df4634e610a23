%% Code that is loaded and purged, and persistent terms that are replaced, many times.
-module(loads).
-export([main/1]).

main(["code", Times]) ->
    Binaries = {binary(1), binary(2)},
    [load(element(1 + N rem 2, Binaries)) || N <- lists:seq(1, list_to_integer(Times))],
    io:format("~w~n", [length(loaded:data())]);
main(["terms", Times]) ->
    [persistent_term:put(key, lists:seq(N, N + 3000)) || N <- lists:seq(1, list_to_integer(Times))],
    io:format("~w~n", [length(persistent_term:get(key))]);
main(["inside", Times]) ->
    Binaries = {binary(1), binary(2)},
    Main = self(),
    %% One goes on inside, the other returns there, each of its own version. The purge does not check for them.
    load(element(1, Binaries)),
    Waiting = spawn(loaded, waits, [Main]),
    receive {Waiting, ready} -> ok end,
    {module, loaded} = erlang:load_module(loaded, element(2, Binaries)),
    true = erts_internal:purge_module(loaded, complete),
    Calling = spawn(loaded, calls, [Main, fun() -> Main ! {self(), ready}, receive return -> returned end end]),
    receive {Calling, ready} -> ok end,
    {module, loaded} = erlang:load_module(loaded, element(1, Binaries)),
    true = erts_internal:purge_module(loaded, complete),
    [load(element(1 + N rem 2, Binaries)) || N <- lists:seq(1, list_to_integer(Times))],
    Waiting ! go,
    Calling ! return,
    io:format("~w~n", [receive {Waiting, Data} -> Data =:= loaded:data() end]),
    io:format("~w~n", [receive {Calling, Returned} -> Returned =:= {returned, loaded:data()} end]).

load(Binary) ->
    erlang:module_loaded(loaded) andalso erlang:check_old_code(loaded) andalso erlang:purge_module(loaded),
    {module, loaded} = erlang:load_module(loaded, Binary).

binary(Version) ->
    Clauses = [io_lib:format("c(~w, X) -> {X, \"literal ~w\", ~w};\n", [N, N, Version]) || N <- lists:seq(1, 100)],
    Source = ["-module(loaded). -export([data/0, waits/1, calls/2, c/2]).\n",
              io_lib:format("data() -> ~w.\n", [lists:seq(1, 1000)]),
              "waits(To) -> To ! {self(), ready}, receive go -> To ! {self(), data()} end.\n",
              "calls(To, F) -> R = F(), To ! {self(), {R, data()}}.\n",
              Clauses, "c(_, X) -> X.\n"],
    {ok, Tokens, _} = erl_scan:string(lists:flatten(Source)),
    {ok, loaded, Binary} = compile:forms(forms(Tokens), []),
    Binary.

forms([]) -> [];
forms(Tokens) ->
    {Form, [Dot | Rest]} = lists:splitwith(fun(Token) -> element(1, Token) =/= dot end, Tokens),
    {ok, Parsed} = erl_parse:parse_form(Form ++ [Dot]),
    [Parsed | forms(Rest)].
