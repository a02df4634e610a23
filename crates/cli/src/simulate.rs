//! `atoll simulate`

use std::collections::BTreeMap;
use std::io::Write;
use std::time::{Duration, Instant};

use atoll_simulate::run::Wanted;
use atoll_simulate::shrink::{Shrunk, shrink};
use atoll_simulate::{Failure, Order, Outcome, Plan, PolicyKind, batch, diagram, story};
use atoll_vm::{Options, Program};

use crate::arguments::SimulateOptions;
use crate::run::machine_options;

/// Exit status if a run failed whose own status is 0.
const FAILED: i32 = 1;

/// Runs a program under one schedule or many; returns the exit status.
pub fn simulate(given: &SimulateOptions) -> Result<i32, String> {
    let mut options = Options { heap: given.heap.clone(), ..machine_options(&given.machine)? };
    options.verify = given.verify_heap;
    options.stress = given.gc_stress;
    let program = Program::prepare(&given.program).map_err(|error| error.to_string())?;
    let plan = Plan {
        options,
        program,
        arguments: given.arguments.clone(),
        limit: given.limit,
        timeout: Duration::from_secs(given.timeout),
        may_crash: given.may_crash,
    };
    let policy = with_steps(&plan, given.policy)?;
    if let Some(schedule) = &given.schedule {
        return one(&plan, given, &Order::Given(schedule.clone()));
    }
    match (&given.seeds, given.until) {
        (None, None) => one(&plan, given, &Order::Seed(policy, given.seed.unwrap_or(1))),
        (seeds, until) => {
            let first = given.seed.unwrap_or(1);
            let seeds = seeds.clone().unwrap_or(first..=first + 999);
            many(&plan, given, policy, seeds, until.is_some())
        }
    }
}

/// The policy, with the number of steps of the program if it needs that.
fn with_steps(plan: &Plan, policy: PolicyKind) -> Result<PolicyKind, String> {
    let PolicyKind::Pct { depth, steps: None } = policy else { return Ok(policy) };
    let order = Order::Seed(PolicyKind::RoundRobin, 0);
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
                say(&format!("  {}", command(given, &order)))?;
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

/// Outcomes that look the same to a user.
#[derive(Default)]
struct Kinds {
    /// How often, and the first seed, by status, failure and output.
    counts: BTreeMap<(i32, String, Vec<u8>), (u64, u64)>,
    sometimes: BTreeMap<String, bool>,
    runs: u64,
}

impl Kinds {
    fn add(&mut self, seed: u64, outcome: &Outcome) {
        let failure = outcome.failures.first().map(ToString::to_string).unwrap_or_default();
        let key = (outcome.status, failure, outcome.stdout.clone());
        self.counts.entry(key).or_insert((0, seed)).0 += 1;
        for (name, was) in &outcome.sometimes {
            *self.sometimes.entry(name.clone()).or_default() |= was;
        }
        self.runs += 1;
    }

    /// The assertions that should have been true in some run.
    fn never(&self) -> impl Iterator<Item = &String> {
        self.sometimes.iter().filter(|(_, was)| !**was).map(|(name, _)| name)
    }
}

/// Kinds of outcomes that are listed.
const SHOWN_KINDS: usize = 10;
/// Characters of output that are shown of each.
const SHOWN_OUTPUT: usize = 60;

fn many(
    plan: &Plan,
    given: &SimulateOptions,
    policy: PolicyKind,
    seeds: std::ops::RangeInclusive<u64>,
    until_fail: bool,
) -> Result<i32, String> {
    let (mut kinds, mut failed) = (Kinds::default(), None);
    let began = Instant::now();
    batch::run(plan, policy, seeds, |seed, outcome| {
        kinds.add(seed, &outcome);
        if !outcome.failures.is_empty() && failed.is_none() {
            failed = Some((seed, outcome));
            return !until_fail;
        }
        true
    })
    .map_err(|error| error.to_string())?;
    let seconds = began.elapsed().as_secs_f64();
    match &failed {
        Some((seed, outcome)) if until_fail => {
            let order = Order::Seed(policy, *seed);
            print(&outcome.stdout)?;
            eprint!("{}", String::from_utf8_lossy(&outcome.stderr));
            say(&format!("seed {seed} fails after {} runs in {seconds:.1} s: {}", kinds.runs, failure(outcome)))?;
            say(&format!("again: {}", command(given, &order)))?;
            explain(plan, given, order, &outcome.failures[0])?;
        }
        _ => {
            summary(&kinds)?;
            say(&format!("{} runs in {seconds:.1} s", kinds.runs))?;
        }
    }
    for name in kinds.never() {
        say(&format!("sometimes({name}, _) was true in none of {} runs", kinds.runs))?;
    }
    let lacks = failed.is_none() && kinds.never().next().is_some();
    Ok(failed.map_or(if lacks { FAILED } else { 0 }, |(_, outcome)| status(&outcome)))
}

fn failure(outcome: &Outcome) -> String {
    outcome.failures.first().map(ToString::to_string).unwrap_or_default()
}

fn summary(kinds: &Kinds) -> Result<(), String> {
    let mut counts: Vec<_> = kinds.counts.iter().collect();
    counts.sort_by_key(|(_, (count, first))| (std::cmp::Reverse(*count), *first));
    for ((status, failure, output), (count, first)) in counts.iter().take(SHOWN_KINDS) {
        let what = if failure.is_empty() { format!("exit status {status}") } else { failure.clone() };
        let text: String = String::from_utf8_lossy(output).trim_end().chars().take(SHOWN_OUTPUT).collect();
        say(&format!("{count:>8} runs, as seed {first}: {what}, {text:?}"))?;
    }
    let rest: u64 = counts.iter().skip(SHOWN_KINDS).map(|(_, (count, _))| *count).sum();
    if rest > 0 {
        say(&format!("{rest:>8} runs with {} other outcomes", counts.len() - SHOWN_KINDS))?;
    }
    Ok(())
}

fn print(bytes: &[u8]) -> Result<(), String> {
    std::io::stdout().write_all(bytes).map_err(|error| format!("standard output: {error}"))
}

fn say(line: &str) -> Result<(), String> {
    print(format!("{line}\n").as_bytes())
}

/// The command that runs this order again.
fn command(given: &SimulateOptions, order: &Order) -> String {
    let mut words = vec!["atoll simulate".to_owned()];
    if given.heap != "private" {
        words.push(format!("--heap {}", given.heap));
    }
    if given.may_crash {
        words.push("--may-crash".to_owned());
    }
    words.extend(given.machine.paths.iter().map(|path| format!("-pa {}", path.display())));
    words.push(order.to_string());
    words.push(given.program.clone());
    words.extend(given.arguments.iter().cloned());
    words.join(" ")
}
