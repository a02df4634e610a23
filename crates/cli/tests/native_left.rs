//! A resource is destroyed soon after the end of the process that had the last reference to it, though nobody asks for
//! a collection: on stock `erl` at once, and so on heaps of one process each; on the others a search finds it.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use atoll_differential::{End, compile_with_library, run};

#[test]
fn what_an_ended_process_had_is_destroyed_without_a_collection_of_the_program() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("native_left");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/native_left.erl");
    compile_with_library(&source, &folder).unwrap_or_else(|error| panic!("{error}"));
    let stock = {
        let mut command = Command::new("erl");
        command.args(["-noshell", "-pa"]).arg(&folder).args(["-eval", "native_left:main([\"halt\"])."]);
        command
    };
    let on_heap = |heap: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_atoll"));
        command.args(["run", "--heap", heap]).arg(folder.join("native_left.beam"));
        command
    };
    let heaps = ["private", "shared", "unified", "hybrid"].map(|heap| (heap, on_heap(heap)));
    for (machine, mut command) in [("stock", stock)].into_iter().chain(heaps) {
        let finished = run(&mut command, Duration::from_secs(120)).expect("it runs");
        let printed = String::from_utf8_lossy(&finished.stdout).into_owned();
        let expected = "destroyed\ndestroyed\ndestroyed\ndestroyed\n4\n4 true\n";
        assert_eq!((finished.end, printed.as_str()), (End::Exited(0), expected), "{machine}");
    }
}
