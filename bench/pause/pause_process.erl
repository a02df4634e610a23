%% A process with much live data goes on allocating; another wakes every millisecond. What matters
%% are the longest step of the first (a collection of its heap stops it) and the longest wait of the second, which can
%% wake for some seconds with nothing else to do first, to see what the machine does by itself.
-module(pause_process).
-export([main/1, live/2, tick/2]).

main(Args) ->
    [Megabytes, Seconds, Idle] = numbers(Args, [100, 5, 0]),
    Ticker = spawn_opt(?MODULE, tick, [self(), erlang:monotonic_time(microsecond)], [{priority, high}]),
    idle(Idle, Ticker),
    Live = live(Megabytes * 1000000 div 160, []),
    %% Only Atoll has it.
    catch atoll_heap:count_pauses_from_now(),
    Now = erlang:monotonic_time(microsecond),
    Ticker ! clear,
    {Steps, Longest, Kept} = allocate(Now, Now + Seconds * 1000000, 0, 0, [], 0),
    Ticker ! {stop, self()},
    Gaps = gaps(),
    io:format("pause_process ~w MB live: ~w entries~n", [Megabytes, length(Live)]),
    io:format(standard_error, "steps: ~w, kept ~w~n", [Steps, Kept]),
    report("", Gaps),
    io:format(standard_error, "result: pause_process ~w us~n", [Longest]).

idle(0, _) -> ok;
idle(Seconds, Ticker) ->
    Ticker ! clear,
    timer:sleep(Seconds * 1000),
    Ticker ! {tell, self()},
    report(", idle", gaps()).

gaps() -> receive {gaps, Gaps} -> Gaps end.

%% An entry is 20 words: a cons of 2 and a tuple with a list of 6 elements.
live(0, List) -> List;
live(N, List) -> live(N - 1, [{N, N, N, N, [N, N, N, N, N, N]} | List]).

%% A step makes a few kilobytes and keeps a little of it for a while.
allocate(Last, End, Steps, Longest, _, Kept) when Last >= End -> {Steps, Longest, Kept};
allocate(Last, End, Steps, Longest, Window, Kept) ->
    New = live(100, []),
    Window1 = case Steps rem 1000 of 0 -> []; _ -> [hd(New) | Window] end,
    Now = erlang:monotonic_time(microsecond),
    allocate(Now, End, Steps + 1, max(Longest, Now - Last), Window1, Kept + length(tl(New)) div 99).

tick(Parent, Start) -> tick(Parent, Start, []).

tick(Parent, Last, Gaps) ->
    receive
        clear -> tick(Parent, erlang:monotonic_time(microsecond), []);
        {tell, To} -> To ! {gaps, Gaps}, tick(Parent, erlang:monotonic_time(microsecond));
        {stop, To} -> To ! {gaps, Gaps}
    after 1 ->
            Now = erlang:monotonic_time(microsecond),
            tick(Parent, Now, [Now - Last | Gaps])
    end.

report(_, []) -> ok;
report(When, Gaps) ->
    Sorted = list_to_tuple(lists:sort(Gaps)),
    N = tuple_size(Sorted),
    io:format(standard_error, "tick gaps~s: ~w, median ~w us, 99% ~w us, 99.9% ~w us, longest ~w us~n",
              [When, N | [element(max(1, N * P div 1000), Sorted) || P <- [500, 990, 999, 1000]]]).

numbers(Args, Defaults) ->
    Given = [list_to_integer(A) || A <- Args],
    Given ++ lists:nthtail(length(Given), Defaults).
