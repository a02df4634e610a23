%% Processes that begin with large arguments: they keep them, drop them, collect beside them and end with them.
-module(spawn_large).
-export([main/1, child/4]).

main(_) ->
    List = [{N, integer_to_list(N), <<N:32>>} || N <- lists:seq(1, 1500)],
    Binaries = [binary:copy(<<N>>, 100 + N) || N <- lists:seq(1, 1000)],
    Map = maps:from_list([{N, [N]} || N <- lists:seq(1, 1200)]),
    Shared = lists:seq(1, 2500),
    Sent = [{list, List}, {binaries, Binaries}, {map, Map}, {shared, {Shared, Shared, [Shared | Shared]}}],
    Options = [[], [{min_heap_size, 100000}], [{fullsweep_after, 0}], [{fullsweep_after, 3}]],
    [io:format("~p ~p ~p~n", [Name, Option, run(Name, Term, Option)]) || {Name, Term} <- Sent, Option <- Options],
    io:format("~p~n", [erlang:phash2(Sent)]).

run(Name, Term, Options) ->
    [begin
         {Pid, Monitor} = spawn_opt(?MODULE, child, [self(), How, Name, Term], [monitor | Options]),
         Answer = receive {Pid, Result} -> Result end,
         receive {'DOWN', Monitor, process, Pid, Reason} -> {Answer, Reason} end
     end || How <- [ends, hashes, works, drops, hibernates]].

child(Parent, ends, Name, _) ->
    Parent ! {self(), Name};
child(Parent, hashes, _, Term) ->
    Parent ! {self(), erlang:phash2(Term)};
child(Parent, works, _, Term) ->
    Made = work(Term, 24, []),
    Parent ! {self(), {erlang:phash2(Term), erlang:phash2(Made)}},
    exit({made, length(Made)});
child(Parent, drops, Name, Term) ->
    Hash = erlang:phash2(Term),
    Made = work(Name, 24, []),
    garbage_collect(),
    Parent ! {self(), {Hash, erlang:phash2(Made)}};
child(Parent, hibernates, _, Term) ->
    Self = self(),
    spawn(fun() -> Self ! {go, Parent} end),
    receive {go, _} = Go -> self() ! Go end,
    proc_lib:hibernate(erlang, apply, [fun hashed/1, [Term]]).

hashed(Term) ->
    receive {go, Parent} -> Parent ! {self(), erlang:phash2(Term)} end.

%% Allocates until there were collections of both kinds.
work(_, 0, Made) ->
    Made;
work(Term, N, Made) ->
    Garbage = [{N, M, Term} || M <- lists:seq(1, 300)],
    N rem 8 =:= 0 andalso garbage_collect(),
    work(Term, N - 1, [{N, length(Garbage), erlang:phash2(element(2, hd(Garbage)))} | Made]).
