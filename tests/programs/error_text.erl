%% How errors are explained: erl_error:format_exception, with the error_info of BIFs and libraries.
-module(error_text).
-export([main/1, id/1]).

main(_) ->
    [show(F) || F <- [fun() -> id(1) + a end, fun() -> b = id(a) end, fun() -> element(id(9), {a}) end, fun() -> list_to_integer(id("x")) end, fun() -> atom_to_list(id(1)) end,
                      fun() -> ets:lookup(id(nope), 1) end, fun() -> maps:get(id(k), #{}) end, fun() -> binary:part(<<"ab">>, id(5), 1) end, fun() -> lists:nth(id(5), [1]) end, fun() -> (id(m)):f(1) end,
                      fun() -> error(id(own)) end, fun() -> throw(id(t)) end, fun() -> exit(id(x)) end, fun() -> io:format("~w", id([])) end, fun() -> length(id(a)) end, fun() -> apply(id(fun(X) -> X end), []) end,
                      fun() -> case id(1) of 2 -> ok end end, fun() -> hd(id([])) end, fun() -> id(1) bsl id(1 bsl 70) end, fun() -> register(id(undefined), id(1)) end, fun() -> unicode:characters_to_list(id(a)) end,
                      fun() -> tuple_to_list(id(x)) end, fun() -> <<(id(a)):8>> end, fun() -> math:sqrt(id(-1)) end, fun() -> binary_to_term(id(<<1>>)) end, fun() -> persistent_term:get(id(no)) end]].

show(F) ->
    try F() of V -> io:format("value ~p~n", [V])
    catch C:R:S ->
            Own = lists:takewhile(fun({_, Fn, _, _}) -> Fn =/= main end, S),
            Text = lists:flatten(erl_error:format_exception(C, R, lists:droplast(Own))),
            case string:find(Text, "#Fun") of
                nomatch -> io:format("~ts~n", [Text]);
                _ -> io:format("a text with a fun~n")
            end
    end.

id(X) -> X.
