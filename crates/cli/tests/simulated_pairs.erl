%% What one process sends another arrives in the order in which it was sent: messages, messages to an alias, exit
%% signals, the end of a link, of a monitor and of the sender. What a third process sends may come in between.
-module(simulated_pairs).
-export([main/1]).

main(_) ->
    process_flag(trap_exit, true),
    Self = self(),
    Alias = alias(),
    Sender = spawn(fun() -> receive go -> ok end, send(Self, Alias) end),
    Monitor = monitor(process, Sender),
    Other = spawn(fun() -> [Self ! {other, Number} || Number <- lists:seq(1, 5)] end),
    Sender ! go,
    Got = [receive Message -> name(Message, Sender, Monitor) end || _ <- lists:seq(1, 13)],
    Of = fun(Who) -> [What || {By, What} <- Got, By =:= Who] end,
    atoll_simulate:always(in_order, Of(sender) =:= [1, alias, 2, exit, 3, link, 'end', down]),
    atoll_simulate:always(the_other_in_order, Of(other) =:= [1, 2, 3, 4, 5]),
    Places = [Place || {Place, {other, _}} <- lists:zip(lists:seq(1, 13), Got)],
    atoll_simulate:sometimes(the_other_between, hd(Places) > 1 andalso lists:last(Places) < 13),
    atoll_simulate:sometimes(behind_the_end, hd(Places) =:= 9),
    unlink(Other),
    io:format("~p~n", [Got]).

send(To, Alias) ->
    To ! {self(), 1, large()},
    Alias ! {self(), alias, large()},
    To ! {self(), 2, large()},
    exit(To, {exit, large()}),
    To ! {self(), 3, large()},
    link(To),
    %% Ask and wait, so that what was sent has arrived and the link is there, or is not.
    true = is_process_alive(To),
    To ! {self(), link, large()},
    exit({'end', large()}).

%% Garbage, so that collections happen.
large() ->
    lists:seq(1, 200).

name({Sender, What, _}, Sender, _) -> {sender, What};
name({'EXIT', Sender, {What, _}}, Sender, _) -> {sender, What};
name({'DOWN', Monitor, process, Sender, {'end', _}}, Sender, Monitor) -> {sender, down};
name({other, Number}, _, _) -> {other, Number}.
