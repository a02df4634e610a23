//! `enif_set_option`: a library is told of the machine's end, and the end waits for its functions.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use atoll_differential::{End, compile_with_library, run};

#[test]
fn an_end_that_flushes_tells_a_library_and_waits_for_its_functions() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("native_halt");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/native_halt.erl");
    compile_with_library(&source, &folder).unwrap_or_else(|error| panic!("{error}"));
    let program = folder.join("native_halt.beam");
    for heap in ["private", "shared", "unified", "hybrid"] {
        for (how, expected) in [("flush", "told\nreturned\nreturned\nreturned\n"), ("at_once", "")] {
            let mut command = Command::new(env!("CARGO_BIN_EXE_atoll"));
            command.args(["run", "--heap", heap, "--schedulers", "3"]).arg(&program).arg(how);
            let finished = run(&mut command, Duration::from_secs(60)).expect("it runs");
            let printed = String::from_utf8_lossy(&finished.stdout).into_owned();
            assert_eq!((finished.end, printed.as_str()), (End::Exited(3), expected), "{heap}, {how}");
        }
    }
}
