%% A small language that is scanned, parsed and evaluated: closures, environments, exceptions.
-module(evaluator).
-export([main/1]).

main(Args) ->
    [Size, Repetitions] = numbers(Args, [3000, 100]),
    Start = erlang:monotonic_time(microsecond),
    Answer = repeat(Repetitions, Size, none),
    Micros = erlang:monotonic_time(microsecond) - Start,
    io:format("evaluator ~w x~w: ~w~n", [Size, Repetitions, Answer]),
    io:format(standard_error, "result: evaluator ~w us~n", [Micros]).

repeat(0, _, Answer) -> Answer;
repeat(N, Size, _) -> repeat(N - 1, Size, exercise(Size)).

exercise(N) ->
    Source = "let f = fun x -> if x < 2 then x else f(x - 1) + f(x - 2) end in f(16) + 3 * (4 - 2)",
    Tree = parse(scan(Source)),
    Missing = parse(scan("1 + unknown")),
    {evaluate(Tree, #{}), lists:sum([caught(Missing) || _ <- lists:seq(1, N)]), length(scan(Source))}.

caught(Tree) -> try evaluate(Tree, #{}) catch throw:{unbound, "unknown"} -> 1 end.

scan([]) -> [];
scan([C | Rest]) when C =:= $\s -> scan(Rest);
scan("->" ++ Rest) -> [arrow | scan(Rest)];
scan([C | _] = Text) when C >= $0, C =< $9 ->
    {Digits, Rest} = lists:splitwith(fun(D) -> D >= $0 andalso D =< $9 end, Text),
    [{number, list_to_integer(Digits)} | scan(Rest)];
scan([C | _] = Text) when C >= $a, C =< $z ->
    {Name, Rest} = lists:splitwith(fun(D) -> D >= $a andalso D =< $z end, Text),
    Token = case lists:member(Name, ["let", "in", "fun", "if", "then", "else", "end"]) of
        true -> list_to_atom(Name);
        false -> {name, Name}
    end,
    [Token | scan(Rest)];
scan([C | Rest]) -> [C | scan(Rest)].

parse(Tokens) ->
    {Tree, []} = expression(Tokens),
    Tree.

expression(['let', {name, Name}, $= | Rest]) ->
    {Value, ['in' | More]} = expression(Rest),
    {Body, End} = expression(More),
    {{'let', Name, Value, Body}, End};
expression(['fun', {name, Name}, arrow | Rest]) ->
    {Body, End} = expression(Rest),
    {{function, Name, Body}, End};
expression(['if' | Rest]) ->
    {Condition, ['then' | Then]} = expression(Rest),
    {Yes, ['else' | Else]} = expression(Then),
    {No, ['end' | End]} = expression(Else),
    {{'if', Condition, Yes, No}, End};
expression(Tokens) ->
    {Left, Rest} = sum(Tokens),
    case Rest of
        [$< | More] -> {Right, End} = sum(More), {{$<, Left, Right}, End};
        _ -> {Left, Rest}
    end.

sum(Tokens) -> {Left, Rest} = product(Tokens), sum(Left, Rest).

sum(Left, [Operator | Rest]) when Operator =:= $+; Operator =:= $- ->
    {Right, More} = product(Rest),
    sum({Operator, Left, Right}, More);
sum(Left, Rest) -> {Left, Rest}.

product(Tokens) -> {Left, Rest} = factor(Tokens), product(Left, Rest).

product(Left, [$* | Rest]) ->
    {Right, More} = factor(Rest),
    product({$*, Left, Right}, More);
product(Left, Rest) -> {Left, Rest}.

factor([{number, N} | Rest]) -> {{number, N}, Rest};
factor([$( | Rest]) -> {Tree, [$) | More]} = expression(Rest), {Tree, More};
factor([{name, Name}, $( | Rest]) -> {Argument, [$) | More]} = expression(Rest), {{call, {name, Name}, Argument}, More};
factor([{name, Name} | Rest]) -> {{name, Name}, Rest}.

evaluate({number, N}, _) -> N;
evaluate({name, Name}, Names) ->
    case Names of
        #{Name := Value} -> Value;
        #{} -> throw({unbound, Name})
    end;
evaluate({'let', Name, {function, Argument, Body}, In}, Names) ->
    evaluate(In, Names#{Name => closure(Name, Argument, Body, Names)});
evaluate({'let', Name, Value, In}, Names) -> evaluate(In, Names#{Name => evaluate(Value, Names)});
evaluate({function, Argument, Body}, Names) -> fun(Value) -> evaluate(Body, Names#{Argument => Value}) end;
evaluate({'if', Condition, Yes, No}, Names) ->
    case evaluate(Condition, Names) of
        true -> evaluate(Yes, Names);
        false -> evaluate(No, Names)
    end;
evaluate({call, Function, Argument}, Names) -> (evaluate(Function, Names))(evaluate(Argument, Names));
evaluate({$<, Left, Right}, Names) -> evaluate(Left, Names) < evaluate(Right, Names);
evaluate({$+, Left, Right}, Names) -> evaluate(Left, Names) + evaluate(Right, Names);
evaluate({$-, Left, Right}, Names) -> evaluate(Left, Names) - evaluate(Right, Names);
evaluate({$*, Left, Right}, Names) -> evaluate(Left, Names) * evaluate(Right, Names).

closure(Name, Argument, Body, Names) ->
    fun Self(Value) -> evaluate(Body, Names#{Name => Self, Argument => Value}) end.

numbers(Args, Defaults) ->
    Given = [list_to_integer(A) || A <- Args],
    Given ++ lists:nthtail(length(Given), Defaults).
