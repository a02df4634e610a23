%% Two bank accounts, each a gen_server. A transfer asks the account that gives, which calls the account that gets. Two
%% transfers at the same time in opposite directions can make the accounts wait for each other for ever.
-module(call_deadlock).
-behaviour(gen_server).
-export([main/1]).
-export([init/1, handle_call/3, handle_cast/2]).

main(_) ->
    {ok, _} = gen_server:start({local, alice}, ?MODULE, 100, []),
    {ok, _} = gen_server:start({local, bob}, ?MODULE, 100, []),
    Main = self(),
    Transfers = [{alice, bob, 10}, {bob, alice, 20}],
    [spawn(fun() -> Main ! gen_server:call(From, {give, To, Sum}, infinity) end) || {From, To, Sum} <- Transfers],
    [receive ok -> ok end || _ <- Transfers],
    io:format("~w~n", [[gen_server:call(Account, balance) || Account <- [alice, bob]]]).

init(Balance) ->
    {ok, Balance}.

handle_call({give, To, Sum}, _From, Balance) ->
    ok = gen_server:call(To, {get, Sum}, infinity),
    {reply, ok, Balance - Sum};
handle_call({get, Sum}, _From, Balance) ->
    {reply, ok, Balance + Sum};
handle_call(balance, _From, Balance) ->
    {reply, Balance, Balance}.

handle_cast(_, Balance) ->
    {noreply, Balance}.
