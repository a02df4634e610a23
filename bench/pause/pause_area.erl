%% A bank of messages lives in many processes (under `hybrid`: in the message area), and a pair of processes goes on replacing them;
%% a ticker wakes every millisecond. What matters is by how much its longest wait exceeds that of a system that does nothing else.
-module(pause_area).
-export([main/1, holder/1, producer/3]).

main(Args) ->
    [Megabytes, Seconds, Processes] = numbers(Args, [500, 5, 1000]),
    process_flag(priority, high),
    Idle = ticks(Seconds),
    %% A message is a list of 50 tuples of 4 words.
    Messages = max(1, Megabytes * 1000000 div (50 * 48) div Processes),
    Holders = list_to_tuple([spawn(?MODULE, holder, [queue:new()]) || _ <- lists:seq(1, Processes)]),
    fill(Messages, tuple_to_list(Holders)),
    [H ! {ready, self()} || H <- tuple_to_list(Holders)],
    [receive {ready, H} -> ok end || H <- tuple_to_list(Holders)],
    Producers = [spawn(?MODULE, producer, [self(), Holders, N]) || N <- [1, 2]],
    Busy = ticks(Seconds),
    [P ! stop || P <- Producers],
    Made = lists:sum([receive {made, P, N} -> N end || P <- Producers]),
    io:format("pause_area ~w MB live in ~w processes~n", [Megabytes, Processes]),
    io:format(standard_error, "ticks: idle ~s; busy ~s; ~w messages made~n", [shown(Idle), shown(Busy), Made]),
    io:format(standard_error, "result: pause_area ~w us~n", [lists:max(Busy) - lists:max(Idle)]).

shown(Gaps) ->
    Sorted = list_to_tuple(lists:sort(Gaps)),
    N = tuple_size(Sorted),
    io_lib:format("median ~w us, 99% ~w us, 99.9% ~w us, longest ~w us",
                  [element(max(1, N * P div 1000), Sorted) || P <- [500, 990, 999, 1000]]).

fill(0, _) -> ok;
fill(N, Holders) ->
    [H ! {keep, message(N)} || H <- Holders],
    fill(N - 1, Holders).

holder(Kept) ->
    receive
        {keep, Message} -> holder(queue:in(Message, Kept));
        {replace, Message} ->
            {_, Rest} = queue:out(Kept),
            holder(queue:in(Message, Rest));
        {ready, To} ->
            To ! {ready, self()},
            holder(Kept)
    end.

%% Acknowledged by nobody, so it rests now and then.
producer(Parent, Holders, N) ->
    receive stop -> Parent ! {made, self(), N}
    after 0 ->
            element(1 + N * 7919 rem tuple_size(Holders), Holders) ! {replace, message(N)},
            N rem 100 =:= 0 andalso receive after 1 -> ok end,
            producer(Parent, Holders, N + 1)
    end.

message(N) -> [{N, X, N, X} || X <- lists:seq(1, 50)].

ticks(Seconds) ->
    Start = erlang:monotonic_time(microsecond),
    tick(Start, Start + Seconds * 1000000, []).

tick(Last, End, Gaps) when Last >= End -> Gaps;
tick(Last, End, Gaps) ->
    receive after 1 -> ok end,
    Now = erlang:monotonic_time(microsecond),
    tick(Now, End, [Now - Last | Gaps]).

numbers(Args, Defaults) ->
    Given = [list_to_integer(A) || A <- Args],
    Given ++ lists:nthtail(length(Given), Defaults).
