%% What native libraries cost: calls, hashes, TLS, and JSON where there is Debian's erlang-jiffy. `make natives` runs it.
-module(natives).
-export([start/0, empty/1, empty_dirty/1, plain/1]).
-nifs([empty/1, empty_dirty/1]).

%% Megabytes that are sent at a time: a gigabyte in all five.
-define(BLOCKS, 205).

empty(_) -> erlang:nif_error(not_loaded).
empty_dirty(_) -> erlang:nif_error(not_loaded).
plain(X) -> X.

start() ->
    ok = erlang:load_nif("./natives", 0),
    {ok, _} = application:ensure_all_started(ssl),
    calls("plain call, ns", 10000000, fun(N) -> plain_calls(N) end),
    calls("empty native call, ns", 10000000, fun(N) -> empty_calls(N) end),
    calls("empty dirty call, ns", 100000, fun(N) -> dirty_calls(N) end),
    [hashes(Size) || Size <- [16, 1024, 65536, 1048576]],
    [tls(Version) || Version <- ['tlsv1.2', 'tlsv1.3']],
    json().

%% The best of five.
best(Fun) -> lists:min([begin garbage_collect(), element(1, timer:tc(Fun)) end || _ <- lists:seq(1, 5)]).

show(What, Value) -> io:format("~-40s ~.2f~n", [What, Value]).

calls(What, Count, Fun) -> show(What, best(fun() -> Fun(Count) end) * 1000 / Count).

plain_calls(0) -> ok;
plain_calls(N) -> ?MODULE:plain(N), plain_calls(N - 1).

empty_calls(0) -> ok;
empty_calls(N) -> ?MODULE:empty(N), empty_calls(N - 1).

dirty_calls(0) -> ok;
dirty_calls(N) -> ?MODULE:empty_dirty(N), dirty_calls(N - 1).

hashes(Size) ->
    Data = binary:copy(<<"x">>, Size),
    Count = max(20, 50000000 div (Size + 1000)),
    Time = best(fun() -> repeat(Count, fun() -> crypto:hash(sha256, Data) end) end),
    show("crypto:hash(sha256), " ++ integer_to_list(Size) ++ " bytes, us", Time / Count).

repeat(0, _) -> ok;
repeat(N, Fun) -> Fun(), repeat(N - 1, Fun).

tls(Version) ->
    Key = [{key, {namedCurve, secp256r1}}],
    Chain = #{root => Key, intermediates => [], peer => Key},
    #{server_config := Server, client_config := Client} =
        public_key:pkix_test_data(#{server_chain => Chain, client_chain => Chain}),
    Common = [{versions, [Version]}, {active, false}, binary],
    {ok, Listen} = ssl:listen(0, Common ++ Server),
    {ok, {_, Port}} = ssl:sockname(Listen),
    spawn_link(fun() -> accept(Listen) end),
    Options = [{verify, verify_peer}, {server_name_indication, disable} | Common] ++ Client,
    Connect = fun() -> {ok, Socket} = ssl:connect("localhost", Port, Options), Socket end,
    Handshakes = 2000,
    Time = best(fun() -> repeat(Handshakes, fun() -> ok = ssl:close(Connect()) end) end),
    show(atom_to_list(Version) ++ " handshakes, ms each", Time / Handshakes / 1000),
    Socket = Connect(),
    Block = binary:copy(<<"0123456789abcdef">>, 65536),
    Blocks = ?BLOCKS,
    Sending = best(fun() ->
        repeat(Blocks, fun() -> ok = ssl:send(Socket, Block) end),
        {ok, <<"all">>} = ssl:recv(Socket, 3)
    end),
    show(atom_to_list(Version) ++ " throughput, MB/s", byte_size(Block) * Blocks / Sending),
    ssl:close(Socket),
    ssl:close(Listen).

accept(Listen) ->
    {ok, Transport} = ssl:transport_accept(Listen),
    spawn_link(fun() -> accept(Listen) end),
    {ok, Socket} = ssl:handshake(Transport),
    count(Socket, 0).

count(Socket, ?BLOCKS * 1048576) ->
    ok = ssl:send(Socket, <<"all">>),
    count(Socket, 0);
count(Socket, Bytes) ->
    case ssl:recv(Socket, 0) of
        {ok, Data} -> count(Socket, Bytes + byte_size(Data));
        {error, closed} -> ok
    end.

json() ->
    case code:which(jiffy) of
        non_existing -> ok;
        _ ->
            Row = fun(N) ->
                #{<<"id">> => N, <<"name">> => <<"someone">>, <<"score">> => N / 7, <<"tags">> => [<<"a">>, true, null]}
            end,
            Term = [Row(N) || N <- lists:seq(1, 14000)],
            Text = iolist_to_binary(jiffy:encode(Term)),
            show("size of the JSON text, MB", byte_size(Text) / 1048576),
            show("jiffy:encode, ms", best(fun() -> jiffy:encode(Term) end) / 1000),
            show("jiffy:decode, ms", best(fun() -> jiffy:decode(Text, [return_maps]) end) / 1000)
    end.
