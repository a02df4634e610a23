%% An HTTP server without sockets, after `eddie' of Wilhelmsson 2002, section 6 (an HTTP parser which
%% handles get-requests). Clients send their requests in pieces of any length; every connection has a
%% process which puts the pieces together, parses them and answers; documents, sessions and the log are
%% processes too. Strings are lists, as in the original, bodies are binaries.
-module(eddie).
-export([main/1]).

main(Args) ->
    [Connections, Requests] = numbers(Args, [100, 150]),
    Start = erlang:monotonic_time(microsecond),
    Documents = spawn(fun() -> documents(site()) end),
    Log = spawn(fun() -> log(queue:new(), 0, dict:new()) end),
    Clients = [begin
                   Self = self(),
                   spawn(fun() -> client(Self, C, Requests, Documents, Log) end)
               end || C <- lists:seq(1, Connections)],
    Results = [receive {client, P, R} -> R end || P <- Clients],
    Log ! {summary, self()},
    {Lines, Kept, Statuses} = receive {summary, S} -> S end,
    Documents ! stop,
    Micros = erlang:monotonic_time(microsecond) - Start,
    io:format("eddie ~w connections, ~w requests each: ~w bytes answered, check ~w~n",
              [Connections, Requests, lists:sum([B || {B, _} <- Results]), erlang:phash2([C || {_, C} <- Results])]),
    io:format("~w lines of log, the last ~w kept, by status ~w~n", [Lines, Kept, Statuses]),
    io:format(standard_error, "result: eddie ~.3f us/request~n", [Micros / (Connections * Requests)]).

%% --- client: makes requests, cuts them into pieces, checks the answers ---

client(Parent, Number, Requests, Documents, Log) ->
    Self = self(),
    Connection = spawn_link(fun() -> connection(Self, Documents, Log, "") end),
    Result = requests(Requests, rand:seed_s(exsss, Number), Connection, {0, 0}),
    Connection ! closed,
    Parent ! {client, self(), Result}.

requests(0, _, _, Result) -> Result;
requests(N, Rand, Connection, {Bytes, Check}) ->
    {Request, Rand1} = request(N, Rand),
    Rand2 = pieces(Request, Rand1, Connection),
    Answer = receive {answer, A} -> iolist_to_binary(A) end,
    requests(N - 1, Rand2, Connection, {Bytes + byte_size(Answer), erlang:phash2({Check, Answer})}).

request(N, Rand) ->
    {P, Rand1} = rand:uniform_s(12, Rand),
    {Kind, Rand2} = rand:uniform_s(20, Rand1),
    Path = "/docs/page%20" ++ integer_to_list(P) ++ ".html?user=" ++ integer_to_list(N) ++ "&sort=na%6De+down",
    Line = case Kind of
               1 -> "HEAD " ++ Path ++ " HTTP/1.1\r\n";
               2 -> "DELETE " ++ Path ++ " HTTP/1.1\r\n";
               3 -> "GET  HTTP/1.1\r\n";
               _ -> "GET " ++ Path ++ " HTTP/1.1\r\n"
           end,
    Headers = ["Host: www.example.org\r\n", "User-Agent: client/", integer_to_list(Kind), ".0 (a test)\r\n",
               "Accept: text/html, text/plain;q=0.5,\r\n  image/gif\r\n", "Accept-Language: sv, en;q=0.8\r\n",
               "Authorization: Basic ", base64:encode_to_string("user" ++ integer_to_list(P) ++ ":secret"), "\r\n",
               "Connection: keep-alive\r\n\r\n"],
    {lists:flatten([Line | Headers]), Rand2}.

pieces("", Rand, _) -> Rand;
pieces(Text, Rand, Connection) ->
    {N, Rand1} = rand:uniform_s(200, Rand),
    {Piece, Rest} = lists:split(min(N, length(Text)), Text),
    Connection ! {data, Piece},
    pieces(Rest, Rand1, Connection).

%% --- connection: one process for each client ---

connection(Client, Documents, Log, Buffer) ->
    case string:find(Buffer, "\r\n\r\n") of
        nomatch ->
            receive
                {data, Piece} -> connection(Client, Documents, Log, Buffer ++ Piece);
                closed -> ok
            end;
        End ->
            Head = lists:sublist(Buffer, length(Buffer) - length(End)),
            {Status, Headers, Body} = handle(parse(Head), Documents),
            Client ! {answer, answer(Status, Headers, Body)},
            Log ! {line, Status, iolist_size(Body), lists:takewhile(fun(C) -> C =/= $\r end, Head)},
            connection(Client, Documents, Log, lists:nthtail(4, End))
    end.

parse(Head) ->
    [Line | Fields] = unfold(string:split(Head, "\r\n", all)),
    case string:lexemes(Line, " ") of
        [Method, Target, "HTTP/" ++ Version] ->
            {Path, Query} = target(Target),
            {request, Method, Path, Query, version(Version), dict:from_list(fields(Fields))};
        _ ->
            bad_request
    end.

%% A line which begins with white space continues the one before.
unfold([Line, [C | _] = More | Rest]) when C =:= $\s; C =:= $\t ->
    unfold([Line ++ " " ++ string:trim(More) | Rest]);
unfold([Line | Rest]) -> [Line | unfold(Rest)];
unfold([]) -> [].

target(Target) ->
    case string:split(Target, "?") of
        [Path, Query] -> {decode(Path), [pair(string:split(P, "=")) || P <- string:lexemes(Query, "&")]};
        [Path] -> {decode(Path), []}
    end.

pair([K, V]) -> {decode(K), decode(V)};
pair([K]) -> {decode(K), ""}.

decode([$%, A, B | Rest]) -> [list_to_integer([A, B], 16) | decode(Rest)];
decode([$+ | Rest]) -> [$\s | decode(Rest)];
decode([C | Rest]) -> [C | decode(Rest)];
decode([]) -> [].

version(V) -> [list_to_integer(N) || N <- string:lexemes(V, ".")].

fields(Lines) ->
    [begin
         [Name, Value] = string:split(L, ":"),
         {string:lowercase(Name), values(string:trim(Value))}
     end || L <- Lines].

values(Text) -> [quality(string:split(string:trim(V), ";q=")) || V <- string:lexemes(Text, ",")].

quality([V, Q]) -> {V, list_to_float(Q)};
quality([V]) -> {V, 1.0}.

handle(bad_request, _) ->
    {400, [], "bad request"};
handle({request, Method, Path, Query, [1, _], Fields}, Documents) when Method =:= "GET"; Method =:= "HEAD" ->
    case user(dict:find("authorization", Fields)) of
        none -> {401, [], "who are you?"};
        User ->
            Documents ! {fetch, self(), Path, best(dict:fetch("accept-language", Fields))},
            receive
                {document, Title, Body} when Method =:= "GET" ->
                    {200, [{"Content-Type", "text/html"}, {"X-User", User}], page(Title, Body, Query)};
                {document, Title, _} ->
                    {200, [{"Content-Type", "text/html"}, {"X-Title", Title}], []};
                missing ->
                    {404, [], ["no ", Path]}
            end
    end;
handle({request, Method, _, _, _, _}, _) ->
    {405, [{"Allow", "GET, HEAD"}], [Method, " is not allowed"]}.

user({ok, [{"Basic " ++ Code, _}]}) ->
    [User, _Password] = string:split(base64:decode_to_string(Code), ":"),
    User;
user(_) -> none.

best(Languages) -> element(1, hd(lists:reverse(lists:keysort(2, Languages)))).

page(Title, Body, Query) ->
    [<<"<html><head><title>">>, escape(Title), <<"</title></head><body>">>, Body,
     [["<p>", escape(K), " = ", escape(V), "</p>"] || {K, V} <- lists:sort(Query)], <<"</body></html>\n">>].

escape(Text) -> [case C of $< -> "&lt;"; $> -> "&gt;"; $& -> "&amp;"; _ -> C end || C <- Text].

answer(Status, Headers, Body) ->
    Date = calendar:gregorian_seconds_to_datetime(63900000000 + iolist_size(Body)),
    ["HTTP/1.1 ", integer_to_list(Status), " ", reason(Status), "\r\n",
     "Date: ", date(Date), "\r\nContent-Length: ", integer_to_list(iolist_size(Body)), "\r\n",
     [[K, ": ", V, "\r\n"] || {K, V} <- Headers], "\r\n", Body].

reason(200) -> "OK";
reason(400) -> "Bad Request";
reason(401) -> "Unauthorized";
reason(404) -> "Not Found";
reason(405) -> "Method Not Allowed".

date({{Y, M, D} = Day, {H, Min, S}}) ->
    io_lib:format("~s, ~2..0w ~s ~w ~2..0w:~2..0w:~2..0w GMT",
                  [element(calendar:day_of_the_week(Day), {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}), D,
                   element(M, {"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"}),
                   Y, H, Min, S]).

%% --- documents and log ---

site() ->
    lists:foldl(fun(N, T) ->
                        Path = "/docs/page " ++ integer_to_list(N) ++ ".html",
                        Body = unicode:characters_to_binary(lists:join($\s, lists:duplicate(N * 40, "text & more"))),
                        gb_trees:insert(Path, {"Page <" ++ integer_to_list(N) ++ ">", Body}, T)
                end, gb_trees:empty(), lists:seq(1, 10)).

documents(Site) ->
    receive
        {fetch, From, Path, _Language} ->
            From ! case gb_trees:lookup(Path, Site) of
                       {value, {Title, Body}} -> {document, Title, Body};
                       none -> missing
                   end,
            documents(Site);
        stop -> ok
    end.

log(Lines, Count, Statuses) ->
    receive
        {line, Status, Size, Text} ->
            Q = queue:in({Status, Size, Text}, Lines),
            Kept = case queue:len(Q) > 1000 of true -> queue:drop(Q); false -> Q end,
            log(Kept, Count + 1, dict:update_counter(Status, 1, Statuses));
        {summary, To} ->
            To ! {summary, {Count, queue:len(Lines), lists:sort(dict:to_list(Statuses))}}
    end.

numbers(Args, Defaults) ->
    Given = [list_to_integer(A) || A <- Args],
    Given ++ lists:nthtail(length(Given), Defaults).
