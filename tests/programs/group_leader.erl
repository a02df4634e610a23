%% A process of our own as group leader: the io protocol seen from the server's side.
-module(group_leader).
-export([main/1]).

main(_) ->
    Old = group_leader(),
    Self = self(),
    G = spawn(fun() -> leader([]) end),
    true = group_leader(G, self()),
    p_to(Old, group_leader() =:= G),
    io:format("captured ~w~n", [1]),
    io:put_chars("plain"),
    io:write({a, "b"}),
    io:nl(),
    Child = spawn(fun() -> io:format("from child~n"), Self ! {child, group_leader() =:= G} end),
    p_to(Old, receive {child, X} -> X end),
    p_to(Old, is_pid(Child)),
    p_to(Old, io:get_line("prompt> ")),
    p_to(Old, io:read("term> ")),
    p_to(Old, io:get_chars("", 3)),
    group_leader(Old, self()),
    G ! {get, self()},
    p(receive {all, Text} -> lists:flatten(Text) end),
    p([try F() catch C:R -> {C, R} end || F <- [fun() -> group_leader(a, self()) end, fun() -> group_leader(self(), a) end]]).

leader(Acc) ->
    receive
        {io_request, From, As, Request} ->
            {Reply, Out} = answer(Request),
            From ! {io_reply, As, Reply},
            leader([Out | Acc]);
        {get, To} ->
            To ! {all, lists:reverse(Acc)}
    end.

answer({put_chars, _, M, F, A}) -> {ok, unicode:characters_to_list(apply(M, F, A))};
answer({put_chars, _, Chars}) -> {ok, unicode:characters_to_list(Chars)};
answer({get_line, _, Prompt}) -> {"a line\n", [Prompt]};
answer({get_until, _, Prompt, M, F, A}) ->
    {done, Result, _} = apply(M, F, [[], "{x, 1}.\n" | A]),
    {Result, [Prompt]};
answer({get_chars, _, _, N}) -> {lists:duplicate(N, $z), ""};
answer(_) -> {{error, request}, ""}.

p_to(Leader, X) -> io:format(Leader, "~p~n", [X]).

p(X) -> io:format("~p~n", [X]).
