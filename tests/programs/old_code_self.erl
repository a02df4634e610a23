%% Where a process began its time slice does not tell that it runs old code.
-module(old_code_self).
-export([main/1, check/1]).

main(_) ->
    Module = old_code_self_spin,
    Binary = compile(Module),
    {module, Module} = erlang:load_module(Module, Binary),
    %% Comes back here by a tail call, in a slice that began in the module's code.
    [io:format("~w~n", [Module:spin(N, Binary)]) || N <- [10, 10000, 100000, 300000]].

check(Binary) ->
    Module = old_code_self_spin,
    {module, Module} = erlang:load_module(Module, Binary),
    Uses = erlang:check_process_code(self(), Module),
    true = erlang:purge_module(Module),
    Uses.

compile(Module) ->
    L = 1,
    Forms = [
        {attribute, L, module, Module}, {attribute, L, export, [{spin, 2}]},
        {function, L, spin, 2, [
            {clause, L, [{integer, L, 0}, {var, L, 'B'}], [],
                [{call, L, {remote, L, {atom, L, ?MODULE}, {atom, L, check}}, [{var, L, 'B'}]}]},
            {clause, L, [{var, L, 'N'}, {var, L, 'B'}], [],
                [{call, L, {atom, L, spin}, [{op, L, '-', {var, L, 'N'}, {integer, L, 1}}, {var, L, 'B'}]}]}
        ]}
    ],
    {ok, Module, Binary} = compile:forms(Forms, []),
    Binary.
