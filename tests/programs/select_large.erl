%% Clauses by the dozen: dense and sparse integers, atoms, characters, tuples of each arity, strings.
-module(select_large).
-export([main/1]).

main(_) ->
    p([dense(N) || N <- lists:seq(-2, 22)]),
    p([sparse(N) || N <- [0, 1, 10, 100, 1000, 10000, 100000, 1 bsl 40, 1 bsl 70, -5, -1000, 2, a]]),
    p([color(C) || C <- [red, green, blue, cyan, magenta, yellow, black, white, grey, orange, pink, brown, nothing]]),
    p([char(C) || C <- "aZ5 \n_\\(}é"]),
    p([day(D) || D <- ["mon", "tue", "wed", "thu", "fri", "sat", "sun", "mo", "monday", ""]]),
    p([arity(list_to_tuple(lists:seq(1, N))) || N <- lists:seq(0, 10)]),
    p([op({O, 7, 3}) || O <- ['+', '-', '*', 'div', 'rem', 'band', 'bor', 'bsl', 'max', bad]]),
    p([mixed(X) || X <- [1, a, 1.0, "a", {1}, {a}, [], 2, b, 2.0, <<"x">>, nil]]),
    p([token(T) || T <- tokens("let x1 = (3 + 42) * y; // end")]).

dense(0) -> a; dense(1) -> b; dense(2) -> c; dense(3) -> d; dense(4) -> e; dense(5) -> f; dense(6) -> g; dense(7) -> h; dense(8) -> i; dense(9) -> j; dense(10) -> k;
dense(11) -> l; dense(12) -> m; dense(13) -> n; dense(14) -> o; dense(15) -> p; dense(16) -> q; dense(17) -> r; dense(18) -> s; dense(19) -> t; dense(20) -> u; dense(_) -> none.

sparse(0) -> z; sparse(10) -> ten; sparse(100) -> hundred; sparse(1000) -> thousand; sparse(100000) -> lakh; sparse(1099511627776) -> tera; sparse(1180591620717411303424) -> zeta; sparse(-5) -> minus; sparse(-1000) -> less; sparse(_) -> none.

color(red) -> 1; color(green) -> 2; color(blue) -> 3; color(cyan) -> 4; color(magenta) -> 5; color(yellow) -> 6; color(black) -> 7; color(white) -> 8; color(grey) -> 9; color(orange) -> 10; color(pink) -> 11; color(brown) -> 12; color(_) -> 0.

char(C) when C >= $a, C =< $z -> lower; char(C) when C >= $A, C =< $Z -> upper; char(C) when C >= $0, C =< $9 -> digit; char($\s) -> space; char($\n) -> newline; char($_) -> underscore; char($\\) -> backslash; char($() -> open; char($}) -> close; char(_) -> other.

day("mon") -> 1; day("tue") -> 2; day("wed") -> 3; day("thu") -> 4; day("fri") -> 5; day("sat") -> 6; day("sun") -> 7; day("mon" ++ Rest) -> {1, Rest}; day(_) -> none.

arity({}) -> 0; arity({A}) -> A; arity({_, B}) -> B; arity({_, _, C}) -> C; arity({_, _, _, D}) -> D; arity({_, _, _, _, E}) -> E; arity({_, _, _, _, _, F}) -> F; arity({_, _, _, _, _, _, _, H}) -> H; arity(T) -> {size, tuple_size(T)}.

op({'+', A, B}) -> A + B; op({'-', A, B}) -> A - B; op({'*', A, B}) -> A * B; op({'div', A, B}) -> A div B; op({'rem', A, B}) -> A rem B; op({'band', A, B}) -> A band B; op({'bor', A, B}) -> A bor B; op({'bsl', A, B}) -> A bsl B; op({max, A, B}) -> max(A, B); op(_) -> bad.

mixed(1) -> int; mixed(a) -> atom; mixed(1.0) -> 'float'; mixed("a") -> string; mixed({1}) -> tuple_int; mixed({a}) -> tuple_atom; mixed([]) -> nil; mixed(2) -> int2; mixed(b) -> atom2; mixed(2.0) -> float2; mixed(<<"x">>) -> bin; mixed(_) -> none.

tokens([]) -> [];
tokens("//" ++ _) -> [comment];
tokens([C | R]) when C =:= $\s -> tokens(R);
tokens([C | _] = S) when C >= $0, C =< $9 -> {N, R} = string:to_integer(S), [{int, N} | tokens(R)];
tokens([C | _] = S) when C >= $a, C =< $z -> {W, R} = lists:splitwith(fun(X) -> X >= $a andalso X =< $z orelse X >= $0 andalso X =< $9 end, S), [{word, W} | tokens(R)];
tokens([C | R]) -> [{sign, C} | tokens(R)].

token({word, "let"}) -> 'let'; token({word, W}) -> {var, W}; token({int, N}) when N > 10 -> {big, N}; token({int, N}) -> N; token({sign, $=}) -> eq; token({sign, $;}) -> semi; token({sign, S}) -> [S]; token(comment) -> comment.

p(X) -> io:format("~p~n", [X]).
