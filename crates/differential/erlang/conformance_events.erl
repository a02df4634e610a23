%% Writes what becomes of each case of a suite, one line an event, into a file: an event handler of Common Test.
-module(conformance_events).
-behaviour(gen_event).
-export([init/1, handle_event/2, handle_call/2, handle_info/2, terminate/2]).
-include_lib("common_test/include/ct_event.hrl").

%% The file, and the groups that are open, innermost first.
init(File) ->
    {ok, Device} = file:open(File, [write, raw]),
    {ok, {Device, []}}.

handle_event(#event{name = Name, data = Data}, {Device, Groups}) ->
    {ok, {Device, note(Name, Data, Device, Groups)}};
handle_event(_, State) ->
    {ok, State}.

handle_call(_, State) ->
    {ok, ok, State}.

handle_info(_, State) ->
    {ok, State}.

terminate(_, {Device, _}) ->
    file:close(Device).

note(tc_start, {_, {init_per_group, Group, _}}, _, Groups) ->
    [Group | Groups];
note(tc_done, {_, {end_per_group, Group, _}, _}, _, Groups) ->
    lists:delete(Group, Groups);
note(tc_done, {_, {init_per_group, _, _}, ok}, _, Groups) ->
    Groups;
note(tc_done, {_, {init_per_group, Group, _}, _}, _, Groups) ->
    %% Its end does not come.
    lists:delete(Group, Groups);
note(tc_start, {_, Case}, Device, Groups) ->
    line(Device, Groups, Case, "start", "");
note(tc_done, {_, Case, ok}, Device, Groups) ->
    line(Device, Groups, Case, "pass", "");
note(tc_done, {_, Case, {skipped, Reason}}, Device, Groups) ->
    line(Device, Groups, Case, "skip", Reason);
note(tc_done, {_, Case, {failed, Reason}}, Device, Groups) ->
    line(Device, Groups, Case, "fail", Reason);
note(tc_done, {_, Case, Other}, Device, Groups) ->
    line(Device, Groups, Case, "fail", Other);
note(tc_user_skip, {_, {Case, Group}, Reason}, Device, Groups) ->
    line(Device, [Group], Case, "skip", Reason), Groups;
note(tc_user_skip, {_, Case, Reason}, Device, Groups) ->
    line(Device, Groups, Case, "skip", Reason);
note(tc_auto_skip, {_, {Case, Group}, Reason}, Device, Groups) ->
    line(Device, [Group], Case, "skip", Reason), Groups;
note(tc_auto_skip, {_, Case, Reason}, Device, Groups) ->
    line(Device, Groups, Case, "skip", Reason);
note(_, _, _, Groups) ->
    Groups.

line(_, Groups, Case, _, _) when Case =:= init_per_suite; Case =:= end_per_suite; Case =:= end_per_group ->
    Groups;
line(Device, Groups, Case, Result, Reason) when is_atom(Case) ->
    Group = case Groups of [Inner | _] -> [atom_to_list(Inner), $/]; [] -> "" end,
    Text = io_lib:format("~ts~ts\t~ts\t~0tp~n", [Group, Case, Result, Reason]),
    file:write(Device, unicode:characters_to_binary(Text)),
    Groups;
line(_, Groups, _, _, _) ->
    Groups.
