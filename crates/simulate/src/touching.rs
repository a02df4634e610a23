//! What the turns of a run touched, on its way from one process of the operating system to another.

use atoll_term::Term;
use atoll_vm::simulation::{How, Object, Turn};
use serde::{Deserialize, Serialize};

/// As [`Turn`], in numbers.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Touching {
    pid: u64,
    ready: Vec<u64>,
    touched: Vec<(u8, u64, u8)>,
    taken_from: Vec<usize>,
}

fn number(object: Object) -> (u8, u64) {
    match object {
        Object::Everything => (0, 0),
        Object::Mail(pid) => (1, pid),
        Object::Life(pid) => (2, pid),
        Object::Watch(pid) => (3, pid),
        Object::Names => (4, 0),
        Object::Pids => (5, 0),
        Object::Timers => (6, 0),
        Object::Code => (7, 0),
        Object::Named(name) => (8, name),
    }
}

fn object(kind: u8, number: u64) -> Object {
    match kind {
        1 => Object::Mail(number),
        2 => Object::Life(number),
        3 => Object::Watch(number),
        4 => Object::Names,
        5 => Object::Pids,
        6 => Object::Timers,
        7 => Object::Code,
        8 => Object::Named(number),
        _ => Object::Everything,
    }
}

const HOWS: [How; 3] = [How::Reads, How::Adds, How::Writes];

impl Touching {
    pub(crate) fn of(turn: &Turn) -> Touching {
        let touched = turn.touched.iter().map(|(what, how)| {
            let (kind, number) = number(*what);
            (kind, number, HOWS.iter().position(|other| other == how).unwrap_or(2) as u8)
        });
        Touching {
            pid: turn.pid.immediate_data(),
            ready: turn.ready.iter().map(|pid| pid.immediate_data()).collect(),
            touched: touched.collect(),
            taken_from: turn.taken_from.clone(),
        }
    }

    pub(crate) fn turn(&self) -> Turn {
        let touched = self.touched.iter().map(|(kind, number, how)| (object(*kind, *number), HOWS[*how as usize % 3]));
        Turn {
            pid: Term::pid(self.pid),
            ready: self.ready.iter().map(|pid| Term::pid(*pid)).collect(),
            touched: touched.collect(),
            taken_from: self.taken_from.clone(),
        }
    }
}
