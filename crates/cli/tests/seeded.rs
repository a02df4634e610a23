//! Machines with a scheduler that the test gives them: the same seed runs the same schedule, whatever else the computer
//! does; other seeds run others; what may not depend on the schedule does not.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use atoll_vm::{Native, Options, Program, Seeded, run};

/// What one run did.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Run {
    /// Which processes ran, and for how many reductions at most.
    schedule: Vec<(u64, i64)>,
    /// What the program says must be the same under any schedule.
    same: String,
    /// What it says depends on the schedule.
    story: String,
}

/// Runs the program on a thread of its own, because a thread works for one machine.
fn run_with(seed: u64, heap: &'static str, name: &str, folder: &Path) -> Run {
    let program = Program::prepare(&folder.join("seeded.beam").to_string_lossy()).expect("the program");
    let file = folder.join(name);
    let written = file.to_string_lossy().into_owned();
    let ran = std::thread::spawn(move || {
        let scheduler = Seeded::new(seed);
        let options =
            Options { heap: heap.to_owned(), native: Native::Off, scheduling: Some(scheduler), ..Options::default() };
        let status = run(&options, &program, &[written]).expect("the machine starts");
        let schedule: Vec<(u64, i64)> =
            scheduler.choices().into_iter().map(|(pid, reductions)| (pid.word(), reductions)).collect();
        (status, schedule, scheduler.elapsed())
    });
    let (status, schedule, elapsed) = ran.join().expect("the thread does not panic");
    assert_eq!(status, 0);
    assert!(elapsed > 3_600_000_000_000, "the program waits for an hour of the machine's time");
    let text = std::fs::read_to_string(&file).expect("the program writes this file");
    let (same, story) = text.split_once('\n').expect("two lines");
    Run { schedule, same: same.to_owned(), story: story.to_owned() }
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
fn a_seed_decides_the_schedule() {
    let folder = folder();
    for heap in ["private", "shared"] {
        let once: Vec<Run> = (0..4).map(|seed| run_with(seed, heap, &format!("{heap}-{seed}"), &folder)).collect();
        for (seed, before) in (0..).zip(&once) {
            let again = run_with(seed, heap, &format!("{heap}-{seed}"), &folder);
            // What comes after that may meet the threads that write the file, and the end of the machine.
            assert!(again.schedule[..300] == before.schedule[..300], "{heap}, seed {seed}");
            assert_eq!((&again.same, &again.story), (&before.same, &before.story), "{heap}, seed {seed}");
        }
        let schedules: HashSet<_> = once.iter().map(|run| &run.schedule[..300]).collect();
        let stories: HashSet<_> = once.iter().map(|run| &run.story).collect();
        assert_eq!((schedules.len(), stories.len()), (once.len(), once.len()), "{heap}: seeds differ");
        let same: HashSet<_> = once.iter().map(|run| &run.same).collect();
        assert_eq!(same.len(), 1, "{heap}: {same:?}");
        // Schedules of `hybrid` need not come again: see `Seeded`. What must be the same is.
        assert_eq!(run_with(0, "hybrid", "hybrid", &folder).same, once[0].same);
    }
    std::fs::remove_dir_all(&folder).expect("the folder goes");
}
