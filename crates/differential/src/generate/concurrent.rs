//! Modules that run a random tree of processes. What a node computes depends on its parameters and its children alone,
//! never on which process is faster: references tell results apart, and no process looks at how messages interleave.

use fastrand::Rng;

use super::{literal, pick};

const DEEPEST: usize = 3;

/// What all modules share: how a child is started and its result fetched, and what a node does beside.
const SUPPORT: &str = r#"
%% Each way to start a child returns a handle for collect/1.
start(message, F) ->
    Self = self(), Ref = make_ref(),
    spawn(fun() -> Self ! {Ref, F()} end),
    {message, Ref};
start(exit_reason, F) ->
    {_, Ref} = spawn_monitor(fun() -> exit({result, F()}) end),
    {down, Ref};
start(link, F) ->
    process_flag(trap_exit, true),
    {link, spawn_link(fun() -> exit({result, F()}) end)};
start({options, Options}, F) ->
    {_, Ref} = spawn_opt(fun() -> exit({result, F()}) end, [monitor | Options]),
    {down, Ref};
start(alias, F) ->
    Alias = alias([explicit_unalias]),
    spawn(fun() -> Alias ! {Alias, F()} end),
    {alias, Alias};
start(crash, F) ->
    {_, Ref} = spawn_monitor(fun() -> exit({crashed, F()}) end),
    {down, Ref}.

collect({message, Ref}) -> receive {Ref, V} -> V end;
collect({down, Ref}) -> receive {'DOWN', Ref, process, _, {result, V}} -> V; {'DOWN', Ref, process, _, Why} -> Why end;
collect({link, Pid}) -> receive {'EXIT', Pid, {result, V}} -> V end;
collect({alias, Alias}) -> receive {Alias, V} -> unalias(Alias), V end.

%% Requests to a server, replies taken in another order.
act({server, Order, Data}) ->
    Server = spawn(fun() -> server(0, Data) end),
    Refs = [begin Ref = make_ref(), Server ! {call, self(), Ref, X}, {X, Ref} end || X <- lists:sort(Order)],
    Replies = [begin {_, R} = lists:keyfind(X, 1, Refs), receive {R, V} -> {X, V} end end || X <- Order],
    Server ! {stop, self()},
    receive {stopped, Server, N} -> {N, Replies} end;
%% A token with data around a ring.
act({ring, Size, Rounds, Data}) ->
    Self = self(),
    Last = lists:foldl(fun(_, Next) -> spawn(fun() -> hop(Next) end) end, Self, lists:seq(1, Size)),
    Token = lists:foldl(fun(_, T) -> Last ! {token, T}, receive {token, Back} -> Back end end, {0, Data}, lists:seq(1, Rounds)),
    Last ! stop,
    receive stop -> Token end;
%% Many senders; messages of each stay in order.
act({fan, Senders, Messages, Data}) ->
    Self = self(),
    Pids = [spawn(fun() -> [Self ! {fan, self(), I, {Data, I * S}} || I <- lists:seq(1, Messages)] end) || S <- lists:seq(1, Senders)],
    [[receive {fan, P, I, V} -> erlang:phash2({I, V}) end || I <- lists:seq(1, Messages)] || P <- lists:reverse(Pids)];
act({ordered, Senders, Messages}) ->
    Self = self(),
    [spawn(fun() -> [Self ! {ordered, S, I} || I <- lists:seq(1, Messages)] end) || S <- lists:seq(1, Senders)],
    All = [receive {ordered, S, I} -> {S, I} end || _ <- lists:seq(1, Senders * Messages)],
    [[I || {S, I} <- All, S =:= Wanted] =:= lists:seq(1, Messages) || Wanted <- lists:seq(1, Senders)];
%% Timeouts, and timers whose order is known.
act({timeout, Time}) ->
    Ref = make_ref(),
    receive Ref -> never after Time -> timed_out end;
act({timers, Times}) ->
    Refs = [erlang:start_timer(T, self(), {timer, T}) || T <- Times],
    [receive {timeout, Ref, {timer, T}} -> T end || Ref <- lists:reverse(Refs)];
act({cancelled, Data}) ->
    Ref = erlang:send_after(100000, self(), Data),
    Left = erlang:cancel_timer(Ref),
    {is_integer(Left), erlang:cancel_timer(Ref)};
%% Deaths.
act({kill, Reason}) ->
    {Pid, Ref} = spawn_monitor(fun() -> receive never -> ok end end),
    exit(Pid, Reason),
    case Reason of
        normal -> exit(Pid, kill);
        _ -> ok
    end,
    Why = receive {'DOWN', Ref, process, Pid, W} -> W end,
    Late = monitor(process, Pid),
    {Why, receive {'DOWN', Late, process, Pid, L} -> L end, is_process_alive(Pid)};
act({chain, Length, Reason}) ->
    Ref = make_ref(), Self = self(),
    {Top, Monitor} = spawn_monitor(fun() -> chain(Length, Self, Ref) end),
    Bottom = receive {Ref, P} -> P end,
    exit(Bottom, Reason),
    {receive {'DOWN', Monitor, process, Top, Why} -> Why end};
act({error, Data}) ->
    {_, Ref} = spawn_monitor(fun() -> catch throw(Data), exit(shutdown) end),
    receive {'DOWN', Ref, process, _, Why} -> {Why, catch exit(Data)} end;
%% Names and the process dictionary.
act({name, Name, Data}) ->
    Pid = spawn(fun() -> receive {From, D} -> From ! {whereis(Name) =:= self(), D} end end),
    true = register(Name, Pid),
    Ref = monitor(process, Name),
    Name ! {self(), Data},
    Answer = receive {true, D} -> D end,
    receive {'DOWN', Ref, process, {Name, _}, Why} -> {Answer, Why, whereis(Name)} end;
act({dictionary, Key, Data}) ->
    [put(Key, Data), put(Key, {Data}), get(Key), erase(Key), get(Key)];
%% Garbage, and memory that is kept over collections.
act({garbage, Count, Data}) ->
    Kept = [{I, Data, integer_to_binary(I)} || I <- lists:seq(1, Count)],
    _ = [lists:reverse(lists:seq(1, I rem 50)) || I <- lists:seq(1, Count)],
    erlang:garbage_collect(),
    {length(Kept), erlang:phash2(Kept), element(3, hd(Kept))};
act({binaries, Count}) ->
    Self = self(),
    Pid = spawn(fun() -> grow(Count, <<>>, Self) end),
    Sizes = [receive {Pid, I, B} -> {byte_size(B), erlang:phash2(B)} end || I <- lists:seq(Count, 1, -1)],
    erlang:phash2(Sizes);
act({funs, Data}) ->
    Self = self(),
    Pid = spawn(fun() -> receive {F, X} -> Self ! {self(), F(X), F} end end),
    Pid ! {fun(X) -> {X, Data, Self} end, Data},
    receive {Pid, {V, D, P}, G} -> {V, D, P =:= Self, element(1, G(1))} end.

server(N, Data) ->
    receive
        {stop, From} -> From ! {stopped, self(), N};
        {call, From, Ref, X} when X rem 3 =:= 0 -> From ! {Ref, {X, Data}}, server(N + 1, Data);
        {call, From, Ref, X} -> From ! {Ref, X * X}, server(N + 1, Data)
    end.

hop(Next) ->
    receive
        {token, {N, Data}} -> Next ! {token, {N + 1, Data}}, hop(Next);
        stop -> Next ! stop
    end.

chain(0, Top, Ref) -> Top ! {Ref, self()}, receive never -> ok end;
chain(N, Top, Ref) -> spawn_link(fun() -> chain(N - 1, Top, Ref) end), receive never -> ok end.

grow(0, _, _) -> ok;
grow(N, B, To) ->
    New = <<B/binary, N:32, (binary:copy(<<N>>, N band 31))/binary>>,
    To ! {self(), N, New},
    grow(N - 1, New, To).
"#;

/// A module with this name.
pub fn module(name: &str, mut random: Rng) -> String {
    let mut tree = Tree { module: name, random: &mut random, functions: String::new(), count: 0 };
    let root = tree.node(0);
    let functions = tree.functions;
    format!(
        "-module({name}).\n-export([main/1]).\n\nmain(_) ->\n    io:format(\"~w~n\", [{root}()]).\n{functions}{SUPPORT}"
    )
}

struct Tree<'a> {
    module: &'a str,
    random: &'a mut Rng,
    functions: String,
    count: usize,
}

impl Tree<'_> {
    /// Adds a node and what is below it; returns its function's name.
    fn node(&mut self, depth: usize) -> String {
        let number = self.count;
        self.count += 1;
        let children = if depth >= DEEPEST { 0 } else { self.random.usize(..4) + usize::from(depth == 0) };
        let mut lines = Vec::new();
        for child in 0..children {
            let function = self.node(depth + 1);
            let way = self.way();
            lines.push(format!("    H{child} = start({way}, fun {function}/0)"));
        }
        let acts: Vec<String> = (0..self.random.usize(1..4)).map(|act| format!("A{act}")).collect();
        for (act, variable) in acts.iter().enumerate() {
            let activity = self.activity(number, act);
            lines.push(format!("    {variable} = act({activity})"));
        }
        let mut order: Vec<usize> = (0..children).collect();
        self.random.shuffle(&mut order);
        let collected: Vec<String> = order.iter().map(|child| format!("collect(H{child})")).collect();
        let result = format!("    {{node, {number}, [{}], [{}]}}", acts.join(", "), collected.join(", "));
        lines.push(result);
        self.functions += &format!("\nn{number}() ->\n{}.\n", lines.join(",\n"));
        format!("n{number}")
    }

    fn way(&mut self) -> String {
        match self.random.u8(..6) {
            0 => "message".to_owned(),
            1 => "exit_reason".to_owned(),
            2 => "link".to_owned(),
            3 => "alias".to_owned(),
            4 => "crash".to_owned(),
            _ => {
                let options = [
                    "{min_heap_size, 1000}",
                    "{fullsweep_after, 0}",
                    "{priority, low}",
                    "{priority, high}",
                    "{message_queue_data, off_heap}",
                    "{min_bin_vheap_size, 100}",
                ];
                format!("{{options, [{}]}}", pick(self.random, &options))
            }
        }
    }

    fn activity(&mut self, node: usize, act: usize) -> String {
        let data = literal::term(self.random, 3);
        let reason = pick(self.random, &["kill", "shutdown", "{why, [1]}", "normal"]);
        let chained = pick(self.random, &["kill", "shutdown", "{why, [1]}"]);
        let number = |random: &mut Rng, most: usize| random.usize(1..=most);
        match self.random.u8(..16) {
            0 | 1 => {
                let mut order: Vec<usize> = (1..=number(self.random, 8)).collect();
                self.random.shuffle(&mut order);
                format!("{{server, {order:?}, {data}}}")
            }
            2 => format!("{{ring, {}, {}, {data}}}", number(self.random, 20), number(self.random, 5)),
            3 => format!("{{fan, {}, {}, {data}}}", number(self.random, 6), number(self.random, 20)),
            4 => format!("{{ordered, {}, {}}}", number(self.random, 6), number(self.random, 30)),
            5 => format!("{{timeout, {}}}", pick(self.random, &[0, 1, 5])),
            6 => format!("{{timers, [{}, 1, 0]}}", number(self.random, 10)),
            7 => format!("{{cancelled, {data}}}"),
            8 => format!("{{kill, {reason}}}"),
            9 => format!("{{chain, {}, {chained}}}", number(self.random, 10)),
            10 => format!("{{error, {data}}}"),
            11 => format!("{{name, {}_{node}_{act}, {data}}}", self.module),
            12 => format!("{{dictionary, {}, {data}}}", literal::term(self.random, 1)),
            13 => format!("{{garbage, {}, {data}}}", number(self.random, 400)),
            14 => format!("{{binaries, {}}}", number(self.random, 60)),
            _ => format!("{{funs, {data}}}"),
        }
    }
}
