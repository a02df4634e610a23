%% Literals of modules that were purged, each held in one place alone, while other code comes to stand where they were. Each literal is of a
%% module of its own, and is passed on by a process that has ended when the module is purged.
-module(purged_literals).
-export([main/1, id/1, keep/3]).

main(_) ->
    logger:set_primary_config(level, none),
    process_flag(trap_exit, true),
    [persistent_term:put({binary, V}, binary(V)) || V <- [1, 2, 3]],
    Main = self(),
    put(wanted, term_to_binary(data(start))),
    %% Long messages stay outside of heaps.
    Long = lists:seq(1, 100),
    given(after_while, fun(D, _) -> erlang:send_after(300, Main, {after_while, Long, [D | D]}) end),
    given(timer, fun(D, _) -> Main ! {timer, erlang:start_timer(300, Main, D)} end),
    T = ets:new(t, [public]),
    Keepers = [{How, kept(How)} || How <- [stack, dictionary, hibernating, argument, part, exiting, tag, catching, variable, heir, busy]],
    Waiting = spawn(fun() -> receive tell -> receive {first, D, _} -> Main ! {waiting, D} end end end),
    given(unread, fun(D, _) -> Main ! {unread, D} end),
    given(long_unread, fun(D, _) -> Main ! {long_unread, Long, D} end),
    given(element, fun(D, _) -> Main ! {element, element(3, D)} end),
    given(waiting, fun(D, _) -> Waiting ! {first, D, Long} end),
    given(fun_of_here, fun(D, _) -> Main ! {fun_of_here, fun(X) -> {X, D} end} end),
    given(sub_binary, fun(D, _) -> Main ! {sub_binary, binary:part(element(5, D), 3, 80)} end),
    given(compiled, fun(D, _) -> Main ! {compiled, ets:match_spec_compile([{{1, '_'}, [], [{const, D}]}])} end),
    given(row, fun(D, _) -> ets:insert(T, {1, D}) end),
    given(key, fun(D, _) -> ets:insert(T, {D, 2}) end),
    given(persistent, fun(D, _) -> persistent_term:put(lit, D) end),
    given(persistent_key, fun(D, _) -> persistent_term:put(D, key) end),
    given(persistent_part, fun(D, _) -> persistent_term:put(part, element(2, D)) end),
    Fun = given(variable_of_purged, fun(D, M) -> element(2, M:closure(D)) end),
    %% They are far from the first ones when these are looked at.
    put(own, data(own)),
    Own = data(own_stack),
    Caught = try begin data(caught), (name(caught)):fail() end catch C1:R1:S1 -> {C1, R1, S1} end,
    Passed = try try begin data(passed), (name(passed)):fail() end after round() end catch C2:R2:S2 -> {C2, R2, S2} end,
    rounds(6),
    p(dictionary, get(own) =:= wanted(own)),
    p(stack, Own =:= wanted(own_stack)),
    p(fun_variables, element(2, erlang:fun_info(Fun, env)) =:= [wanted(variable_of_purged)]),
    p(fun_of_purged, try Fun(1) catch error:{badfun, Fun} -> badfun; error:undef -> undef end),
    p(unread, receive {unread, U} -> U =:= wanted(unread) end),
    p(long_unread, receive {long_unread, _, LU} -> LU =:= wanted(long_unread) end),
    p(element, receive {element, E} -> E =:= element(3, wanted(element)) end),
    p(waiting, begin Waiting ! tell, receive {waiting, W} -> W =:= wanted(waiting) end end),
    p(fun_of_here, receive {fun_of_here, F} -> F(1) =:= {1, wanted(fun_of_here)} end),
    p(sub_binary, receive {sub_binary, B} -> B =:= binary:part(element(5, wanted(sub_binary)), 3, 80) end),
    p(compiled, receive {compiled, MS} -> ets:match_spec_run([{1, 2}], MS) =:= [wanted(compiled)] end),
    p(ets, [ets:lookup(T, 1) =:= [{1, wanted(row)}], ets:lookup(T, wanted(key)) =:= [{wanted(key), 2}]]),
    p(persistent, [persistent_term:get(lit) =:= wanted(persistent), persistent_term:get(wanted(persistent_key))]),
    p(persistent_part, persistent_term:get(part) =:= element(2, wanted(persistent_part))),
    p(timer, receive {timer, Timer} -> receive {timeout, Timer, TD} -> TD =:= wanted(timer) end end),
    p(after_while, receive {after_while, _, AD} -> AD =:= [wanted(after_while) | wanted(after_while)] end),
    [p(How, tell(How, P)) || {How, P} <- Keepers],
    {error, R3, S3} = id(Caught),
    p(caught, [R3 =:= {bad, wanted(caught)}, length([Fn || {M, Fn, _, _} <- S3, lists:prefix("lit_", atom_to_list(M))])]),
    {error, R4, S4} = id(Passed),
    %% The trace of code that is gone may be empty, but shows nothing else.
    p(passed, [R4 =:= {bad, wanted(passed)}, [F4 || {M, F4, _, _} <- S4, lists:prefix("lit_", atom_to_list(M)), F4 =/= fail]]),
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
keep(part, To, none) -> D = {element(3, data(part))}, To ! {self(), ready}, receive tell -> To ! {self(), element(1, D)} end;
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
    ets:new(heir, [{heir, To, data(heir)}]), To ! {self(), ready}, receive tell -> To ! {self(), none} end;
keep(busy, To, none) -> D = data(busy), To ! {self(), ready}, To ! {self(), busy(D, [])}.

busy(D, Acc) -> receive tell -> D after 0 -> busy(D, lists:sublist([D | Acc], 3)) end.

tell(How, P) ->
    P ! tell,
    Wanted = wanted(How),
    D = receive {P, Got} -> Got after 5000 -> none end,
    case How of
        part -> D =:= element(3, Wanted);
        exiting -> receive {'EXIT', P, {died, E}} -> [D =:= Wanted, E =:= Wanted] end;
        heir -> receive {'ETS-TRANSFER', _, P, E} -> E =:= Wanted end;
        _ -> D =:= Wanted
    end.

%% Hands a literal to a fun in a process that then ends; its module is gone afterwards. The fun's value, copied.
given(Name, Do) ->
    Main = self(),
    {P, R} = spawn_monitor(fun() -> Main ! {made, Do(data(Name), name(Name))} end),
    receive {'DOWN', R, process, P, normal} -> ok end,
    purge(Name),
    receive {made, Made} -> Made end.

%% What the literal of a module should be.
wanted(Name) -> binary_to_term(binary:replace(get(wanted), digits(start), digits(Name))).

%% A literal of a module of its own.
data(Name) -> load(name(Name), 1), (name(Name)):data().

name(Name) ->
    put({name, Name}, Name),
    list_to_atom("lit_" ++ binary_to_list(digits(Name))).

%% Ten of them, which are patched into the file: into the module's name, and into its literal.
digits(Name) -> list_to_binary(lists:sublist(integer_to_list(erlang:phash2(Name)) ++ "000000000000", 10)).

purge(Name) -> Module = name(Name), code:delete(Module), code:purge(Module).

rounds(0) -> ok;
rounds(N) -> round(), rounds(N - 1).

%% What the other modules had is used again, several times.
round() ->
    [purge(Name) || {{name, Name}, _} <- get()],
    [load(name(other), V) || V <- [2, 3, 2, 3]],
    purge(other),
    purge(other).

load(Module, V) ->
    code:purge(Module),
    <<"lit_", Digits/binary>> = atom_to_binary(Module),
    Patch = fun
        ({"LitT", <<Size:32, Packed/binary>>}) ->
            {"LitT", <<Size:32, (zlib:compress(binary:replace(zlib:uncompress(Packed), <<"0000000000">>, Digits, [global])))/binary>>};
        ({"AtU8", Atoms}) -> {"AtU8", binary:replace(Atoms, <<"0000000000">>, Digits)};
        (Chunk) -> Chunk
    end,
    {ok, _, Chunks} = beam_lib:all_chunks(persistent_term:get({binary, V})),
    {ok, Binary} = beam_lib:build_module([Patch(Chunk) || Chunk <- Chunks]),
    {module, Module} = code:load_binary(Module, "lit.beam", Binary).

binary(V) ->
    Data = io_lib:format("{~w, [{tuple, ~w.5}, \"text of version ~w, 0000000000\"], {~w, 12345678901234567890123456789}, #{k => [v, ~w]}, ~p}",
                         [V, V, V, V, V, binary:copy(<<$a, V, $b, $c>>, 30)]),
    %% The literals of the first two take the same room.
    More = case V < 3 of true -> []; false -> ["more(X) -> {[X, 9, 8, 7, 6, 5, 4, 3, 2, 1], {a, b, c, [d, \"efg\"]}, [{x, y, z} | X]}."] end,
    Source = ["-module(lit_0000000000).", "-compile([export_all]).", "data() -> " ++ lists:flatten(Data) ++ ".",
              "closure(D) -> {f, fun(X) -> {D, X} end}.", "fail() -> [error({bad, data()}) | local()].", "local() -> data()." | More],
    Forms = [begin {ok, T, _} = erl_scan:string(S), {ok, Form} = erl_parse:parse_form(T), Form end || S <- Source],
    {ok, _, Binary} = compile:forms(Forms, [nowarn_export_all]),
    Binary.

p(What, Result) -> io:format("~w ~w~n", [What, Result]).

id(X) -> X.
