//! Terms of more than a million words on every heap.

use std::path::Path;
use std::process::{Command, Output};

fn run(mut command: Command) -> Output {
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

#[test]
fn terms_of_a_million_words_are_like_others() {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/huge_terms.erl");
    let folder = env!("CARGO_TARGET_TMPDIR");
    let mut compile = Command::new("erlc");
    compile.args(["-o", folder]).arg(program);
    run(compile);
    let mut stock = Command::new("timeout");
    stock.args(["120", "erl", "-noinput", "-pa", folder, "-eval", "huge_terms:main([]), halt()."]);
    let expected = run(stock).stdout;
    assert!(expected.starts_with(b"received 1200000 7\n"), "{}", String::from_utf8_lossy(&expected));
    for heap in ["private", "shared", "unified", "hybrid"] {
        let mut command = Command::new("timeout");
        command.args(["120", env!("CARGO_BIN_EXE_atoll"), "run", "--heap", heap, "--verify-heap"]);
        command.arg(Path::new(folder).join("huge_terms.beam"));
        let output = run(command);
        assert_eq!(String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&expected), "{heap}");
    }
}
