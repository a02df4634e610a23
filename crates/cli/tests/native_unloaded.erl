%% The module that native_unload.erl loads with a library and purges.
-module(native_unloaded).
-export([load/2, meet/1, meet_cpu/1, meet_io/1]).
-nifs([meet/1, meet_cpu/1, meet_io/1]).

load(Library, Report) -> erlang:load_nif(Library, Report).

meet(_) -> erlang:nif_error(not_loaded).
meet_cpu(_) -> erlang:nif_error(not_loaded).
meet_io(_) -> erlang:nif_error(not_loaded).
