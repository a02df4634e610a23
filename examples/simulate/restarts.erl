%% A supervised server that remembers words. A client that asks again when the server has died always gets an answer. But
%% the words that the server had heard are gone: found with `--faults kill:30:4`, which spares the supervisor.
-module(restarts).
-behaviour(supervisor).
-export([main/1]).
-export([init/1, start/0, serve/1]).

main(_) ->
    {ok, Supervisor} = supervisor:start_link(?MODULE, []),
    unlink(Supervisor),
    [ask({remember, Word}, 20) || Word <- [red, green, blue]],
    Words = ask(words, 20),
    io:format("~w~n", [Words]),
    atoll_simulate:always(an_answer_comes, Words =/= none),
    atoll_simulate:always(no_word_is_forgotten, length(Words) =:= 3).

ask(_, 0) ->
    none;
ask(Request, Tries) ->
    Monitor = monitor(process, words),
    catch words ! {self(), Monitor, Request},
    receive
        {Monitor, Answer} -> demonitor(Monitor, [flush]), Answer;
        {'DOWN', Monitor, process, _, _} -> timer:sleep(1000), ask(Request, Tries - 1)
    end.

init([]) ->
    {ok, {#{intensity => 20}, [#{id => words, start => {?MODULE, start, []}}]}}.

start() ->
    Server = proc_lib:spawn_link(?MODULE, serve, [[]]),
    true = register(words, Server),
    {ok, Server}.

serve(Words) ->
    receive
        {Client, Tag, {remember, Word}} -> Client ! {Tag, ok}, serve(ordsets:add_element(Word, Words));
        {Client, Tag, words} -> Client ! {Tag, Words}, serve(Words)
    end.
