%% Keeps so many lists of 60 elements, about a kilobyte each, and replaces them again and again.
-module(fixed_heap).
-export([main/1]).

main([Kept, Rounds]) ->
    Table = ets:new(table, []),
    Size = list_to_integer(Kept),
    [put_list(Table, Key) || Key <- lists:seq(1, Size)],
    [put_list(Table, Round rem Size + 1) || Round <- lists:seq(1, list_to_integer(Rounds))],
    Size = ets:info(Table, size),
    io:format("done~n").

put_list(Table, Key) -> ets:insert(Table, {Key, lists:seq(1, 60)}).
