%% Operations on bitstrings whose length is no whole number of bytes.
-module(bitstrings).
-export([main/1, id/1]).

main(_) ->
    Bs = [<<>>, <<1:1>>, <<0:1>>, <<5:3>>, <<255>>, <<1:9>>, <<"ab", 1:4>>, <<0:15>>, <<(1 bsl 70):75>>],
    [p({B, bit_size(B), byte_size(B), is_binary(B), bitstring_to_list(B), list_to_bitstring(bitstring_to_list(B)) =:= B, erlang:phash2(B), binary_to_term(term_to_binary(B)) =:= B}) || B <- Bs],
    p(lists:sort(Bs)),
    p([{A < B, A == B} || A <- Bs, B <- Bs]),
    p([maps:get(B, maps:from_list([{X, I} || {I, X} <- lists:zip(lists:seq(1, length(Bs)), Bs)])) || B <- Bs]),
    p([<<A/bitstring, B/bitstring>> || A <- Bs, B <- [<<1:1>>, <<3:2>>]]),
    p([rev(B) || B <- Bs]), p([ones(B) || B <- Bs]),
    p([B || <<B:1/bitstring>> <= <<16#A5:8>>]),
    p(<< <<(1 - B):1>> || <<B:1>> <= <<16#F0F:12>> >>),
    Self = self(),
    Q = spawn(fun() -> receive L -> Self ! {back, L} end end), Q ! Bs, p(receive {back, L} -> L =:= Bs end),
    <<_:5, Tail/bitstring>> = id(<<"unaligned tail">>),
    p({bit_size(Tail), erlang:phash2(Tail), Tail =:= copy(Tail), term_to_binary(Tail) =:= term_to_binary(copy(Tail))}),
    <<_:5, Seven:56/bitstring, _/bitstring>> = id(<<"unaligned tail">>),
    p({is_binary(Seven), Seven, binary_to_list(Seven), binary:copy(Seven, 2), binary:split(Seven, binary:part(Seven, 2, 1)), Seven =:= list_to_binary(binary_to_list(Seven)), #{Seven => x} =:= #{copy(Seven) => x}}),
    p(huffman("abracadabra")).

copy(B) -> << <<X:1>> || <<X:1>> <= B >>.

rev(<<>>) -> <<>>;
rev(<<B:1, R/bitstring>>) -> <<(rev(R))/bitstring, B:1>>.

ones(B) -> lists:sum([X || <<X:1>> <= B]).

%% A fixed code of variable length: coded and decoded again.
huffman(Text) ->
    Code = #{$a => <<0:1>>, $b => <<2:2>>, $r => <<6:3>>, $c => <<14:4>>, $d => <<15:4>>},
    Bits = << <<(maps:get(C, Code))/bitstring>> || C <- Text >>,
    {Bits, bit_size(Bits), decode(Bits)}.

decode(<<0:1, R/bitstring>>) -> [$a | decode(R)];
decode(<<2:2, R/bitstring>>) -> [$b | decode(R)];
decode(<<6:3, R/bitstring>>) -> [$r | decode(R)];
decode(<<14:4, R/bitstring>>) -> [$c | decode(R)];
decode(<<15:4, R/bitstring>>) -> [$d | decode(R)];
decode(<<>>) -> [].

p(X) -> io:format("~w~n", [X]).

id(X) -> X.
