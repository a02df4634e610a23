%% The smallest program that prints.
-module(hello).
-export([main/1]).

main(Args) ->
    io:format("hello, world ~w~n", [length(Args)]),
    io:put_chars("no newline after format\n").
