%% Lines of a log taken apart, summed up by key, and printed: splitting, conversions, formats.
-module(log_lines).
-export([main/1]).

main(Args) ->
    [Size, Repetitions] = numbers(Args, [6000, 60]),
    Start = erlang:monotonic_time(microsecond),
    Answer = repeat(Repetitions, Size, none),
    Micros = erlang:monotonic_time(microsecond) - Start,
    io:format("log_lines ~w x~w: ~w~n", [Size, Repetitions, Answer]),
    io:format(standard_error, "result: log_lines ~w us~n", [Micros]).

repeat(0, _, Answer) -> Answer;
repeat(N, Size, _) -> repeat(N - 1, Size, exercise(Size)).

exercise(N) ->
    Log = iolist_to_binary([line(I) || I <- lists:seq(1, N)]),
    Lines = binary:split(Log, <<"\n">>, [global, trim_all]),
    Sums = lists:foldl(fun count/2, #{}, Lines),
    Report = [io_lib:format("~-12s ~6b requests ~8b bytes ~.2f~n", [Path, Requests, Bytes, Bytes / Requests])
              || {Path, {Requests, Bytes}} <- lists:sort(maps:to_list(Sums))],
    erlang:phash2(iolist_to_binary(Report)).

line(I) ->
    ["10.0.", integer_to_list(I band 255), ".1 GET /page/", integer_to_list(I * 7 rem 50), " 200 ",
     integer_to_list(I * 7919 rem 100000), "\n"].

count(Line, Sums) ->
    [_Address, _Method, Path, Status, Size] = binary:split(Line, <<" ">>, [global]),
    case binary_to_integer(Status) of
        200 ->
            Bytes = binary_to_integer(Size),
            maps:update_with(Path, fun({R, B}) -> {R + 1, B + Bytes} end, {1, Bytes}, Sums);
        _ -> Sums
    end.

numbers(Args, Defaults) ->
    Given = [list_to_integer(A) || A <- Args],
    Given ++ lists:nthtail(length(Given), Defaults).
