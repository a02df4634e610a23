%% A gen_statem: a door with a code, state timeouts, postponed events, state enter calls.
-module(gen_statem_basic).
-behaviour(gen_statem).
-export([main/1, init/1, callback_mode/0, locked/3, open/3, terminate/3]).

main(_) ->
    logger:set_primary_config(level, none),
    {ok, P} = gen_statem:start(?MODULE, {self(), [1, 2, 3]}, []),
    drain(P),
    [gen_statem:cast(P, {button, B}) || B <- [1, 2, 9, 1, 2, 3]],
    io:format("~w~n", [gen_statem:call(P, state)]),
    drain(P),
    io:format("~w~n", [gen_statem:call(P, wait_locked)]),
    drain(P),
    io:format("~w~n", [gen_statem:call(P, state)]),
    P ! some_info,
    drain(P),
    io:format("~w~n", [gen_statem:stop(P)]),
    events().

%% All that the door has been told so far is done when it answers, however slow the machine is.
drain(P) -> sys:get_state(P), events().

events() -> receive {event, E} -> io:format("event ~w~n", [E]), events() after 0 -> ok end.

callback_mode() -> [state_functions, state_enter].

init({To, Code}) -> {ok, locked, #{to => To, code => Code, left => Code}}.

locked(enter, Old, #{to := To} = D) -> To ! {event, {enter_locked, Old}}, {keep_state, D#{left := maps:get(code, D)}};
locked(cast, {button, B}, #{left := [B]} = D) -> {next_state, open, D, [{state_timeout, 600, lock}]};
locked(cast, {button, B}, #{left := [B | Rest]} = D) -> {keep_state, D#{left := Rest}};
locked(cast, {button, B}, #{to := To, code := Code} = D) -> To ! {event, {wrong, B}}, {keep_state, D#{left := Code}};
locked({call, From}, wait_locked, _) -> {keep_state_and_data, [{reply, From, is_locked}]};
locked(Type, Content, D) -> common(Type, Content, locked, D).

open(enter, Old, #{to := To}) -> To ! {event, {enter_open, Old}}, keep_state_and_data;
open(state_timeout, lock, D) -> {next_state, locked, D};
open({call, _}, wait_locked, _) -> {keep_state_and_data, [postpone]};
open(Type, Content, D) -> common(Type, Content, open, D).

common({call, From}, state, State, _) -> {keep_state_and_data, [{reply, From, State}, {next_event, internal, asked}]};
common(internal, asked, _, #{to := To}) -> To ! {event, internal}, keep_state_and_data;
common(info, I, _, #{to := To}) -> To ! {event, {info, I}}, keep_state_and_data.

terminate(R, S, #{to := To}) -> To ! {event, {terminate, R, S}}.
