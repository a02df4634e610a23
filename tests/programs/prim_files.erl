%% Files and folders through prim_file, without any server.
-module(prim_files).
-include_lib("kernel/include/file.hrl").
-export([main/1]).

main(_) ->
    {ok, Start} = prim_file:get_cwd(),
    Folder = "/tmp/prim_files_" ++ os:getpid(),
    p(prim_file:make_dir(Folder)),
    p(prim_file:make_dir(Folder)),
    p(prim_file:set_cwd(Folder)),
    {ok, Folder} = prim_file:get_cwd(),
    names(),
    whole_files(),
    handles(),
    folders(),
    information(),
    links(),
    owners(),
    errors(),
    [ok = prim_file:delete(Name) || Name <- element(2, prim_file:list_dir("."))],
    p(prim_file:set_cwd(Start)),
    p(prim_file:del_dir(Folder)).

names() ->
    p([t(fun() -> prim_file:internal_name2native(X) end)
       || X <- ["abc", [229, $a], [300], [16#d800], <<"abc">>, <<229>>, <<"a", 0, "b">>, "a\0b", abc, [abc | "d"],
                ["ab", "cd"], [], <<>>, [$a | <<"b">>], [$a | $b], 1, [1.0], [16#110000], <<"ab", 0>>]]),
    p([t(fun() -> prim_file:internal_native2name(X) end)
       || X <- [<<"abc">>, <<229>>, <<195, 165>>, <<"a", 204, 138>>, <<>>, "abc", <<"a", 0, "b">>, <<237, 160, 128>>]]),
    p([t(fun() -> prim_file:internal_normalize_utf8(X) end)
       || X <- [<<"abc">>, <<229>>, <<195, 165>>, <<"a", 204, 138>>, <<>>, "abc"]]),
    p([t(fun() -> prim_file:is_translatable(X) end) || X <- ["abc", <<"abc">>, <<229>>, <<195, 165>>, abc]]).

whole_files() ->
    p(prim_file:write_file("small", "some text")),
    p(prim_file:read_file("small")),
    p(prim_file:write_file("empty", [])),
    p(prim_file:read_file("empty")),
    Big = binary:copy(<<"0123456789abcdef">>, 20000),
    p(prim_file:write_file("big", [Big, "tail", [<<"x">>, 10]])),
    {ok, Read} = prim_file:read_file("big"),
    p({byte_size(Read), erlang:md5(Read)}),
    {ok, F} = prim_file:open("big", [read]),
    [p(sized(prim_file:pread(F, At, Count))) || {At, Count} <- [{0, 70000}, {0, 1000000}, {300000, 100000}, {320000, 100000},
                                                               {320005, 100000}, {320006, 100000}, {400000, 1 bsl 22}]],
    [p(sized(prim_file:read(F, Count))) || Count <- [100000, 150000, 1 bsl 22, 1 bsl 22, 100000]],
    p(prim_file:close(F)),
    p(prim_file:write_file("big", lists:duplicate(300, <<"piece of a list">>))),
    {ok, Pieces} = prim_file:read_file("big"),
    p({byte_size(Pieces), erlang:md5(Pieces)}),
    {ok, Proc} = prim_file:read_file("/proc/self/status"),
    p(byte_size(Proc) > 100),
    p(prim_file:read_file("missing")),
    p(prim_file:read_file(".")),
    p(prim_file:read_file("small/under")),
    p(write("small", "more", [append])),
    p(prim_file:read_file(<<"small">>)),
    p(write("small", "more", [exclusive])).

sized({ok, Data}) -> {byte_size(Data), erlang:md5(Data)};
sized(Other) -> Other.

write(Name, Data, Modes) ->
    case prim_file:open(Name, Modes) of
        {ok, F} -> Result = prim_file:write(F, Data), ok = prim_file:close(F), Result;
        Error -> Error
    end.

handles() ->
    {ok, F} = prim_file:open("data", [read, write]),
    p(prim_file:write(F, [<<"line one\n">>, "line two\r\n", "rest"])),
    p(prim_file:position(F, 0)),
    p([prim_file:read_line(F), prim_file:read_line(F), prim_file:read_line(F), prim_file:read_line(F)]),
    p([prim_file:position(F, At)
       || At <- [bof, {bof, 3}, cur, {cur, 2}, eof, {eof, -4}, {cur, -100}, {bof, -1}, {wrong, 1}, 1 bsl 70]]),
    p(prim_file:pread(F, 5, 3)),
    p(prim_file:pread(F, [{0, 4}, {100, 4}, {9, 4}])),
    p(prim_file:pread(F, 100, 4)),
    p(prim_file:pread(F, -1, 4)),
    p(prim_file:pread(F, 0, 1 bsl 70)),
    p(prim_file:pread(F, a, 4)),
    p(prim_file:pwrite(F, 5, "ONE")),
    p(prim_file:pwrite(F, [{0, "L"}, {30, <<"end">>}])),
    p(prim_file:pwrite(F, [{0, "K"}, {-1, <<"end">>}])),
    p(prim_file:pread(F, 0, 100)),
    p(prim_file:position(F, 8)),
    p(prim_file:truncate(F)),
    p(prim_file:sync(F)),
    p(prim_file:datasync(F)),
    p(prim_file:advise(F, 0, 0, random)),
    p(prim_file:advise(F, 0, 0, wrong)),
    p(prim_file:advise(F, -1, 0, normal)),
    p(prim_file:allocate(F, 0, 20)),
    p(prim_file:allocate(F, 0, -20)),
    p(prim_file:pread(F, 0, 100)),
    p(byte_size(prim_file:get_handle(F))),
    p(prim_file:write(F, not_data)),
    p(prim_file:write(F, [<<1:3>>])),
    p(prim_file:close(F)),
    p(prim_file:close(F)),
    p(prim_file:read(F, 1)),
    p(prim_file:get_handle(F)),
    {ok, R} = prim_file:open("data", [read, {read_ahead, 6}]),
    p([prim_file:read(R, N) || N <- [1, 2, 5, 100, 1, 0]]),
    p(prim_file:write(R, "x")),
    p(prim_file:close(R)),
    {ok, W} = prim_file:open("data", [write]),
    p(prim_file:read(W, 1)),
    p(prim_file:pwrite(W, 0, <<4:32, 8:32, "payload">>)),
    p(prim_file:close(W)),
    {ok, I} = prim_file:open("data", [read]),
    p([prim_file:ipread_s32bu_p32bu(I, Offset, Max)
       || {Offset, Max} <- [{0, 10}, {0, infinity}, {0, 3}, {14, 3}, {-1, 3}, {0, 1 bsl 31}]]),
    p(prim_file:close(I)).

folders() ->
    p(prim_file:make_dir("sub")),
    p(prim_file:write_file("sub/file", "x")),
    p(prim_file:write_file(["sub/", [229]], "x")),
    {ok, Names} = prim_file:list_dir("sub"),
    p(lists:sort(Names)),
    p(prim_file:write_file(<<"sub/raw", 229>>, "x")),
    {ok, All} = prim_file:list_dir_all("sub"),
    p(lists:sort(All)),
    p(prim_file:list_dir("missing")),
    p(prim_file:list_dir("sub/file")),
    p(prim_file:del_dir("sub")),
    p(prim_file:delete("sub")),
    p(prim_file:delete("missing")),
    p(prim_file:rename("sub/file", "moved")),
    p(prim_file:rename("sub/file", "moved")),
    p(prim_file:rename("/", "moved")),
    p(prim_file:set_cwd("missing")),
    p(prim_file:set_cwd(<<"raw", 229>>)),
    [ok = prim_file:delete(["sub/", Name]) || Name <- [[229]]],
    p(prim_file:delete(<<"sub/raw", 229>>)),
    p(prim_file:del_dir("sub")),
    p(prim_file:del_dir("sub")),
    p(prim_file:open(".", [read])),
    {ok, D} = prim_file:open(".", [read, directory]),
    p(prim_file:close(D)),
    p(prim_file:open("moved", [read, directory])),
    p(prim_file:delete("moved")),
    p(prim_file:get_cwd("C:")),
    p(prim_file:altname("x")).

information() ->
    p(prim_file:write_file("info", "12345")),
    p(prim_file:write_file_info("info", #file_info{mode = 8#640, atime = 1000000000, mtime = 1100000000}, [{time, posix}])),
    {ok, Info} = prim_file:read_file_info("info", [{time, posix}]),
    p({Info#file_info.size, Info#file_info.type, Info#file_info.access, Info#file_info.mode, Info#file_info.links,
       Info#file_info.atime, Info#file_info.mtime}),
    p(Info#file_info.uid =:= element(13, Info)),
    {ok, Universal} = prim_file:read_file_info("info", [{time, universal}]),
    p({Universal#file_info.atime, Universal#file_info.mtime}),
    {ok, F} = prim_file:open("info", [read]),
    {ok, Same} = prim_file:read_handle_info(F, [{time, posix}]),
    p(Same =:= Info),
    p(prim_file:close(F)),
    p(prim_file:read_handle_info(F)),
    {ok, Folder} = prim_file:read_file_info("."),
    p(Folder#file_info.type),
    {ok, Device} = prim_file:read_file_info("/dev/null"),
    p(Device#file_info.type),
    p(prim_file:read_file_info("missing")),
    p(prim_file:write_file_info("missing", #file_info{mode = 8#640})),
    p(prim_file:write_file_info("info", #file_info{mode = wrong})),
    p(prim_file:delete("info")).

links() ->
    p(prim_file:make_symlink("small", "soft")),
    p(prim_file:make_symlink("small", "soft")),
    p(prim_file:read_link("soft")),
    p(prim_file:read_link("small")),
    p(prim_file:read_link("missing")),
    {ok, Link} = prim_file:read_link_info("soft"),
    {ok, Target} = prim_file:read_file_info("soft"),
    p({Link#file_info.type, Target#file_info.type, Target#file_info.size}),
    p(prim_file:make_link("small", "hard")),
    {ok, Hard} = prim_file:read_file_info("hard"),
    p(Hard#file_info.links),
    p(prim_file:make_link("missing", "hard2")),
    p(prim_file:delete("soft")),
    p(prim_file:delete("hard")).

%% A file belongs to the process that has opened it, and is closed when that process ends.
owners() ->
    Main = self(),
    {Pid, Monitor} = spawn_monitor(fun() ->
        {ok, F} = prim_file:open("small", [read]),
        Main ! {file, F, prim_file:get_handle(F)},
        receive stop -> ok end
    end),
    {F, <<Number:32/native>>} = receive {file, Opened, Handle} -> {Opened, Handle} end,
    p(t(fun() -> prim_file:read(F, 1) end)),
    p(element(1, prim_file:read_link("/proc/self/fd/" ++ integer_to_list(Number)))),
    Pid ! stop,
    receive {'DOWN', Monitor, process, Pid, Reason} -> p(Reason) end,
    closed(Number, 100),
    %% Or a collection might have closed it before.
    p(is_tuple(F)).

closed(_, 0) -> p(still_open);
closed(Number, Left) ->
    case prim_file:read_link("/proc/self/fd/" ++ integer_to_list(Number)) of
        {error, enoent} -> p(closed);
        _ -> receive after 10 -> closed(Number, Left - 1) end
    end.

errors() ->
    p(prim_file:open("a\0b", [read])),
    p(prim_file:open(atom, [read])),
    p(prim_file:open("missing", [read])),
    p(prim_file:open("missing/file", [write])),
    p(prim_file:open("small", wrong)),
    p(prim_file:read_file(wrong)),
    p(t(fun() -> prim_file:read(wrong, 1) end)),
    {ok, F} = prim_file:open("small", [read]),
    p(prim_file:read(F, -1)),
    p(prim_file:read(F, 1 bsl 80)),
    p(t(fun() -> prim_file:read(F, wrong) end)),
    p(prim_file:close(F)).

t(Fun) ->
    try Fun() catch Class:Reason -> {Class, Reason} end.

p(Term) ->
    io:format("~0p~n", [Term]).
