//! Simulated machines: the same seed runs the same schedule on every heap, whatever else the computer does; other seeds
//! run others; what may not depend on the schedule does not.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use atoll_vm::simulated::{Decision, RandomWalk};
use atoll_vm::simulation::{Beginning, Simulation, simulate};
use atoll_vm::{Options, Program};

/// What one run did.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Run {
    schedule: Vec<Decision>,
    /// What the program says must be the same under any schedule.
    same: String,
    /// What it says depends on the schedule.
    story: String,
}

/// Runs the program on a thread of its own, because a thread works for one machine.
fn run_with(seed: u64, heap: &'static str, folder: &Path) -> Run {
    let program = Program::prepare(&folder.join("seeded.beam").to_string_lossy()).expect("the program");
    let file = folder.join("written");
    let written = file.to_string_lossy().into_owned();
    let ran = std::thread::spawn(move || {
        let options = Options { heap: heap.to_owned(), ..Options::default() };
        let policy = Box::new(RandomWalk::new(seed));
        simulate(
            &options,
            &program,
            &[written],
            Simulation {
                policy,
                limit: usize::MAX,
                recorded: true,
                told: false,
                strict: false,
                beginning: Beginning::Start,
            },
        )
        .expect("the machine starts")
    });
    let ran = ran.join().expect("the thread does not panic");
    assert_eq!((ran.status, ran.failures), (0, Vec::new()));
    assert!(ran.elapsed > 3_600_000_000_000, "the program waits for an hour of the machine's time");
    let text = std::fs::read_to_string(&file).expect("the program writes this file");
    let (same, story) = text.split_once('\n').expect("two lines");
    Run { schedule: ran.decisions, same: same.to_owned(), story: story.to_owned() }
}

fn folder() -> PathBuf {
    let folder = std::env::temp_dir().join(format!("atoll-seeded-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/seeded.erl");
    let status = Command::new("erlc").arg("-o").arg(&folder).arg(source).status().expect("erlc runs");
    assert!(status.success(), "erlc");
    folder
}

#[test]
fn a_seed_decides_the_schedule_on_every_heap() {
    let folder = folder();
    let first: Vec<Run> = (0..4).map(|seed| run_with(seed, "private", &folder)).collect();
    for heap in ["private", "shared", "unified", "hybrid", "nogc"] {
        for (seed, before) in (0..).zip(&first) {
            let again = run_with(seed, heap, &folder);
            assert_eq!((&again.same, &again.story), (&before.same, &before.story), "{heap}, seed {seed}");
            let differ = again.schedule.iter().zip(&before.schedule).position(|(one, other)| one != other);
            assert!(again.schedule == before.schedule, "{heap}, seed {seed}: {differ:?}");
        }
    }
    let schedules: HashSet<_> = first.iter().map(|run| &run.schedule).collect();
    let stories: HashSet<_> = first.iter().map(|run| &run.story).collect();
    assert_eq!((schedules.len(), stories.len()), (first.len(), first.len()), "seeds differ");
    let same: HashSet<_> = first.iter().map(|run| &run.same).collect();
    assert_eq!(same.len(), 1, "{same:?}");
    std::fs::remove_dir_all(&folder).expect("the folder goes");
}
