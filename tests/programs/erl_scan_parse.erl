%% Scanning, parsing, evaluating and printing Erlang with the library's own modules.
-module(erl_scan_parse).
-export([main/1]).

main(_) ->
    Sources = ["1 + 2 * 3.", "lists:map(fun(X) -> X * X end, [1,2,3]).", "[{A, B} || A <- [1,2], B <- \"ab\", A > 1].", "case {a, 16#ff} of {_, N} when N > 10 -> N; _ -> $\\n end.",
               "<<1:8, \"abc\", 2.5/float>>.", "#{a => 1, b => #{c => [x|y]}}.", "try throw(ball) catch throw:T -> {caught, T} after ok end.", "begin X = 5, Y = X bsl 3, {X, Y, X rem 3, -X} end.",
               "if true andalso not false -> 'Quoted atom'; true -> no end.", "(fun F(0) -> 1; F(N) -> N * F(N - 1) end)(20).", "\"a\" \"b\" ++ [10|\"c\"].", "erlang:phash2({a, \"b\", 1.5})."],
    [begin
         {ok, Tokens, End} = erl_scan:string(S),
         {ok, Exprs} = erl_parse:parse_exprs(Tokens),
         {value, V, Bindings} = erl_eval:exprs(Exprs, erl_eval:new_bindings()),
         io:format("~p ~w~n~p~n~s~n~p ~p~n", [length(Tokens), End, Exprs, erl_pp:exprs(Exprs), V, Bindings])
     end || S <- Sources],
    [io:format("~p~n", [erl_scan:string(S)]) || S <- ["'unterminated", "\"str", "16#zz", "1.e5", "a @ b", "$", "99#1", "\\", "%comment only", "-module(x)."]],
    [begin {ok, T, _} = erl_scan:string(S), io:format("~p~n", [erl_parse:parse_exprs(T)]) end || S <- ["1 +.", "foo(.", "case x of end.", "[1,2", "X Y."]],
    {ok, Forms, _} = erl_scan:string("f(X) when X > 0 -> X * f(X - 1); f(0) -> 1."),
    {ok, Form} = erl_parse:parse_form(Forms),
    io:format("~p~n~s~n", [Form, erl_pp:form(Form)]),
    io:format("~p~n", [erl_parse:normalise(erl_parse:abstract({a, [1, 2.5, "s"], <<"b">>, #{k => v}}))]),
    {ok, T2, _} = erl_scan:string("{ok, [\"term\", 1, #{a => b}]}."),
    io:format("~p~n", [erl_parse:parse_term(T2)]).
