//! Native libraries that do what they should not: `--check-natives` names the function that made a wild term, and a
//! crash inside of a library names library, function and arguments.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use atoll_differential::{End, Finished, compile_with_library, run};

const ATOLL: &str = env!("CARGO_BIN_EXE_atoll");
const LIMIT: Duration = Duration::from_secs(60);
const HEAPS: [&str; 5] = ["private", "shared", "unified", "hybrid", "nogc"];
const SEGMENTATION_FAULT: i32 = 11;
const ABORTED: i32 = 6;

/// Where the program and its library are.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("native_faults");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/native_faults.erl");
        compile_with_library(&source, &folder).unwrap_or_else(|error| panic!("{error}"));
        folder
    })
}

fn call(options: &[&str], function: &str, kind: &str, dump: &Path) -> Finished {
    // `run` takes this variable away, and lets no dump be written.
    let mut command = Command::new("env");
    command
        .args([&format!("ERL_CRASH_DUMP={}", dump.display()), "ERL_CRASH_DUMP_BYTES=-1", ATOLL, "run"])
        .args(options);
    command.arg(folder().join("native_faults.beam")).args([function, kind]);
    run(&mut command, LIMIT).expect("it runs")
}

fn errors(finished: &Finished) -> String {
    String::from_utf8_lossy(&finished.stderr).into_owned()
}

#[test]
fn a_wild_term_is_reported_where_it_is_made() {
    let none = Path::new("/dev/null");
    for heap in HEAPS {
        let options = ["--heap", heap, "--check-natives"];
        for function in ["normal", "dirty"] {
            let good = call(&options, function, "nothing", none);
            assert_eq!((good.end, good.stdout.as_slice()), (End::Exited(0), &b"whole\n"[..]), "{heap} {function}");
            let kinds = [("number", "returned"), ("address", "returned"), ("inside", "put into a list")];
            let more = [("odd", "returned"), ("map", "put into a map"), ("sent", "sent"), ("raised", "raised")];
            for (kind, what) in kinds.into_iter().chain(more) {
                let wild = call(&options, function, kind, none);
                let errors = errors(&wild);
                assert_eq!(wild.end, End::Signalled(ABORTED), "{heap} {function} {kind}: {errors}");
                let library = folder().join("native_faults.so");
                let report = format!("native_faults:{function}/2 of {} {what} a wild term", library.display());
                assert!(errors.contains(&report), "{heap} {function} {kind}: {errors}");
            }
        }
    }
}

#[test]
fn a_term_of_another_environment_is_wild() {
    // Where all processes have one heap, no memory is known that is not part of it.
    for (heap, function) in [("private", "normal"), ("hybrid", "normal"), ("private", "dirty"), ("shared", "dirty")] {
        let wild = call(&["--heap", heap, "--check-natives"], function, "strayed", Path::new("/dev/null"));
        let errors = errors(&wild);
        assert_eq!(wild.end, End::Signalled(ABORTED), "{heap} {function}: {errors}");
        assert!(errors.contains("lies in no memory of its environment"), "{heap} {function}: {errors}");
    }
}

#[test]
fn a_crash_names_library_function_and_arguments() {
    let cases = [
        ("private", "normal", "fault", SEGMENTATION_FAULT, "Segmentation fault"),
        ("shared", "normal", "abort", ABORTED, "Aborted"),
        ("hybrid", "dirty", "fault", SEGMENTATION_FAULT, "Segmentation fault"),
    ];
    for (heap, function, kind, signal, name) in cases {
        let dump = folder().join(format!("{heap}.dump"));
        let _ = std::fs::remove_file(&dump);
        let crashed = call(&["--heap", heap], function, kind, &dump);
        let errors = errors(&crashed);
        assert_eq!(crashed.end, End::Signalled(signal), "{heap}: {errors}");
        let library = folder().join("native_faults.so");
        let what = format!("Native library crashed ({name}) in native_faults:{function}/2 of {}", library.display());
        let arguments = format!("arguments: [{kind},{{<<");
        assert!(errors.contains(&what) && errors.contains(&arguments), "{heap}: {errors}");
        let dump = std::fs::read_to_string(&dump).expect("a dump");
        let slogan = dump.lines().find(|line| line.starts_with("Slogan: ")).unwrap_or_default();
        assert!(slogan.contains(&what) && slogan.contains(&arguments), "{heap}: {slogan}");
        assert!(dump.contains("=proc:<") && dump.ends_with("=end\n"), "{heap}: the dump is whole");
    }
}
