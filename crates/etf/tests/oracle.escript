%% Prints random terms as stock Erlang encodes them, in hexadecimal, words of a line separated by spaces.
%%   pid Bytes                      this process
%%   term Plain Text Utf8 Sorted Fast Best Size SizeText
%%                                  no option, minor versions 0 and 2, deterministic, compressed 1 and 9, sizes
%%   fun Plain                      a fun, made by this process
%%   mutant Bytes Used Again        damaged bytes; how many were used and what they give encoded again, or refused
-mode(compile).

main([Seed, Count]) ->
    rand:seed(exsss, list_to_integer(Seed)),
    line(["pid", hex(term_to_binary(self()))]),
    [encoded(T) || T <- fixed() ++ [term(rand:uniform(5) - 1) || _ <- lists:seq(1, list_to_integer(Count))]],
    [line(["fun", hex(term_to_binary(F))]) || F <- funs(term(2))],
    [mutant(mutable(rand:uniform(4) - 1)) || _ <- lists:seq(1, 4 * list_to_integer(Count))].

hex(B) -> binary:encode_hex(B).

line(Words) -> io:put_chars([lists:join($\s, Words), $\n]).

encoded(T) ->
    Size = fun(Options) -> integer_to_list(erlang:external_size(T, Options)) end,
    line(["term", hex(term_to_binary(T)), hex(term_to_binary(T, [{minor_version, 0}])),
          hex(term_to_binary(T, [{minor_version, 2}])), hex(term_to_binary(T, [deterministic])),
          hex(term_to_binary(T, [{compressed, 1}])), hex(term_to_binary(T, [{compressed, 9}])),
          Size([]), Size([{minor_version, 0}])]).

fixed() ->
    Edges = [0, 255, 256, 1 bsl 31, 1 bsl 59, 1 bsl 63, 1 bsl 64, 1 bsl (254 * 8), 1 bsl (255 * 8), 1 bsl (256 * 8)],
    [I + D || I <- Edges, D <- [-1, 0, 1]] ++ [-(I + D) || I <- Edges, D <- [-1, 0, 1]] ++
    [[], {}, #{}, "", <<>>, '', lists:seq(1, 255), lists:seq(1, 256), lists:duplicate(65535, 7), lists:duplicate(65536, 7),
     list_to_tuple(lists:seq(1, 255)), list_to_tuple(lists:seq(1, 256)), binary:copy(<<1, 2, 3>>, 100000),
     maps:from_list([{K, K} || K <- lists:seq(1, 32)]), maps:from_list([{K, K} || K <- lists:seq(1, 33)]),
     maps:from_list([{{K, integer_to_binary(K)}, [K]} || K <- lists:seq(1, 1000)]),
     [1, 2 | 3], self(), make_ref(), alias(), hd(erlang:ports()), fun lists:map/2, ets:new(table, [])].

term(0) -> leaf();
term(Depth) ->
    Sub = fun() -> term(rand:uniform(Depth) - 1) end,
    Many = fun(N) -> [Sub() || _ <- lists:seq(1, rand:uniform(N) - 1)] end,
    case rand:uniform(8) of
        1 -> list_to_tuple(Many(8));
        2 -> Many(8);
        3 -> Many(5) ++ Sub();
        4 -> maps:from_list([{Sub(), Sub()} || _ <- Many(8)]);
        5 -> maps:from_list([{key(), leaf()} || _ <- lists:seq(1, rand:uniform(80))]);
        6 -> [$a + rand:uniform(20) || _ <- lists:seq(1, rand:uniform(30))];
        _ -> leaf()
    end.

leaf() ->
    case rand:uniform(16) of
        1 -> rand:uniform(512) - 100;
        2 -> integer();
        3 -> -integer();
        4 -> float();
        5 -> list_to_atom([$a + rand:uniform(26) - 1 || _ <- lists:seq(1, rand:uniform(10))]);
        6 -> list_to_atom([rand:uniform(255) || _ <- lists:seq(1, rand:uniform(255))]);
        7 -> list_to_atom([rand:uniform(16#d7ff) || _ <- lists:seq(1, rand:uniform(255))]);
        8 -> bytes(rand:uniform(20));
        9 -> bytes(rand:uniform(300));
        10 -> B = bytes(rand:uniform(80)), S = rand:uniform(bit_size(B)), <<_:S, R/bits>> = B, R;
        11 -> B = bytes(rand:uniform(80)), S = rand:uniform(bit_size(B)), <<R:S/bits, _/bits>> = B, R;
        12 -> identifier();
        13 -> make_ref();
        14 -> [];
        15 -> lists:nth(rand:uniform(4), [fun lists:map/2, fun erlang:self/0, fun nowhere:nothing/255, fun 'å':'Ω'/3]);
        16 -> self()
    end.

%% A key of a large map: the place of an atom follows from its number, which is the machine's own.
key() ->
    case rand:uniform(5) of
        1 -> rand:uniform(100);
        2 -> -integer();
        3 -> float();
        4 -> bytes(rand:uniform(20) - 1);
        5 -> {integer(), [$a + rand:uniform(26) | bytes(rand:uniform(30))]}
    end.

integer() -> rand:uniform(1 bsl (rand:uniform(300))).
float() -> case <<(rand:uniform(16#7ff0000000000000) - 1):64>> of <<F/float>> when F > 1.0 -> F; _ -> rand:uniform() * -100 end.
bytes(N) -> << <<(rand:uniform(256) - 1)>> || _ <- lists:seq(1, N) >>.

%% Pids, ports and references of another node, in old forms and new ones.
identifier() -> binary_to_term(identifier_bytes()).

identifier_bytes() ->
    Node = case rand:uniform(2) of 1 -> <<100, 0, 3, "a@b">>; 2 -> <<119, 4, "å@b"/utf8>> end,
    Old = rand:uniform(4) - 1,
    New = rand:uniform(1 bsl 32) - 1,
    Number = rand:uniform(1 bsl 32) - 1,
    First = rand:uniform(1 bsl 18) - 1,
    case rand:uniform(8) of
        1 -> <<131, 103, Node/binary, Number:32, New:32, Old>>;
        2 -> <<131, 88, Node/binary, Number:32, Number:32, New:32>>;
        3 -> <<131, 102, Node/binary, Number:32, Old>>;
        4 -> <<131, 89, Node/binary, Number:32, New:32>>;
        5 -> <<131, 120, Node/binary, Number:32, Number:32, New:32>>;
        6 -> <<131, 101, Node/binary, First:32, Old>>;
        7 -> <<131, 114, 3:16, Node/binary, Old, First:32, Number:32, New:32>>;
        %% Not without numbers: a reference like that overwrites the heap of OTP 25.
        8 -> N = rand:uniform(5), <<131, 90, N:16, Node/binary, New:32, (bytes(4 * N + 1)):(4 * N)/binary>>
    end.

funs(T) ->
    A = rand:uniform(100),
    [fun() -> A end, fun(X) -> {X, A, T} end, fun(X, Y) -> [X, Y] end, fun(X) -> fun() -> [X, T, A] end end].

%% Terms whose damaged forms mean the same to both: no identifiers of this node but references, whose parts are
%% limited alike.
mutable(Depth) ->
    case term(Depth) of
        T -> case has_local(T) of true -> mutable(Depth); false -> T end
    end.

has_local(T) when is_pid(T); is_port(T) -> node(T) =:= node();
has_local(T) when is_tuple(T) -> has_local(tuple_to_list(T));
has_local([H | T]) -> has_local(H) orelse has_local(T);
has_local(T) when is_map(T) -> has_local(maps:to_list(T));
has_local(_) -> false.

mutant(T) ->
    Options = lists:nth(rand:uniform(5), [[], [{minor_version, 0}], [{minor_version, 2}], [], [compressed]]),
    Whole = case rand:uniform(8) of 1 -> identifier_bytes(); _ -> term_to_binary(T, Options) end,
    B = damage(rand:uniform(6), Whole),
    case catch binary_to_term(B, [used]) of
        {'EXIT', _} -> line(["mutant", hex(B), "refused", "refused"]);
        {Again, Used} -> line(["mutant", hex(B), integer_to_list(Used), hex(term_to_binary(Again))])
    end.

damage(1, B) -> binary:part(B, 0, rand:uniform(byte_size(B)));
damage(2, B) -> <<B/binary, (bytes(rand:uniform(4)))/binary>>;
damage(3, B) when byte_size(B) > 2 ->
    At = rand:uniform(byte_size(B) - 1),
    <<A:At/binary, _, C/binary>> = B,
    <<A/binary, (rand:uniform(50) + 68), C/binary>>;
damage(4, B) ->
    At = rand:uniform(byte_size(B) - 1),
    <<A:At/binary, C/binary>> = B,
    <<A/binary, (rand:uniform(256) - 1), C/binary>>;
damage(_, B) ->
    At = rand:uniform(byte_size(B) - 1),
    <<A:At/binary, X, C/binary>> = B,
    <<A/binary, (X bxor (1 bsl (rand:uniform(8) - 1))), C/binary>>.
