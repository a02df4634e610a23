%% Calls of built-in functions that are traced: in the middle of functions, in tail positions, through `apply`, and those
%% that go on elsewhere; returns, exceptions, where they return to, counts, who is told of all calls.
-module(trace_built_ins).
-export([main/1, calls/1, tail/1, fails/1, caught/1, nested/1, traps/1, dynamic/3, ends/1, loops/2, dynamic_later/1, loops_deep/1, only/1]).

-define(FUNCTIONS, [{erlang, put, 2}, {erlang, get, 1}, {erlang, atom_to_list, 1}, {erlang, '++', 2}, {lists, reverse, 2},
                    {lists, member, 2}, {erlang, send, 2}, {erlang, exit, 1}, {erlang, error, 1}, {erlang, error, 2},
                    {erlang, throw, 1}, {erlang, length, 1}, {erlang, self, 0}, {erlang, element, 2}, {erlang, '!', 2},
                    {erlang, list_to_atom, 1}, {maps, get, 2}, {ets, select, 2}, {erlang, garbage_collect, 0},
                    {erlang, iolist_to_binary, 1}, {erlang, binary_to_list, 1}, {erlang, process_info, 2}]).

main(_) ->
    Cases = [{Name, Argument} || {Name, Arguments} <- cases(), Argument <- Arguments],
    Patterns = [true, [{'_', [], [{return_trace}, {message, {caller}}]}], [{'_', [], [{exception_trace}]}],
                [{['$1'], [{is_atom, '$1'}], [{message, '$1'}]}, {['_', '_'], [], [{message, false}, {return_trace}]}]],
    [begin
         show({pattern, Pattern, set(Pattern, [Where])}),
         [show({Name, told(Flags, Name, Argument)}) || {Name, Argument} <- Cases]
     end || Pattern <- Patterns, {Where, Flags} <- [{local, [call]}, {local, [call, return_to, arity]}, {global, [call, return_to]}]],
    set(false, [local]),
    set(false, [global]),
    show([told([call], calls, [1]), [erlang:trace_info(F, all) || F <- ?FUNCTIONS]]),
    counts(),
    meta(),
    information(),
    loaded_later(),
    both(),
    deep().

cases() ->
    [{calls, [[1, 2]]}, {tail, [foo, "bar", 1]}, {fails, [1, 2, 3, 4, 5]}, {caught, [1, 2, 3, 4, 5]}, {nested, [foo]},
     {traps, [1]}, {ends, [normal]}].

calls(X) ->
    put(key, X),
    Y = get(key),
    Z = X ++ [length(Y), self(), element(1, {Y})],
    lists:reverse(Z, X),
    self() ! hello,
    erlang:send(self(), hello),
    lists:member(hello, Z).

tail(X) when is_atom(X) -> atom_to_list(X);
tail(X) when is_list(X) -> list_to_atom(X);
tail(X) -> maps:get(X, #{1 => one}).

fails(1) -> atom_to_list(?MODULE:dynamic(erlang, element, [1, {1}]));
fails(2) -> [maps:get(key, ?MODULE:dynamic(maps, new, []))];
fails(3) -> exit(leaving);
fails(4) -> [throw(ball)];
fails(5) -> error(wrong, [a, b]).

caught(X) ->
    A = try fails(X) catch Class:Reason:Trace -> {Class, Reason, [{M, F} || {M, F, _, _} <- Trace]} end,
    B = (catch atom_to_list(X)),
    {A, element(1, B)}.

nested(X) -> lists:member($f, atom_to_list(list_to_atom(atom_to_list(X) ++ "f"))).

dynamic(M, F, A) -> apply(M, F, A).

%% Functions that are interrupted, or done in pieces.
traps(_) ->
    garbage_collect(),
    Table = ets:new(table, [ordered_set]),
    ets:insert(Table, [{N, N} || N <- lists:seq(1, 600)]),
    600 = length(ets:select(Table, [{'$1', [], ['$1']}])),
    Binary = iolist_to_binary([lists:duplicate(4000, $a), [<<"b">>]]),
    4001 = length(binary_to_list(Binary)),
    F = ?MODULE:dynamic(erlang, list_to_atom, ["tail"]),
    ?MODULE:dynamic(?MODULE, F, [foo]),
    ?MODULE:dynamic(lists, member, [1, [1]]).

ends(Reason) -> catch exit(Reason).

dynamic_later(X) -> [trace_built_ins_later:calls(X)].

loops_deep(0) -> [];
loops_deep(N) -> lists:reverse([N | loops_deep(N - 1)], [atom_to_list(list_to_atom(integer_to_list(N)))]).

loops(0, _) -> ok;
loops(N, X) -> [_ | _] = atom_to_list(X), loops(N - 1, X).

set(Pattern, Flags) -> [erlang:trace_pattern(F, Pattern, Flags) || F <- ?FUNCTIONS].

%% What a process tells that calls one of the functions.
told(Flags, Name, Argument) ->
    Parent = self(),
    P = spawn(fun() ->
                      receive go -> ok end,
                      catch ?MODULE:Name(Argument),
                      Parent ! {self(), done},
                      receive stop -> ok end
              end),
    1 = erlang:trace(P, true, Flags),
    P ! go,
    receive {P, done} -> ok end,
    R = erlang:trace_delivered(P),
    receive {trace_delivered, P, R} -> ok end,
    1 = erlang:trace(P, false, [all]),
    exit(P, kill),
    [short(named(Message, P)) || Message <- messages(P)].

messages(P) ->
    receive Message when element(1, Message) =:= trace, element(2, Message) =:= P -> [Message | messages(P)] after 0 -> [] end.

%% Pids have other numbers in each run, and large terms would fill the output.
named(P, P) -> traced;
named(P, _) when is_pid(P) -> other;
named(R, _) when is_reference(R) -> reference;
named(F, _) when is_function(F) -> function;
named(T, P) when is_tuple(T) -> list_to_tuple([named(E, P) || E <- tuple_to_list(T)]);
named(L, _) when is_list(L), length(L) > 200 -> {list, length(L)};
named([H | T], P) -> [named(H, P) | named(T, P)];
named(B, _) when is_binary(B), byte_size(B) > 200 -> {binary, byte_size(B)};
named(X, _) -> X.

short(Message) -> erlang:delete_element(1, Message).

counts() ->
    set(true, [local, call_count]),
    lists:foreach(fun(_) -> told([call], nested, foo) end, [1, 2, 3]),
    loops(10, foo),
    show([{F, erlang:trace_info(F, call_count)} || {_, Name, _} = F <- ?FUNCTIONS, lists:member(Name, [list_to_atom, throw])]),
    {call_count, Calls} = erlang:trace_info({erlang, atom_to_list, 1}, call_count),
    show(Calls >= 16),
    set(restart, [call_count]),
    show(erlang:trace_info({erlang, list_to_atom, 1}, call_count)),
    set(pause, [call_count]),
    told([call], nested, foo),
    show(erlang:trace_info({erlang, list_to_atom, 1}, call_count)),
    set(false, [call_count]),
    set(true, [call_time]),
    1 = erlang:trace(self(), true, [call]),
    loops(10, foo),
    catch fails(2),
    1 = erlang:trace(self(), false, [call]),
    {call_time, Times} = erlang:trace_info({erlang, atom_to_list, 1}, call_time),
    show([Count || {P, Count, _, _} <- Times, P =:= self()]),
    {call_time, Failed} = erlang:trace_info({maps, get, 2}, call_time),
    show([Count || {P, Count, _, _} <- Failed, P =:= self()]),
    set(false, [call_time]),
    set(false, [local]),
    show(erlang:trace_info({erlang, atom_to_list, 1}, all)).

meta() ->
    Parent = self(),
    Tracer = spawn(fun() -> collect([]) end),
    Tracee = fun(F) ->
                     P = spawn(fun() -> catch F(), Parent ! {self(), done} end),
                     receive {P, done} -> P end
             end,
    1 = erlang:trace_pattern({erlang, list_to_atom, 1}, [{'_', [], [{return_trace}]}], [{meta, Tracer}]),
    1 = erlang:trace_pattern({maps, get, 2}, [{'_', [], [{exception_trace}]}], [{meta, Tracer}]),
    show([erlang:trace_info({erlang, list_to_atom, 1}, Item) =:= {Item, Value} || {Item, Value} <- [{meta, Tracer}, {traced, false}]]),
    Processes = [Tracee(F) || F <- [fun() -> nested(foo) end, fun() -> tail("some") end, fun() -> fails(2) end]],
    Tracer ! {self(), give},
    Told = receive {Tracer, Messages} -> Messages end,
    show([[short(named(erlang:delete_element(tuple_size(M), M), P)) || M <- Told, element(2, M) =:= P] || P <- Processes]),
    [1 = erlang:trace_pattern(F, false, [meta]) || F <- [{erlang, list_to_atom, 1}, {maps, get, 2}]],
    show(erlang:trace_info({erlang, list_to_atom, 1}, meta)).

collect(Told) ->
    receive
        {From, give} -> From ! {self(), lists:reverse(Told)};
        Message -> collect([Message | Told])
    end.

information() ->
    show([erlang:trace_pattern(F, true, [local]) || F <- [{erlang, no_such_function, 1}, {no_such_module, f, 1}, {lists, reverse, '_'}]]),
    show([erlang:trace_info(F, all) || F <- [{lists, reverse, 2}, {lists, reverse, 1}, {erlang, no_such_function, 1}]]),
    [erlang:trace_pattern({lists, reverse, '_'}, P, [W]) || {P, W} <- [{false, local}, {[{['$1', '_'], [], []}], global}]],
    show([erlang:trace_info(F, all) || F <- [{lists, reverse, 2}, {lists, reverse, 1}]]),
    show(erlang:trace_pattern({lists, reverse, '_'}, false, [global])),
    show([erlang:trace_info({lists, reverse, 2}, Item) || Item <- [traced, match_spec, meta, call_time, call_count, all]]).

%% Code that is loaded while functions are traced.
loaded_later() ->
    1 = erlang:trace_pattern({erlang, atom_to_list, 1}, true, [local]),
    Text = [{attribute, 1, module, trace_built_ins_later}, {attribute, 1, export, [{calls, 1}]},
            {function, 1, calls, 1, [{clause, 1, [{var, 1, 'X'}], [], [{call, 1, {atom, 1, atom_to_list}, [{var, 1, 'X'}]}]}]}],
    {ok, trace_built_ins_later, Code} = compile:forms(Text, []),
    {module, _} = code:load_binary(trace_built_ins_later, "none", Code),
    show(told([call, return_to], dynamic_later, foo)),
    1 = erlang:trace_pattern({erlang, atom_to_list, 1}, false, [local]),
    show(told([call], dynamic_later, foo)).

%% A function that is traced itself, and begins with a call of a built-in one.
both() ->
    All = [{?MODULE, only, 1}, {erlang, atom_to_list, 1}],
    [begin
         [1 = erlang:trace_pattern(F, [{'_', [], [{return_trace}]}], [local]) || F <- On],
         show(told([call, return_to], only, foo)),
         [1 = erlang:trace_pattern(F, false, [local]) || F <- Off],
         show(told([call, return_to], only, foo)),
         [1 = erlang:trace_pattern(F, false, [local]) || F <- All],
         show(told([call], only, foo))
     end || On <- [All, lists:reverse(All)], Off <- [[hd(All)], tl(All)]].

only(X) -> atom_to_list(X).

%% Frames that wait for returns, while the stack grows and is collected.
deep() ->
    1 = erlang:trace_pattern({erlang, atom_to_list, 1}, [{'_', [], [{return_trace}]}], [local]),
    1 = erlang:trace_pattern({lists, reverse, 2}, [{'_', [], [{return_trace}]}], [local]),
    Told = told([call, return_to], loops_deep, 60),
    show([length(Told), length([call || {_, call, _} <- Told]), length([from || {_, return_from, _, _} <- Told])]),
    erlang:trace_pattern({'_', '_', '_'}, false, [local]),
    show(told([call], calls, [1])).

show(Term) -> erlang:display(Term).
