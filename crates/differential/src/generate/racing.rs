//! Small programs whose outcome depends on the order of events: processes that do at random what others notice.

use fastrand::Rng;

/// Processes of a program, and what each does.
const PROCESSES: usize = 2;
const ACTIONS: usize = 3;

/// What a process does to what it shares with others, and what it sees of it. `Ps` has the others, `main/1` last.
fn action(random: &mut Rng, number: usize) -> String {
    match random.u8(..10) {
        0 | 1 => "ets:lookup(t, a)".to_owned(),
        2 | 3 => format!("ets:insert(t, {{a, {number}}})"),
        4 | 5 => "receive X -> X after 0 -> none end".to_owned(),
        6 => "(catch register(n, self()))".to_owned(),
        7 => format!("(catch n ! {number})"),
        8 => format!("hd(Ps) ! {number}"),
        _ => "is_process_alive(hd(Ps))".to_owned(),
    }
}

/// A module whose `main/1` prints what each process has seen.
pub fn module(name: &str, mut random: Rng) -> String {
    let mut processes = Vec::new();
    for number in 1..=PROCESSES {
        let actions: Vec<String> = (0..ACTIONS).map(|_| action(&mut random, number)).collect();
        processes.push(format!("        fun(Ps) -> [{}] end", actions.join(", ").replace('X', "_X")));
    }
    // A name of its own for each variable.
    let mut text = String::new();
    for (place, part) in processes.join(",\n").split("_X").enumerate() {
        if place > 0 {
            text.push_str(&format!("X{}", place.div_ceil(2)));
        }
        text.push_str(part);
    }
    format!(
        "-module({name}).\n-export([main/1]).\n\nmain(_) ->\n    ets:new(t, [public, named_table]),\n    All = [\n{text}\n    \
         ],\n    Start = fun(F, Ps) -> [spawn(fun() -> exit({{saw, [seen(X) || X <- F(Ps)]}}) end) | Ps] end,\n    Ps = \
         lists:foldl(Start, [self()], All),\n    Ms = [monitor(process, P) || P <- lists:droplast(Ps)],\n    \
         io:format(\"~w\", [[receive {{'DOWN', M, _, _, R}} -> R end || M <- Ms]]).\n\nseen(P) when is_pid(P) -> \
         pid;\nseen({{'EXIT', _}}) -> failed;\nseen(Other) -> Other.\n"
    )
}
