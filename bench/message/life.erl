%% Conway's game of life on a torus, each square a process which tells its 8 neighbours its state
%% once a generation. Wilhelmsson 2002, section 6: a 10 by 10 board; its Table 1 counts 800,396
%% messages, which is 1000 generations.
-module(life).
-export([main/1, square/1]).

main(Args) ->
    [Width, Height, Generations] = numbers(Args, [10, 10, 1000]),
    Places = [{X, Y} || Y <- lists:seq(0, Height - 1), X <- lists:seq(0, Width - 1)],
    Start = erlang:monotonic_time(microsecond),
    Squares = maps:from_list([{P, spawn(?MODULE, square, [self()])} || P <- Places]),
    lists:foreach(
      fun({X, Y} = P) ->
              Near = [maps:get({wrap(X + DX, Width), wrap(Y + DY, Height)}, Squares)
                      || DX <- [-1, 0, 1], DY <- [-1, 0, 1], {DX, DY} =/= {0, 0}],
              maps:get(P, Squares) ! {start, P, Near, begins(P), Generations}
      end, Places),
    Board = lists:sort([receive {done, P, State} -> {P, State} end || P <- Places]),
    Micros = erlang:monotonic_time(microsecond) - Start,
    lists:foreach(
      fun(Row) ->
              io:format("~s~n", [[mark(S) || {{_, Y}, S} <- by_row(Board), Y =:= Row]])
      end, lists:seq(0, Height - 1)),
    Living = lists:sum([S || {_, S} <- Board]),
    io:format("life ~wx~w, ~w generations: ~w living~n", [Width, Height, Generations, Living]),
    io:format(standard_error, "result: life ~w us~n", [Micros]).

by_row(Board) -> lists:sort(fun({{X1, Y1}, _}, {{X2, Y2}, _}) -> {Y1, X1} =< {Y2, X2} end, Board).

mark(0) -> $.;
mark(1) -> $*.

%% A glider, which returns to where it was every 40 generations.
begins(P) ->
    Alive = [{1, 0}, {2, 1}, {0, 2}, {1, 2}, {2, 2}],
    case lists:member(P, Alive) of
        true -> 1;
        false -> 0
    end.

wrap(N, Size) -> (N + Size) rem Size.

square(Master) ->
    receive
        {start, Place, Near, State, Generations} ->
            live(Master, Place, Near, State, 0, Generations)
    end.

live(Master, Place, _, State, Generations, Generations) ->
    Master ! {done, Place, State};
live(Master, Place, Near, State, Generation, Generations) ->
    tell(Near, {state, Generation, State}),
    Count = listen(8, Generation, 0),
    live(Master, Place, Near, next(State, Count), Generation + 1, Generations).

tell([], _) -> ok;
tell([Pid | Rest], Message) ->
    Pid ! Message,
    tell(Rest, Message).

%% A neighbour may be a generation ahead: what it says stays in the mailbox until its turn.
listen(0, _, Count) -> Count;
listen(N, Generation, Count) ->
    receive
        {state, Generation, State} -> listen(N - 1, Generation, Count + State)
    end.

next(1, 2) -> 1;
next(_, 3) -> 1;
next(_, _) -> 0.

numbers(Args, Defaults) ->
    Given = [list_to_integer(A) || A <- Args],
    Given ++ lists:nthtail(length(Given), Defaults).
