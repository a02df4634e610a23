%% Clocks, unique integers and references: their relations, never their values.
-module(time_unique).
-export([main/1]).

main(_) ->
    T = [erlang:monotonic_time() || _ <- lists:seq(1, 1000)], p(T =:= lists:sort(T)),
    p([is_integer(erlang:monotonic_time(U)) || U <- [second, millisecond, microsecond, nanosecond, native, perf_counter, 10]]),
    p(abs(erlang:system_time() - (erlang:monotonic_time() + erlang:time_offset())) < erlang:convert_time_unit(1, second, native)),
    p([is_integer(erlang:system_time(second)), is_integer(os:system_time()), tuple_size(os:timestamp()), tuple_size(erlang:timestamp())]),
    p([element(1, date()) > 2000, tuple_size(time()), tuple_size(erlang:localtime()), calendar:valid_date(element(1, erlang:universaltime()))]),
    U = [erlang:unique_integer() || _ <- lists:seq(1, 1000)], p(length(lists:usort(U))),
    M = [erlang:unique_integer([monotonic]) || _ <- lists:seq(1, 100)], p(M =:= lists:usort(M)),
    p([erlang:unique_integer([positive]) > 0, erlang:unique_integer([monotonic, positive]) > 0]),
    R = [make_ref() || _ <- lists:seq(1, 1000)], p(length(lists:usort(R))),
    Self = self(),
    [spawn(fun() -> Self ! [{make_ref(), erlang:unique_integer()} || _ <- lists:seq(1, 100)] end) || _ <- lists:seq(1, 10)],
    All = lists:append([receive L when is_list(L) -> L end || _ <- lists:seq(1, 10)]),
    p({length(lists:usort([X || {X, _} <- All])), length(lists:usort([X || {_, X} <- All]))}),
    T0 = erlang:monotonic_time(millisecond), receive after 15 -> ok end, T1 = erlang:monotonic_time(millisecond), p(T1 - T0 >= 14),
    p([b(fun() -> erlang:monotonic_time(bad) end), b(fun() -> erlang:unique_integer([bad]) end), b(fun() -> erlang:convert_time_unit(a, second, native) end)]),
    {A, _} = statistics(reductions), p(A > 0), p([tuple_size(statistics(runtime)), tuple_size(statistics(wall_clock))]),
    p([is_integer(statistics(run_queue)), tuple_size(statistics(garbage_collection)), element(1, element(1, statistics(io)))]).

b(F) -> try F() catch C:R -> {C, R} end.

p(X) -> io:format("~w~n", [X]).
