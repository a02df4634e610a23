%% Stands in for the hook of OTP's own build, which many suites name. Some ask it for names of nodes beside this one,
%% which their cases start.
-module(ts_install_cth).
-export([init/2, pre_init_per_suite/3]).

init(_, Options) ->
    {ok, proplists:get_value(nodenames, Options, 0)}.

pre_init_per_suite(_, Config, Count) when is_list(Config) ->
    [Name, Host] = string:split(atom_to_list(node()), "@"),
    Beside = [list_to_atom(lists:concat([Name, "_", Number, "@", Host])) || Number <- lists:seq(1, Count)],
    {[{nodenames, Beside} || Count > 0] ++ Config, Count};
pre_init_per_suite(_, Reason, Count) ->
    {Reason, Count}.
