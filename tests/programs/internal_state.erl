%% erts_debug's view of the inside, as far as test suites use it.
-module(internal_state).
-export([main/1]).

main(_) ->
    logger:set_primary_config(level, none),
    p(t(fun() -> erts_debug:get_internal_state(reds_left) end)),
    p(t(fun() -> erts_debug:set_internal_state(wait, deallocations) end)),
    p(erts_debug:set_internal_state(available_internal_state, true)),
    p(erts_debug:get_internal_state(available_internal_state)),
    p(is_integer(erts_debug:get_internal_state(reds_left))),
    p([erts_debug:set_internal_state(W, V) || {W, V} <- [{reds_left, 100}, {wait, deallocations}, {wait, aux_work},
        {wait, thread_progress}, {sleep, 1}, {re_loop_limit, 100}, {re_loop_limit, default}, {unicode_loop_limit, 7},
        {unicode_loop_limit, default}, {binary_loop_limit, 20}, {binary_loop_limit, default}]]),
    p([t(F) || F <- [fun() -> erts_debug:get_internal_state(xyz) end, fun() -> erts_debug:set_internal_state(xyz, 1) end,
        fun() -> erts_debug:set_internal_state(reds_left, x) end]]),
    p(erts_debug:set_internal_state(available_internal_state, false)),
    p([erts_debug:lcnt_clear(), erts_debug:lcnt_collect(), t(fun() -> erts_debug:lcnt_control(mask) end)]),
    p([erts_debug:interpreter_size(), erts_debug:disassemble({lists, map, 2})]).

t(F) -> try F() catch C:R -> {C, R} end.

p(X) -> io:format("~0p~n", [X]).
