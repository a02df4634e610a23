//! A process that is killed in a dirty call: what its heap had outside of it is there until the library returns.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use atoll_differential::{End, compile_with_library, run};

#[test]
fn what_a_killed_process_had_outlives_its_dirty_call() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("native_killed");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/native_killed.erl");
    compile_with_library(&source, &folder).unwrap_or_else(|error| panic!("{error}"));
    let program = folder.join("native_killed.beam");
    // Stock does the same. Where all processes have one heap, nobody knows which of its objects a process had.
    for heap in ["private", "hybrid"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_atoll"));
        command.args(["run", "--heap", heap]).arg(&program);
        let finished = run(&mut command, Duration::from_secs(60)).expect("it runs");
        let printed = String::from_utf8_lossy(&finished.stdout).into_owned();
        assert_eq!((finished.end, printed.as_str()), (End::Exited(0), "2\ndestroyed\n1\n"), "{heap}");
    }
}
