%% A term whose flat size is far above its real one: stock copies every path to a shared subterm.
%% Depth D is 3 words a level in memory and 3 * 2^D words when flat.
-module(send_shared).
-export([main/1, sink/1, shared/2]).

main(Args) ->
    [Depth, Times] = numbers(Args, [14, 200]),
    Term = shared(Depth, {}),
    Sink = spawn(?MODULE, sink, [self()]),
    Start = erlang:monotonic_time(microsecond),
    send(Times, Sink, Term),
    Micros = erlang:monotonic_time(microsecond) - Start,
    io:format("send_shared depth ~w x~w~n", [Depth, Times]),
    io:format(standard_error, "result: send_shared ~.3f us/message~n", [Micros / Times]).

shared(0, Term) -> Term;
shared(N, Term) -> shared(N - 1, {Term, Term}).

send(0, _, _) -> ok;
send(N, Sink, Term) ->
    Sink ! Term,
    receive got -> send(N - 1, Sink, Term) end.

sink(To) ->
    receive Term when tuple_size(Term) =:= 2 -> To ! got end,
    sink(To).

numbers(Args, Defaults) ->
    Given = [list_to_integer(A) || A <- Args],
    Given ++ lists:nthtail(length(Given), Defaults).
