%% A simulator of a network of elements, after the description of NETSim in Wilhelmsson 2002, section 6:
%% a network of 20 elements is started, then each element sends 100 alarm bursts through it. Three parts,
%% each a node's worth of work:
%%   tmos         management server: every burst is a transaction over managed objects
%%   alarm        alarm server: every alarm is handled by a process of its own
%%   coordinator  configuration of all elements, spread over a fixed crowd of workers
%% The numbers of processes and messages come near those of the thesis' Table 1 (tmos 4,066 and 123,869;
%% alarm 12,353 and 288,835; coordinator 591 and 215,536), the sizes of tmos messages near Appendix B.
-module(netsim).
-export([main/1]).

-define(OBJECTS, 16).
-define(UPDATES, 9).
-define(ALARMS, 6).
-define(OPERATORS, 5).
-define(WORKERS, 520).

main([]) -> main(["all"]);
main(["all" | Numbers]) ->
    lists:foreach(fun(Part) -> main([Part | Numbers]) end, ["tmos", "alarm", "coordinator"]);
main([Part | Numbers]) ->
    [Elements, Bursts] = numbers(Numbers, [20, 100]),
    put(sent, 0),
    put(spawned, 0),
    Start = erlang:monotonic_time(microsecond),
    Summary = run(list_to_atom(Part), Elements, Bursts),
    Micros = erlang:monotonic_time(microsecond) - Start,
    io:format("netsim ~s: ~w elements, ~w bursts, ~w processes, ~w messages~n~s~n",
              [Part, Elements, Bursts, get(spawned), get(sent), Summary]),
    io:format(standard_error, "result: netsim_~s ~w us~n", [Part, Micros]).

%% Every process counts what it sends and spawns; the counts come home with its last message.

send(To, Message) ->
    put(sent, get(sent) + 1),
    To ! Message.

start(Fun) ->
    put(spawned, get(spawned) + 1),
    spawn(fun() -> put(sent, 0), put(spawned, 0), Fun() end).

call(To, Request) ->
    Ref = make_ref(),
    send(To, {call, self(), Ref, Request}),
    receive {Ref, Answer} -> Answer end.

reply(To, Ref, Answer) -> send(To, {Ref, Answer}).

count({Sent, Spawned}) ->
    put(sent, get(sent) + Sent),
    put(spawned, get(spawned) + Spawned).

counts() -> {get(sent) + 1, get(spawned)}.

stop(Servers) ->
    [begin
         Ref = make_ref(),
         send(S, {stop, self(), Ref}),
         receive {Ref, Result, Counts} -> count(Counts), Result end
     end || S <- Servers].

finish(From, Ref, Result) ->
    Counts = counts(),
    From ! {Ref, Result, Counts}.

%% A server is a function of a request and a state to {Answer, State}, or noreply.
serve(Handle, Result, State) ->
    receive
        {call, From, Ref, Request} ->
            {Answer, New} = Handle(Request, State),
            reply(From, Ref, Answer),
            serve(Handle, Result, New);
        {cast, Note} ->
            {_, New} = Handle(Note, State),
            serve(Handle, Result, New);
        {stop, From, Ref} ->
            finish(From, Ref, Result(State))
    end.

%% The elements run side by side, each one burst after the other.
elements(Number, Bursts, Burst) ->
    Self = self(),
    Pids = [start(fun() -> element(Self, E, Bursts, Burst) end) || E <- lists:seq(1, Number)],
    [receive {element, P, Result, Counts} -> count(Counts), Result end || P <- Pids].

element(Parent, Element, Bursts, Burst) ->
    Result = lists:foldl(fun(B, Sum) -> (Sum * 31 + Burst(Element, B)) rem 1000003 end, Element, lists:seq(1, Bursts)),
    Counts = counts(),
    Parent ! {element, self(), Result, Counts}.

%% A process does one job for its parent, which waits for it.
job(Fun) ->
    Self = self(),
    P = start(fun() -> Result = Fun(), Counts = counts(), Self ! {job, self(), Result, Counts} end),
    receive {job, P, Result, Counts} -> count(Counts), Result end.

run(tmos, Elements, Bursts) ->
    Mib = start(fun() -> serve(fun mib/2, fun gb_trees:size/1, objects(Elements)) end),
    Log = start(fun() -> serve(fun log/2, fun queue:len/1, queue:new()) end),
    Server = start(fun() -> serve(fun sessions/2, fun({N, Open}) -> {N, dict:size(Open)} end, {0, dict:new()}) end),
    Results = elements(Elements, Bursts,
                       fun(E, B) -> job(fun() -> transaction(E, B, Server, Mib, Log) end) end),
    [Objects, Lines, {Sessions, 0}] = stop([Mib, Log, Server]),
    io_lib:format("~w objects, ~w lines of log kept, ~w sessions, check ~w",
                  [Objects, Lines, Sessions, erlang:phash2(Results)]);
run(alarm, Elements, Bursts) ->
    Rules = start(fun() -> serve(fun rules/2, fun maps:size/1, rule_base()) end),
    Server = start(fun() -> serve(fun alarms/2, fun({T, N}) -> {gb_trees:size(T), N} end, {gb_trees:empty(), 0}) end),
    Operators = [start(fun() -> serve(fun operator/2, fun({N, S}) -> {N, lists:sum([V || {_, V} <- S])} end, {0, []}) end)
                 || _ <- lists:seq(1, ?OPERATORS)],
    Results = elements(Elements, Bursts,
                       fun(E, B) ->
                               lists:sum([job(fun() -> handle_alarm(alarm(E, B, N), Rules, Server, Operators, N) end)
                                          || N <- lists:seq(1, ?ALARMS)]) rem 1000003
                       end),
    [Known, {Active, Raised} | Seen] = stop([Rules, Server | Operators]),
    io_lib:format("~w rules, ~w active of ~w raised, operators ~w, check ~w",
                  [Known, Active, Raised, lists:usort([N || {N, _} <- Seen]), erlang:phash2(Results)]);
run(coordinator, Elements, Bursts) ->
    Workers = list_to_tuple([start(fun() -> serve(fun worker/2, fun(N) -> N end, 0) end) || _ <- lists:seq(1, ?WORKERS)]),
    Agents = [start(fun() -> serve(fun agent/2, fun(C) -> array:size(C) end, array:new()) end) || _ <- lists:seq(1, Elements)],
    Results = elements(Elements, Bursts,
                       fun(E, B) ->
                               Plan = plan(E, B),
                               Done = [call(A, {configure, B, Plan}) || A <- Agents],
                               W = element((E * 97 + B * 13) rem ?WORKERS + 1, Workers),
                               Checked = [call(W, {check, N, Plan}) || N <- lists:seq(1, 33)],
                               lists:sum(Done ++ Checked)
                       end),
    Jobs = lists:sum(stop(tuple_to_list(Workers))),
    Sizes = lists:usort(stop(Agents)),
    io_lib:format("~w jobs, configurations of ~w steps, check ~w", [Jobs, Sizes, erlang:phash2(Results)]).

%% --- tmos ---

objects(Elements) ->
    lists:foldl(fun(Key, T) -> gb_trees:insert(Key, {Key, class(Key), attributes(Key, 42)}, T) end, gb_trees:empty(),
                [{E, O} || E <- lists:seq(1, Elements), O <- lists:seq(1, ?OBJECTS)]).

class({_, O}) -> element(O rem 4 + 1, {antenna, trunk, cell, carrier}).

%% Five words an attribute.
attributes({E, O}, N) -> [{I, (E * O * I) rem 997} || I <- lists:seq(1, N)].

mib({read, Key}, T) -> {gb_trees:get(Key, T), T};
mib({update, Key, New}, T) ->
    {Key, Class, Old} = gb_trees:get(Key, T),
    Merged = lists:ukeymerge(1, New, Old),
    {ok, gb_trees:update(Key, {Key, Class, Merged}, T)}.

log(Line, Q) ->
    Q1 = queue:in(Line, Q),
    case queue:len(Q1) > 500 of
        true -> {ok, queue:drop(Q1)};
        false -> {ok, Q1}
    end.

sessions({open, Element}, {N, Open}) -> {N + 1, {N + 1, dict:store(N + 1, Element, Open)}};
sessions({touch, Id}, {N, Open}) -> {dict:is_key(Id, Open), {N, Open}};
sessions({close, Id}, {N, Open}) -> {ok, {N, dict:erase(Id, Open)}}.

transaction(Element, Burst, Server, Mib, Log) ->
    Session = call(Server, {open, Element}),
    Objects = [call(Mib, {read, {Element, O}}) || O <- lists:seq(1, ?OBJECTS)],
    true = call(Server, {touch, Session}),
    [ok = call(Mib, {update, Key, [{I, (V + Burst) rem 997} || {I, V} <- lists:sublist(Attributes, 25)]})
     || {Key, _, Attributes} <- lists:sublist(Objects, Burst rem 7 + 1, ?UPDATES)],
    Sum = lists:sum([V || {_, _, As} <- Objects, {_, V} <- As]),
    ok = job(fun() -> persist(Element, Burst, Log) end),
    send(Log, {cast, {Element, Burst, done}}),
    ok = call(Server, {close, Session}),
    Sum rem 1000003.

%% Every fourth burst writes a whole report.
persist(Element, Burst, Log) ->
    Stamp = calendar:gregorian_seconds_to_datetime(63000000000 + Burst * 60 + Element),
    Line = lists:flatten(io_lib:format("~4w-~2..0w-~2..0w element ~w burst ~w", [Y || Y <- tuple_to_list(element(1, Stamp))] ++ [Element, Burst])),
    ok = call(Log, {line, unicode:characters_to_binary(Line)}),
    case Burst rem 4 of
        0 -> call(Log, {report, attributes({Element, Burst}, 210)});
        _ -> call(Log, {line, <<"no report">>})
    end.

%% --- alarm ---

rule_base() ->
    maps:from_list([{{Class, Cause}, {severity(Cause), string:uppercase(atom_to_list(Class))}}
                    || Class <- [antenna, trunk, cell, carrier], Cause <- lists:seq(0, 9)]).

severity(Cause) -> element(Cause rem 5 + 1, {critical, major, minor, warning, cleared}).

rules({find, Class, Cause}, Base) -> {maps:get({Class, Cause}, Base), Base}.

alarm(Element, Burst, N) ->
    Text = io_lib:format("element ~w lost signal ~w", [Element, Burst]),
    [{element, Element}, {burst, Burst}, {number, N}, {class, class({Element, N})}, {cause, (Burst * N) rem 10},
     {text, lists:flatten(Text)}].

alarms({raise, Key, Alarm}, {T, N}) -> {N, {gb_trees:enter(Key, Alarm, T), N + 1}};
alarms({note, Key, Note}, {T, N}) ->
    {ok, {gb_trees:update(Key, [Note | gb_trees:get(Key, T)], T), N}};
alarms({clear, Key}, {T, N}) -> {ok, {gb_trees:delete(Key, T), N}}.

operator({event, Number, Alarm}, {N, Seen}) ->
    Cause = proplists:get_value(cause, Alarm),
    {ok, {N + 1, lists:keystore(Cause, 1, Seen, {Cause, Number rem 7})}};
operator({acknowledged, _}, State) -> {ok, State}.

handle_alarm(Alarm, Rules, Server, Operators, N) ->
    {Severity, Name} = correlate(Alarm, Rules, N),
    Key = {Severity, proplists:get_value(element, Alarm), proplists:get_value(burst, Alarm), N},
    _ = call(Server, {raise, Key, Alarm}),
    [ok = call(O, {event, N, Alarm}) || O <- Operators],
    ok = call(Server, {note, Key, {name, Name}}),
    [send(O, {cast, {acknowledged, Key}}) || O <- Operators],
    case Severity of
        cleared -> ok = call(Server, {clear, Key});
        _ -> ok = call(Server, {note, Key, {acknowledged, N}})
    end,
    erlang:phash2({Key, Name}) rem 10007.

correlate(Alarm, Rules, N) ->
    {Severity, Name} = call(Rules, {find, proplists:get_value(class, Alarm), proplists:get_value(cause, Alarm)}),
    {Severity, Name ++ integer_to_list(N)}.

%% --- coordinator ---

plan(Element, Burst) ->
    [{step, I, <<Element:8, Burst:16, I:8>>} || I <- lists:seq(1, 6)].

agent({configure, Burst, Plan}, Configuration) ->
    {length(Plan), array:set(Burst, Plan, Configuration)}.

worker({check, N, Plan}, Count) ->
    {erlang:phash2({N, Plan}, 1000), Count + 1}.

numbers(Args, Defaults) ->
    Given = [list_to_integer(A) || A <- Args],
    Given ++ lists:nthtail(length(Given), Defaults).
