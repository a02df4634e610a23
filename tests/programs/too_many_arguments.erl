%% Calls, processes and funs with more arguments than a function can have.
-module(too_many_arguments).
-export([main/1, id/1, f/1, tail_apply3/3, tail_apply2/2, tail_error/1]).
id(X) -> X.

main(_) ->
    logger:set_primary_config(level, none),
    %% A linked process may have failed before the link is taken away.
    process_flag(trap_exit, true),
    L = fun(N) -> lists:seq(1, N) end,
    F = fun(_) -> ok end, E = fun ?MODULE:f/1,
    V = id(erlang),
    Counts = [255, 256, 300, 1022, 1023, 1024, 1025],
    [begin
      p(apply3, N, fun() -> apply(id(?MODULE), id(f), L(N)), ok end),
      p(apply3_unknown, N, fun() -> apply(id(nomod), id(f), L(N)), ok end),
      p(apply3_tail, N, fun() -> tail_apply3(id(?MODULE), f, L(N)) end),
      p(apply3_erlang, N, fun() -> V:apply(id(?MODULE), f, L(N)), ok end),
      p(apply3_bif, N, fun() -> apply(id(erlang), id(self), L(N)), ok end),
      p(apply2, N, fun() -> apply(id(F), L(N)), ok end),
      p(apply2_tail, N, fun() -> tail_apply2(id(F), L(N)) end),
      p(apply2_external, N, fun() -> apply(id(E), L(N)), ok end),
      p(apply2_erlang, N, fun() -> V:apply(id(F), L(N)), ok end),
      p(apply2_not, N, fun() -> apply(id(nofun), L(N)), ok end),
      p(apply_apply, N, fun() -> apply(id(erlang), id(apply), [?MODULE, f, L(N)]), ok end),
      p(apply_apply2, N, fun() -> apply(id(erlang), id(apply), [F, L(N)]), ok end),
      p(apply2_apply, N, fun() -> apply(fun erlang:apply/2, [F, L(N)]), ok end),
      p(apply2_apply3, N, fun() -> apply(fun erlang:apply/3, [?MODULE, f, L(N)]), ok end),
      p(fun_3_in_map, N, fun() -> lists:foreach(fun(X) -> apply(F, X) end, [L(N)]) end),
      p(spawn, N, fun() -> spawn(?MODULE, f, L(N)), ok end),
      p(spawn_v, N, fun() -> V:spawn(?MODULE, id(f), L(N)), ok end),
      p(spawn_link, N, fun() -> unlink(spawn_link(?MODULE, f, L(N))), ok end),
      p(spawn_monitor, N, fun() -> spawn_monitor(?MODULE, f, L(N)), ok end),
      p(spawn_opt, N, fun() -> spawn_opt(?MODULE, f, L(N), []), ok end),
      p(spawn_opt_bad, N, fun() -> spawn_opt(?MODULE, f, L(N), [foo]), ok end),
      p(spawn_node, N, fun() -> spawn(node(), ?MODULE, f, L(N)), ok end),
      p(spawn_link_node, N, fun() -> unlink(spawn_link(node(), ?MODULE, f, L(N))), ok end),
      p(spawn_monitor_node, N, fun() -> spawn_monitor(node(), ?MODULE, f, L(N)), ok end),
      p(spawn_opt_node, N, fun() -> spawn_opt(node(), ?MODULE, f, L(N), []), ok end),
      p(spawn_other_node, N, fun() -> spawn('a@b', ?MODULE, f, L(N)), ok end),
      p(spawn_request, N, fun() -> R = spawn_request(?MODULE, f, L(N)), receive {spawn_reply, R, A, B} -> {A, is_pid(B) orelse B} after 10000 -> none end end),
      p(spawn_request_node, N, fun() -> R = spawn_request(node(), ?MODULE, f, L(N)), receive {spawn_reply, R, A, B} -> {A, is_pid(B) orelse B} after 10000 -> none end end),
      p(proc_lib, N, fun() -> proc_lib:spawn(?MODULE, f, L(N)), ok end),
      p(hibernate, N, fun() -> hib(fun() -> self() ! x, erlang:hibernate(?MODULE, f, L(N)) end) end),
      p(hibernate_v, N, fun() -> hib(fun() -> self() ! x, V:hibernate(?MODULE, f, L(N)) end) end),
      p(make_fun, N, fun() -> F0 = erlang:make_fun(?MODULE, f, N), is_function(F0) end),
      p(is_builtin, N, fun() -> erlang:is_builtin(erlang, f, N) end),
      p(exported, N, fun() -> erlang:function_exported(erlang, f, N) end),
      p(is_function, N, fun() -> is_function(F, id(N)) end),
      p(mfa_trace, N, fun() -> erlang:trace_pattern({?MODULE, f, id(N)}, true, []) end),
      ok
     end || N <- Counts],
    Bad = [[1 | 2], a, [a | lists:seq(1, 300)] ++ b, L(300) ++ b, 1 bsl 70, {}, -1, 256, 1.0],
    [begin
      p(apply3, B, fun() -> apply(id(?MODULE), id(f), B), ok end),
      p(apply3_tail, B, fun() -> tail_apply3(id(?MODULE), f, B) end),
      p(apply3_f, B, fun() -> apply(id(?MODULE), id(B), [1]) end),
      p(apply3_m, B, fun() -> apply(id(B), f, [1]) end),
      p(apply3_v, B, fun() -> V:apply(?MODULE, f, B) end),
      p(apply2, B, fun() -> apply(id(F), B), ok end),
      p(apply2_tail, B, fun() -> tail_apply2(id(F), B) end),
      p(apply2_not, B, fun() -> apply(id(foo), B), ok end),
      p(apply2_v, B, fun() -> V:apply(F, B), ok end),
      p(spawn, B, fun() -> spawn(?MODULE, f, B), ok end),
      p(spawn_m, B, fun() -> spawn(B, f, []), ok end),
      p(spawn_f, B, fun() -> spawn(m, B, []), ok end),
      p(spawn_1, B, fun() -> spawn(B), ok end),
      p(spawn_link, B, fun() -> spawn_link(?MODULE, f, B), ok end),
      p(spawn_link_1, B, fun() -> spawn_link(B), ok end),
      p(spawn_monitor1, B, fun() -> spawn_monitor(B), ok end),
      p(spawn_opt, B, fun() -> spawn_opt(?MODULE, f, B, []), ok end),
      p(spawn_opt_o, B, fun() -> spawn_opt(?MODULE, f, [], B), ok end),
      p(spawn_opt_2, B, fun() -> spawn_opt(B, []), ok end),
      p(spawn_opt_2o, B, fun() -> spawn_opt(F, B), ok end),
      p(spawn_opt_3, B, fun() -> spawn_opt(node(), B, []), ok end),
      p(spawn_opt_5, B, fun() -> spawn_opt(node(), m, f, B, []), ok end),
      p(spawn_opt_5o, B, fun() -> spawn_opt(node(), m, f, [], B), ok end),
      p(spawn_request_1, B, fun() -> spawn_request(B), ok end),
      p(spawn_request_3, B, fun() -> spawn_request(?MODULE, f, B), ok end),
      p(spawn_request_4, B, fun() -> is_reference(spawn_request(?MODULE, f, [], B)) end),
      p(hibernate, B, fun() -> hib(fun() -> self() ! x, erlang:hibernate(?MODULE, f, B) end) end),
      p(hibernate_m, B, fun() -> hib(fun() -> self() ! x, erlang:hibernate(B, f, []) end) end),
      p(make_fun, B, fun() -> erlang:make_fun(?MODULE, f, B) end),
      p(make_fun_m, B, fun() -> erlang:make_fun(B, f, 1) end),
      p(make_fun_f, B, fun() -> erlang:make_fun(m, B, 1) end),
      ok
     end || B <- Bad],
    [begin
      ended(N, spawn_monitor(?MODULE, f, L(N))),
      ended(N, spawn_monitor(nomod, f, L(N))),
      ended(N, spawn_monitor(erlang, self, L(N))),
      ended(N, spawn_monitor(erlang, apply, [F, L(N)])),
      ended(N, spawn_monitor(erlang, apply, [E, L(N)])),
      ended(N, spawn_monitor(erlang, apply, [nofun, L(N)])),
      ended(N, spawn_monitor(erlang, apply, [?MODULE, f, L(N)]))
     end || N <- [0 | Counts]],
    [begin
      ended(B, spawn_monitor(erlang, apply, [F, B])),
      ended(B, spawn_monitor(erlang, apply, [nofun, B])),
      ended(B, spawn_monitor(erlang, apply, [?MODULE, f, B])),
      ended(B, spawn_monitor(erlang, apply, [?MODULE, B, []])),
      ended(B, spawn_monitor(erlang, apply, [B])),
      ended(B, spawn_monitor(erlang, error, [B])),
      ended(B, spawn_monitor(erlang, error, [B, B])),
      ended(B, spawn_monitor(erlang, abs, [B]))
     end || B <- [a, [1 | 2], {}, 1 bsl 70]],
    Arities = [0, 256, -1, 1 bsl 27, 1 bsl 64, a, 1.0],
    [begin
      p(pattern, A, fun() -> erlang:trace_pattern({?MODULE, nope, A}, true, []) end),
      p(info, A, fun() -> erlang:trace_info({?MODULE, nope, A}, all) end),
      p(is_function, A, fun() -> is_function(F, id(A)) end),
      p(make_fun, A, fun() -> erlang:fun_info(erlang:make_fun(?MODULE, f, A), arity) end),
      p(exported, A, fun() -> erlang:function_exported(?MODULE, f, A) end),
      p(built_in, A, fun() -> erlang:is_builtin(?MODULE, f, A) end)
     end || A <- Arities],
    Deep = lists:foldl(fun(_, Inner) -> [erlang, apply, Inner] end, [?MODULE, f, [y]], lists:seq(1, 100000)),
    p(deep, 0, fun() -> tail_apply3(erlang, apply, Deep) end),
    p(deep, 1, fun() -> apply(erlang, apply, Deep), ok end),
    p(tail_error, 0, fun() -> tail_error(a) end),
    p(tail_error, 1, fun() -> tail_apply3(erlang, error, [b]) end),
    p(tail_error, 2, fun() -> tail_apply3(erlang, error, [b, [c, d]]) end),
    p(tail_error, 3, fun() -> tail_apply3(erlang, exit, [b]) end),
    p(tail_error, 4, fun() -> tail_apply3(erlang, throw, [b]) end),
    p(tail_error, 5, fun() -> tail_apply3(erlang, abs, [b]) end),
    p(tail_error, 6, fun() -> tail_apply3(lists, keyfind, [b, 1, x]) end),
    p(tail_error, 7, fun() -> tail_apply2(fun erlang:error/1, [b]) end),
    p(tail_error, 8, fun() -> tail_apply2(fun erlang:abs/1, [b]) end),
    p(tail_error, 9, fun() -> tail_apply3(erlang, apply, [erlang, error, [b]]) end),
    p(tail_error, 10, fun() -> tail_apply3(erlang, apply, [erlang, abs, [b]]) end),
    p(tail_error, 11, fun() -> tail_apply3(erlang, apply, [fun erlang:abs/1, [b]]) end),
    p(tail_error, 12, fun() -> tail_apply3(nomod, nofun, [b]) end),
    p(tail_error, 13, fun() -> tail_apply3(?MODULE, nofun, [b]) end),
    p(tail_error, 14, fun() -> tail_apply3(erlang, raise, [error, x, []]) end),
    p(tail_error, 15, fun() -> tail_apply3(erlang, nif_error, [x]) end),
    p(tail_error, 16, fun() -> tail_apply3(erlang, '+', [x, 1]) end),
    p(tail_error, 17, fun() -> tail_apply3(erlang, hd, [x]) end),
    p(tail_error, 18, fun() -> (id(erlang)):error(x) end),
    p(tail_error, 19, fun() -> (id(erlang)):abs(x) end),
    p(tail_error, 20, fun() -> tail_apply2(fun(X) -> X end, []) end),
    p(tail_error, 21, fun() -> tail_apply2(fun ?MODULE:id/1, []) end),
    p(tail_error, 22, fun() -> tail_apply2(fun ?MODULE:nope/0, []) end).

tail_apply3(M, F, A) -> apply(M, F, A).
tail_apply2(F, A) -> apply(F, A).
tail_error(A) -> (id(erlang)):error(A).
f(x) -> x.

ended(What, {P, R}) ->
    receive {'DOWN', R, process, P, Reason} -> io:format("~w ~w~n", [shown(What), shown(Reason)]) after 10000 -> none end.

hib(F) ->
    {P, R} = spawn_monitor(fun() -> try F() catch C:X:S -> exit({caught, C, shown(X), top(S)}) end end),
    receive {'DOWN', R, process, P, Reason} -> {down, shown(Reason)} after 2000 -> none end.

p(What, N, F) ->
    Result = try F() catch C:R:S -> {C, shown(R), top(S)} end,
    io:format("~w ~w ~w~n", [What, shown(N), shown(Result)]).

top(S) -> [{M, F, shown(A)} || {M, F, A, _} <- lists:sublist(S, 3), M =/= erl_eval].
shown(L) when is_list(L), L =/= [] -> case catch length(L) of N when is_integer(N), N > 20 -> {list, N}; N when is_integer(N) -> [shown(X) || X <- L]; _ -> improper end;
shown(T) when is_tuple(T) -> list_to_tuple([shown(X) || X <- tuple_to_list(T)]);
shown(F) when is_function(F) -> a_fun;
shown(P) when is_pid(P) -> pid;
shown(P) when is_reference(P) -> reference;
shown(X) -> X.
