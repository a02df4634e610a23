%% Sequential tracing: setting tokens, what hands them on, and what the system tracer is told.
-module(seq_trace_tokens).
-export([main/1, idle/1, echo/0, answer/1, id/1]).

main(_) ->
    Parts = [fun settings/0, fun tracers/0, fun messages/0, fun neutral/0, fun exits/0, fun spawns/0, fun prints/0, fun times/0,
             fun match_specs/0, fun reset/0],
    [begin Part(), print_shown() end || Part <- Parts].

id(X) -> X.

settings() ->
    show(seq_trace:get_token()),
    show([catch seq_trace:set_token(label, {label, "1"}), seq_trace:get_token()]),
    [show({Item, Value, raised(fun() -> seq_trace:set_token(Item, Value) end)})
     || {Item, Value} <- [{nothing, 1}, {send, nothing}, {serial, {a, b}}, {serial, 1}, {serial, {3, 5}}, {label, <<"x">>},
                          {send, true}, {send, false}, {print, true}, {'receive', true}, {timestamp, true},
                          {monotonic_timestamp, true}, {strict_monotonic_timestamp, true}, {timestamp, false}]],
    [show({Item, raised(fun() -> seq_trace:get_token(Item) end)})
     || Item <- [label, serial, send, 'receive', print, timestamp, monotonic_timestamp, strict_monotonic_timestamp, nothing, 1]],
    show(seq_trace:get_token()),
    show(process_info(self(), sequential_trace_token)),
    show(seq_trace:set_token([])),
    show([raised(fun() -> seq_trace:get_token(Item) end) || Item <- [label, serial, send, print, nothing]]),
    show([seq_trace:set_token(Token) || Token <- [{1, [2], 3, self(), 5}, {7, 2, 3, self(), 5}]]),
    show(seq_trace:set_token([])),
    show([seq_trace:set_token(label, 1), seq_trace:get_token()]),
    show([raised(fun() -> erlang:seq_trace(sequential_trace_token, id(Value)) end) || Value <- [x, [], []]]),
    show(seq_trace:reset_trace()),
    show([seq_trace:set_token(label, 1), seq_trace:get_token()]),
    seq_trace:reset_trace().

tracers() ->
    show(seq_trace:get_system_tracer()),
    show(erlang:system_info(sequential_tracer)),
    [show({Who, raised(fun() -> seq_trace:set_system_tracer(Who) end)}) || Who <- [nobody, 1, true, false]],
    show(seq_trace:set_system_tracer(self())),
    show(seq_trace:get_system_tracer()),
    %% A tracer's own events are not told, nor counted.
    flags([send, 'receive']),
    self() ! something,
    receive something -> ok end,
    show([seq_trace:get_token(), receive Told -> Told after 0 -> nothing end]),
    {Pid, Monitor} = spawn_monitor(?MODULE, idle, [1]),
    true = exit(Pid, kill),
    receive {'DOWN', Monitor, _, _, _} -> ok end,
    show(raised(fun() -> seq_trace:set_system_tracer(Pid) end)),
    {Other, Ref} = spawn_monitor(?MODULE, idle, [1]),
    seq_trace:set_system_tracer(Other),
    exit(Other, kill),
    receive {'DOWN', Ref, _, _, _} -> ok end,
    show(seq_trace:get_system_tracer()),
    seq_trace:set_system_tracer(false),
    seq_trace:reset_trace().

%% Labels are any terms; each message carries them on.
messages() ->
    [begin
         Echo = spawn(?MODULE, echo, []),
         register(seq_echo, Echo),
         T = tracer(),
         seq_trace:set_token(label, Label),
         flags(Flags),
         Echo ! {first, self()},
         receive {first, _} -> ok end,
         A = seq_trace:get_token(),
         seq_echo ! {second, self()},
         receive {second, _} -> ok end,
         Alias = alias([reply]),
         Echo ! {third, Alias},
         receive {third, _} -> ok end,
         erlang:send(Echo, {fourth, self()}, [noconnect]),
         receive {fourth, _} -> ok end,
         B = seq_trace:get_token(),
         show(names([{self(), self}, {Echo, echo}, {Alias, alias}], {Flags, A, B, told(T)})),
         exit(Echo, kill),
         unregister_when_gone(Echo)
     end || {Label, Flags} <- [{17, [send]}, {{label, "long"}, ['receive']}, {lists:duplicate(100, label), []},
                               {<<"binary">>, [send, 'receive', print]}]].

unregister_when_gone(Pid) ->
    Ref = monitor(process, Pid),
    receive {'DOWN', Ref, _, _, _} -> ok end.

%% What leaves the token as it is, and what takes it away.
neutral() ->
    Echo = spawn(?MODULE, echo, []),
    Token = fun(What, Do) ->
        seq_trace:reset_trace(),
        seq_trace:set_token(label, What),
        Do(),
        show(names([{self(), self}, {Echo, echo}], {What, seq_trace:get_token()}))
    end,
    Token(timer, fun() -> erlang:send_after(1, self(), timer), receive timer -> ok end end),
    Token(timeout, fun() -> Ref = erlang:start_timer(1, self(), timer), receive {timeout, Ref, timer} -> ok end end),
    Token('after', fun() -> receive nothing -> ok after 1 -> ok end end),
    Token(down, fun() ->
        {Pid, Ref} = spawn_monitor(?MODULE, idle, [1]),
        seq_trace:reset_trace(),
        seq_trace:set_token(label, down),
        exit(Pid, kill),
        receive {'DOWN', Ref, _, _, _} -> ok end
    end),
    Token(port, fun() ->
        Port = open_port({spawn, "cat"}, [binary]),
        port_command(Port, <<"text">>),
        receive {Port, {data, _}} -> ok end,
        unlink(Port),
        port_close(Port)
    end),
    Token(port_message, fun() ->
        Port = open_port({spawn, "cat"}, [binary]),
        Port ! {self(), {command, <<"text">>}},
        receive {Port, {data, _}} -> ok end,
        unlink(Port),
        port_close(Port)
    end),
    Token(info, fun() -> process_info(Echo, [messages, message_queue_len]), erlang:garbage_collect(Echo) end),
    Token(missing, fun() -> monitor(process, no_such_name), receive {'DOWN', _, _, _, noproc} -> ok end end),
    Token(message, fun() ->
        seq_trace:set_token([]),
        Echo ! {message, self()},
        seq_trace:set_token(label, other),
        receive {message, _} -> ok end
    end),
    seq_trace:reset_trace(),
    exit(Echo, kill).

exits() ->
    process_flag(trap_exit, true),
    [begin
         Pid = spawn_link(?MODULE, answer, [self()]),
         T = tracer(),
         seq_trace:set_token(label, {exit, Reason}),
         flags([send, 'receive']),
         Pid ! {leave, Reason},
         receive {'EXIT', Pid, Reason} -> ok end,
         Token = seq_trace:get_token(),
         show(names([{self(), self}, {Pid, linked}], {Token, told(T)}))
     end || Reason <- [normal, {for, "a reason"}]],
    Pid = spawn(?MODULE, answer, [self()]),
    T = tracer(),
    flags([send, 'receive']),
    Pid ! trap,
    receive {trapping, _} -> ok end,
    exit(Pid, told),
    receive {told, _} -> ok end,
    Token = seq_trace:get_token(),
    show(names([{self(), self}, {Pid, other}], {Token, told(T)})),
    exit(Pid, kill),
    process_flag(trap_exit, false).

%% Numbers of what the parent does afterwards are not compared: OTP 25 takes the word of the number for the number.
spawns() ->
    [begin
         T = tracer(),
         seq_trace:set_token(label, Name),
         flags([send, 'receive']),
         Pid = case Make() of
             {Made, _} -> Made;
             Made -> Made
         end,
         Token = process_info(Pid, sequential_trace_token),
         All = told(T),
         Refs = [Ref || {seq_trace, _, {_, _, _, _, {spawn_request, Ref, _, _, _, _, _, _}}} <- All],
         Leader = group_leader(),
         show(names([{self(), self}, {Pid, child}, {hd(Refs), reference}, {Leader, leader}], {Token, All})),
         unlink(Pid),
         exit(Pid, kill)
     end || {Name, Make} <-
        [{spawn, fun() -> spawn(?MODULE, idle, [1]) end},
         {spawn_link, fun() -> spawn_link(?MODULE, idle, [1]) end},
         {spawn_monitor, fun() -> spawn_monitor(?MODULE, idle, [1]) end},
         {spawn_opt, fun() -> spawn_opt(?MODULE, idle, [1], [link, monitor, {priority, high}]) end},
         {spawn_request, fun() ->
             Ref = spawn_request(?MODULE, idle, [1], [{reply_tag, made}]),
             receive {made, Ref, ok, Pid} -> Pid end
         end}]].

prints() ->
    T = tracer(),
    seq_trace:set_token(label, 17),
    show([seq_trace:print(17, none)]),
    flags([print]),
    show([seq_trace:print(17, one), seq_trace:print(18, two), seq_trace:print({three, "3"})]),
    process_flag(sensitive, true),
    seq_trace:print(secret),
    process_flag(sensitive, false),
    show(names([{self(), self}], told(T))),
    show(seq_trace:print(nothing)).

times() ->
    [begin
         T = tracer(),
         flags([print, Kind]),
         seq_trace:print(timed),
         [{seq_trace, 0, {print, {0, 1}, _, [], timed}, Time}] = told(T),
         show({Kind, case Time of
             {A, B, C} when is_integer(A), is_integer(B), is_integer(C) -> triple;
             {A, B} when is_integer(A), is_integer(B) -> pair;
             A when is_integer(A) -> integer
         end})
     end || Kind <- [timestamp, monotonic_timestamp, strict_monotonic_timestamp]].

%% What match specifications do with tokens.
match_specs() ->
    Self = self(),
    Tracer = spawn(fun() -> collect([]) end),
    Pid = spawn(fun() -> receive go -> ok end, R = id(x), T = seq_trace:get_token(), Self ! {done, R, T} end),
    erlang:trace(Pid, true, [call, {tracer, Tracer}]),
    erlang:trace_pattern({?MODULE, id, 1},
                         [{[x], [{'not', {is_seq_trace}}],
                           [{set_seq_token, label, {{set, 1}}}, {set_seq_token, send, true}, {set_seq_token, nothing, 1},
                            {message, {get_seq_token}}]},
                          {'_', [{is_seq_trace}], [{message, {get_seq_token}}]}], [local]),
    Pid ! go,
    receive {done, x, Token} -> ok end,
    show(names([{Pid, traced}], {Token, ask(Tracer)})),
    seq_trace:reset_trace(),
    Other = spawn(fun() -> receive go -> ok end, id(y), Self ! done end),
    erlang:trace(Other, true, [call, {tracer, Tracer}]),
    seq_trace:set_token(label, {other, "label"}),
    Other ! go,
    receive done -> ok end,
    seq_trace:set_token([]),
    show(names([{Self, self}, {Other, traced}], ask(Tracer))),
    erlang:trace_pattern({?MODULE, id, 1}, false, [local]),
    exit(Tracer, kill),
    seq_trace:reset_trace().

%% Messages that wait lose their tokens.
reset() ->
    seq_trace:set_token(label, waiting),
    self() ! message,
    seq_trace:reset_trace(),
    receive message -> ok end,
    show(seq_trace:get_token()),
    seq_trace:set_token(label, waiting),
    self() ! message,
    seq_trace:set_token([]),
    receive message -> ok end,
    garbage_collect(),
    show(element(2, seq_trace:get_token())),
    seq_trace:reset_trace().

flags(Flags) -> [seq_trace:set_token(Flag, true) || Flag <- Flags].

idle(_) -> receive after infinity -> ok end.

echo() -> receive {What, To} -> To ! {What, back}, echo() end.

answer(Parent) ->
    receive
        {leave, Reason} -> exit(Reason);
        trap -> process_flag(trap_exit, true), Parent ! {trapping, self()}, answer(Parent);
        {'EXIT', _, Reason} -> Parent ! {Reason, self()}, answer(Parent)
    end.

raised(Do) ->
    try Do() catch Class:Reason -> {Class, Reason} end.

%% Output asks another process, which would take part in what is traced: it is kept until nothing is.
show(Term) -> put(shown, [names([{self(), self}], Term) | case get(shown) of undefined -> []; Before -> Before end]).

print_shown() ->
    seq_trace:reset_trace(),
    [io:format("~p~n", [Term]) || Term <- lists:reverse(erase(shown))].

%% A new system tracer; nothing is traced yet.
tracer() ->
    seq_trace:reset_trace(),
    T = spawn(fun() -> collect([]) end),
    seq_trace:set_system_tracer(T),
    T.

collect(Told) ->
    receive
        {ask, From} -> From ! {told, lists:reverse(Told)}, collect([]);
        What -> collect([What | Told])
    end.

%% What the system tracer was told, which ends.
told(T) ->
    seq_trace:reset_trace(),
    Told = ask(T),
    seq_trace:set_system_tracer(false),
    exit(T, kill),
    Told.

ask(T) ->
    T ! {ask, self()},
    receive {told, Told} -> Told end.

%% Names in place of pids and references.
names(Names, Term) when is_list(Term) -> [names(Names, Part) || Part <- Term];
names(Names, Term) when is_tuple(Term) -> list_to_tuple(names(Names, tuple_to_list(Term)));
names(Names, Term) -> proplists:get_value(Term, Names, Term).
