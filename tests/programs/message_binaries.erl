%% Large binaries that several processes hold while heaps are collected: a handle is reached from one process's
%% roots and stands on another's list.
-module(message_binaries).
-export([main/1]).

main(_) ->
    [io:format("~p~n", [{<<0:800>>, X}]) || X <- lists:seq(1, 20)],
    Self = self(),
    Keepers = [spawn_link(fun() -> keep([], 40) end) || _ <- lists:seq(1, 4)],
    Binaries = [binary:copy(<<N>>, 100 + N) || N <- lists:seq(1, 40)],
    [K ! {keep, B} || B <- Binaries, K <- Keepers],
    [K ! {sum, Self} || K <- Keepers],
    io:format("~w~n", [[receive {sum, K, S} -> S end || K <- Keepers]]).

keep(Kept, 0) ->
    receive {sum, To} -> To ! {sum, self(), lists:sum([byte_size(B) * binary:first(B) || B <- Kept])} end;
keep(Kept, Left) ->
    receive {keep, B} -> _ = lists:seq(1, 500), keep([B | Kept], Left - 1) end.
