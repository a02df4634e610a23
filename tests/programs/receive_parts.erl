%% Receive whose patterns and guards allocate: bitstrings inside of large messages are matched, and numbers computed with,
%% before it is known whether the message is the one. Heaps of all sizes, so that collections happen in between.
-module(receive_parts).
-export([main/1, run/2]).

main(_) ->
    [io:format("~w~n", [{Words, run(Words)}]) || Words <- lists:seq(0, 330, 3)].

run(Words) ->
    {Pid, Monitor} = spawn_monitor(?MODULE, run, [Words, self()]),
    Padding = lists:seq(1, 80),
    [Pid ! {Padding, N, 1 bsl (60 + N), binary:copy(<<N>>, 20 + N * 10), <<N, "rest of them">>, {<<3:N>>, <<5:5, N:11, "more">>}}
     || N <- lists:seq(1, 9)],
    Result = receive {result, Pid, What} -> What end,
    receive {'DOWN', Monitor, _, _, Reason} -> {Result, Reason} end.

run(Words, Parent) ->
    _ = lists:seq(1, Words div 2),
    First = match(9),
    Second = [match(N) || N <- [4, 1, 8]],
    garbage_collect(),
    Parent ! {result, self(), erlang:phash2([First, Second, rest()])}.

match(Wanted) ->
    receive
        {Padding, N, Big, <<_, A/binary>>, <<_, B:4/binary, C/binary>>, {<<D/bitstring>>, <<E:5, F:6/bitstring, _/bitstring>>}}
          when N + Big > Big bsl 1 - Big * 3, E =:= 5, bit_size(D) =:= N, byte_size(A) * Big > Big, N =:= Wanted ->
            {length(Padding), N, Big, A, B, C, D, F};
        {[_ | _], N, Big, <<A:3/binary, B/binary>>, _, _} when Big * Big * N > 0, A > B, N =:= Wanted ->
            never
    end.

rest() ->
    receive
        {_, N, _, <<A:7/binary, _/binary>>, _, {_, <<_:16, B/binary>>}} -> [{N, A, B} | rest()]
    after 0 -> []
    end.
