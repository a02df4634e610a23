%% base64 and calendar.
-module(base64_calendar).
-export([main/1]).

main(_) ->
    [begin B = list_to_binary(lists:sublist(lists:seq(100, 255), N)), E = base64:encode(B), B = base64:decode(E), p(E) end || N <- lists:seq(0, 20)],
    p([base64:encode_to_string("text"), base64:decode_to_string("dGV4dA=="), base64:decode(" d G V\n4dA== "), base64:mime_decode("dG*V4-dA==")]),
    p([t(fun() -> base64:decode(X) end) || X <- ["dGV4d", "####", "dGV4dA=", "=", "", "dGV4dA==x"]]),
    Big = binary:copy(<<"0123456789abcdef">>, 500),
    p({erlang:phash2(base64:encode(Big)), base64:decode(base64:encode(Big)) =:= Big}),
    Dates = [{1970, 1, 1}, {2000, 2, 29}, {1999, 12, 31}, {2024, 2, 29}, {2100, 3, 1}, {1, 1, 1}, {1582, 10, 15}],
    p([{D, calendar:valid_date(D), calendar:date_to_gregorian_days(D), calendar:day_of_the_week(D), calendar:iso_week_number(D), calendar:gregorian_days_to_date(calendar:date_to_gregorian_days(D)), calendar:is_leap_year(element(1, D)), calendar:last_day_of_the_month(element(1, D), element(2, D))} || D <- Dates]),
    p([calendar:valid_date(2023, 2, 29), calendar:valid_date(2023, 13, 1)]),
    p([calendar:datetime_to_gregorian_seconds({D, {12, 34, 56}}) || D <- Dates]),
    p([calendar:gregorian_seconds_to_datetime(N) || N <- [0, 62167219200, 63900000000]]),
    p([calendar:seconds_to_time(N) || N <- [0, 3661, 86399]]),
    p([calendar:seconds_to_daystime(N) || N <- [0, 100000, -1]]),
    p([calendar:time_difference({{2000, 1, 1}, {0, 0, 0}}, {{2000, 3, 1}, {1, 2, 3}}), calendar:time_to_seconds({1, 2, 3})]),
    p([calendar:system_time_to_rfc3339(N, [{offset, "Z"}]) || N <- [0, 1700000000, -1]]),
    p([calendar:system_time_to_rfc3339(1700000000123, [{unit, millisecond}, {offset, "+02:00"}, {time_designator, $\s}])]),
    p([calendar:rfc3339_to_system_time(S) || S <- ["1970-01-01T00:00:00Z", "2023-11-14T22:13:20Z", "2023-11-15T00:13:20+02:00"]]),
    p(calendar:system_time_to_universal_time(1700000000, second)),
    p([erlang:convert_time_unit(1500, millisecond, second), erlang:convert_time_unit(-1500, millisecond, second), erlang:convert_time_unit(1, second, nanosecond), erlang:convert_time_unit(10, 1000, 7)]).

t(F) -> try F() catch C:_ -> C end.

p(X) -> io:format("~p~n", [X]).
