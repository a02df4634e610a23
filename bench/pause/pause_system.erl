%% Live data spread over many processes, all of which go on allocating and exchanging messages;
%% a ticker wakes every millisecond. What matters is its longest wait.
-module(pause_system).
-export([main/1, live/2, worker/3]).

main(Args) ->
    [Megabytes, Seconds, Processes] = numbers(Args, [100, 5, 100]),
    Entries = Megabytes * 1000000 div 160 div Processes,
    Workers = [spawn(?MODULE, worker, [self(), Entries, N]) || N <- lists:seq(1, Processes)],
    [receive {ready, W} -> ok end || W <- Workers],
    process_flag(priority, high),
    join(Workers, Workers),
    Start = erlang:monotonic_time(microsecond),
    Gaps = tick(Start, Start + Seconds * 1000000, []),
    [W ! {stop, self()} || W <- Workers],
    Live = lists:sum([receive {live, W, N} -> N end || W <- Workers]),
    io:format("pause_system ~w MB live in ~w processes: ~w entries~n", [Megabytes, Processes, Live]),
    Sorted = list_to_tuple(lists:sort(Gaps)),
    N = tuple_size(Sorted),
    io:format(standard_error, "tick gaps: ~w, median ~w us, 99% ~w us, 99.9% ~w us~n",
              [N | [element(max(1, N * P div 1000), Sorted) || P <- [500, 990, 999]]]),
    io:format(standard_error, "result: pause_system ~w us~n", [element(N, Sorted)]).

%% Each worker passes what it makes to the next.
join([Last], [First | _]) -> Last ! {next, First};
join([W, Next | Rest], Workers) -> W ! {next, Next}, join([Next | Rest], Workers).

worker(Parent, Entries, N) ->
    Live = live(Entries, []),
    Parent ! {ready, self()},
    Next = receive {next, P} -> P end,
    work(Parent, Next, Live, N).

work(Parent, Next, Live, N) ->
    receive
        {stop, To} -> To ! {live, self(), length(Live)};
        {data, _} -> work(Parent, Next, Live, N)
    after 0 ->
            New = live(100, []),
            case N rem 64 of
                0 -> Next ! {data, hd(New)}, receive after 1 -> ok end;
                _ -> ok
            end,
            work(Parent, Next, Live, N + 1)
    end.

live(0, List) -> List;
live(N, List) -> live(N - 1, [{N, N, N, N, [N, N, N, N, N, N]} | List]).

tick(Last, End, Gaps) when Last >= End -> Gaps;
tick(Last, End, Gaps) ->
    receive after 1 -> ok end,
    Now = erlang:monotonic_time(microsecond),
    tick(Now, End, [Now - Last | Gaps]).

numbers(Args, Defaults) ->
    Given = [list_to_integer(A) || A <- Args],
    Given ++ lists:nthtail(length(Given), Defaults).
