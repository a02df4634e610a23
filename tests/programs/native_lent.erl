%% Binaries of resources: their bytes are those of the resource, which is destroyed when the last part of them is gone.
%% differential: allocates
-module(native_lent).
-export([main/1]).
-nifs([lend/2, is_there/3, is_there_apart/3]).

lend(_, _) -> erlang:nif_error(not_loaded).
is_there(_, _, _) -> erlang:nif_error(not_loaded).
is_there_apart(_, _, _) -> erlang:nif_error(not_loaded).

main(_) ->
    ok = erlang:load_nif(filename:join(filename:dirname(code:which(?MODULE)), "native_lent"), 0),
    [used(Size, From) || Size <- [0, 1, 63, 64, 65, 100000], From <- [0, 5]],
    [show(destroyed()) || _ <- lists:seq(1, 12)],
    show(part_alone()),
    show(destroyed()),
    show(elsewhere(self())),
    Many = [lend(1000, 0) || _ <- lists:seq(1, 300)],
    show(lists:usort([erlang:phash2(Lent) || Lent <- Many]) =:= [erlang:phash2(hd(Many))]).

%% What a program does with a binary.
used(Size, From) ->
    Lent = lend(Size, From),
    Same = << <<(N * 7)>> || N <- lists:seq(From, From + Size - 1) >>,
    show({Size, byte_size(Lent), Lent =:= Same, Lent < <<Same/binary, 0>>, erlang:phash2(Lent) =:= erlang:phash2(Same)}),
    show({is_there(Lent, Lent, From), is_there_apart(Lent, Lent, From)}),
    show({sum(Lent, 0) =:= sum(Same, 0), sum(<<"abc">>, 0), words(Lent, 0) =:= words(Same, 0)}),
    show(term_to_binary(Lent) =:= term_to_binary(Same)),
    show(erlang:md5(Lent) =:= erlang:md5(Same)),
    Longer = <<Lent/binary, "more">>,
    show({Longer =:= <<Same/binary, "more">>, byte_size(<<Longer/binary, 0>>) - Size}),
    show({binary:copy(Lent) =:= Same, binary_to_list(Lent) =:= binary_to_list(Same)}),
    show(binary:split(Lent, <<6>>, [global]) =:= binary:split(Same, <<6>>, [global])).

sum(<<Byte, Rest/binary>>, Sum) -> sum(Rest, Sum + Byte);
sum(<<>>, Sum) -> Sum.

words(<<Word:32, Rest/binary>>, Sum) -> words(Rest, Sum bxor Word);
words(<<Rest/binary>>, Sum) -> {Rest, Sum}.

%% A part keeps all of it.
part_alone() ->
    Part = binary:part(lend(5000, 0), 4000, 100),
    garbage_collect(),
    Early = receive destroyed -> early after 50 -> not_yet end,
    {Early, Part =:= << <<(N * 7)>> || N <- lists:seq(4000, 4099) >>}.

%% Other processes and tables keep it too.
elsewhere(Self) ->
    Table = ets:new(table, []),
    Lent = lend(3000, 1),
    ets:insert(Table, {lent, Lent}),
    {Pid, Monitor} = spawn_monitor(fun() ->
        receive {lent, Given} -> garbage_collect(), Self ! {sums, sum(Given, 0), is_there(Given, Given, 1)} end
    end),
    Pid ! {lent, Lent},
    Sums = receive {sums, Sum, Is} -> {Sum =:= sum(Lent, 0), Is} end,
    receive {'DOWN', Monitor, process, Pid, normal} -> ok end,
    [{lent, Row}] = ets:lookup(Table, lent),
    There = is_there(Row, Row, 1),
    ets:delete(Table),
    {Sums, There}.

destroyed() ->
    garbage_collect(),
    receive destroyed -> destroyed after 10000 -> kept end.

show(Term) -> io:format("~p~n", [Term]).
