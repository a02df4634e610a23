%% system_info items that programs read, by type and by value where the value is fixed.
-module(system_info).
-export([main/1]).

main(_) ->
    p([erlang:system_info(I) || I <- [wordsize, {wordsize, internal}, {wordsize, external}, smp_support, threads, otp_release, machine, endian, debug_compiled]]),
    p([is_integer(erlang:system_info(I)) || I <- [process_count, process_limit, port_count, port_limit, atom_count, atom_limit, schedulers, schedulers_online, logical_processors, ets_limit]]),
    p([is_list(erlang:system_info(I)) || I <- [version, system_version, system_architecture]]),
    p(element(1, erlang:system_info(fullsweep_after))),
    p(erlang:system_info(min_heap_size)),
    p(lists:sort([K || {K, _} <- erlang:memory()])),
    p([is_integer(erlang:memory(K)) || K <- [total, processes, binary, ets, atom]]),
    p([{Area, Bytes > 0} || {Area, Bytes} <- erlang:system_info(allocated_areas), lists:member(Area, [atom_table, loaded_code])]),
    p([b(fun() -> erlang:system_info(no_such_item) end), b(fun() -> erlang:memory(no) end)]),
    p([node(), nodes(), is_alive(), erlang:get_cookie()]),
    p([is_list(erlang:loaded()), lists:member(lists, erlang:loaded()), is_list(erlang:pre_loaded()), erlang:is_builtin(lists, reverse, 2)]),
    p(erlang:system_flag(backtrace_depth, 8)),
    p([erts_debug:flat_size(T) || T <- [1, a, [], [1], [1, 2], {}, {1, 2}, 1.0, 1 bsl 70, "ab", {a, [b]}, #{a => 1}]]),
    p([erts_debug:size(T) || T <- [[1, 2], begin X = {x}, {X, X} end]]),
    p([os:type(), is_list(os:getenv()), os:getenv("SURELY_NOT_SET_ANYWHERE"), os:putenv("TEST_VARIABLE", "value"), os:getenv("TEST_VARIABLE"), os:unsetenv("TEST_VARIABLE"), os:getenv("TEST_VARIABLE")]),
    p([init:get_argument(no_such), is_list(init:get_arguments()), init:get_status()]).

b(F) -> try F() catch C:R -> {C, R} end.

p(X) -> io:format("~w~n", [X]).
