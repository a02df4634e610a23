//! Sockets under load: no event is lost, whatever the schedulers are doing meanwhile.

use std::process::Command;

/// Each client opens connections one after the other; on each it exchanges lines, split at odd places, with pauses that
/// let the schedulers go to sleep. The server is passive for some and active for others. A process that never waits
/// keeps one scheduler busy if `busy`.
const PROGRAM: &str = r#"
Echo = fun(Echo, S, N) ->
    case N rem 3 of
        0 -> case gen_tcp:recv(S, 0, 20000) of {ok, D} -> ok = gen_tcp:send(S, D), Echo(Echo, S, N); {error, closed} -> ok end;
        1 -> inet:setopts(S, [{active, once}]),
             receive {tcp, S, D} -> ok = gen_tcp:send(S, D), Echo(Echo, S, N); {tcp_closed, S} -> ok after 20000 -> exit(lost) end;
        2 -> inet:setopts(S, [{active, true}]),
             receive {tcp, S, D} -> ok = gen_tcp:send(S, D), Echo(Echo, S, N); {tcp_closed, S} -> ok after 20000 -> exit(lost) end
    end end,
{ok, L} = gen_tcp:listen(0, [binary, {packet, line}, {active, false}, {ip, {127,0,0,1}}, {backlog, 64}]),
{ok, Port} = inet:port(L),
Accept = fun(Accept, N) ->
    {ok, S} = gen_tcp:accept(L),
    P = spawn_link(fun() -> receive go -> Echo(Echo, S, N) end end),
    ok = gen_tcp:controlling_process(S, P), P ! go,
    Accept(Accept, N + 1) end,
[spawn_link(fun() -> Accept(Accept, K) end) || K <- [1, 2, 3]],
Spin = fun(Spin, N) -> Spin(Spin, N + 1) end,
[spawn(fun() -> Spin(Spin, 0) end) || busy <- [MODE]],
Exchange = fun(S, K) ->
    <<A:5/binary, B/binary>> = Line = <<"some line ", (integer_to_binary(K))/binary, "\n">>,
    ok = gen_tcp:send(S, A), K rem 7 =:= 0 andalso timer:sleep(2), ok = gen_tcp:send(S, B),
    {ok, Line} = gen_tcp:recv(S, 0, 20000) end,
Client = fun(C) ->
    [begin
        {ok, S} = gen_tcp:connect({127,0,0,1}, Port, [binary, {packet, line}, {active, false}], 20000),
        [Exchange(S, C * 100 + K) || K <- lists:seq(1, 6)],
        ok = gen_tcp:close(S)
     end || _ <- lists:seq(1, 25)] end,
Clients = [spawn_monitor(fun() -> Client(C) end) || C <- lists:seq(1, 12)],
Ends = [receive {'DOWN', R, process, P, Reason} -> Reason end || {P, R} <- Clients],
io:format("~p~n", [lists:usort(Ends)]), halt().
"#;

#[track_caller]
fn nothing_is_lost(schedulers: &str, mode: &str) {
    let program = PROGRAM.replace("MODE", mode);
    let words = ["120", env!("CARGO_BIN_EXE_atoll"), "erl", "+S", schedulers, "-noshell", "-eval", &program];
    let output = Command::new("timeout").args(words).env("ERL_CRASH_DUMP", "/dev/null").output().expect("it runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(text(&output.stdout), "[normal]\n", "{}", text(&output.stderr));
}

/// A socket that is made of another one's descriptor gets what arrives, whichever is closed first.
const TAKEN: &str = r#"
{ok, One} = gen_udp:open(0, [binary, {ip, {127,0,0,1}}]),
{ok, Number} = prim_inet:getfd(One), {ok, Port} = inet:port(One),
{error, einval} = gen_udp:open(0, [inet6, {fd, Number}]),
{ok, Other} = gen_udp:open(0, [binary, {fd, Number}]),
{ok, Port} = inet:port(Other),
{ok, Sender} = gen_udp:open(0, [binary, {ip, {127,0,0,1}}]),
Arrival = fun(Data) ->
    ok = gen_udp:send(Sender, {127,0,0,1}, Port, Data),
    receive {udp, Other, _, _, Data} -> ok; Message -> Message after 20000 -> nothing end end,
First = Arrival(<<"first">>),
ok = gen_udp:close(One),
io:format("~p ~p~n", [First, Arrival(<<"second">>)]),
ok = gen_udp:close(Other), halt().
"#;

#[test]
fn a_descriptor_can_be_taken_over() {
    let words = ["60", env!("CARGO_BIN_EXE_atoll"), "erl", "-noshell", "-eval", TAKEN];
    let output = Command::new("timeout").args(words).env("ERL_CRASH_DUMP", "/dev/null").output().expect("it runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(text(&output.stdout), "ok ok\n", "{}", text(&output.stderr));
}

#[test]
fn one_scheduler() {
    nothing_is_lost("1", "idle");
}

#[test]
fn two_schedulers() {
    nothing_is_lost("2", "idle");
}

#[test]
fn schedulers_that_are_busy() {
    nothing_is_lost("1", "busy");
    nothing_is_lost("4", "busy");
}
