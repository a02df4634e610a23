//! Code as compilers before OTP 25 wrote it builds bitstrings piece by piece. Packages often have such code.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use atoll_differential::{End, run};

const PROGRAMS: [&str; 8] = [
    "bitstrings",
    "bs_append",
    "bs_construct_binary",
    "bs_construct_float",
    "bs_construct_integer",
    "comprehensions",
    "gc_binaries",
    "utf_segments",
];

/// Compiles a program as OTP 24 would have.
fn compiled(program: &str, folder: &Path) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs").join(program);
    let status = Command::new("erlc").args(["+r24", "-o"]).arg(folder).arg(source.with_extension("erl")).status();
    assert!(status.expect("erlc runs").success(), "{program}");
    folder.join(program).with_extension("beam")
}

fn printed(what: &str, command: &mut Command) -> String {
    let finished = run(command, Duration::from_secs(120)).expect("it runs");
    assert_eq!(finished.end, End::Exited(0), "{what}");
    String::from_utf8_lossy(&finished.stdout).into_owned()
}

#[test]
fn bitstrings_that_are_built_piece_by_piece_are_as_on_stock() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("old_compiler");
    std::fs::create_dir_all(&folder).expect("a folder");
    for program in PROGRAMS {
        let file = compiled(program, &folder);
        let text = printed("disasm", Command::new(env!("CARGO_BIN_EXE_atoll")).arg("disasm").arg(&file));
        assert!(!text.contains("bs_put_"), "{program}: pieces are one instruction");
        let call = format!("{program}:main([]), halt().");
        let stock = printed(program, Command::new("erl").args(["-noshell", "-pa"]).arg(&folder).args(["-eval", &call]));
        let ways: [&[&str]; 4] = [
            &["--native", "off"],
            &["--native", "eager"],
            &["--native", "off", "--gc-stress", "50", "--verify-heap"],
            &["--native", "eager", "--gc-stress", "50", "--verify-heap"],
        ];
        for heap in ["private", "shared", "unified", "hybrid"] {
            for way in ways {
                let mut command = Command::new(env!("CARGO_BIN_EXE_atoll"));
                command.args(["run", "--heap", heap]).args(way).arg(&file);
                let what = format!("{program} on {heap}, {way:?}");
                assert_eq!(printed(&what, &mut command), stock, "{what}");
            }
        }
    }
}
