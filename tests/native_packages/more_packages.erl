%% Calls more of Debian's packages with native libraries: erlang-bitcask, -cl, -p1-mqtree, -p1-sip, -p1-xmpp, wings3d.
-module(more_packages).
-export([main/1]).

main(_) ->
    [code:add_patha(Folder) || Folder <- filelib:wildcard("debian/usr/lib/erlang/lib/*/ebin")],
    Parts = [fun names/0, fun topics/0, fun sip/0, fun store/0, fun bare_store/0, fun geometry/0, fun opencl/0],
    lists:foreach(fun run/1, Parts).

run(Part) ->
    {name, Name} = erlang:fun_info(Part, name),
    show(Name),
    try Part() catch Class:Reason -> show({Class, Reason}) end.

names() ->
    {ok, _} = application:ensure_all_started(stringprep),
    show({jid:start(), xmpp_uri:start(), xmpp_lang:start()}),
    show([jid:decode(Text) || Text <- [<<"User@Example.COM/Home">>, <<"example.com">>]]),
    show([try jid:decode(Text) catch _:Reason -> Reason end || Text <- [<<"@">>, <<"a@b/", 0>>, <<>>]]),
    show(jid:encode(jid:decode(<<"a@b/c">>))),
    show([xmpp_uri:is_valid(Text) || Text <- [<<"xmpp:a@b">>, <<"http://example.com/x?y=1#z">>, <<"1:">>, <<"a b">>]]),
    show([xmpp_lang:is_valid(Text) || Text <- [<<"en">>, <<"de-AT">>, <<"x-private">>, <<"-">>, <<"toolonglanguage">>]]).

topics() ->
    Tree = mqtree:new(),
    Topics = [<<"a/b/c">>, <<"a/+/c">>, <<"a/#">>, <<"$sys/x">>, <<"#">>, <<>>],
    show([try mqtree:insert(Tree, Topic) catch _:Reason -> Reason end || Topic <- Topics]),
    show([lists:sort(mqtree:match(Tree, Topic)) || Topic <- [<<"a/b/c">>, <<"a/x/c">>, <<"b">>, <<"$sys/x">>]]),
    show({mqtree:size(Tree), mqtree:refc(Tree, <<"a/#">>), mqtree:delete(Tree, <<"a/#">>), mqtree:is_empty(Tree)}),
    show(lists:sort(mqtree:to_list(Tree))),
    show({mqtree:register(here, Tree), mqtree:registered(), mqtree:size(mqtree:whereis(here))}),
    [spawn_monitor(fun() -> [mqtree:insert(Tree, <<"t/", (integer_to_binary(N))/binary>>) || N <- lists:seq(1, 1000)] end)
     || _ <- lists:seq(1, 4)],
    [receive {'DOWN', _, _, _, Reason} -> normal = Reason end || _ <- lists:seq(1, 4)],
    show({mqtree:size(Tree), mqtree:refc(Tree, <<"t/7">>)}),
    show({mqtree:unregister(here), mqtree:whereis(here), mqtree:clear(Tree), mqtree:size(Tree)}).

sip() ->
    show(esip_codec:start()),
    Message = <<"INVITE sip:bob@example.com SIP/2.0\r\nVia: SIP/2.0/UDP here:5060;branch=z9hG4bK1\r\nTo: Bob "
                "<sip:bob@example.com>\r\nFrom: \"A\" <sip:a@example.com>;tag=1\r\nCSeq: 1 INVITE\r\nCall-ID: 1\r\n"
                "Content-Length: 4\r\n\r\nbody">>,
    show(esip_codec:decode(Message)),
    {ok, Decoded} = esip_codec:decode(Message),
    show(iolist_to_binary(esip_codec:encode(Decoded))),
    show(esip_codec:decode_uri(<<"sip:bob:secret@example.com:5061;transport=tcp?x=y">>)),
    show({esip_codec:to_lower(<<"AbC">>), esip_codec:strcasecmp(<<"aB">>, <<"Ab">>), esip_codec:split(<<"a,b,c">>, $,)}).

store() ->
    Folder = "bitcask",
    file:del_dir_r(Folder),
    Store = bitcask:open(Folder, [read_write, {max_file_size, 20000}]),
    Value = fun(N) -> binary:copy(integer_to_binary(N), 20) end,
    [ok = bitcask:put(Store, <<N:32>>, Value(N)) || N <- lists:seq(1, 2000)],
    [ok = bitcask:delete(Store, <<N:32>>) || N <- lists:seq(1, 2000, 2)],
    show([bitcask:get(Store, <<N:32>>) || N <- [1, 2, 1999, 2000, 3000]]),
    show(length(bitcask:list_keys(Store))),
    show(bitcask:fold(Store, fun(_, Bytes, Sum) -> byte_size(Bytes) + Sum end, 0)),
    ok = bitcask:sync(Store),
    bitcask:close_write_file(Store),
    ok = bitcask:merge(Folder),
    ok = bitcask:close(Store),
    Again = bitcask:open(Folder),
    show(lists:all(fun(N) -> bitcask:get(Again, <<N:32>>) =:= {ok, Value(N)} end, lists:seq(2, 2000, 2))),
    show({bitcask:get(Again, <<1:32>>), element(1, bitcask:status(Again))}),
    bitcask:close(Again).

bare_store() ->
    {ok, Keys} = bitcask_nifs:keydir_new(),
    [ok = bitcask_nifs:keydir_put(Keys, <<N:32>>, N rem 7, N, N * 10, N, 1) || N <- lists:seq(1, 5000)],
    show(bitcask_nifs:keydir_get(Keys, <<17:32>>)),
    show(bitcask_nifs:keydir_remove(Keys, <<17:32>>)),
    show(bitcask_nifs:keydir_get(Keys, <<17:32>>)),
    show({element(1, bitcask_nifs:keydir_info(Keys)), element(2, bitcask_nifs:keydir_info(Keys))}),
    show(bitcask_nifs:keydir_fold(Keys, fun(_, Sum) -> Sum + 1 end, 0, -1, -1)),
    {ok, Copy} = bitcask_nifs:keydir_copy(Keys),
    show(element(1, bitcask_nifs:keydir_info(Copy))),
    show(bitcask_nifs:keydir_release(Keys)).

geometry() ->
    Square = [{0.0, 0.0, 0.0}, {1.0, 0.0, 0.0}, {1.0, 1.0, 0.0}, {0.5, 0.2, 0.0}, {0.0, 1.0, 0.0}],
    show(wings_pick_nif:culling()),
    show(wings_pick_nif:cull(true)),
    show(wings_pick_nif:front_face(ccw)),
    show(wings_pick_nif:pick_matrix(1.0, 2.0, 3.0, 4.0, {0, 0, 100, 100})),
    show(catch wings_pick_nif:vertices([])),
    show(wings_gl:triangulate({0.0, 0.0, 1.0}, Square)).

opencl() ->
    show(cl:versions()),
    show(cl:get_platform_ids()).

show(Term) -> io:format("~p~n", [Term]).
