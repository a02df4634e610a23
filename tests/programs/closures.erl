%% Funs that hold terms of all kinds, sent, stored, compared, called after collections and in other processes.
-module(closures).
-export([main/1, id/1]).

main(_) ->
    L = lists:seq(1, 100), B = binary:copy(<<"b">>, 200), M = #{k => L}, R = make_ref(),
    F = fun(X) -> {X, length(L), byte_size(B), map_size(M), is_reference(R)} end,
    erlang:garbage_collect(),
    p(F(1)),
    Self = self(),
    P = spawn(fun() -> receive {From, G} -> From ! {G(2), G} end end),
    P ! {Self, F},
    {V, G} = receive X -> X end,
    p({V, G =:= F, G(3)}),
    p(F =:= binary_to_term(term_to_binary(F))),
    Fs = [fun(Y) -> Y * N end || N <- lists:seq(1, 10)],
    p([H(3) || H <- Fs]), p(length(lists:usort(Fs))),
    p((lists:foldl(fun(Fn, Acc) -> fun(Z) -> Fn(Acc(Z)) end end, fun(Z) -> Z end, Fs))(1)),
    put(stored, F), erlang:garbage_collect(), p((get(stored))(4)),
    p(y(fun(Rec) -> fun(0) -> 1; (K) -> K * Rec(K - 1) end end, 20)),
    p([church(N) || N <- [0, 1, 5, 100]]),
    p(stream_take(10, primes(nat(2)))),
    p(curry([1, 2, 3])),
    Counter = spawn(fun() -> (fun Loop(N) -> receive {inc, K} -> Loop(N + K); {get, T} -> T ! {count, N}, Loop(N) end end)(0) end),
    [Counter ! {inc, K} || K <- lists:seq(1, 100)], Counter ! {get, Self}, p(receive {count, C} -> C end),
    p([erlang:fun_info(fun() -> {L, B} end, arity), length(element(2, erlang:fun_info(fun() -> {L, B} end, env)))]),
    p(lists:sort(fun(A1, B1) -> {A1 rem 3, A1} =< {B1 rem 3, B1} end, lists:seq(1, 10))),
    p(deep(1000, fun(Q) -> Q end)).

y(F, N) -> G = fun(X) -> F(fun(A) -> (X(X))(A) end) end, (G(G))(N).

church(0) -> 0;
church(N) -> (lists:foldl(fun(_, F) -> fun(X) -> F(X) + 1 end end, fun(X) -> X end, lists:seq(1, N)))(0).

nat(N) -> fun() -> [N | nat(N + 1)] end.
primes(S) -> fun() -> [P | T] = S(), [P | primes(filter(fun(X) -> X rem P =/= 0 end, T))] end.
filter(F, S) -> fun() -> [H | T] = S(), case F(H) of true -> [H | filter(F, T)]; false -> (filter(F, T))() end end.
stream_take(0, _) -> [];
stream_take(N, S) -> [H | T] = S(), [H | stream_take(N - 1, T)].

curry([A, B, C]) -> (((fun(X) -> fun(Y) -> fun(Z) -> {X, Y, Z} end end end)(A))(B))(C).

deep(0, F) -> F(0);
deep(N, F) -> deep(N - 1, fun(X) -> F(X + 1) end).

p(X) -> io:format("~p~n", [X]).

id(X) -> X.
