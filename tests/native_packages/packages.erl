%% Calls Debian's packages with native libraries: erlang-jiffy, erlang-p1-*.
-module(packages).
-export([main/1]).

main(_) ->
    [code:add_patha(Folder) || Folder <- filelib:wildcard("debian/usr/lib/erlang/lib/*/ebin")],
    Applications = [p1_utils, stringprep, fast_xml, fast_yaml, ezlib, iconv, fast_tls, eimp, sqlite3, cache_tab],
    [show({Name, element(1, application:ensure_all_started(Name))}) || Name <- Applications],
    json(),
    show(fxml_stream:parse_element(<<"<a x='1'><b>text</b></a>">>)),
    show(stringprep:nodeprep(<<"ABC">>)),
    show(iconv:convert(<<"utf-8">>, <<"iso-8859-1">>, <<16#c3, 16#a9>>)),
    show(fast_yaml:decode(<<"a: 1\nb: [x, y]\n">>)),
    show(p1_sha:sha(<<"abc">>)),
    ets_cache:new(table, [{max_size, 10}]),
    show([ets_cache:lookup(table, key, fun() -> {ok, 1} end), ets_cache:lookup(table, key)]),
    {ok, _} = sqlite3:open(database, [in_memory]),
    show(sqlite3:sql_exec(database, "select 1 + 1 as two")),
    show(eimp:get_type(<<16#89, "PNG", 13, 10, 26, 10>>)),
    tls().

json() ->
    Row = fun(N) ->
        #{<<"id">> => N, <<"name">> => integer_to_binary(N), <<"part">> => N / 7, <<"list">> => [1, null, <<"a">>]}
    end,
    Text = iolist_to_binary(jiffy:encode([Row(N) || N <- lists:seq(1, 5000)])),
    show({byte_size(Text), erlang:md5(Text)}),
    Decoded = jiffy:decode(Text, [return_maps]),
    show(jiffy:decode(jiffy:encode(Decoded), [return_maps]) =:= Decoded),
    show(try jiffy:decode(<<"{\"a\": [1, }">>) catch error:Reason -> Reason end),
    show(jiffy:encode({[{a, <<"x">>}, {b, 1.5}]}, [pretty])).

%% Both ends are fast_tls.
tls() ->
    Key = [{digest, sha256}, {key, {rsa, 2048, 65537}}],
    Chain = #{root => Key, intermediates => [], peer => Key},
    #{server_config := Server} = public_key:pkix_test_data(#{server_chain => Chain, client_chain => Chain}),
    {Type, Der} = proplists:get_value(key, Server),
    Entries = [{'Certificate', proplists:get_value(cert, Server), not_encrypted}, {Type, Der, not_encrypted}],
    ok = file:write_file("certificate.pem", public_key:pem_encode(Entries)),
    {ok, Listen} = gen_tcp:listen(0, [binary, {active, false}]),
    {ok, Port} = inet:port(Listen),
    spawn_link(fun() ->
        {ok, Accepted} = gen_tcp:accept(Listen),
        {ok, Secure} = fast_tls:tcp_to_tls(Accepted, [{certfile, <<"certificate.pem">>}]),
        echo(Secure)
    end),
    {ok, Socket} = gen_tcp:connect("localhost", Port, [binary, {active, false}]),
    {ok, Secure} = fast_tls:tcp_to_tls(Socket, [connect, verify_none]),
    ok = fast_tls:send(Secure, <<"hello">>),
    show(received(Secure)),
    fast_tls:close(Secure).

received(Secure) ->
    case fast_tls:recv(Secure, 0, 5000) of
        {ok, <<>>} -> received(Secure);
        Result -> Result
    end.

echo(Secure) ->
    case received(Secure) of
        {ok, Data} -> fast_tls:send(Secure, <<"echo ", Data/binary>>), echo(Secure);
        _ -> ok
    end.

show(Term) -> io:format("~p~n", [Term]).
