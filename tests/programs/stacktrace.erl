%% Stack traces: module, function, arity or arguments, file and line.
-module(stacktrace).
-export([main/1, id/1, level1/1, exported/1]).

main(_) ->
    show(fun() -> level1(error) end),
    show(fun() -> level1(badmatch) end),
    show(fun() -> level1(badarith) end),
    show(fun() -> level1(bif) end),
    show(fun() -> level1(throw) end),
    show(fun() -> level1(exit) end),
    show(fun() -> level1(function_clause) end),
    show(fun() -> level1(undef) end),
    show(fun() -> level1(undef_mod) end),
    show(fun() -> level1(case_clause) end),
    show(fun() -> level1(error_args) end),
    show(fun() -> level1(lists) end),
    show(fun() -> level1(badmap) end),
    show(fun() -> level1(badkey) end),
    show(fun() -> level1(list_to_integer) end),
    show(fun() -> exported(no) end),
    show(fun() -> tail_called(1) end),
    show(fun() -> lists:map(fun(X) -> 1 div X end, [1, 0]) end),
    show(fun() -> erlang:raise(error, given, [{m, f, 2, [{file, "m.erl"}, {line, 7}]}]) end),
    io:format("~w~n", [deep_length()]),
    io:format("~p~n", [try id(a) + id(1) catch _:_:S -> {M, F, A, L} = hd(S), {M, F, A, proplists:get_value(line, L)} end]),
    {'EXIT', {boom, Stack}} = (catch error(boom)),
    io:format("~p~n", [frames(Stack)]).

%% The line numbers below are part of what is compared.
level1(X) ->
    R = level2(X),
    [R].

level2(error) -> keep(error(my_reason));
level2(badmatch) -> [a] = id(b);
level2(badarith) -> keep(id(1) + id(x));
level2(bif) -> keep(atom_to_list(id(1)));
level2(throw) -> keep(throw(id(ball)));
level2(exit) -> keep(exit(id(bye)));
level2(function_clause) -> keep(only_a(id(b)));
level2(undef) -> keep(?MODULE:not_there(1, 2));
level2(undef_mod) -> keep((id(no_mod)):f(x));
level2(case_clause) -> case id(9) of 1 -> ok end;
level2(error_args) -> keep(error(with_args, [a, b]));
level2(lists) -> keep(lists:reverse(id(not_a_list)));
level2(badmap) -> keep((id(x))#{a => 1});
level2(badkey) -> keep(maps:get(k, id(#{})));
level2(list_to_integer) -> keep(list_to_integer(id("zz"))).

keep(X) -> {X}.

only_a(a) -> ok.

exported(yes) -> ok.

tail_called(N) -> tail_called2(N).
tail_called2(N) -> error({tail, N}).

deep_length() ->
    try dig(100) catch error:bottom:S -> length(S) end.

dig(0) -> error(bottom);
dig(N) -> 1 + dig(N - 1).

show(F) ->
    try F() of V -> io:format("value ~p~n", [V])
    catch C:R:S -> io:format("~p ~p~n~p~n", [C, R, frames(S)])
    end.

%% The frames above main/1.
frames(S) ->
    [{M, F, case A of _ when is_list(A) -> {args, A}; _ -> A end,
      [case L of {error_info, _} -> error_info; _ -> L end || L <- I]}
     || {M, F, A, I} <- lists:takewhile(fun({_, F, _, _}) -> F =/= main end, S)].

id(X) -> X.
