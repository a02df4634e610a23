%% A fun knows which process made it, also when it has been in a message, in a table or outside of the machine.
-module(fun_creator).
-export([main/1]).

main(_) ->
    Self = self(),
    show(Self, fun() -> ok end),
    show(Self, fun() -> Self end),
    show(undefined, fun lists:map/2),
    show(Self, fun main/1),
    {Maker, Fun} = made(),
    show(Maker, Fun),
    show(Maker, binary_to_term(term_to_binary({Fun, a})), 1),
    Table = ets:new(t, []),
    ets:insert(Table, {1, Fun}),
    erlang:garbage_collect(),
    [{1, Kept}] = ets:lookup(Table, 1),
    show(Maker, Kept),
    persistent_term:put(?MODULE, Fun),
    show(Maker, persistent_term:get(?MODULE)),
    io:format("~p ~p~n", [Kept =:= Fun, Kept(1) =:= {1, Self}]),
    %% The process does not matter for equality or order.
    {_, Other} = made(),
    io:format("~p ~p~n", [Other =:= Fun, erlang:phash2(Other) =:= erlang:phash2(Fun)]),
    %% A creator on another node.
    <<131, 112, _:32, Rest/binary>> = term_to_binary(Fun),
    [Before, After] = binary:split(Rest, <<"nonode@nohost">>),
    Far = binary_to_term(<<131, 112, 0:32, Before/binary, "elsewhere@far", After/binary>>),
    {pid, FarPid} = erlang:fun_info(Far, pid),
    io:format("~p~n", [node(FarPid)]),
    Back = binary_to_term(term_to_binary(Far)),
    io:format("~p ~p~n", [erlang:fun_info(Back, pid) =:= {pid, FarPid}, Back(2) =:= {2, Self}]),
    io:format("~p~n", [[erts_debug:flat_size(F) || F <- [Fun, fun() -> ok end, fun lists:map/2]]]).

made() ->
    Self = self(),
    Maker = spawn(fun() -> Self ! {self(), fun(X) -> {X, Self} end} end),
    receive {Maker, Fun} -> {Maker, Fun} end.

show(Pid, Tuple, Position) -> show(Pid, element(Position, Tuple)).

show(Pid, Fun) ->
    {pid, Found} = erlang:fun_info(Fun, pid),
    io:format("~p~n", [Found =:= Pid]).
