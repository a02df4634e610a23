//! `atoll simulate`: the same seed gives the same output, and seeds find what only some orders show.

mod faults;
mod suites;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use atoll_differential::{compile, generate};

const ATOLL: &str = env!("CARGO_BIN_EXE_atoll");

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("it is there")
}

/// Runs `atoll simulate` with these words, for two minutes at most.
fn simulate(words: &[&str]) -> Output {
    let mut command = Command::new("timeout");
    command.args(["120", ATOLL, "simulate"]).args(words).current_dir(root()).stdin(Stdio::null());
    command.output().expect("it runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The program of the tests, compiled.
fn program(name: &str) -> String {
    compiled_in(name, "simulated")
}

/// A program of the tests, compiled for one of them.
fn compiled(name: &str, test: &str) -> String {
    compiled_in(test, &format!("simulated_{name}"))
}

fn compiled_in(folder: &str, module: &str) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("simulate").join(folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(module).with_extension("erl");
    let status = Command::new("erlc").arg("-o").arg(&folder).arg(source).status().expect("erlc runs");
    assert!(status.success(), "erlc");
    folder.join(module).with_extension("beam").to_string_lossy().into_owned()
}

#[test]
fn a_seed_gives_the_same_output_on_every_heap() {
    let program = program("same");
    for policy in ["random", "pct:3:60", "round-robin"] {
        let first = simulate(&["--policy", policy, "--seed", "7", &program]);
        assert!(first.status.success() && !first.stdout.is_empty(), "{}", text(&first.stderr));
        for heap in ["private", "shared", "unified", "hybrid", "nogc"] {
            let again = simulate(&["--policy", policy, "--seed", "7", "--heap", heap, &program]);
            assert_eq!(again, first, "{policy}, {heap}");
        }
        let stressed = simulate(&["--policy", policy, "--seed", "7", "--gc-stress", "3", "--verify-heap", &program]);
        assert_eq!(stressed, first, "{policy}: collections are not part of a schedule");
    }
}

#[test]
fn native_code_changes_no_schedule_and_no_story() {
    let program = program("native");
    for (policy, seed) in [("random", "7"), ("random", "8"), ("pct:3:60", "7"), ("round-robin", "7")] {
        let run = |native| simulate(&["--policy", policy, "--seed", seed, "--native", native, "--story", &program]);
        let first = run("off");
        assert!(first.status.success() && !first.stdout.is_empty(), "{}", text(&first.stderr));
        for native in ["on", "eager"] {
            assert_eq!(run(native), first, "{policy}, native code {native}");
        }
    }
}

/// Random programs whose output does not depend on the order of events: however many schedules they run under, it is
/// that of real runs. `ATOLL_SEED=N` chooses others, `ATOLL_PROGRAMS=N` more of them.
#[test]
fn generated_programs_do_the_same_on_every_heap() {
    let number = |name: &str, otherwise| std::env::var(name).map_or(otherwise, |text| text.parse().expect("a number"));
    let (seed, programs): (u64, u64) = (number("ATOLL_SEED", 1), number("ATOLL_PROGRAMS", 8));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("simulate/generated");
    std::fs::create_dir_all(&folder).expect("a folder");
    let sources = generate::write_batch(&folder, "concurrent", generate::concurrent, seed, programs).expect("files");
    compile(&sources, &folder).expect("it compiles");
    let program = folder.join("concurrent.beam").to_string_lossy().into_owned();
    let mut outputs = HashSet::new();
    for (policy, schedule) in [("random", "1"), ("random", "2"), ("pct:3:1000", "3")] {
        let words = ["--policy", policy, "--seed", schedule, "--may-crash"];
        let run = |heap: &str| simulate(&[&words[..], &["--heap", heap, &program]].concat());
        let first = run("private");
        assert!(first.status.success(), "ATOLL_SEED={seed}: {}", text(&first.stderr));
        for heap in ["shared", "unified", "hybrid", "nogc"] {
            assert_eq!(run(heap), first, "ATOLL_SEED={seed}, {policy} {schedule}, {heap}");
        }
        let native = simulate(&[&words[..], &["--native", "eager", &program]].concat());
        assert_eq!(native, first, "ATOLL_SEED={seed}, {policy} {schedule}, native code");
        outputs.insert(first.stdout);
    }
    assert_eq!(outputs.len(), 1, "ATOLL_SEED={seed}: the schedule shows");
    for heap in ["private", "shared", "unified", "hybrid"] {
        for native in ["off", "eager"] {
            let mut real = Command::new(ATOLL);
            real.args(["run", "+S", "2", "--heap", heap, "--native", native, &program]);
            assert!(outputs.contains(&printed(real)), "ATOLL_SEED={seed}: a real run, {heap}, native code {native}");
        }
    }
    let mut stock = Command::new("erl");
    stock.args(["-noshell", "-eval", "concurrent:main([]), halt()", "-pa"]).arg(&folder);
    assert!(outputs.contains(&printed(stock)), "ATOLL_SEED={seed}: stock");
}

/// What a real run prints.
fn printed(mut command: Command) -> Vec<u8> {
    let output = command.stdin(Stdio::null()).output().expect("it runs");
    assert!(output.status.success(), "{command:?}: {}", text(&output.stderr));
    output.stdout
}

#[test]
fn seeds_give_different_orders_and_hours_take_no_time() {
    let program = program("differ");
    let began = std::time::Instant::now();
    let outputs: HashSet<Vec<u8>> =
        ["1", "2", "3", "4"].iter().map(|seed| simulate(&["--seed", seed, &program]).stdout).collect();
    assert_eq!(outputs.len(), 4);
    for output in &outputs {
        assert!(text(output).contains("\n{6,"), "each worker waits for six hours: {}", text(output));
    }
    assert!(began.elapsed().as_secs() < 60);
}

/// Runs the seeds of an example until one fails, and that one again; what it says of the failure.
fn found(example: &str, policy: &str) -> String {
    let file = format!("examples/simulate/{example}.erl");
    let search = simulate(&["--policy", policy, "--until", "fail", "--seeds", "1..1000", &file]);
    let shown = text(&search.stdout);
    assert_eq!(search.status.code(), Some(1), "{example}: {shown}{}", text(&search.stderr));
    let line = shown.lines().find(|line| line.starts_with("the run with ")).expect("a line with the seed").to_owned();
    let again = shown.lines().find_map(|line| line.strip_prefix("again: atoll simulate ")).expect("a command");
    let words: Vec<&str> = again.split(' ').collect();
    let (once, twice) = (simulate(&words), simulate(&words));
    assert_eq!((once.status.code(), &once), (Some(1), &twice), "{example}: {again}");
    let smaller = shown.lines().find_map(|line| line.strip_prefix("  atoll simulate ")).expect("a smaller schedule");
    let words: Vec<&str> = smaller.split(' ').collect();
    let (once, twice) = (simulate(&words), simulate(&words));
    assert_eq!((once.status.code(), &once), (Some(1), &twice), "{example}: {smaller}");
    line
}

/// The story that is told of a failure of this example.
fn story(example: &str) -> String {
    let file = format!("examples/simulate/{example}.erl");
    text(&simulate(&["--until", "fail", &file]).stdout)
}

#[test]
fn the_story_of_a_lost_update_is_short() {
    let told = story("lost_update");
    let (_, told) = told.split_once("<0.2.0> main/1\n").expect("a story");
    let lookups: Vec<usize> = told.match_indices("ets:lookup").map(|(place, _)| place).collect();
    let inserts: Vec<usize> = told.match_indices("ets:insert").map(|(place, _)| place).collect();
    assert_eq!((lookups.len(), inserts.len()), (3, 3), "{told}");
    assert!(lookups[1] < inserts[1], "both look before one inserts: {told}");
    assert_eq!(told.matches("is interrupted").count(), 1, "one switch is enough: {told}");
    assert!(told.contains("[examples/simulate/lost_update.erl:17]"), "{told}");
}

#[test]
fn a_picture_shows_processes_and_messages() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("deadlock.svg");
    let name = file.to_string_lossy();
    let drawn = simulate(&["--seed", "1", "--svg", &name, "examples/simulate/call_deadlock.erl"]);
    assert!(text(&drawn.stdout).contains("picture: "), "{}", text(&drawn.stdout));
    let picture = std::fs::read_to_string(&file).expect("a picture");
    assert!(picture.starts_with("<svg ") && picture.ends_with("</svg>\n"));
    assert!(picture.contains("&lt;0.3.0&gt; alice") && picture.matches("marker-end").count() == 4, "{picture}");
}

#[test]
fn a_lost_update_is_found() {
    for policy in ["random", "pct"] {
        let line = found("lost_update", policy);
        assert!(line.contains("always(no_update_is_lost, _) does not hold"), "{line}");
    }
}

#[test]
fn a_registry_that_forgets_who_waits_is_found() {
    for policy in ["random", "pct"] {
        assert!(found("name_server", policy).contains("failed: {case_clause,[{cache,{waiting,"));
    }
}

#[test]
fn a_dirty_write_beside_a_transaction_is_found() {
    for policy in ["random", "pct"] {
        assert!(found("dirty_transaction", policy).contains("always(nothing_is_lost, _) does not hold"));
    }
}

/// The same with Mnesia itself, of which nothing knows that it is simulated.
#[test]
fn a_dirty_write_beside_a_transaction_of_mnesia_is_found() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("simulate/mnesia");
    std::fs::create_dir_all(&folder).expect("a folder");
    compile(&[root().join("examples/simulate/mnesia_dirty.erl")], &folder).expect("it compiles");
    let folder = folder.to_string_lossy();
    let words = ["--", "erl", "-noinput", "-pa", &folder, "-s", "mnesia_dirty"];
    let search = simulate(&[&["--until", "fail", "--seeds", "1..1000"], &words[..]].concat());
    let shown = text(&search.stdout);
    assert_eq!(search.status.code(), Some(1), "{shown}{}", text(&search.stderr));
    assert!(["110\n", "130\n"].iter().any(|sum| shown.starts_with(sum)), "an update is lost: {shown}");
    let again = shown.lines().find_map(|line| line.strip_prefix("again: atoll simulate ")).expect("a command");
    let again: Vec<&str> = again.split(' ').collect();
    assert_eq!(simulate(&again).status.code(), Some(1), "{again:?}");
}

#[test]
fn servers_that_call_each_other_are_found() {
    for policy in ["random", "pct"] {
        assert!(found("call_deadlock", policy).ends_with("deadlock"));
    }
}

#[test]
fn a_race_at_registration_is_found() {
    for policy in ["random", "pct"] {
        let line = found("registration", policy);
        assert!(line.contains("failed: badarg"), "{line}");
    }
}

#[test]
fn all_schedules_with_few_delays_are_tried() {
    let file = "examples/simulate/lost_update.erl";
    let all = simulate(&["--policy", "exhaustive:1", file]);
    let shown = text(&all.stdout);
    assert!(shown.contains("schedules with at most 1 delays"), "{shown}");
    assert!(shown.contains("always(no_update_is_lost, _) does not hold"), "{shown}");
    let sure = simulate(&["--policy", "exhaustive:2", &safe_program()]);
    let shown = text(&sure.stdout);
    assert_eq!((sure.status.code(), shown.lines().count()), (Some(0), 2), "one outcome: {shown}");
    let found = simulate(&["--policy", "exhaustive:2", "--until", "fail", file]);
    assert_eq!(found.status.code(), Some(1), "{}", text(&found.stdout));
}

/// The outcomes that a summary lists: failure or status, and what was printed.
fn outcomes(shown: &str) -> HashSet<String> {
    let of_line = |line: &str| Some(line.split_once(" runs, the first with ")?.1.split_once(": ")?.1.to_owned());
    shown.lines().filter_map(of_line).collect()
}

/// All schedules that differ show all outcomes that seeds find, and all that a search without reduction does.
#[test]
fn nothing_is_lost_by_leaving_out_schedules_that_are_alike() {
    let number = |name: &str, otherwise| std::env::var(name).map_or(otherwise, |text| text.parse().expect("a number"));
    let (first, count): (u64, u64) = (number("ATOLL_SEED", 1), number("ATOLL_PROGRAMS", 4));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("simulate/small");
    std::fs::create_dir_all(&folder).expect("a folder");
    let source = folder.join("small.erl");
    let program = folder.join("small.beam").to_string_lossy().into_owned();
    let mut several = 0;
    for seed in first..first + count {
        std::fs::write(&source, generate::racing("small", seed)).expect("a file");
        compile(std::slice::from_ref(&source), &folder).expect("it compiles");
        let run = |words: &[&str]| text(&simulate(&[words, &["--may-crash", &program]].concat()).stdout);
        let reduced = run(&["--policy", "exhaustive"]);
        assert!(reduced.contains(" schedules that differ"), "ATOLL_SEED={seed}: {reduced}");
        // A summary lists no more than some outcomes.
        if reduced.contains(" other outcomes") {
            continue;
        }
        for others in [&["--policy", "random:prompt", "--seeds", "1..150"][..], &["--policy", "exhaustive:1"]] {
            let seen = run(others);
            let all = outcomes(&reduced);
            let lost: Vec<String> = outcomes(&seen).into_iter().filter(|outcome| !all.contains(outcome)).collect();
            assert!(lost.is_empty(), "ATOLL_SEED={seed}: {lost:?} not in {reduced}");
        }
        several += u64::from(outcomes(&reduced).len() > 1);
    }
    assert!(several * 2 > count, "most of the programs have several outcomes");
}

#[test]
fn schedules_that_are_alike_are_left_out() {
    let count = |file: &str| {
        let shown = text(&simulate(&["--policy", "exhaustive", file]).stdout);
        let line = shown.lines().find_map(|line| line.strip_prefix("all ")).expect("a last line").to_owned();
        (line.split(' ').next().and_then(|number| number.parse::<u64>().ok()).expect("a number"), outcomes(&shown))
    };
    let (lost_update, of_update) = count("examples/simulate/lost_update.erl");
    assert!(lost_update <= 12 && of_update.len() == 2, "{lost_update}: {of_update:?}");
    let (deadlock, of_deadlock) = count("examples/simulate/call_deadlock.erl");
    assert!(deadlock <= 35 && of_deadlock.len() == 2, "{deadlock}: {of_deadlock:?}");
    assert_eq!(count(&safe_program()).1.len(), 1);
}

/// A program without a race, compiled.
fn safe_program() -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("simulate/safe");
    std::fs::create_dir_all(&folder).expect("a folder");
    let example = std::fs::read_to_string(root().join("examples/simulate/lost_update.erl")).expect("the example");
    let racy = "    [{hits, Hits}] = ets:lookup(Table, hits),\n    true = ets:insert(Table, {hits, Hits + 1}).";
    assert!(example.contains(racy));
    let safe =
        example.replace(racy, "    ets:update_counter(Table, hits, 1).").replace("lost_update", "no_update_lost");
    let source = folder.join("no_update_lost.erl");
    std::fs::write(&source, safe).expect("a file");
    compile(&[source], &folder).expect("it compiles");
    folder.join("no_update_lost.beam").to_string_lossy().into_owned()
}

fn round_robin(program: &[&str]) -> Output {
    simulate(&[&["--policy", "round-robin"], program].concat())
}

#[test]
fn all_of_otp_starts_under_a_seed() {
    let code = "Self = self(), \
                [spawn(fun() -> timer:sleep(S * 3600000), Self ! S end) || S <- [2, 1]], \
                io:format(\"~w~n\", [[receive S -> S end || _ <- [1, 2]]]), \
                [spawn(fun() -> Self ! S end) || S <- lists:seq(1, 9)], \
                io:format(\"~w ~w~n\", [[receive S -> S end || _ <- lists:seq(1, 9)], erlang:system_time()]), halt().";
    let run = |seed: &str, heap: &str| {
        let mut command = Command::new("timeout");
        command.args(["60", ATOLL, "erl", "--heap", heap, "--simulate", seed, "-noinput", "-eval", code]);
        command.stdin(Stdio::null()).output().expect("it runs")
    };
    let first = run("1", "private");
    assert!(text(&first.stdout).starts_with("[1,2]\n"), "{}{}", text(&first.stdout), text(&first.stderr));
    for heap in atoll_vm::architectures() {
        assert_eq!(run("1", heap), first, "{heap}");
    }
    assert_ne!(run("2", "private"), first);
}

#[test]
fn what_nobody_can_repeat_is_refused_if_that_is_wanted() {
    let program = compiled("errors", "strict");
    for (what, wanted) in [
        ("file", "prim_file:open_nif("),
        ("port", "erts_internal:open_port("),
        ("command", "prim_file:read_info_nif("),
        ("socket", "prim_socket:nif_open("),
        ("input", "standard input"),
    ] {
        let refused = simulate(&["--strict", &program, "strict", what]);
        let said = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(1), "{what}: {said}");
        assert!(said.contains(&format!("wants {wanted}")) && said.contains("which is not repeated"), "{what}: {said}");
    }
    let allowed = simulate(&["--strict", &program, "strict", "nothing"]);
    assert_eq!(allowed.status.code(), Some(0), "{}", text(&allowed.stderr));
    assert_eq!(simulate(&[&program, "strict", "file"]).status.code(), Some(0));
}

/// Once OTP has booted; what its code server reads is part of the program.
#[test]
fn what_nobody_can_repeat_is_refused_with_otp_too() {
    let run = |program: &str| simulate(&["--strict", "--seed", "1", "--", "erl", "-noinput", "-eval", program]);
    let loads = run("io:format(\"~w~n\", [gb_sets:to_list(gb_sets:from_list([2, 1]))]), halt().");
    assert_eq!((loads.status.code(), text(&loads.stdout)), (Some(0), "[1,2]\n".to_owned()), "{}", text(&loads.stderr));
    for (program, wanted) in [
        ("file:read_file(\"/etc/hostname\"), halt().", "prim_file:read_file_nif("),
        ("open_port({spawn, \"true\"}, []), halt().", "erts_internal:open_port("),
        ("gen_tcp:listen(0, []), halt().", "erts_internal:open_port("),
        ("erlang:memory(total), halt().", "erlang:memory("),
    ] {
        let refused = run(program);
        let said = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(1), "{program}: {said}");
        assert!(said.contains(&format!("wants {wanted}")), "{program}: {said}");
    }
    let input = simulate(&["--strict", "--seed", "1", "--", "erl", "-eval", "halt()."]);
    assert!(text(&input.stderr).contains("add -noinput"), "{}", text(&input.stderr));
}

/// Preparations of three hundred processes are neither in the schedule nor in the story.
#[test]
fn schedules_begin_where_the_program_says() {
    let program = compiled("errors", "marked");
    let search = ["--from-mark", "--until", "fail", "--seeds", "1..1000"];
    let found = simulate(&[&search[..], &[&program, "marked", "yes"]].concat());
    let shown = text(&found.stdout);
    assert!(shown.contains("always(no_update_is_lost, _) does not hold"), "{shown}{}", text(&found.stderr));
    let smaller = shown.lines().find_map(|line| line.strip_prefix("  atoll simulate ")).expect("a smaller schedule");
    assert!(smaller.starts_with("--from-mark --schedule ") && smaller.len() < 400, "{smaller}");
    let words: Vec<&str> = smaller.split(' ').collect();
    let again = simulate(&words);
    assert!(text(&again.stderr).contains("always(no_update_is_lost, _) does not hold"), "{}", text(&again.stderr));

    let unmarked = simulate(&["--from-mark", &program, "marked", "no"]);
    assert_eq!(unmarked.status.code(), Some(1));
    assert!(text(&unmarked.stderr).contains("it has not called atoll_simulate:begins()"));
    let exhaustive = simulate(&["--from-mark", "--policy", "exhaustive", &program, "marked", "yes"]);
    assert!(text(&exhaustive.stderr).contains("a search of all schedules begins with the run"));
}

#[test]
fn assertions_hold_in_otp_too() {
    let program = "atoll_simulate:always(small, rand:uniform(5) > 1), halt().";
    let found = simulate(&["--until", "fail", "--seeds", "1..100", "--", "erl", "-noinput", "-eval", program]);
    assert_eq!(found.status.code(), Some(1));
    let shown = text(&found.stdout);
    assert!(shown.contains("always(small, _) does not hold"), "{shown}");
    // The boot is neither in the schedule nor in the story.
    assert!(shown.contains("smaller, with ") && !shown.contains("prim_file"), "{shown}");
    let smaller = shown.lines().find_map(|line| line.strip_prefix("  atoll simulate ")).expect("a smaller schedule");
    assert!(smaller.starts_with("--schedule ") && smaller.len() < 400, "{smaller}");
}

#[test]
fn a_name_of_a_dead_process_is_found() {
    for policy in ["random", "pct"] {
        let line = found("process_registry", policy);
        assert!(line.contains("always(names_of_the_dead_are_free, _) does not hold"), "{line}");
    }
}

/// Slices are short here: `reds_left` must not make one longer, or fewer reductions would be used than none.
#[test]
fn a_program_that_says_what_is_left_of_its_slice_does_the_same_in_every_order() {
    let program = "tests/programs/internal_state.erl";
    let run = simulate(&["--policy", "random:prompt", "--seeds", "1..20", "--may-crash", program]);
    let shown = text(&run.stdout) + &text(&run.stderr);
    assert_eq!(shown.matches(", the first with seed ").count(), 1, "{shown}");
}

#[test]
fn assertions_are_harmless_elsewhere() {
    let run = Command::new("timeout")
        .args(["60", ATOLL, "run", "examples/simulate/lost_update.erl"])
        .current_dir(root())
        .output()
        .expect("it runs");
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
}

#[test]
fn what_is_no_seed_or_policy_is_refused() {
    for words in [["--seeds", "3..1"], ["--seed", "x"], ["--policy", "best"], ["--schedule", "1.0"]] {
        let refused = simulate(&[words[0], words[1], "examples/simulate/lost_update.erl"]);
        assert_eq!(refused.status.code(), Some(2), "{words:?}");
    }
}
