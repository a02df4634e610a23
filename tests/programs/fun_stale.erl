%% Funs whose code is gone: each call fails with the fun that was called, also when time slices end at the calls and other
%% processes run in between.
-module(fun_stale).
-export([main/1]).

main(_) ->
    decoded(),
    kept_in_table(),
    arguments().

%% Funs of a version that was deleted, out of the external format.
decoded() ->
    load(1),
    Encoded = [term_to_binary(stale_victim:make({free, N})) || N <- lists:seq(1, 20)],
    true = erlang:delete_module(stale_victim),
    true = erlang:purge_module(stale_victim),
    load(2),
    Calls = [fun() -> Fun = binary_to_term(Bytes), wrong(Fun, 15000, 0) end || Bytes <- Encoded],
    io:format("decoded: ~p wrong~n", [lists:sum(together(Calls))]).

%% Funs that a table keeps over two upgrades, as a program keeps its callbacks.
kept_in_table() ->
    Table = ets:new(callbacks, [public]),
    [ets:insert(Table, {N, stale_victim:make({free, N})}) || N <- lists:seq(1, 20)],
    [begin load(Version), erlang:purge_module(stale_victim) end || Version <- [3, 4]],
    Calls = [fun() -> [{_, Fun}] = ets:lookup(Table, N), wrong(Fun, 15000, 0) end || N <- lists:seq(1, 20)],
    io:format("kept: ~p wrong~n", [lists:sum(together(Calls))]).

%% Up to the most arguments, with the module gone altogether: the error handler is asked, with the fun and its arguments.
arguments() ->
    [begin
         load(Arity, 5),
         [true = erlang:purge_module(stale_victim) || erlang:check_old_code(stale_victim)],
         Fun = stale_victim:make({free, Arity}),
         true = erlang:delete_module(stale_victim),
         true = erlang:purge_module(stale_victim),
         {'EXIT', {Reason, _}} = (catch apply(Fun, lists:seq(1, Arity))),
         io:format("~p: ~p~n", [Arity, case Reason of
             {badfun, Fun} -> badfun;
             undef -> undef;
             _ -> Reason
         end])
     end || Arity <- [0, 1, 2, 100, 253]].

wrong(_, 0, Wrong) -> Wrong;
wrong(Fun, Left, Wrong) ->
    %% So that time slices end at each place of the loop.
    pause(Left rem 7),
    case catch Fun(Left) of
        {'EXIT', {{badfun, Fun}, _}} -> wrong(Fun, Left - 1, Wrong);
        _ -> wrong(Fun, Left - 1, Wrong + 1)
    end.

pause(0) -> ok;
pause(Calls) -> pause(Calls - 1).

%% The results of functions that run at the same time.
together(Calls) ->
    Self = self(),
    Started = [spawn(fun() -> Self ! {self(), Call()} end) || Call <- Calls],
    [receive {Pid, Result} -> Result end || Pid <- Started].

load(Version) -> load(1, Version).

%% A module with `make(X) -> fun(A1, ..., An) -> {Version, X, A1, ..., An} end`.
load(Arity, Version) ->
    Arguments = [{var, 1, list_to_atom("A" ++ integer_to_list(N))} || N <- lists:seq(1, Arity)],
    Body = {tuple, 1, [{integer, 1, Version}, {var, 1, 'X'} | Arguments]},
    Fun = {'fun', 1, {clauses, [{clause, 1, Arguments, [], [Body]}]}},
    Forms = [{attribute, 1, module, stale_victim},
             {attribute, 1, export, [{make, 1}]},
             {function, 1, make, 1, [{clause, 1, [{var, 1, 'X'}], [], [Fun]}]}],
    {ok, stale_victim, Code} = compile:forms(Forms, []),
    {module, stale_victim} = erlang:load_module(stale_victim, Code).
