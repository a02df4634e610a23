%% TLS and what it stands on. `facts` prints what asn1, crypto and public_key make of things, `server FILE` offers TLS
%% 1.2 and 1.3 and writes to FILE how to get there, `client FILE` goes there. Client and server each prove who they are.
-module(tls).
-export([main/1]).
-include_lib("public_key/include/public_key.hrl").

-define(PATIENCE, 60000).
-define(VERSIONS, ['tlsv1.2', 'tlsv1.3']).

main(["facts"]) -> facts();
main(["server", File]) -> server(File);
main(["client", File]) -> client(File);
main(["both", File]) ->
    {Server, Monitor} = spawn_monitor(fun() -> server(File) end),
    client(File),
    receive {'DOWN', Monitor, process, Server, normal} -> ok end.

show(What, Value) -> io:format("~p ~p~n", [What, Value]).

facts() ->
    Key = public_key:generate_key({rsa, 1024, 65537}),
    Pem = public_key:pem_encode([public_key:pem_entry_encode('RSAPrivateKey', Key)]),
    [Entry] = public_key:pem_decode(Pem),
    show(pem, public_key:pem_entry_decode(Entry) =:= Key),
    Public = #'RSAPublicKey'{modulus = Key#'RSAPrivateKey'.modulus, publicExponent = 65537},
    Signature = public_key:sign(<<"text">>, sha256, Key),
    show(rsa, [public_key:verify(Text, sha256, Signature, Public) || Text <- [<<"text">>, <<"other">>]]),
    Secret = public_key:encrypt_public(<<"secret">>, Public),
    show(secret, public_key:decrypt_private(Secret, Key)),
    show(tlv, asn1rt_nif:decode_ber_tlv(<<16#30, 6, 2, 1, 5, 4, 1, $a, "rest">>)),
    show(der, public_key:der_encode('DSAPrivateKey', #'DSAPrivateKey'{version = 0, p = 1, q = 2, g = 3, y = 4, x = 5})),
    show(damaged, [damage(Der) || Der <- [<<>>, <<16#30, 16#82>>, <<16#30, 3, 2, 5, 1>>]]),
    #{server_config := Server} = chains(),
    Der = proplists:get_value(cert, Server),
    Authorities = proplists:get_value(cacerts, Server),
    Certificate = public_key:pkix_decode_cert(Der, otp),
    show(same, public_key:pkix_encode('OTPCertificate', Certificate, otp) =:= Der),
    Issuer = [Ca || Ca <- Authorities, public_key:pkix_is_issuer(Der, Ca)],
    show(issuer, [public_key:pkix_is_self_signed(Ca) || Ca <- Issuer]),
    show(hashes, [binary:encode_hex(crypto:hash(Hash, <<"text">>)) || Hash <- [md5, sha, sha256, sha3_512]]),
    [show(Cipher, binary:encode_hex(sealed(Cipher))) || Cipher <- [aes_256_gcm, chacha20_poly1305]],
    {Mine, Own} = crypto:generate_key(ecdh, x25519),
    {Yours, Other} = crypto:generate_key(ecdh, x25519),
    show(ecdh, crypto:compute_key(ecdh, Yours, Own, x25519) =:= crypto:compute_key(ecdh, Mine, Other, x25519)).

damage(Der) ->
    try public_key:pkix_decode_cert(Der, otp)
    catch error:{badmatch, {error, {asn1, {Damage, _}}}} -> Damage end.

sealed(Cipher) ->
    {Text, Tag} = crypto:crypto_one_time_aead(Cipher, <<1:256>>, <<2:96>>, <<"text">>, <<"more">>, true),
    <<Text/binary, Tag/binary>>.

chains() ->
    Key = [{key, {namedCurve, secp256r1}}],
    Name = #'Extension'{extnID = ?'id-ce-subjectAltName', extnValue = [{dNSName, "localhost"}], critical = false},
    public_key:pkix_test_data(#{server_chain => #{root => Key, intermediates => [Key],
                                                  peer => [{extensions, [Name]} | Key]},
                                client_chain => #{root => Key, intermediates => [Key], peer => Key}}).

server(File) ->
    {ok, _} = application:ensure_all_started(ssl),
    #{server_config := Server, client_config := Client} = chains(),
    Sockets = [{Version, listen(Version, Server)} || Version <- ?VERSIONS],
    Ports = [{Version, element(2, element(2, ssl:sockname(Socket)))} || {Version, Socket} <- Sockets],
    ok = file:write_file(File ++ ".new", term_to_binary({Ports, Client})),
    ok = file:rename(File ++ ".new", File),
    [serve(Socket) || {_, Socket} <- Sockets],
    ok.

listen(Version, Config) ->
    Options = [{versions, [Version]}, {active, false}, binary, {reuseaddr, true}, {verify, verify_peer},
               {fail_if_no_peer_cert, true}, {log_level, none} | Config],
    {ok, Socket} = ssl:listen(0, Options),
    Socket.

%% The first connection is refused by the client, which does not know the authority.
serve(Socket) ->
    {error, {tls_alert, {Alert, _}}} = accept(Socket),
    true = is_refusal(Alert),
    {ok, Connection} = accept(Socket),
    {ok, <<Size:32>>} = ssl:recv(Connection, 4, ?PATIENCE),
    {ok, Data} = ssl:recv(Connection, Size, ?PATIENCE),
    ok = ssl:send(Connection, crypto:hash(sha256, Data)),
    {ok, Certificate} = ssl:peercert(Connection),
    ok = ssl:send(Connection, <<(byte_size(Certificate)):32>>),
    {ok, <<"end">>} = ssl:recv(Connection, 3, ?PATIENCE),
    ok = ssl:close(Connection).

%% Authorities of the same name with another key make bad certificates.
is_refusal(Alert) -> lists:member(Alert, [unknown_ca, bad_certificate]).

accept(Socket) ->
    {ok, Transport} = ssl:transport_accept(Socket, ?PATIENCE),
    ssl:handshake(Transport, ?PATIENCE).

client(File) ->
    {ok, _} = application:ensure_all_started(ssl),
    {Ports, Config} = place(File, 600),
    [visit(Version, Port, Config) || {Version, Port} <- Ports],
    ok.

place(File, Tries) ->
    case file:read_file(File) of
        {ok, Bytes} -> binary_to_term(Bytes);
        {error, enoent} when Tries > 0 -> timer:sleep(100), place(File, Tries - 1)
    end.

visit(Version, Port, Config) ->
    Options = [{versions, [Version]}, {active, false}, binary, {verify, verify_peer}, {log_level, none},
               {server_name_indication, "localhost"}],
    #{client_config := Other} = chains(),
    Stranger = lists:keyreplace(cacerts, 1, Config, lists:keyfind(cacerts, 1, Other)),
    {error, {tls_alert, {Alert, _}}} = ssl:connect("localhost", Port, Options ++ Stranger, ?PATIENCE),
    {ok, Connection} = ssl:connect("localhost", Port, Options ++ Config, ?PATIENCE),
    {ok, Information} = ssl:connection_information(Connection, [protocol, selected_cipher_suite]),
    Data = << <<(N * N):16>> || N <- lists:seq(1, 40000) >>,
    ok = ssl:send(Connection, [<<(byte_size(Data)):32>>, Data]),
    {ok, Hash} = ssl:recv(Connection, 32, ?PATIENCE),
    {ok, <<Size:32>>} = ssl:recv(Connection, 4, ?PATIENCE),
    ok = ssl:send(Connection, <<"end">>),
    {error, closed} = ssl:recv(Connection, 1, ?PATIENCE),
    show(Version, {is_refusal(Alert), Information, Hash =:= crypto:hash(sha256, Data), Size > 200}).
