%% Each function's name begins with the verdict on what is built in it. A function whose name begins with `mixed` is
%% there for others.
-module(verdicts).
-export([always_sent/2, always_in_tuple/2, always_on_both_paths/3, always_built_by_helper/2,
         always_unless_it_fails/3, always_list/2, always_spawned/1, always_stored/2,
         perhaps_stored/2, always_call/2, always_after_reverse/2, always_twice/3,
         perhaps_on_one_path/3, perhaps_returned/1, perhaps_unknown/1, perhaps_put/1,
         perhaps_thrown/1, perhaps_caught/2, perhaps_element_sent/2, perhaps_in_fun/2,
         perhaps_by_fun/2, perhaps_tail_sent/2, perhaps_in_loop/2, perhaps_in_stack_trace/1,
         perhaps_old_slot/3, perhaps_guard/2, perhaps_map/2, always_message_part/1,
         perhaps_written/2, never_dead/1, never_looked_at/2, never_local/2, never_container/2,
         never_in_accumulator/2, never_container_tail/2, never_before_loop/2, mixed_helpers/2]).
-record(r, {a, b, c}).

always_sent(P, X) -> P ! {msg, X}, ok.

always_in_tuple(P, X) -> T = {inner, X}, P ! [T, T], ok.

always_on_both_paths(P, Q, X) ->
    M = {m, X},
    case X of
        1 -> P ! M;
        _ -> Q ! {other, M}
    end,
    ok.

always_build(X) -> {built, X}.
always_built_by_helper(P, X) -> P ! always_build(X), ok.

always_unless_it_fails(P, Q, X) ->
    M = {m, X},
    case X of
        1 -> P ! M;
        2 -> Q ! M;
        _ -> error(bad)
    end,
    ok.

always_list(P, N) -> P ! always_count(N, []), ok.
always_count(0, L) -> L;
always_count(N, L) -> always_count(N - 1, [N | L]).

always_spawned(X) -> spawn(erlang, display, [{x, X}]), ok.

%% Either a row or a list of rows may be given, and the list is not stored.
perhaps_stored(T, X) -> ets:insert(T, {key, X}), ok.

always_stored(T, X) -> ets:insert(T, mixed_list(always_row(X))), ok.
mixed_list(X) -> [X].
always_row(X) -> {key, X}.

always_call(S, X) -> gen_server:call(S, {do, X}), ok.

%% The cells go to a function that copies them; the tuples in them are sent.
always_after_reverse(P, L) -> mixed_reversed(P, L, []).
mixed_reversed(P, [H | T], A) -> mixed_reversed(P, T, [always_pair(H) | A]);
mixed_reversed(P, [], A) -> P ! lists:reverse(A), ok.
always_pair(H) -> {pair, H}.

always_twice(P, Q, X) ->
    M = {m, X},
    P ! M,
    case X of
        1 -> Q ! M;
        _ -> ok
    end,
    ok.

perhaps_on_one_path(P, Q, X) ->
    M = {m, X},
    case X of
        1 -> P ! M;
        _ -> Q ! hello
    end,
    ok.

perhaps_returned(X) -> {ok, X}.

perhaps_unknown(X) -> io:format("~p", [X]), ok.

perhaps_put(X) -> put(key, {x, X}), ok.

perhaps_thrown(X) -> throw({x, X}).

perhaps_caught(P, X) ->
    M = {m, X},
    try
        mixed_helper(X),
        ok
    catch
        _:_ -> P ! M, failed
    end.

perhaps_element_sent(P, X) ->
    %% Of the outer tuple only the element is sent, of which the analysis does not know the place.
    T = mixed_pair({m, X}),
    P ! element(1, T),
    ok.
mixed_pair(X) -> {X, 1}.

perhaps_in_fun(P, X) -> M = {m, X}, mixed_run(fun() -> P ! M end).
mixed_run(F) -> F(), ok.

perhaps_by_fun(F, X) -> F({m, X}), ok.

perhaps_tail_sent(P, X) -> [_ | T] = mixed_two(X), P ! T, ok.
mixed_two(X) -> [a, X].

perhaps_in_loop(P, X) ->
    M = {m, X},
    receive
        go -> P ! M, ok;
        stop -> ok
    end.

perhaps_in_stack_trace(X) -> length({X, X}).

perhaps_old_slot(P, X, Y) ->
    M = {m, X},
    try mixed_helper(Y)
    catch error:_ -> ok
    end,
    try mixed_helper(X)
    catch error:_ -> P ! M, ok
    end.

perhaps_guard(P, X) -> M = {m, X}, case mixed_helper(X) of Y when Y > 1 -> P ! M; _ -> ok end, ok.

perhaps_map(P, X) -> M = #{a => {m, X}}, case X of 1 -> P ! maps:get(a, M); _ -> ok end, ok.

always_message_part(X) -> receive {P, Y} -> P ! {X, Y}, ok after 10 -> X end.

perhaps_written(P, X) ->
    R = #r{a = {X}, b = X},
    R2 = R#r{b = {X, 2}, c = {X, 3}},
    case X of
        1 -> P ! R2;
        _ -> ok
    end,
    ok.

never_dead(X) -> mixed_first({x, X}, 2), ok.
mixed_first(_, Y) -> Y.

never_looked_at(X, Y) -> {x, X} =:= Y.

never_local(X, Y) ->
    T = {X, Y},
    case Y of
        1 -> mixed_left(T);
        _ -> mixed_right(T)
    end.
mixed_left(T) -> is_tuple(T).
mixed_right(T) -> is_list(T).

%% What a tuple holds is sent, the tuple is not.
never_container(P, X) -> T = {P, X}, mixed_helper(X), mixed_send(T).
mixed_send(T) -> case T of {P, X} -> P ! X, ok; _ -> ok end.

never_in_accumulator(X, Y) -> mixed_drop(X, [Y]).
mixed_drop(1, L) -> is_list(L);
mixed_drop(X, L) -> is_map(L), X > 1.

never_container_tail(P, X) -> mixed_each(P, [X]).
mixed_each(P, L) -> case L of [H | T] -> P ! H, mixed_each(P, T); _ -> ok end.

never_before_loop(X, Y) -> T = {X, Y}, receive go -> is_tuple(T); {Z, _} -> Z end.

mixed_helpers(X, Y) -> {mixed_helper(X), Y}.
mixed_helper(X) -> self() ! X, X.
