%% Servers that programs use, at work: OTP's own, and those of two packages. `make area` runs each.
-module(servers).
-behaviour(gen_server).
-export([start/0, init/1, handle_call/3, handle_cast/2]).

-record(row, {key, name, tags, score}).

start() ->
    [Name | Rest] = init:get_plain_arguments(),
    persistent_term:put(?MODULE, case Rest of [Times] -> list_to_integer(Times); [] -> 1 end),
    logger:set_primary_config(level, none),
    Folder = filename:join(os:getenv("TMPDIR", "/tmp"), "atoll_servers_" ++ os:getpid()),
    ok = filelib:ensure_path(Folder),
    ok = file:set_cwd(Folder),
    serve(Name),
    file:del_dir_r(Folder),
    halt().

%% So many processes do this with a number each; all are waited for.
crowd(Count, Work) ->
    Crowd = [spawn_monitor(fun() -> Work(N) end) || N <- lists:seq(1, Count)],
    [receive {'DOWN', Monitor, process, Pid, normal} -> ok end || {Pid, Monitor} <- Crowd].

%% As many times as the program is told.
repeat(N, Work) -> rounds(N * persistent_term:get(?MODULE), Work).

rounds(0, _) -> ok;
rounds(N, Work) -> Work(N), rounds(N - 1, Work).

%% A term of some hundred words, as requests and rows have.
row(N) ->
    #row{
        key = {user, N},
        name = "user number " ++ integer_to_list(N),
        tags = [{tag, T, float(T)} || T <- lists:seq(1, N rem 20)],
        score = #{points => N, level => N rem 7, last => <<"somewhere">>}
    }.

serve("gen_server") ->
    {ok, Server} = gen_server:start_link(?MODULE, [], []),
    crowd(8, fun(Client) ->
        repeat(5000, fun(N) ->
            Row = row(N * Client rem 1000),
            ok = gen_server:call(Server, {put, Row}),
            gen_server:cast(Server, {count, Client}),
            {ok, _} = gen_server:call(Server, {get, Row#row.key})
        end)
    end);
serve("mnesia") ->
    ok = mnesia:start(),
    {atomic, ok} = mnesia:create_table(row, [{attributes, record_info(fields, row)}, {ram_copies, [node()]}]),
    crowd(4, fun(Client) ->
        repeat(1000, fun(N) ->
            Row = row(N * Client rem 500),
            {atomic, ok} = mnesia:transaction(fun() -> mnesia:write(Row) end),
            {atomic, [_]} = mnesia:transaction(fun() -> mnesia:read(row, Row#row.key) end)
        end)
    end);
serve("logger") ->
    logger:set_primary_config(level, info),
    logger:remove_handler(default),
    ok = logger:add_handler(file, logger_std_h, #{config => #{file => "events.log"}}),
    crowd(4, fun(Client) ->
        repeat(2000, fun(N) ->
            logger:log(info, #{event => stored, client => Client, row => row(N rem 100)}, #{client => Client}),
            logger:log(warning, "row ~p of ~p is late", [N, Client])
        end)
    end);
serve("httpd") ->
    {ok, _} = application:ensure_all_started(inets),
    ok = file:write_file("page.html", binary:copy(<<"<p>A line of a page.</p>\n">>, 200)),
    {ok, Server} = inets:start(httpd, [
        {port, 0}, {bind_address, {127, 0, 0, 1}}, {server_name, "localhost"}, {server_root, "."},
        {document_root, "."}, {modules, [mod_get, mod_head]}
    ]),
    Port = proplists:get_value(port, httpd:info(Server)),
    Page = "http://127.0.0.1:" ++ integer_to_list(Port) ++ "/page.html",
    crowd(4, fun(_) -> repeat(50, fun(_) -> {ok, {{_, 200, _}, _, _}} = httpc:request(Page) end) end);
serve("lager") ->
    application:load(lager),
    application:set_env(lager, handlers, [{lager_file_backend, [{file, "lager.log"}, {level, info}]}]),
    application:set_env(lager, crash_log, undefined),
    application:set_env(lager, error_logger_redirect, false),
    {ok, _} = application:ensure_all_started(lager),
    crowd(4, fun(Client) ->
        repeat(1000, fun(N) -> lager:log(info, [{pid, self()}, {client, Client}], "stored ~p", [row(N rem 100)]) end)
    end);
serve("elixir") ->
    {ok, _} = application:ensure_all_started(elixir),
    {ok, Agent} = 'Elixir.Agent':start_link(fun() -> #{} end),
    crowd(4, fun(Client) ->
        repeat(1000, fun(N) ->
            Row = row(N * Client rem 500),
            ok = 'Elixir.Agent':update(Agent, fun(Rows) -> Rows#{Row#row.key => Row} end),
            Task = 'Elixir.Task':async(fun() -> [row(N), Row] end),
            [_, _] = 'Elixir.Task':await(Task),
            #row{} = 'Elixir.Agent':get(Agent, fun(Rows) -> maps:get(Row#row.key, Rows) end)
        end)
    end).

init([]) -> {ok, {#{}, #{}}}.

handle_call({put, Row}, _, {Rows, Counts}) -> {reply, ok, {Rows#{Row#row.key => Row}, Counts}};
handle_call({get, Key}, _, {Rows, _} = State) -> {reply, maps:find(Key, Rows), State}.

handle_cast({count, Client}, {Rows, Counts}) ->
    {noreply, {Rows, maps:update_with(Client, fun(Count) -> Count + 1 end, 1, Counts)}}.
