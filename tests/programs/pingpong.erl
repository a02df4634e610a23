%% Two processes exchange messages of growing size.
-module(pingpong).
-export([main/1, pong/0]).

main(_) ->
    Pong = spawn(?MODULE, pong, []),
    Sizes = [0, 1, 2, 5, 10, 31, 32, 33, 64, 65, 100, 1000, 10000],
    [begin
         List = lists:seq(1, N),
         Pong ! {self(), {list, List, list_to_tuple(List), [float(X) || X <- List]}},
         receive
             {Pong, {list, L, T, F}} ->
                 io:format("~w ~w ~w ~w ~w~n", [N, L =:= List, tuple_size(T), lists:sum(F), lists:sum(L)])
         end
     end || N <- Sizes],
    Pong ! {self(), stop},
    receive {Pong, stopped, N} -> io:format("pong answered ~w~n", [N]) end.

pong() -> pong(0).
pong(N) ->
    receive
        {From, stop} -> From ! {self(), stopped, N};
        {From, Message} -> From ! {self(), Message}, pong(N + 1)
    end.
