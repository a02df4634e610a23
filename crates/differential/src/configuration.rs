//! The ways in which Atoll runs each program.

use std::fmt;

/// One way to run a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configuration {
    /// `--heap`
    pub heap: String,
    /// `+S`
    pub schedulers: usize,
    /// `--gc-stress`; 0 is none.
    pub stress: u32,
    /// `--verify-heap`
    pub verify: bool,
    /// `--old-generation mark-sweep`
    pub mark_sweep: bool,
    /// `--native eager`: all functions are compiled.
    pub compiled: bool,
    /// `--native-exits`: the interpreter runs one in so many instructions of what is compiled; 0 is none.
    pub exits: u32,
}

impl Configuration {
    /// The options of `atoll run`.
    pub fn options(&self) -> Vec<String> {
        let mut options = vec!["--heap".to_owned(), self.heap.clone(), "+S".to_owned(), self.schedulers.to_string()];
        if self.stress > 0 {
            options.extend(["--gc-stress".to_owned(), self.stress.to_string()]);
        }
        if self.verify {
            options.push("--verify-heap".to_owned());
        }
        if self.mark_sweep {
            options.extend(["--old-generation".to_owned(), "mark-sweep".to_owned()]);
        }
        if self.compiled {
            options.extend(["--native".to_owned(), "eager".to_owned()]);
        }
        if self.exits > 0 {
            options.extend(["--native-exits".to_owned(), self.exits.to_string()]);
        }
        options
    }
}

impl fmt::Display for Configuration {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.options().join(" "))
    }
}

/// With the verifier on, stress collects at every this many times as many allocation points: a verified collection
/// costs as much as a dozen others.
const VERIFIED_STRESS: u32 = 7;
/// Least distance of forced collections where time is short.
const QUICK_STRESS: u32 = 100;

/// One in so many instructions of compiled code is left to the interpreter.
pub const EXITS: u32 = 6;

/// Every configuration of a heap: plain, with stress, verified, with both; on one and on two schedulers; interpreted
/// but for what is hot, and compiled.
pub fn matrix(heap: &str, stress: u32) -> Vec<Configuration> {
    let mut all = Vec::new();
    for (stress, verify) in [(0, false), (stress, false), (0, true), (stress * VERIFIED_STRESS, true)] {
        for (schedulers, compiled) in [(1, false), (2, false), (1, true), (2, true)] {
            let (heap, mark_sweep) = (heap.to_owned(), false);
            all.push(Configuration { heap, schedulers, stress, verify, mark_sweep, compiled, exits: 0 });
            if compiled {
                let heap = all[all.len() - 1].heap.clone();
                all.push(Configuration { heap, schedulers, stress, verify, mark_sweep, compiled, exits: EXITS });
            }
        }
    }
    all
}

/// Some of them that show most in little time. What is compiled at its first call runs on one scheduler: some programs
/// depend on which of two processes is first, and compiling takes time.
pub fn quick_matrix(heap: &str, stress: u32) -> Vec<Configuration> {
    let stress = stress.max(QUICK_STRESS);
    let one = |schedulers, stress, verify, compiled| Configuration {
        heap: heap.to_owned(),
        schedulers,
        stress,
        verify,
        mark_sweep: false,
        compiled,
        exits: 0,
    };
    vec![
        one(1, 0, false, false),
        one(2, 0, false, false),
        one(2, stress, true, false),
        one(1, 0, false, true),
        Configuration { exits: EXITS, ..one(1, stress, true, true) },
    ]
}

/// With an old generation that is not moved, for heaps that have the choice.
pub fn not_moved(heap: &str, stress: u32) -> Configuration {
    let stress = stress.max(QUICK_STRESS);
    Configuration {
        heap: heap.to_owned(),
        schedulers: 2,
        stress,
        verify: true,
        mark_sweep: true,
        compiled: false,
        exits: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_matrix_is_whole_and_without_repetition() {
        let mut texts: Vec<String> = matrix("private", 3).iter().map(ToString::to_string).collect();
        assert!(texts.contains(&"--heap private +S 2 --gc-stress 21 --verify-heap".to_owned()), "{texts:?}");
        texts.sort();
        texts.dedup();
        assert_eq!(texts.len(), 24);
    }
}
