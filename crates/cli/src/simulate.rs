//! `atoll simulate`

use std::collections::BTreeMap;
use std::io::Write;
use std::time::{Duration, Instant};

use atoll_simulate::run::Wanted;
use atoll_simulate::{Order, Outcome, Plan, PolicyKind, batch};
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
        return one(&plan, &Order::Given(schedule.clone()));
    }
    match (&given.seeds, given.until) {
        (None, None) => one(&plan, &Order::Seed(policy, given.seed.unwrap_or(1))),
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
fn one(plan: &Plan, order: &Order) -> Result<i32, String> {
    let wanted = Wanted { shown: true, ..Wanted::default() };
    let outcome = plan.run(order, wanted).map_err(|error| error.to_string())?;
    if let Some(failure) = outcome.failures.first() {
        eprintln!("atoll: the run failed: {failure}");
    }
    Ok(status(&outcome))
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
            println!("seed {seed} fails after {} runs in {seconds:.1} s: {}", kinds.runs, failure(outcome));
            println!("again: {}", command(given, &order));
        }
        _ => {
            summary(&kinds);
            println!("{} runs in {seconds:.1} s", kinds.runs);
        }
    }
    for name in kinds.never() {
        println!("sometimes({name}, _) was true in none of {} runs", kinds.runs);
    }
    let lacks = failed.is_none() && kinds.never().next().is_some();
    Ok(failed.map_or(if lacks { FAILED } else { 0 }, |(_, outcome)| status(&outcome)))
}

fn failure(outcome: &Outcome) -> String {
    outcome.failures.first().map(ToString::to_string).unwrap_or_default()
}

fn summary(kinds: &Kinds) {
    let mut counts: Vec<_> = kinds.counts.iter().collect();
    counts.sort_by_key(|(_, (count, first))| (std::cmp::Reverse(*count), *first));
    for ((status, failure, output), (count, first)) in counts.iter().take(SHOWN_KINDS) {
        let what = if failure.is_empty() { format!("exit status {status}") } else { failure.clone() };
        let text: String = String::from_utf8_lossy(output).trim_end().chars().take(SHOWN_OUTPUT).collect();
        println!("{count:>8} runs, as seed {first}: {what}, {text:?}");
    }
    let rest: u64 = counts.iter().skip(SHOWN_KINDS).map(|(_, (count, _))| *count).sum();
    if rest > 0 {
        println!("{rest:>8} runs with {} other outcomes", counts.len() - SHOWN_KINDS);
    }
}

fn print(bytes: &[u8]) -> Result<(), String> {
    std::io::stdout().write_all(bytes).map_err(|error| format!("standard output: {error}"))
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
