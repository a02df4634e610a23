%% Calls a native library that was written in Rust, with rustler.
-module(rust_library).
-export([main/1]).
-nifs([add/2, moved/1, reversed/1, counter/1, count/1, watch/2, lent/1, from_thread/2, panics/0, sum/1]).

add(_, _) -> erlang:nif_error(not_loaded).
moved(_) -> erlang:nif_error(not_loaded).
reversed(_) -> erlang:nif_error(not_loaded).
counter(_) -> erlang:nif_error(not_loaded).
count(_) -> erlang:nif_error(not_loaded).
watch(_, _) -> erlang:nif_error(not_loaded).
lent(_) -> erlang:nif_error(not_loaded).
from_thread(_, _) -> erlang:nif_error(not_loaded).
panics() -> erlang:nif_error(not_loaded).
sum(_) -> erlang:nif_error(not_loaded).

main(_) ->
    ok = erlang:load_nif(filename:join(filename:dirname(code:which(?MODULE)), "librust_library"), 0),
    show({add(1, 2), add(1 bsl 60, 1)}),
    show([catch_reason(fun() -> add(A, 1) end) || A <- [1 bsl 70, x, 1.0]]),
    show([moved({circle, #{x => 1, y => 2.5}, 7}), moved(nothing), catch_reason(fun() -> moved(other) end)]),
    show([reversed(Bytes) =:= list_to_binary(lists:reverse(binary_to_list(Bytes)))
          || Bytes <- [<<>>, <<"abc">>, binary:copy(<<"0123456789">>, 100000)]]),
    Counter = counter(41),
    show({is_reference(Counter), count(Counter), count(Counter), catch_reason(fun() -> count(make_ref()) end)}),
    show(watch(Counter, spawn(fun() -> ok end))),
    show([erlang:crc32(lent(Size)) || Size <- [0, 10, 1000, 1000000]]),
    ok = from_thread(self(), <<"text"/utf8>>),
    receive {done, Text} -> show(Text) after 10000 -> show(nothing) end,
    show(catch_reason(fun panics/0)),
    show([sum(lists:seq(1, 1000)), catch_reason(fun() -> sum([1, a]) end)]),
    Self = self(),
    Pids = [spawn_link(fun() -> Self ! {self(), lists:sum([add(N, M) || M <- lists:seq(1, 10000)])} end)
            || N <- lists:seq(1, 10)],
    show([receive {Pid, Sum} -> Sum end || Pid <- Pids]).

catch_reason(Work) ->
    try Work() catch error:Reason -> Reason end.

show(Term) -> io:format("~p~n", [Term]).
