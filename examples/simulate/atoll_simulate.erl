%% Assertions for `atoll simulate`, for systems other than Atoll: here they do nothing but check their arguments. Atoll
%% has functions of its own in the place of these.
-module(atoll_simulate).
-export([always/2, sometimes/2, begins/0]).

%% Must hold each time it is called, in each run.
-spec always(Name :: term(), Holds :: boolean()) -> ok.
always(_Name, Holds) when is_boolean(Holds) -> ok.

%% Must hold at least once in all runs together.
-spec sometimes(Name :: term(), Holds :: boolean()) -> ok.
sometimes(_Name, Holds) when is_boolean(Holds) -> ok.

%% With `--from-mark`, the search for a fault begins here.
-spec begins() -> true.
begins() -> true.
