%% Searching binaries for random patterns, and checksums of random data in pieces.
-module(bif_search).
-export([main/1]).

main(_) ->
    Results = search(400, 12345, []),
    erlang:display(erlang:phash2(Results)),
    [erlang:display(R) || R <- lists:sublist(Results, 40)],
    [erlang:display(sums(Size)) || Size <- [0, 1, 15, 16, 17, 63, 64, 65, 1000, 70000]],
    ok.

next(Seed) -> (Seed * 1103515245 + 12345) band 16#7fffffff.

text(0, Seed) -> {<<>>, Seed};
text(N, Seed0) ->
    Seed = next(Seed0),
    {Rest, Last} = text(N - 1, Seed),
    {<<($a + (Seed bsr 16) rem 3), Rest/binary>>, Last}.

patterns(0, Seed) -> {[], Seed};
patterns(N, Seed0) ->
    {Pattern, Seed} = text(1 + (Seed0 bsr 16) rem 4, next(Seed0)),
    {Others, Last} = patterns(N - 1, Seed),
    {[Pattern | Others], Last}.

search(0, _, Results) -> Results;
search(N, Seed0, Results) ->
    {Aligned, Seed1} = text((Seed0 bsr 16) rem 90, next(Seed0)),
    <<_:3, Shifted/binary>> = <<5:3, Aligned/binary>>,
    Subject = case N rem 2 of 0 -> Aligned; 1 -> Shifted end,
    {Patterns, Seed2} = patterns(1 + (Seed1 bsr 16) rem 4, next(Seed1)),
    Start = (Seed2 bsr 16) rem (byte_size(Subject) + 1),
    Scope = {scope, {Start, (byte_size(Subject) - Start) div 2}},
    Compiled = binary:compile_pattern(Patterns),
    Result = {binary:match(Subject, Patterns), binary:matches(Subject, Patterns),
              binary:match(Subject, Compiled, [Scope]), binary:matches(Subject, hd(Patterns), [Scope]),
              [binary:split(Subject, P, O)
               || P <- [hd(Patterns), Compiled],
                  O <- [[], [global], [trim], [trim_all], [global, trim], [global, trim_all], [global, Scope]]],
              binary:longest_common_prefix([Subject | Patterns]), binary:longest_common_suffix([Subject | Patterns]),
              binary:replace(Subject, Patterns, <<"<&>">>, [global, {insert_replaced, 2}])},
    search(N - 1, next(Seed2), [Result | Results]).

sums(Size) ->
    {Data, Seed} = bytes(Size, Size + 7),
    At = Seed rem (Size + 1),
    <<First:At/binary, Second/binary>> = Data,
    Md5 = erlang:md5_final(erlang:md5_update(erlang:md5_update(erlang:md5_init(), First), [Second])),
    Crc = erlang:crc32(Data),
    Adler = erlang:adler32(Data),
    {Size, Md5 =:= erlang:md5(Data), Md5, Crc, Adler,
     erlang:crc32(erlang:crc32(First), Second) =:= Crc,
     erlang:crc32_combine(erlang:crc32(First), erlang:crc32(Second), byte_size(Second)) =:= Crc,
     erlang:adler32(erlang:adler32(First), [Second]) =:= Adler,
     erlang:adler32_combine(erlang:adler32(First), erlang:adler32(Second), byte_size(Second)) =:= Adler,
     erlang:phash2(Data), erlang:phash(Data, 1 bsl 32),
     binary:decode_unsigned(binary:part(Data, 0, min(Size, 30)), little),
     iolist_to_binary(erlang:iolist_to_iovec([First, 1, [Second | <<2>>]])) =:= <<First/binary, 1, Second/binary, 2>>,
     binary_to_term(term_to_binary({First, [Second]}, [{compressed, 9}])) =:= {First, [Second]},
     erlang:external_size({First, [Second]})}.

bytes(Size, Seed) -> bytes(Size, Seed, []).

bytes(0, Seed, Bytes) -> {list_to_binary(Bytes), Seed};
bytes(N, Seed0, Bytes) ->
    Seed = next(Seed0),
    bytes(N - 1, Seed, [(Seed bsr 16) band 255 | Bytes]).
