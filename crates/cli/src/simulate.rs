//! `atoll simulate`

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

use atoll_simulate::batch::Search;
use atoll_simulate::run::Wanted;
use atoll_simulate::shrink::{Shrunk, shrink};
use atoll_simulate::{
    Exhaustive, Failure, Faults, Order, Outcome, Plan, PolicyKind, Reduced, Subject, batch, diagram, story,
};
use atoll_vm::Options;
use atoll_vm::simulation::{Beginning, PROGRAM_BEGINS};
use clap::ValueEnum;

use crate::arguments::{Scheduler, SimulateOptions};
use crate::run::machine_options;
use crate::suites;

/// Exit status if a run failed whose own status is 0.
const FAILED: i32 = 1;

/// Runs a program under one schedule or many; returns the exit status.
pub fn simulate(given: &SimulateOptions) -> Result<i32, String> {
    if given.machine.scheduler != Scheduler::Levels {
        return Err("--scheduler is for real schedulers; --policy says who runs in a simulation".to_owned());
    }
    let mut options = Options { heap: given.heap.clone(), ..machine_options(&given.machine)? };
    options.verify = given.verify_heap;
    options.stress = given.gc_stress;
    let (mut subject, _made) = suites::subject(given)?;
    let beginning = match &mut subject {
        Subject::Otp(words, _) => beginning_of_otp(given, words)?,
        Subject::Program(..) if given.from_mark => Beginning::Mark,
        Subject::Program(..) => Beginning::Start,
    };
    if given.from_mark && is_exhaustive(given) {
        return Err("--from-mark: a search of all schedules begins with the run".to_owned());
    }
    let plan = Plan {
        options,
        subject,
        limit: given.limit,
        timeout: Duration::from_secs(given.timeout),
        may_crash: given.may_crash,
        strict: given.strict,
        beginning,
    };
    if let Some(schedule) = &given.schedule {
        return one(&plan, given, &Order::Given(schedule.clone()));
    }
    let policy = with_steps(&plan, given.policy)?;
    let first = given.seed.unwrap_or(1);
    let source = match policy {
        PolicyKind::Reduced => Source::Reduced(Reduced::default()),
        PolicyKind::Exhaustive(delays) => Source::Delays(Exhaustive::new(delays)),
        _ if given.seeds.is_none() && given.until.is_none() => {
            return one(&plan, given, &Order::Seed(policy, first, given.faults));
        }
        _ => Source::Seeds(policy, given.seeds.clone().unwrap_or(first..=first + 999), given.faults),
    };
    many(&plan, given, source)
}

fn is_exhaustive(given: &SimulateOptions) -> bool {
    matches!(given.policy, PolicyKind::Reduced | PolicyKind::Exhaustive(_))
}

/// Has OTP say when it has booted, which is when the program begins unless the program says so itself. Not if a boot
/// file is given: its applications, which the boot starts, are the program; nor for an exhaustive search.
fn beginning_of_otp(given: &SimulateOptions, words: &mut Vec<OsString>) -> Result<Beginning, String> {
    let is = |word: &OsString, flags: &[&str]| flags.iter().any(|flag| word == flag);
    let beginning = match words.iter().any(|word| is(word, &["-boot"])) || is_exhaustive(given) {
        _ if given.from_mark => Beginning::Mark,
        true => Beginning::Start,
        false => Beginning::Boot,
    };
    if given.strict && !words.iter().any(|word| is(word, &["-noinput"])) {
        return Err("--strict: what standard input brings is not repeated; add -noinput".to_owned());
    }
    if given.strict && beginning == Beginning::Start {
        return Err(
            "--strict: with a boot file, or a search of all schedules, OTP reads files from the start".to_owned()
        );
    }
    if beginning == Beginning::Boot {
        let first = words.iter().position(|word| is(word, &["-s", "-run", "-eval", "-extra", "--"]));
        let at = first.unwrap_or(words.len());
        words.splice(at..at, ["-eval", PROGRAM_BEGINS].map(OsString::from));
    }
    Ok(beginning)
}

/// The policy, with the number of steps of the program if it needs that.
fn with_steps(plan: &Plan, policy: PolicyKind) -> Result<PolicyKind, String> {
    let PolicyKind::Pct { depth, steps: None } = policy else { return Ok(policy) };
    let order = Order::Seed(PolicyKind::RoundRobin, 0, Faults::default());
    let outcome = plan.run(&order, Wanted::default()).map_err(|error| error.to_string())?;
    Ok(PolicyKind::Pct { depth, steps: Some(outcome.operations.max(1).cast_unsigned()) })
}

/// One run, which prints as it goes.
fn one(plan: &Plan, given: &SimulateOptions, order: &Order) -> Result<i32, String> {
    let wanted = Wanted { shown: true, story: given.story || given.svg.is_some(), ..Wanted::default() };
    let outcome = plan.run(order, wanted).map_err(|error| error.to_string())?;
    if let Some(failure) = outcome.failures.first() {
        eprintln!("atoll: the run failed: {failure}");
    }
    tell(given, &outcome)?;
    Ok(status(&outcome))
}

/// Prints and draws the story, as far as that is wanted.
fn tell(given: &SimulateOptions, outcome: &Outcome) -> Result<(), String> {
    if given.story || given.until.is_some() {
        print(story::text(&outcome.story).as_bytes())?;
    }
    if let Some(file) = &given.svg {
        std::fs::write(file, diagram::svg(&outcome.story)).map_err(|error| format!("{}: {error}", file.display()))?;
        say(&format!("picture: {}", file.display()))?;
    }
    Ok(())
}

/// Finds a smaller schedule that fails as well, and tells its story.
fn explain(plan: &Plan, given: &SimulateOptions, order: Order, failure: &Failure) -> Result<(), String> {
    let (mut order, limit) = (order, Duration::from_secs(given.shrink));
    if given.shrink > 0 {
        match shrink(plan, &order, failure, limit).map_err(|error| error.to_string())? {
            Some(shrunk) => {
                let Shrunk { before, after, runs, .. } = shrunk;
                order = Order::Given(shrunk.schedule);
                say(&format!("smaller, with {after} switches instead of {before}, found in {runs} runs:"))?;
                say(&format!("  {}", command(plan, given, &order)))?;
            }
            None => say("the run does not fail again: something else than the schedule decides")?,
        }
    }
    let wanted = Wanted { story: true, ..Wanted::default() };
    let outcome = plan.run(&order, wanted).map_err(|error| error.to_string())?;
    say("")?;
    tell(given, &outcome)?;
    if let Some(Failure::Deadlock(places)) = outcome.failures.first() {
        print(format!("deadlock:\n{places}").as_bytes())?;
    } else if let Some(failure) = outcome.failures.first() {
        say(&failure.to_string())?;
    }
    Ok(())
}

fn status(outcome: &Outcome) -> i32 {
    if outcome.status == 0 && !outcome.failures.is_empty() { FAILED } else { outcome.status }
}

/// Where orders come from.
enum Source {
    Seeds(PolicyKind, RangeInclusive<u64>, Faults),
    Delays(Exhaustive),
    Reduced(Reduced),
}

/// Outcomes that look the same to a user.
struct Kind {
    status: i32,
    failure: String,
    stdout: Vec<u8>,
    count: u64,
    /// The first such run.
    first: String,
}

/// Many runs, and what came of them.
struct Runs {
    source: Source,
    until_fail: bool,
    kinds: Vec<Kind>,
    sometimes: BTreeMap<String, bool>,
    count: u64,
    /// Of those, the ones that showed nothing new and were not run to the end.
    redundant: u64,
    failed: Option<(Order, Outcome)>,
}

impl Search for Runs {
    fn next(&mut self) -> Option<Order> {
        match &mut self.source {
            Source::Seeds(policy, seeds, faults) => seeds.next().map(|seed| Order::Seed(*policy, seed, *faults)),
            Source::Delays(all) => all.take(),
            Source::Reduced(all) => all.take(),
        }
    }

    fn see(&mut self, order: &Order, outcome: Outcome) -> bool {
        self.count += 1;
        for (name, was) in &outcome.sometimes {
            *self.sometimes.entry(name.clone()).or_default() |= was;
        }
        match &mut self.source {
            Source::Delays(all) => all.add_after(order, &outcome),
            Source::Reduced(all) => all.see(&outcome.turns),
            Source::Seeds(..) => {}
        }
        if outcome.is_redundant {
            self.redundant += 1;
            return true;
        }
        let failure = failure(&outcome);
        let is_same = |kind: &&mut Kind| {
            (kind.status, &kind.failure, &kind.stdout) == (outcome.status, &failure, &outcome.stdout)
        };
        match self.kinds.iter_mut().find(is_same) {
            Some(kind) => kind.count += 1,
            None => {
                let (status, stdout) = (outcome.status, outcome.stdout.clone());
                let first = match (order, outcome.short_schedule()) {
                    (Order::Turns(..) | Order::Delays(_), Some(schedule)) => format!("--schedule {schedule}"),
                    _ => of_run(order),
                };
                self.kinds.push(Kind { status, failure, stdout, count: 1, first });
            }
        }
        if !outcome.failures.is_empty() && self.failed.is_none() {
            self.failed = Some((order.clone(), outcome));
            return !self.until_fail;
        }
        true
    }
}

impl Runs {
    /// The assertions that should have been true in some run.
    fn never(&self) -> Vec<&String> {
        self.sometimes.iter().filter(|(_, was)| !**was).map(|(name, _)| name).collect()
    }
}

/// Kinds of outcomes that are listed.
const SHOWN_KINDS: usize = 50;
/// Characters of output that are shown of each.
const SHOWN_OUTPUT: usize = 100;

fn many(plan: &Plan, given: &SimulateOptions, source: Source) -> Result<i32, String> {
    let until_fail = given.until.is_some();
    let schedule = !matches!(source, Source::Seeds(..));
    let (kinds, sometimes) = (Vec::new(), BTreeMap::new());
    let mut runs = Runs { source, until_fail, kinds, sometimes, count: 0, redundant: 0, failed: None };
    let began = Instant::now();
    batch::run(plan, Wanted { schedule, ..Wanted::default() }, &mut runs).map_err(|error| error.to_string())?;
    let seconds = began.elapsed().as_secs_f64();
    match &runs.failed {
        Some((order, outcome)) if until_fail => {
            print(&outcome.stdout)?;
            eprint!("{}", String::from_utf8_lossy(&outcome.stderr));
            let (name, count) = (of_run(order), runs.count);
            say(&format!("the run with {name} fails after {count} runs in {seconds:.1} s: {}", failure(outcome)))?;
            let order = outcome.schedule().filter(|_| schedule).map_or(order.clone(), Order::Given);
            say(&format!("again: {}", command(plan, given, &order)))?;
            // With its boot, a run of all of OTP has thousands of turns, most of which are nobody's concern.
            if given.story || plan.beginning != Beginning::Start || matches!(plan.subject, Subject::Program(..)) {
                explain(plan, given, order, &outcome.failures[0])?;
            }
        }
        _ => {
            summary(&mut runs)?;
            match given.policy {
                PolicyKind::Exhaustive(delays) => {
                    say(&format!("all {} schedules with at most {delays} delays, in {seconds:.1} s", runs.count))?;
                }
                PolicyKind::Reduced => {
                    let count = runs.count - runs.redundant;
                    say(&format!(
                        "all {count} schedules that differ, and {} beginnings, in {seconds:.1} s",
                        runs.redundant
                    ))?;
                }
                _ => say(&format!("{} runs in {seconds:.1} s", runs.count))?,
            }
        }
    }
    for name in runs.never() {
        say(&format!("sometimes({name}, _) was true in none of {} runs", runs.count))?;
    }
    let lacks = runs.failed.is_none() && !runs.never().is_empty();
    Ok(runs.failed.map_or(if lacks { FAILED } else { 0 }, |(_, outcome)| status(&outcome)))
}

/// A run as it is called in a line.
fn of_run(order: &Order) -> String {
    match order {
        Order::Seed(_, seed, _) => format!("seed {seed}"),
        other => other.to_string(),
    }
}

fn failure(outcome: &Outcome) -> String {
    outcome.failures.first().map(ToString::to_string).unwrap_or_default()
}

fn summary(runs: &mut Runs) -> Result<(), String> {
    runs.kinds.sort_by_key(|kind| std::cmp::Reverse(kind.count));
    for Kind { status, failure, stdout, count, first } in runs.kinds.iter().take(SHOWN_KINDS) {
        let what = if failure.is_empty() { format!("exit status {status}") } else { failure.clone() };
        let text: String = String::from_utf8_lossy(stdout).trim_end().chars().take(SHOWN_OUTPUT).collect();
        say(&format!("{count:>8} runs, the first with {first}: {what}, {text:?}"))?;
    }
    let rest: u64 = runs.kinds.iter().skip(SHOWN_KINDS).map(|kind| kind.count).sum();
    if rest > 0 {
        say(&format!("{rest:>8} runs with {} other outcomes", runs.kinds.len() - SHOWN_KINDS))?;
    }
    Ok(())
}

fn print(bytes: &[u8]) -> Result<(), String> {
    std::io::stdout().write_all(bytes).map_err(|error| format!("standard output: {error}"))
}

fn say(line: &str) -> Result<(), String> {
    print(format!("{line}\n").as_bytes())
}

/// A word as a shell takes it.
fn for_shell(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:=,+@%".contains(&byte);
    match !word.is_empty() && word.bytes().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// The command that runs this order again.
fn command(plan: &Plan, given: &SimulateOptions, order: &Order) -> String {
    let mut words = vec!["atoll simulate".to_owned()];
    if given.heap != "private" {
        words.push(format!("--heap {}", given.heap));
    }
    if given.may_crash {
        words.push("--may-crash".to_owned());
    }
    if given.strict {
        words.push("--strict".to_owned());
    }
    if given.from_mark {
        words.push("--from-mark".to_owned());
    }
    if let Some(native) = given.machine.native.and_then(|native| native.to_possible_value()) {
        words.push(format!("--native {}", native.get_name()));
    }
    words.extend(given.machine.paths.iter().map(|path| format!("-pa {}", path.display())));
    words.push(order.to_string());
    if matches!(plan.subject, Subject::Otp(..)) {
        words.push("--".to_owned());
    }
    words.push(given.program.clone());
    words.extend(given.arguments.iter().map(|word| for_shell(word)));
    words.join(" ")
}
