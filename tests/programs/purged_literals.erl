%% Literals of modules that were purged, each held in one place alone, while other code comes to stand where they were. Each literal is of a
%% module of its own, and is passed on by a process that has ended when the module is purged.
-module(purged_literals).
-export([main/1, id/1, keep/3]).

main(_) ->
    logger:set_primary_config(level, none),
    process_flag(trap_exit, true),
    [persistent_term:put({binary, V}, binary(V)) || V <- [1, 2]],
    Main = self(),
    Wanted = binary_to_term(term_to_binary(data(start))),
    put(wanted, Wanted),
    T = ets:new(t, [public]),
    Keepers = [{How, kept(How)} || How <- [stack, dictionary, hibernating, argument, part, exiting, tag, catching, variable, heir, busy]],
    Waiting = spawn(fun() -> receive tell -> receive {first, D} -> Main ! {waiting, D} end end end),
    given(fun(D, _) -> Main ! {unread, D} end),
    given(fun(D, _) -> Main ! {part, element(3, D)} end),
    given(fun(D, _) -> Waiting ! {first, D} end),
    given(fun(D, _) -> Main ! {fun_of_here, fun(X) -> {X, D} end} end),
    given(fun(D, _) -> Main ! {sub_binary, binary:part(element(5, D), 3, 80)} end),
    given(fun(D, _) -> Main ! {compiled, ets:match_spec_compile([{{1, '_'}, [], [{const, D}]}])} end),
    given(fun(D, _) -> ets:insert(T, {1, D}) end),
    given(fun(D, _) -> ets:insert(T, {D, 2}) end),
    given(fun(D, _) -> persistent_term:put(lit, D) end),
    given(fun(D, _) -> persistent_term:put(D, key) end),
    given(fun(D, _) -> persistent_term:put(part, hd(element(2, D))) end),
    given(fun(D, _) -> Main ! {timer, erlang:start_timer(200, Main, D)} end),
    given(fun(D, _) -> erlang:send_after(200, Main, {after_while, [D | D]}) end),
    Fun = given(fun(D, M) -> element(2, M:closure(D)) end),
    %% They are far from the first ones when these are looked at.
    put(own, data(own)),
    Own = data(stack),
    Caught = try begin data(caught), (name(caught)):fail() end catch C1:R1:S1 -> {C1, R1, S1} end,
    Passed = try try begin data(passed), (name(passed)):fail() end after round() end catch C2:R2:S2 -> {C2, R2, S2} end,
    rounds(6),
    p(dictionary, get(own) =:= Wanted),
    p(stack, Own =:= Wanted),
    p(fun_variables, element(2, erlang:fun_info(Fun, env)) =:= [Wanted]),
    p(fun_of_purged, try Fun(1) catch error:{badfun, Fun} -> badfun; error:undef -> undef end),
    [p(What, receive {What, D} -> D =:= Wanted after 5000 -> none end) || What <- [unread]],
    p(part, receive {part, D2} -> D2 =:= element(3, Wanted) end),
    p(waiting, begin Waiting ! tell, receive {waiting, D1} -> D1 =:= Wanted end end),
    p(fun_of_here, receive {fun_of_here, F} -> F(1) =:= {1, Wanted} end),
    p(sub_binary, receive {sub_binary, B} -> B =:= binary:part(element(5, Wanted), 3, 80) end),
    p(compiled, receive {compiled, MS} -> ets:match_spec_run([{1, 2}], MS) =:= [Wanted] end),
    p(ets, [ets:lookup(T, 1) =:= [{1, Wanted}], ets:lookup(T, Wanted) =:= [{Wanted, 2}]]),
    p(persistent, [persistent_term:get(lit) =:= Wanted, persistent_term:get(Wanted), persistent_term:get(part)]),
    p(timer, receive {timer, Timer} -> receive {timeout, Timer, D3} -> D3 =:= Wanted end end),
    p(after_while, receive {after_while, D4} -> D4 =:= [Wanted | Wanted] end),
    [p(How, tell(How, P)) || {How, P} <- Keepers],
    {error, R3, S3} = id(Caught),
    p(caught, [R3 =:= {bad, Wanted}, length([Fn || {M, Fn, _, _} <- S3, lists:prefix("lit_", atom_to_list(M))])]),
    {error, R4, S4} = id(Passed),
    %% The trace of code that is gone may be empty, but shows nothing else.
    p(passed, [R4 =:= {bad, Wanted}, [F4 || {M, F4, _, _} <- S4, lists:prefix("lit_", atom_to_list(M)), F4 =/= fail]]),
    values(),
    again().

%% Values of persistent terms that change all the time, and processes that hold old ones.
values() ->
    Self = self(),
    Change = fun(N) -> persistent_term:put(changing, [N, integer_to_list(N), #{n => N}, lists:seq(1, 50)]) end,
    Held = [begin
                Change(N),
                P = spawn(fun() -> Value = persistent_term:get(changing), Self ! got, receive go -> Self ! {N, Value} end end),
                receive got -> {N, P} end
            end || N <- lists:seq(1, 10)],
    [Change(N) || N <- lists:seq(1, 200)],
    persistent_term:erase(changing),
    rounds(1),
    p(changed, [begin P ! go, receive {N, V} -> V =:= [N, integer_to_list(N), #{n => N}, lists:seq(1, 50)] end end || {N, P} <- Held]).

%% A fun of a version that was purged is good again when the same version is loaded again.
again() ->
    data(filler),
    Fun = element(2, (name(filler)):closure(5)),
    rounds(2),
    data(filler),
    p(again, Fun(1)).

kept(How) ->
    Main = self(),
    case How of
        argument ->
            {P, R} = spawn_monitor(fun() -> Main ! {pid, spawn(?MODULE, keep, [How, Main, data(How)])} end),
            receive {'DOWN', R, process, P, normal} -> ok end,
            receive {pid, Pid} -> Pid end;
        _ ->
            Pid = spawn(?MODULE, keep, [How, Main, none]),
            receive {Pid, ready} -> purge(How), Pid end
    end.

keep(stack, To, none) -> D = data(stack), To ! {self(), ready}, receive tell -> To ! {self(), id(D)} end;
keep(dictionary, To, none) -> put(kept, {data(dictionary)}), To ! {self(), ready}, receive tell -> To ! {self(), element(1, get(kept))} end;
keep(hibernating, To, none) -> D = data(hibernating), To ! {self(), ready}, erlang:hibernate(?MODULE, keep, [argument, To, D]);
keep(argument, To, D) -> receive tell -> To ! {self(), D} end;
keep(part, To, none) -> D = {element(3, data(part))}, To ! {self(), ready}, receive tell -> To ! {self(), setelement(3, get_wanted(To), element(1, D))} end;
keep(exiting, To, none) -> link(To), D = data(exiting), To ! {self(), ready}, receive tell -> To ! {self(), D}, exit({died, D}) end;
keep(tag, To, none) ->
    Other = spawn(fun() -> receive go -> ok end end),
    R = monitor(process, Other, [{tag, data(tag)}]),
    To ! {self(), ready},
    receive tell -> Other ! go, receive {D, R, process, Other, normal} -> To ! {self(), D} end end;
keep(catching, To, none) ->
    D = try throw(data(catching)) catch X -> To ! {self(), ready}, receive tell -> X end end, To ! {self(), D};
keep(variable, To, none) ->
    D = data(variable), F = fun() -> D end, To ! {self(), ready}, receive tell -> To ! {self(), F()} end;
keep(heir, To, none) ->
    ets:new(heir, [{heir, To, data(heir)}]), To ! {self(), ready}, receive tell -> To ! {self(), get_wanted(To)} end;
keep(busy, To, none) -> D = data(busy), To ! {self(), ready}, To ! {self(), busy(D, [])}.

busy(D, Acc) -> receive tell -> D after 0 -> busy(D, lists:sublist([D | Acc], 3)) end.

get_wanted(To) -> To ! {wanted, self()}, receive {wanted, D} -> D end.

tell(How, P) ->
    P ! tell,
    D = receive {wanted, P} -> P ! {wanted, get(wanted)}, receive {P, Got} -> Got end; {P, Got} -> Got after 5000 -> none end,
    case How of
        exiting -> receive {'EXIT', P, {died, E}} -> [D =:= get(wanted), E =:= get(wanted)] end;
        heir -> receive {'ETS-TRANSFER', _, P, E} -> E =:= get(wanted) end;
        _ -> D =:= get(wanted)
    end.

%% Hands a literal to a fun in a process that then ends; its module is gone afterwards. The fun's value, copied.
given(Do) ->
    Name = list_to_atom("given" ++ integer_to_list(erlang:unique_integer([positive]))),
    Main = self(),
    {P, R} = spawn_monitor(fun() -> Main ! {made, Do(data(Name), name(Name))} end),
    receive {'DOWN', R, process, P, normal} -> ok end,
    purge(Name),
    receive {made, Made} -> Made end.

%% A literal of a module of its own.
data(Name) -> load(name(Name), 1), (name(Name)):data().

%% Names of one length, because they are patched into the file.
name(Name) ->
    Text = lists:sublist("lit_" ++ integer_to_list(erlang:phash2(Name)) ++ "000000000000", 14),
    put({name, Name}, Name),
    list_to_atom(Text).

purge(Name) -> Module = name(Name), code:delete(Module), code:purge(Module).

rounds(0) -> ok;
rounds(N) -> round(), rounds(N - 1).

%% What the other modules had is used again, several times.
round() ->
    [purge(Name) || {{name, Name}, _} <- get()],
    [load(name(other), V) || V <- [2, 1, 2, 1]],
    purge(other),
    purge(other).

load(Module, V) ->
    code:purge(Module),
    Binary = binary:replace(persistent_term:get({binary, V}), <<"lit_0000000000">>, atom_to_binary(Module), [global]),
    {module, Module} = code:load_binary(Module, "lit.beam", Binary).

binary(V) ->
    Data = io_lib:format("{~w, [{tuple, 1.5}, \"text of version ~w\"], {~w, 123456789012345678901234567890}, #{k => [v, ~w]}, ~p}",
                         [V, V, V, V, binary:copy(<<$a, V, $b, $c>>, 30)]),
    %% The versions have code and literals of different lengths.
    More = case V of 1 -> []; 2 -> ["more(X) -> {[X, 9, 8, 7, 6, 5, 4, 3, 2, 1], {a, b, c, [d, \"efg\"]}, [{x, y, z} | X]}."] end,
    Source = ["-module(lit_0000000000).", "-compile([export_all]).", "data() -> " ++ lists:flatten(Data) ++ ".",
              "closure(D) -> {f, fun(X) -> {D, X} end}.", "fail() -> [error({bad, data()}) | local()].", "local() -> data()." | More],
    Forms = [begin {ok, T, _} = erl_scan:string(S), {ok, Form} = erl_parse:parse_form(T), Form end || S <- Source],
    {ok, _, Binary} = compile:forms(Forms, [nowarn_export_all]),
    Binary.

p(What, Result) -> io:format("~w ~w~n", [What, Result]).

id(X) -> X.
