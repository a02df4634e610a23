%% A module with an on_load function, and functions declared as NIFs whose library is not there.
-module(on_load).
-export([main/1, native/1, native2/2]).
-on_load(loaded/0).
-nifs([native/1, native2/2]).

loaded() ->
    persistent_term:put(on_load_ran, yes),
    ok.

main(_) ->
    io:format("~w~n", [persistent_term:get(on_load_ran)]),
    io:format("~w~n", [try native(1) catch C:R -> {C, R} end]),
    io:format("~w~n", [native2(1, 2)]),
    io:format("~w~n", [element(1, erlang:load_nif("./no_such_library", 0))]),
    io:format("~w~n", [element(1, element(2, erlang:load_nif("./no_such_library", 0)))]).

native(_) -> erlang:nif_error(not_loaded).
native2(A, B) -> A + B.
