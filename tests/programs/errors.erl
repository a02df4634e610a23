%% Every class of run-time error, by class and reason.
-module(errors).
-export([main/1, id/1, only_a/1]).

main(_) ->
    [io:format("~w: ~p~n", [Name, t(F)]) || {Name, F} <- cases()].

cases() ->
    [{badarith, fun() -> id(1) + id(a) end},
     {badarith_div, fun() -> id(1) div id(0) end},
     {badarith_rem, fun() -> id(1) rem id(0) end},
     {badarith_fdiv, fun() -> id(1) / id(0) end},
     {badarith_neg, fun() -> -id(a) end},
     {badarith_bnot, fun() -> bnot id(1.0) end},
     {badarith_float, fun() -> id(1.0) band 1 end},
     {badmatch, fun() -> a = id(b) end},
     {badmatch_tuple, fun() -> {X, X} = id({1, 2}) end},
     {case_clause, fun() -> case id(c) of a -> ok; b -> ok end end},
     {if_clause, fun() -> if_none(id(1)) end},
     {function_clause, fun() -> only_a(id(b)) end},
     {try_clause, fun() -> try id(x) of y -> ok catch _ -> ok end end},
     {badfun, fun() -> (id(x))() end},
     {undef_module, fun() -> (id(no_such_module)):f(1) end},
     {undef_function, fun() -> (id(lists)):no_such(1, 2) end},
     {badarg_atom, fun() -> atom_to_list(id(1)) end},
     {badarg_list, fun() -> list_to_atom(id([a])) end},
     {badarg_int, fun() -> list_to_integer(id("x1")) end},
     {badarg_existing, fun() -> list_to_existing_atom("surely no " ++ id("such atom")) end},
     {badmap_get, fun() -> maps:get(a, id(x)) end},
     {badmap_update, fun() -> (id(x))#{a => 1} end},
     {badkey_update, fun() -> (id(#{}))#{a := 1} end},
     {badkey_get, fun() -> maps:get(a, id(#{})) end},
     {badkey_bif, fun() -> map_get(a, id(#{})) end},
     {badmap_size, fun() -> map_size(id([])) end},
     {badarg_apply, fun() -> apply(id(lists), id(sum), id(a)) end},
     {badarg_apply_improper, fun() -> apply(id(lists), id(sum), id([[] | x])) end},
     {badarg_send, fun() -> id(nobody_registered) ! x end},
     {badarg_send_tuple, fun() -> id({a, b, c}) ! x end},
     {badarg_register, fun() -> register(undefined, self()) end},
     {badarg_binary, fun() -> binary_to_atom(id(<<255>>), utf8) end},
     {badarg_iolist, fun() -> iolist_to_binary(id([a])) end},
     {badarg_bsize, fun() -> <<1:(id(-1))>> end},
     {badarg_bint, fun() -> <<(id(a)):8>> end},
     {badarg_round, fun() -> round(id(a)) end},
     {system_limit_shift, fun() -> id(1) bsl id(1 bsl 64) end},
     {system_limit_atom, fun() -> list_to_atom(id(lists:duplicate(256, $a))) end},
     {bad_filter, fun() -> [X || X <- id([1, 2]), id(yes)] end},
     {bad_generator, fun() -> [X || X <- id(x)] end},
     {bad_generator_tail, fun() -> [X || X <- id([1 | x])] end},
     {bad_bin_generator, fun() -> [X || <<X>> <= id(x)] end},
     {not_arg, fun() -> not id(x) end},
     {and_arg, fun() -> id(true) and id(x) end},
     {andalso_arg, fun() -> id(x) andalso true end},
     {andalso_value, fun() -> id(true) andalso id(x) end},
     {throw, fun() -> throw(id(ball)) end},
     {exit, fun() -> exit(id(bye)) end},
     {error, fun() -> error(id({my, error})) end},
     {error_args, fun() -> error(id(oops), [1, 2]) end},
     {error_options, fun() -> error(id(oops), [1, 2], [{error_info, #{}}]) end},
     {raise, fun() -> erlang:raise(exit, id(raised), []) end},
     {raise_bad, fun() -> erlang:raise(id(no_class), x, []) end},
     {timeout_value, fun() -> receive after id(a) -> ok end end},
     {timeout_negative, fun() -> receive after id(-1) -> ok end end},
     {nocatch, fun() -> exit_of(fun() -> throw(uncaught) end) end}].

if_none(N) -> if N > 1 -> a; N < 0 -> b end.

only_a(a) -> ok.

%% The reason without its stack trace.
exit_of(F) ->
    logger:set_primary_config(level, none),
    {_, Ref} = spawn_monitor(F),
    receive {'DOWN', Ref, _, _, {Reason, [_ | _]}} -> Reason;
            {'DOWN', Ref, _, _, Reason} -> Reason
    end.

t(F) ->
    try F() of V -> {value, V} catch C:R -> {C, R} end.

id(X) -> X.
