%% What it prints is never the same: the differential runner has to see that.
-module(differs).
-export([main/1]).

main(_) -> io:format("~s~n", [os:getpid()]).
