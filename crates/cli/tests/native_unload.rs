//! `enif_set_option` with `ERL_NIF_OPT_ON_UNLOAD_THREAD`: the threads that may have called a library are told that it
//! is unloaded, each once, and then the library is unloaded. Stock `erl` has the option from OTP 26 on.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use atoll_differential::{End, compile, compile_library, headers, run};

#[test]
fn each_thread_is_told_once_before_a_library_is_unloaded() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("native_unload");
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let sources = [tests.join("native_unload.erl"), tests.join("native_unloaded.erl")];
    compile(&sources, &folder).unwrap_or_else(|error| panic!("{error}"));
    let headers = headers().expect("stock erl runs");
    compile_library(&tests.join("native_unload.c"), &folder.join("native_unload.so"), &headers)
        .unwrap_or_else(|error| panic!("{error}"));
    for heap in ["private", "shared", "unified", "hybrid"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_atoll"));
        command.args(["run", "--heap", heap, "--schedulers", "3", "-pa"]).arg(&folder);
        command.arg(folder.join("native_unload.beam")).arg(&folder);
        let finished = run(&mut command, Duration::from_secs(60)).expect("it runs");
        let printed = String::from_utf8_lossy(&finished.stdout).into_owned();
        assert_eq!((finished.end, printed.as_str()), (End::Exited(0), "4 0 1 0\n"), "{heap}");
    }
}
