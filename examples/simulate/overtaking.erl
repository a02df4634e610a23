%% A worker writes its result to a store, then tells the client that it is there; the client asks the store. The store
%% hears from two processes, and what they send it may arrive in either order: Erlang promises an order only to each pair
%% of processes. On one machine it hardly ever differs, between two it does.
-module(overtaking).
-export([main/1]).

main(_) ->
    Store = spawn(fun() -> store(none) end),
    Client = self(),
    spawn(fun() -> Store ! {put, 42}, Client ! done end),
    receive done -> ok end,
    Store ! {get, Client},
    Value = receive {value, Found} -> Found end,
    io:format("~w~n", [Value]),
    atoll_simulate:always(the_result_is_there, Value =:= 42).

store(Value) ->
    receive
        {put, New} -> store(New);
        {get, Client} -> Client ! {value, Value}, store(Value)
    end.
