%% Ports of a linked-in driver wait for the same descriptors: one takes them from the other, the driver is told once
%% when one is not used any more, and marks of use outlive what was waited for.
-module(driver_select).
-export([main/1]).

-define(READ, 1).
-define(WRITE, 2).
-define(USE, 4).
-define(NO_CALLBACK, 12).

main(_) ->
    ok = erl_ddll:load_driver(filename:dirname(code:which(?MODULE)), "driver_select"),
    [One, Other] = [open_port({spawn_driver, "driver_select"}, []) || _ <- [1, 2]],
    Show = fun(Line) ->
        io:format("~p ~p~n", [Line, [heard(Port, Name) || {Port, Name} <- [{One, one}, {Other, other}]]]),
        io:format("~w~n", [port_control(One, 2, [])])
    end,
    [1] = select(One, 0, ?READ bor ?USE, 1),
    [1] = port_control(One, 1, "x"),
    Show(waits),
    [1] = select(One, 0, ?READ, 0),
    [1] = port_control(One, 1, "y"),
    Show(rests),
    % The other port may end what the first has begun to use.
    [1] = select(Other, 0, ?READ, 1),
    Show(other_waits),
    [1] = select(Other, 0, ?READ bor ?USE, 0),
    Show(given_back),
    [1] = select(Other, 0, ?USE, 0),
    Show(given_back_unused),
    [1] = select(One, 1, ?READ bor ?WRITE bor ?USE, 1),
    Show(both),
    [1] = select(One, 1, ?READ bor ?NO_CALLBACK, 0),
    [1] = select(One, 1, ?WRITE, 1),
    Show(one_of_both),
    [1] = select(One, 1, ?WRITE bor ?NO_CALLBACK, 0),
    Show(no_callback),
    % Of two that wait for it, the second gets it; the first takes it away again, even without wanting it.
    quiet(fun() ->
        [1] = select(One, 0, ?READ, 1),
        [1] = select(Other, 0, ?READ, 1)
    end),
    [1] = port_control(One, 1, "z"),
    Show(taken),
    quiet(fun() -> [1] = select(One, 0, ?READ, 0) end),
    [5] = port_control(One, 1, "after"),
    Show(taken_away),
    [1] = select(Other, 0, ?USE, 0),
    Show(ended),
    [true, true] = [port_close(Port) || Port <- [One, Other]],
    ok = erl_ddll:unload_driver("driver_select").

select(Port, End, Mode, On) -> port_control(Port, 0, [End, Mode, On]).

heard(Port, Name) ->
    receive {Port, {data, Data}} -> {Name, Data} after 100 -> {Name, nothing} end.

%% What the logger is told of it has addresses.
quiet(Work) ->
    quiet(whereis(logger), Work).

quiet(undefined, Work) ->
    Work();
quiet(_, Work) ->
    Before = logger:get_primary_config(),
    logger:set_primary_config(level, none),
    Work(),
    % The report comes later.
    timer:sleep(100),
    logger:set_primary_config(Before).
