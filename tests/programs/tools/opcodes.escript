#!/usr/bin/env escript
%% Which instructions do the test programs contain, and which not?
%%
%%     opcodes.escript OPCODES.tsv DIRECTORY...
%%
%% OPCODES.tsv has columns `name', `arity' and `status' in its header line; those with status `core' are what
%% current compilers emit. The directories hold compiled modules. Exit status 1 if a core instruction is in none of them.

-mode(compile).

main([Table | Directories]) ->
    Core = core(Table),
    Files = lists:append([filelib:wildcard(filename:join(D, "*.beam")) || D <- Directories]),
    Found = lists:foldl(fun count/2, #{}, Files),
    Missing = [Op || Op <- Core, not is_map_key(Op, Found)],
    io:format("~w modules, ~w different instructions, ~w of ~w core instructions~n",
              [length(Files), map_size(Found), length(Core) - length(Missing), length(Core)]),
    [io:format("missing: ~s/~w~n", [Name, Arity]) || {Name, Arity} <- Missing],
    Rare = lists:sort([{N, Op} || {Op, N} <- maps:to_list(Found), N < 3]),
    [io:format("only ~w: ~s/~w~n", [N, Name, Arity]) || {N, {Name, Arity}} <- Rare],
    halt(case Missing of [] -> 0; _ -> 1 end);
main(_) ->
    io:format(standard_error, "usage: opcodes.escript OPCODES.tsv DIRECTORY...~n", []),
    halt(2).

core(Table) ->
    {ok, Text} = file:read_file(Table),
    [Header | Rows] = [binary:split(L, <<"\t">>, [global]) || L <- binary:split(Text, <<"\n">>, [global, trim_all])],
    [{binary_to_atom(field(<<"name">>, Header, Row)), binary_to_integer(field(<<"arity">>, Header, Row))}
     || Row <- Rows, field(<<"status">>, Header, Row) =:= <<"core">>].

field(Name, Header, Row) ->
    element(2, lists:keyfind(Name, 1, lists:zip(Header, Row))).

%% The code chunk is read as it stands: the disassembler renames and merges instructions.
count(File, Found) ->
    {ok, {_, [{"Code", <<16:32, _Set:32, _Max:32, _Labels:32, _Functions:32, Code/binary>>}]}} =
        beam_lib:chunks(File, ["Code"]),
    instructions(Code, Found).

instructions(<<>>, Found) -> Found;
instructions(<<Op, Rest/binary>>, Found) ->
    {Name, Arity} = beam_opcodes:opname(Op),
    Next = lists:foldl(fun(_, R) -> argument(R) end, Rest, lists:seq(1, Arity)),
    case Name of
        int_code_end -> bump({Name, Arity}, Found);
        _ -> instructions(Next, bump({Name, Arity}, Found))
    end.

bump(Op, Found) -> maps:update_with(Op, fun(N) -> N + 1 end, 1, Found).

%% Skips one compact term.
argument(<<_:4, 0:1, 7:3, _/binary>> = Code) -> extended(Code);
argument(Code) -> element(2, number(Code)).

number(<<N:4, 0:1, _:3, Rest/binary>>) -> {N, Rest};
number(<<High:3, 0:1, 1:1, _:3, Low, Rest/binary>>) -> {High bsl 8 bor Low, Rest};
number(<<7:3, 1:1, 1:1, _:3, Rest/binary>>) ->
    {Size, Rest1} = number(Rest),
    <<N:(Size + 9)/unit:8, Rest2/binary>> = Rest1,
    {N, Rest2};
number(<<Size:3, 1:1, 1:1, _:3, Rest/binary>>) ->
    <<N:(Size + 2)/unit:8, Rest1/binary>> = Rest,
    {N, Rest1}.

%% 1 list, 2 floating-point register, 3 allocation list, 4 literal, 5 register with a type.
extended(<<1:4, 0:1, 7:3, Rest/binary>>) ->
    {Size, Rest1} = number(Rest),
    lists:foldl(fun(_, R) -> argument(R) end, Rest1, lists:seq(1, Size));
extended(<<2:4, 0:1, 7:3, Rest/binary>>) -> argument(Rest);
extended(<<3:4, 0:1, 7:3, Rest/binary>>) ->
    {Size, Rest1} = number(Rest),
    lists:foldl(fun(_, R) -> argument(argument(R)) end, Rest1, lists:seq(1, Size));
extended(<<4:4, 0:1, 7:3, Rest/binary>>) -> argument(Rest);
extended(<<5:4, 0:1, 7:3, Rest/binary>>) -> argument(argument(Rest)).
