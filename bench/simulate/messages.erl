%% Twenty processes in a ring that do nothing but send and receive: the program for which a simulated schedule costs
%% most beside a real one.
-module(messages).
-export([main/1]).

main([]) -> main(["400000"]);
main([Rounds]) ->
    Count = list_to_integer(Rounds),
    Self = self(),
    Pids = [spawn(fun() -> receive {next, Next} -> rounds(Self, Next, Count) end end) || _ <- lists:seq(1, 20)],
    [Pid ! {next, Next} || {Pid, Next} <- lists:zip(Pids, tl(Pids) ++ [hd(Pids)])],
    [receive {Pid, done} -> ok end || Pid <- Pids].

rounds(Main, _, 0) -> Main ! {self(), done};
rounds(Main, Next, Left) ->
    Next ! {work, Left},
    receive {work, _} -> rounds(Main, Next, Left - 1) end.
