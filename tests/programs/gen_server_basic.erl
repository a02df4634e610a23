%% A gen_server: call, cast, info, timeout, stop, crash, deferred replies, names, code for unknown calls.
-module(gen_server_basic).
-behaviour(gen_server).
-export([main/1, init/1, handle_call/3, handle_cast/2, handle_info/2, handle_continue/2, terminate/2]).

main(_) ->
    logger:set_primary_config(level, none),
    process_flag(trap_exit, true),
    {ok, P} = gen_server:start_link({local, counter}, ?MODULE, {self(), 10}, []),
    p(gen_server:call(counter, get)),
    p(gen_server:cast(counter, {add, 5})),
    p(gen_server:call(P, get)),
    counter ! {note, hello},
    p(receive {noted, X} -> X after 20000 -> none end),
    p(gen_server:call(P, deferred)),
    p(gen_server:call(P, set_timeout)),
    p(receive timed_out -> timed_out after 20000 -> none end),
    p(try gen_server:call(P, slow, 20) catch exit:{timeout, {M, F, _}} -> {timeout, M, F} end),
    receive after 60 -> ok end,
    p(sys:get_state(P)),
    p(gen_server:start_link({local, counter}, ?MODULE, {self(), 1}, []) =:= {error, {already_started, P}}),
    p([catch_exit(fun() -> gen_server:call(no_such_server, x) end), catch_exit(fun() -> gen_server:call(P, crash) end)]),
    p(receive {'EXIT', P, {bad_thing, _}} -> linked_exit after 20000 -> none end),
    p([receive {terminated, R} -> short(R) after 20000 -> none end]),
    p(gen_server:start(?MODULE, stop_in_init, [])), p(gen_server:start(?MODULE, ignore, [])),
    {ok, P2} = gen_server:start(?MODULE, {self(), 0}, []),
    [gen_server:cast(P2, {add, N}) || N <- lists:seq(1, 1000)],
    p(gen_server:call(P2, get)),
    p(gen_server:stop(P2)),
    p(receive {terminated, R2} -> R2 after 20000 -> none end),
    {ok, P3} = gen_server:start(?MODULE, {self(), 0}, []),
    Reqs = [gen_server:send_request(P3, {mul, N}) || N <- [1, 2, 3]],
    p([gen_server:receive_response(Q, 20000) || Q <- Reqs]),
    p(gen_server:call(P3, stop_now)),
    p(receive {terminated, R3} -> R3 after 20000 -> none end),
    p(is_process_alive(P3)),
    {ok, P4} = gen_server:start(?MODULE, {continue, self()}, []),
    p(receive continued -> continued after 20000 -> none end),
    p(gen_server:call(P4, get)),
    p(lists:map(fun({_, S}) -> S end, gen_server_multi())).

gen_server_multi() ->
    Ps = [element(2, gen_server:start(?MODULE, {self(), N}, [])) || N <- lists:seq(1, 5)],
    [{P, gen_server:call(P, get)} || P <- Ps].

init(stop_in_init) -> {stop, no_start};
init(ignore) -> ignore;
init({continue, To}) -> {ok, {To, 0}, {continue, go}};
init({To, N}) -> {ok, {To, N}}.

handle_continue(go, {To, N}) -> To ! continued, {noreply, {To, N + 100}}.

handle_call(get, _, {_, N} = S) -> {reply, N, S};
handle_call({mul, K}, _, {_, N} = S) -> {reply, {K, N * K}, S};
handle_call(deferred, From, S) -> self() ! {later, From}, {noreply, S};
handle_call(set_timeout, _, S) -> {reply, ok, S, 10};
handle_call(slow, _, S) -> timer:sleep(50), {reply, late, S};
handle_call(stop_now, _, S) -> {stop, normal, stopping, S};
handle_call(crash, _, _) -> error(bad_thing).

handle_cast({add, K}, {To, N}) -> {noreply, {To, N + K}}.

handle_info({note, X}, {To, _} = S) -> To ! {noted, X}, {noreply, S};
handle_info({later, From}, S) -> gen_server:reply(From, deferred_reply), {noreply, S};
handle_info(timeout, {To, _} = S) -> To ! timed_out, {noreply, S};
handle_info(_, S) -> {noreply, S}.

terminate(Reason, {To, _}) -> To ! {terminated, Reason}.

catch_exit(F) -> try F() catch exit:{R, {M, Fn, _}} -> {short(R), M, Fn} end.

short({R, [_ | _]}) -> R;
short(R) -> R.

p(X) when is_tuple(X), element(1, X) =:= ok, is_pid(element(2, X)) -> io:format("ok pid~n");
p({S, _} = X) when is_pid(S) -> io:format("state ~w~n", [element(2, X)]);
p(X) -> io:format("~p~n", [X]).
