//! OTP's `asn1`, `crypto`, `public_key` and `ssl` with their native libraries: the same as on stock `erl` on every
//! heap, and TLS 1.2 and 1.3 between Atoll and stock in both directions.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use atoll_differential::compile;

const ATOLL: &str = env!("CARGO_BIN_EXE_atoll");
const STOCK: &[&str] = &["erl"];

/// Where the compiled program is.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tls");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tls.erl");
        compile(&[source], &folder).unwrap_or_else(|error| panic!("{error}"));
        folder
    })
}

/// Starts the program on a machine.
fn start(machine: &[&str], arguments: &[&str]) -> Child {
    let mut command = Command::new("timeout");
    command.arg("120").args(machine).args(["-noshell", "-run", "tls", "main"]).args(arguments);
    command.args(["-eval", "halt()"]).current_dir(folder());
    command.env_remove("ERL_FLAGS").env("ERL_CRASH_DUMP", "/dev/null").stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs")
}

/// What it prints until it ends.
fn printed(child: Child) -> String {
    let output = child.wait_with_output().expect("it ends");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}: {printed}{}", output.status, String::from_utf8_lossy(&output.stderr));
    printed
}

/// A name for a file that does not exist.
fn fresh(name: &str) -> String {
    let file = folder().join(name);
    let _ = std::fs::remove_file(&file);
    file.to_string_lossy().into_owned()
}

fn on_stock(what: &'static str, name: &str) -> String {
    let file = fresh(name);
    printed(start(STOCK, &[what, &file][..if what == "facts" { 1 } else { 2 }]))
}

fn check(heap: &str) {
    let atoll = [ATOLL, "erl", "--heap", heap];
    let facts = on_stock("facts", "");
    assert!(facts.lines().count() >= 12, "{facts}");
    assert_eq!(printed(start(&atoll, &["facts"])), facts, "{heap}");
    let visits = on_stock("both", &format!("stock_for_{heap}"));
    assert_eq!(visits.matches("tlsv1.").count(), 4, "{visits}");
    for (name, server, client) in [("to", &atoll[..], STOCK), ("from", STOCK, &atoll[..])] {
        let file = fresh(&format!("{name}_{heap}"));
        let (server, client) = (start(server, &["server", &file]), start(client, &["client", &file]));
        assert_eq!(printed(client), visits, "{name} {heap}");
        assert_eq!(printed(server), "", "{name} {heap}");
    }
    let file = fresh(&format!("verified_{heap}"));
    let verified = [&atoll[..], &["--gc-stress", "50", "--verify-heap"]].concat();
    assert_eq!(printed(start(&verified, &["both", &file])), visits, "{heap}, under the verifier");
}

#[test]
fn on_private() {
    check("private");
}

#[test]
fn on_shared() {
    check("shared");
}

#[test]
fn on_unified() {
    check("unified");
}

#[test]
fn on_hybrid() {
    check("hybrid");
}
