%% Supervisors: restart strategies, intensity, children in order, dynamic children.
-module(supervisor_basic).
-behaviour(supervisor).
-export([main/1, init/1, start_worker/2, worker/2]).

main(_) ->
    logger:set_primary_config(level, none),
    process_flag(trap_exit, true),
    [strategy(S, N) || {S, N} <- [{one_for_one, 1}, {one_for_all, 3}, {rest_for_one, 2}]],
    {ok, D} = supervisor:start_link(?MODULE, {dynamic, self()}),
    Cs = [element(2, supervisor:start_child(D, [N])) || N <- [1, 2, 3]],
    p(started(D, 3)),
    p(proplists:get_value(active, supervisor:count_children(D))),
    p(supervisor:terminate_child(D, hd(Cs))),
    p(proplists:get_value(active, supervisor:count_children(D))),
    unlink(D), exit(D, shutdown),
    wait_dead([D | Cs]),
    p(lists:any(fun is_process_alive/1, [D | Cs])),
    %% Too many restarts end the supervisor.
    {ok, S} = supervisor:start_link(?MODULE, {one_for_one, self(), 1}),
    p(started(S, 3)),
    exit(child(S, a), crash), p(started(S, 1)),
    exit(child(S, a), crash),
    p(receive {'EXIT', S, R} -> R after 20000 -> none end),
    p(supervisor:start_link(?MODULE, bad_start) =:= {error, {bad_start, x}}),
    p(element(1, supervisor:start_link(?MODULE, bad_start))).

%% `Restarted` children start again when the second of three has crashed.
strategy(Strategy, Restarted) ->
    {ok, S} = supervisor:start_link(?MODULE, {Strategy, self(), 10}),
    p({Strategy, started(S, 3)}),
    exit(child(S, b), crash),
    p({restarted, started(S, Restarted)}),
    p([Id || {Id, _, _, _} <- supervisor:which_children(S)]),
    p(supervisor:terminate_child(S, a)), p(supervisor:restart_child(S, a) =/= x), p(started(S, 1)),
    p(supervisor:delete_child(S, b)),
    p(element(1, supervisor:start_child(S, #{id => d, start => {?MODULE, start_worker, [self(), d]}}))), p(started(S, 1)),
    Ps = [P || {_, P, _, _} <- supervisor:which_children(S)],
    unlink(S), exit(S, shutdown), wait_dead([S | Ps]),
    p(lists:any(fun is_process_alive/1, [S | Ps])).

child(S, Id) -> {_, P, _, _} = lists:keyfind(Id, 1, supervisor:which_children(S)), P.

%% The next `Count` children that start, and those that the supervisor has started beyond them when it answers.
started(S, 0) -> _ = supervisor:count_children(S), more();
started(S, Count) -> receive {started, N} -> [N | started(S, Count - 1)] after 20000 -> [missing] end.

more() -> receive {started, N} -> [N | more()] after 0 -> [] end.

wait_dead(Ps) -> [begin R = monitor(process, P), receive {'DOWN', R, _, _, _} -> ok end end || P <- Ps].

init(bad_start) -> {ok, {#{}, [#{id => x, start => {erlang, error, [x]}}]}};
init({dynamic, To}) -> {ok, {#{strategy => simple_one_for_one}, [#{id => w, start => {?MODULE, start_worker, [To]}}]}};
init({Strategy, To, Intensity}) ->
    {ok, {#{strategy => Strategy, intensity => Intensity, period => 10},
          [#{id => Id, start => {?MODULE, start_worker, [To, Id]}, shutdown => 100} || Id <- [a, b, c]]}}.

start_worker(To, Id) -> proc_lib:start_link(?MODULE, worker, [To, Id]).

%% The supervisor starts the next child behind the answer.
worker(To, Id) -> To ! {started, Id}, proc_lib:init_ack({ok, self()}), receive stop -> ok end.

p(X) -> io:format("~p~n", [X]).
