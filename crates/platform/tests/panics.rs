//! A panic of a thread of a machine ends the machine. The test starts itself again to see a process end.

use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::thread::Builder;
use std::time::Duration;

use atoll_platform::{ending, threads};

/// Tells the test, started again, which part it has.
const PART: &str = "ATOLL_TEST_PANICS";

struct Machine;

impl threads::Machine for Machine {
    fn enter_parts(&'static self) {}
}

static MACHINE: Machine = Machine;

/// What the process does that is to end, or to go on: a thread panics while another waits for it to do something.
fn panic_beside(of_machine: bool) {
    ending::install(ending::Hooks { restore: || eprintln!("restored"), dump: |slogan, _| eprintln!("dump: {slogan}") });
    if of_machine {
        threads::enter(&MACHINE);
    }
    let thread = threads::start(Builder::new(), || panic!("on purpose")).expect("a thread");
    std::thread::sleep(Duration::from_secs(2));
    assert!(thread.join().is_err());
}

/// Signal, and what was printed to the standard error.
fn run_again(part: &str) -> (Option<i32>, bool, String) {
    let mut command = Command::new(std::env::current_exe().expect("its own name"));
    command.args(["--exact", "a_panic_ends_the_machine_of_its_thread", "--nocapture"]).env(PART, part);
    let output = command.output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.signal(), output.status.success(), said)
}

#[test]
fn a_panic_ends_the_machine_of_its_thread() {
    if let Ok(part) = std::env::var(PART) {
        return panic_beside(part == "machine");
    }
    let (signal, _, said) = run_again("machine");
    assert_eq!(signal, Some(libc::SIGABRT), "{said}");
    assert!(said.contains("restored") && said.contains("dump: A thread of the machine panicked at"), "{said}");
    assert!(said.contains("on purpose"), "{said}");
    let (signal, success, said) = run_again("other");
    assert_eq!((signal, success), (None, true), "{said}");
    assert!(!said.contains("dump:"), "{said}");
}
