//! The shell on a terminal, beside stock `erl`: the same keys, the same screen.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use atoll_differential::Names;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcgetattr, tcsetwinsize};

const ATOLL: &[&str] = &[env!("CARGO_BIN_EXE_atoll"), "erl"];
const STOCK: &[&str] = &["erl"];
/// Rows and columns of the screen.
const SIZE: (u16, u16) = (30, 40);
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// A machine with its terminal.
struct Session {
    child: Child,
    keys: File,
    output: Receiver<Vec<u8>>,
    screen: vt100::Parser,
}

impl Session {
    fn start(words: &[&str]) -> Session {
        Session::start_with(words, |_| {})
    }

    /// As [`Session::start`], after something was done to the command.
    fn start_with(words: &[&str], prepare: impl Fn(&mut Command)) -> Session {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a pseudo terminal");
        grantpt(&master).expect("the terminal is ours");
        unlockpt(&master).expect("the terminal can be opened");
        let size = Winsize { ws_row: SIZE.0, ws_col: SIZE.1, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&master, size).expect("the terminal has a size");
        let name = ptsname(&master, Vec::new()).expect("the terminal has a name").into_string().expect("in ASCII");
        let slave = File::options().read(true).write(true).open(name).expect("the terminal's other side");
        let copy = || slave.try_clone().expect("another descriptor");
        let mut command = Command::new("setsid");
        command.args(["--ctty", "--wait"]).args(words);
        command.env_remove("ERL_FLAGS").env_remove("ERL_AFLAGS").env_remove("ERL_ZFLAGS").env_remove("ATOLL_HEAP");
        command.env("TERM", "xterm").env("LC_ALL", "C.UTF-8").env("ERL_CRASH_DUMP", "/dev/null");
        prepare(&mut command);
        let child = command.stdin(copy()).stdout(copy()).stderr(copy()).spawn().expect("the machine starts");
        let keys = File::from(master);
        let mut reader = keys.try_clone().expect("another descriptor");
        let (sender, output) = channel();
        std::thread::spawn(move || {
            let mut bytes = vec![0; 4096];
            // Ends with an error when nobody has the other side open.
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                if sender.send(bytes[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Session { child, keys, output, screen: vt100::Parser::new(SIZE.0, SIZE.1, 0) }
    }

    /// Types, and waits until the row of the cursor is `row`; returns the screen below its first rows.
    fn types(&mut self, keys: &str, row: &str) -> String {
        self.keys.write_all(keys.as_bytes()).expect("the terminal takes keys");
        let started = Instant::now();
        while started.elapsed() < LONGEST_WAIT {
            if let Ok(bytes) = self.output.recv_timeout(Duration::from_millis(100)) {
                self.screen.process(&bytes);
            } else if self.row() == row {
                return self.shown();
            }
        }
        panic!("no row {row:?} with the cursor after {keys:?} but:\n{}", self.screen.screen().contents());
    }

    fn row(&self) -> String {
        let screen = self.screen.screen();
        let row = usize::from(screen.cursor_position().0);
        screen.rows(0, SIZE.1).nth(row).unwrap_or_default().trim().to_owned()
    }

    /// The screen from the shell's greeting on, and the cursor's place in it.
    fn shown(&self) -> String {
        let screen = self.screen.screen();
        let rows: Vec<String> = screen.rows(0, SIZE.1).map(|row| row.trim_end().to_owned()).collect();
        let greeting = rows.iter().position(|row| row.starts_with("Eshell")).unwrap_or(0);
        let (row, column) = screen.cursor_position();
        format!("{}\n{},{column}", rows[greeting..].join("\n").trim_end(), usize::from(row) - greeting)
    }

    /// Waits for the machine's end; whether the terminal has the modes of a new one.
    fn ends_restored(mut self) -> bool {
        let started = Instant::now();
        while self.child.try_wait().expect("the machine can be waited for").is_none() {
            assert!(started.elapsed() < LONGEST_WAIT, "the machine does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
        let modes = tcgetattr(&self.keys).expect("the terminal has modes");
        format!("{:?} {:?}", modes.local_modes, modes.output_modes) == new_modes()
    }
}

/// A node that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill().and_then(|()| self.0.wait());
    }
}

fn new_modes() -> String {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo terminal");
    let modes = tcgetattr(&master).expect("the terminal has modes");
    format!("{:?} {:?}", modes.local_modes, modes.output_modes)
}

const UP: &str = "\x1b[A";

/// Keys, and the row with the cursor afterwards.
fn same(steps: &[(&str, &str)]) {
    let mut stock = Session::start(STOCK);
    let mut atoll = Session::start(ATOLL);
    for (keys, row) in [("", "1>")].iter().chain(steps) {
        assert_eq!(atoll.types(keys, row), stock.types(keys, row), "after {keys:?}");
    }
    for mut session in [stock, atoll] {
        session.keys.write_all(b"\rhalt().\r").expect("the terminal takes keys");
        assert!(session.ends_restored());
    }
}

#[test]
fn lines_are_edited() {
    same(&[
        ("1 + 1.\r", "2>"),
        (UP, "2> 1 + 1."),
        ("\x01A = \x05\x02 + 40\x05\r", "3>"),
        ("A + 0.\x08\x08\x081\r.\r", "4>"),
        ("lists:revers\t[1, 2]).\r", "5>"),
        (UP, "5> lists:reverse([1, 2])."),
        ("\x01\x0b\x19\x08.\r", "6>"),
        ("\"h\u{e9}llo w\u{f6}rld \u{4e16}\".\x02\x02\x02\x02z\x05\r", "7>"),
    ]);
}

#[test]
fn lines_go_over_several_rows() {
    let long = "length([one, two, three, four, five, six, seven, eight, nine, ten, eleven])";
    same(&[
        (long, "six, seven, eight, nine, ten, eleven])"),
        ("\x01zero, \x1bb\x05", "en])"),
        ("\x01\x04\x04\x04\x04\x04\x04\x05.\r", "2>"),
        (UP, "six, seven, eight, nine, ten, eleven])."),
        ("\x01xy\x05\x08\x08\x08", ", six, seven, eight, nine, ten, eleven"),
        ("\x01\x0b", "2>"),
    ]);
}

/// A shell of another node, which ends without that node. Either of the two may be Atoll.
#[test]
fn a_shell_of_another_node() {
    let names = Names::start().expect("epmd is on PATH");
    let common = ["-setcookie", "of_this_test", "-kernel", "inet_dist_use_interface", "{127,0,0,1}"];
    let mut shown = Vec::new();
    for (number, (here, there)) in [(STOCK, STOCK), (STOCK, ATOLL), (ATOLL, STOCK), (ATOLL, ATOLL)].iter().enumerate() {
        let (name, other) = (format!("h{number}@127.0.0.1"), format!("t{number}@127.0.0.1"));
        let mut command = Command::new(there[0]);
        names.serve(&mut command);
        command.args(&there[1..]).args(["-noinput", "-name", &other]).args(common);
        command.args(["-eval", "io:put_chars(\"up\")."]).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut node = Running(command.spawn().expect("the other node starts"));
        let mut up = [0; 2];
        node.0.stdout.take().expect("a pipe").read_exact(&mut up).expect("the other node is up");
        let words = [*here, &["-name", &name], &common, &["-remsh", &other]].concat();
        let mut session = Session::start_with(&words, |command| names.serve(command));
        let prompt = |line: usize| format!("({other}){line}>");
        session.types("", &prompt(1));
        for (line, keys) in ["X = node().", "[X] -- nodes().", "self() ! X, flush().", "1 div 0."].iter().enumerate() {
            session.types(&format!("{keys}\r"), &prompt(line + 2));
        }
        session.types(UP, &format!("{} 1 div 0.", prompt(5)));
        shown.push(session.types("\x08.\r", &prompt(6)).replace(&other, "THERE"));
        session.types("\x07", "-->");
        session.keys.write_all(b"q\r").expect("the terminal takes keys");
        assert!(session.ends_restored());
        assert!(node.0.try_wait().expect("the node can be waited for").is_none(), "the other node goes on");
    }
    assert!(shown[0].contains("['THERE']") && shown[0].contains("Shell got 'THERE'"), "{}", shown[0]);
    for other in &shown[1..] {
        assert_eq!(other, &shown[0]);
    }
}

#[test]
fn jobs_are_switched() {
    same(&[
        ("X = 5.\r", "2>"),
        ("\x07", "-->"),
        ("h\r", "-->"),
        ("s\r", "-->"),
        ("j\r", "-->"),
        ("c\r", "1>"),
        ("X.\r", "2>"),
        ("\x07", "-->"),
        ("c 1\r", ""),
        ("\r", "2>"),
        ("receive never -> ok end.\r", ""),
        ("\x07", "-->"),
        ("i\r", "-->"),
        ("c\r", "3>"),
    ]);
}

#[test]
fn the_terminal_is_given_back() {
    let started = || {
        let mut session = Session::start(ATOLL);
        session.types("", "1>");
        session
    };
    let mut session = started();
    session.keys.write_all(b"q().\r").expect("the terminal takes keys");
    assert!(session.ends_restored(), "after q()");
    let mut session = started();
    session.keys.write_all(b"halt(0, [{flush, false}]).\r").expect("the terminal takes keys");
    assert!(session.ends_restored(), "after a halt that does not wait");
    let mut session = started();
    session.keys.write_all(b"os:cmd(\"kill \" ++ os:getpid()).\r").expect("the terminal takes keys");
    assert!(session.ends_restored(), "after SIGTERM");
    let mut session = started();
    session.types("\x03", "");
    session.types("c\n\r1.\r", "2>");
    session.types("\x03", "");
    session.keys.write_all(b"a\n").expect("the terminal takes keys");
    assert!(session.ends_restored(), "after an interrupt");
}

#[test]
fn an_interrupt_offers_to_look() {
    let mut session = Session::start(ATOLL);
    session.types("register(sleeper, spawn(fun() -> receive a -> ok end end)).\r", "2>");
    for (key, found) in
        [("d", "=no_distribution"), ("p", "=port:"), ("D", "Protection:"), ("k", "(k)ill (n)ext (r)eturn:")]
    {
        session.types("\x03", "");
        session.keys.write_all(format!("{key}\n").as_bytes()).expect("the terminal takes keys");
        let started = Instant::now();
        while !session.types("", "").contains(found) {
            assert!(started.elapsed() < LONGEST_WAIT, "{key} does not show {found}");
        }
        session.types(if key == "k" { "r\n\r" } else { "\r" }, "2>");
    }
    session.types("1.\r", "3>");
    session.types("\x03", "");
    session.keys.write_all(b"a\n").expect("the terminal takes keys");
    assert!(session.ends_restored());
}
