//! `socket`, `net`, and `gen_tcp` and `gen_udp` over `socket`, on stock `erl` and on every heap: the same output.

use std::path::Path;
use std::process::Command;

const MODULE: &str = "socket_natives";
const ATOLL: &str = env!("CARGO_BIN_EXE_atoll");

/// What a command line prints; it is run in `folder`.
fn output(folder: &Path, words: &[&str]) -> String {
    let mut command = Command::new("timeout");
    command.arg("150").args(words).current_dir(folder).env_remove("ERL_FLAGS").env("ERL_CRASH_DUMP", "/dev/null");
    let output = command.output().expect("it runs");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{words:?}: {errors}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn the_same_on_stock_and_on_every_heap() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(MODULE);
    std::fs::create_dir_all(&folder).expect("a folder");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(MODULE).with_extension("erl");
    output(&folder, &["erlc", &source.to_string_lossy()]);
    let program = ["-noshell", "-s", MODULE, "main"];
    let stock = output(&folder, &[&["erl"], &program[..]].concat());
    assert_eq!(
        stock.lines().filter(|line| line.contains(" failed ") || line.ends_with(" hangs")).count(),
        0,
        "{stock}"
    );
    for heap in ["private", "shared", "unified", "hybrid"] {
        for schedulers in ["1", "2"] {
            let words = [&[ATOLL, "erl", "--heap", heap, "+S", schedulers], &program[..]].concat();
            let atoll = output(&folder, &words);
            for (here, there) in atoll.lines().zip(stock.lines()) {
                assert_eq!(here, there, "{heap}, {schedulers}");
            }
            assert_eq!(atoll.lines().count(), stock.lines().count(), "{heap}, {schedulers}");
        }
    }
}
