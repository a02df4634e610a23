//! Interrupts (SIGINT) where there is no terminal: what stock `erl` does, and how it ends, is what `atoll erl` does.

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// What is waited for longest.
const LONGEST: Duration = Duration::from_secs(60);

/// How the machine is started, and what is typed after the interrupt.
struct Case {
    flags: &'static [&'static str],
    /// As a shell starts what it runs in the background.
    ignored: bool,
    /// `None`: there is nothing to read from.
    typed: Option<&'static str>,
}

fn start(machine: &[&str], case: &Case) -> Child {
    let trap = if case.ignored { "trap '' INT; exec \"$@\"" } else { "exec \"$@\"" };
    let program = "io:format(\"ready~n\"), timer:sleep(1000), io:format(\"went on~n\"), halt(3)";
    let mut command = Command::new("sh");
    command.args(["-c", trap, "sh"]).args(machine).arg("-noshell").args(case.flags).args(["-eval", program]);
    let input = if case.typed.is_some() { Stdio::piped() } else { Stdio::null() };
    command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the machine starts")
}

/// The exit status (none if a signal ended it), and what was printed after the interrupt.
fn outcome(machine: &[&str], case: &Case) -> (Option<i32>, String) {
    let mut child = start(machine, case);
    let mut output = child.stdout.take().expect("it is a pipe");
    let mut ready = [0; 6];
    output.read_exact(&mut ready).expect("the program runs");
    assert_eq!(&ready, b"ready\n");
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(killed.is_ok_and(|status| status.success()));
    let mut input = child.stdin.take();
    let mut text = String::new();
    if let (Some(typed), Some(input)) = (case.typed, &mut input) {
        // Before it asks, the program itself may read what is typed.
        while !text.ends_with("(d)istribution\r\n") {
            let mut byte = [0];
            output.read_exact(&mut byte).expect("it asks");
            text.push(char::from(byte[0]));
        }
        input.write_all(typed.as_bytes()).expect("it reads");
    }
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("it is a child") {
            break status;
        }
        if started.elapsed() > LONGEST {
            let _ = child.kill();
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    output.read_to_string(&mut text).expect("it is text");
    (status.code(), text)
}

#[test]
fn an_interrupt_without_a_terminal_does_what_it_does_in_stock() {
    let case = |flags, ignored, typed| Case { flags, ignored, typed };
    let cases = [
        case(&[][..], false, None),
        case(&[][..], true, None),
        case(&["-noinput"][..], false, None),
        // Without input of its own: else the program may read what is typed, in stock too.
        case(&["-noinput"][..], false, Some("a\n")),
        case(&["-noinput"][..], false, Some("c\n")),
        case(&["-noinput", "+Bc"][..], true, Some("c\n")),
        case(&["+Bi"][..], false, None),
        case(&["+Bd"][..], false, None),
        case(&["+Bd"][..], true, None),
        case(&["+B"][..], true, None),
    ];
    for case in &cases {
        let expected = outcome(&["erl"], case);
        let found = outcome(&[env!("CARGO_BIN_EXE_atoll"), "erl"], case);
        assert_eq!(found, expected, "{:?}, ignored: {}, typed: {:?}", case.flags, case.ignored, case.typed);
    }
}
