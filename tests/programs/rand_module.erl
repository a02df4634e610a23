%% rand with seeds: every algorithm, jump, shuffling by keys, normal distribution.
-module(rand_module).
-export([main/1]).

main(_) ->
    [begin
         S0 = rand:seed_s(A, {1, 2, 3}),
         {L, S1} = lists:mapfoldl(fun(_, S) -> rand:uniform_s(1000000, S) end, S0, lists:seq(1, 10)),
         {F, S2} = rand:uniform_s(S1),
         {R, S3} = rand:uniform_real_s(S2),
         {N, S4} = rand:normal_s(S3),
         {B, _} = rand:bytes_s(9, S4),
         p({A, L, F, R, N, B})
     end || A <- [exsss, exsp, exro928ss, exrop, exs1024s, exs1024, exs64, exsplus]],
    rand:seed(exsss, 42),
    p([rand:uniform(100) || _ <- lists:seq(1, 20)]),
    p([rand:uniform() || _ <- lists:seq(1, 5)]),
    p([rand:uniform(1 bsl 100) || _ <- lists:seq(1, 3)]),
    p(rand:normal(10, 4)),
    {exsss, _} = rand:export_seed(),
    J = rand:jump(rand:seed_s(exsss, 7)),
    p(element(1, rand:uniform_s(1000000, J))),
    p([X || {_, X} <- lists:sort([{rand:uniform(), N} || N <- lists:seq(1, 20)])]),
    p(try rand:uniform(0) catch C:_ -> C end),
    p(rand:splitmix64_next(1)),
    p(rand:exsp_next([1 | 2])),
    p(rand:mwc59(1)),
    L2 = [rand:uniform(10) || _ <- lists:seq(1, 1000)],
    p([length([X || X <- L2, X =:= K]) || K <- lists:seq(1, 10)]).

p(X) -> io:format("~p~n", [X]).
