//! What is measured: the programs of `bench/` with their arguments, and what is wanted of them.

/// How a run's figure is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// In the line `result: NAME FIGURE UNIT` that the program prints to standard error.
    Result,
    /// In its line `memory: NAME FIGURE UNIT`.
    Memory,
    /// Real time of the whole process, in milliseconds.
    Wall,
    /// Bytes of resident memory that each process adds: a second run with this many shows what the rest takes.
    BytesPerProcess {
        /// Processes of the larger run, as in the arguments.
        many: u64,
        /// Processes of the smaller run.
        few: u64,
    },
}

/// What is wanted of the median.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    /// Nothing by itself.
    None,
    /// On this heap, at most so many times what stock `erl` takes.
    Ratio(&'static str, f64),
    /// On this heap, at most this figure.
    Figure(&'static str, f64),
}

/// One row of the report.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Name of the row; `--only` takes it, or its part before the first space.
    pub name: &'static str,
    /// File below the repository's root; none is the empty program.
    pub program: Option<&'static str>,
    /// What `main/1` gets.
    pub arguments: &'static [&'static str],
    /// Whether a million processes live at once, so that the table has to be larger than it is by default.
    pub many_processes: bool,
    /// Where its figure comes from.
    pub metric: Metric,
    /// What is wanted.
    pub goal: Goal,
}

/// Folders of sequential code, of each of which the geometric mean is wanted.
pub const SEQUENTIAL: [&str; 2] = ["cpu", "others"];

/// Whether an entry is a program of this folder.
pub fn is_of(entry: &Entry, folder: &str) -> bool {
    entry.name.split_once('/').is_some_and(|(first, _)| first == folder)
}

const fn program(name: &'static str, file: &'static str, arguments: &'static [&'static str], goal: Goal) -> Entry {
    Entry { name, program: Some(file), arguments, many_processes: false, metric: Metric::Result, goal }
}

/// The geometric mean over sequential code that is wanted, as a multiple of stock `erl`.
pub const SEQUENTIAL_GOAL: f64 = 4.0;

/// The two rows whose ratio says whether the cost of a message is flat in its size.
pub const FLAT: (&str, &str) = ("comm N=0", "comm N=200");

const MILLION: &str = "1000000";

/// Everything that is measured, in order.
pub const CATALOGUE: &[Entry] = &[
    Entry {
        name: "start",
        program: None,
        arguments: &[],
        many_processes: false,
        metric: Metric::Wall,
        goal: Goal::Figure("private", 50.0),
    },
    program("cpu/fib", "bench/cpu/fib.erl", &[], Goal::None),
    program("cpu/tak", "bench/cpu/tak.erl", &[], Goal::None),
    program("cpu/nrev", "bench/cpu/nrev.erl", &[], Goal::None),
    program("cpu/nqueens", "bench/cpu/nqueens.erl", &[], Goal::None),
    program("cpu/nbody", "bench/cpu/nbody.erl", &[], Goal::None),
    program("cpu/spectral_norm", "bench/cpu/spectral_norm.erl", &[], Goal::None),
    program("cpu/binary_trees", "bench/cpu/binary_trees.erl", &[], Goal::None),
    program("cpu/map_updates", "bench/cpu/map_updates.erl", &[], Goal::None),
    program("cpu/binary_matching", "bench/cpu/binary_matching.erl", &[], Goal::None),
    program("cpu/bignum", "bench/cpu/bignum.erl", &[], Goal::None),
    program("cpu/text", "bench/cpu/text.erl", &[], Goal::None),
    program("others/dijkstra", "bench/others/dijkstra.erl", &[], Goal::None),
    program("others/evaluator", "bench/others/evaluator.erl", &[], Goal::None),
    program("others/fannkuch", "bench/others/fannkuch.erl", &[], Goal::None),
    program("others/huffman", "bench/others/huffman.erl", &[], Goal::None),
    program("others/json", "bench/others/json.erl", &[], Goal::None),
    program("others/k_nucleotide", "bench/others/k_nucleotide.erl", &[], Goal::None),
    program("others/levenshtein", "bench/others/levenshtein.erl", &[], Goal::None),
    program("others/life_sets", "bench/others/life_sets.erl", &[], Goal::None),
    program("others/log_lines", "bench/others/log_lines.erl", &[], Goal::None),
    program("others/mandelbrot", "bench/others/mandelbrot.erl", &[], Goal::None),
    program("others/sha", "bench/others/sha.erl", &[], Goal::None),
    program("others/simulation", "bench/others/simulation.erl", &[], Goal::None),
    program("others/sudoku", "bench/others/sudoku.erl", &[], Goal::None),
    program("ring", "bench/message/ring.erl", &["100", "1000000"], Goal::Ratio("private", 1.0)),
    program("life", "bench/message/life.erl", &[], Goal::Ratio("private", 1.0)),
    program("procs 100x100", "bench/message/procs.erl", &["100", "100"], Goal::Ratio("private", 1.0)),
    program("procs 100x1000", "bench/message/procs.erl", &["100", "1000"], Goal::Ratio("private", 1.0)),
    program("procs 1000x100", "bench/message/procs.erl", &["1000", "100"], Goal::Ratio("private", 1.0)),
    program("same 1000x1000", "bench/message/same.erl", &["1000", "1000"], Goal::Ratio("shared", 1.0 / 3.0)),
    program("keep 1000x1000", "bench/message/keep.erl", &["1000", "1000"], Goal::Ratio("hybrid", 1.0)),
    program("garbage 1000x1000", "bench/message/garbage.erl", &["1000", "1000"], Goal::Ratio("hybrid", 1.0)),
    program("send_list 1000000", "bench/send/send_list.erl", &["1000000", "100"], Goal::Ratio("hybrid", 1.0 / 40.0)),
    program("send_list 1", "bench/send/send_list.erl", &["1", "100"], Goal::None),
    program("ets_lookup 1", "bench/send/ets_lookup.erl", &["1"], Goal::None),
    program("ets_lookup 1000", "bench/send/ets_lookup.erl", &["1000"], Goal::Ratio("hybrid", 1.0 / 20.0)),
    program("spawn_sync", "bench/send/spawn_sync.erl", &[], Goal::Ratio("private", 1.0)),
    program("comm N=0", "bench/feeley/comm.erl", &["0", MILLION], Goal::None),
    program("comm N=50", "bench/feeley/comm.erl", &["50", MILLION], Goal::None),
    program("comm N=100", "bench/feeley/comm.erl", &["100", MILLION], Goal::None),
    program("comm N=200", "bench/feeley/comm.erl", &["200", MILLION], Goal::None),
    program("garb0 N=200", "bench/feeley/garb0.erl", &["200", MILLION], Goal::Ratio("private", 1.0)),
    program("garb75 N=200", "bench/feeley/garb75.erl", &["200", MILLION], Goal::Ratio("private", 1.0)),
    Entry { metric: Metric::Memory, ..program("frag", "bench/feeley/frag.erl", &[], Goal::Ratio("shared", 0.2)) },
    Entry {
        metric: Metric::BytesPerProcess { many: 1_000_000, few: 1000 },
        many_processes: true,
        ..program("idle", "bench/million/idle.erl", &[], Goal::Figure("private", 400.0))
    },
];

/// Whether an entry is one of `wanted`, by its name, its first word, or its folder; all are when nothing is wanted.
pub fn is_wanted(entry: &Entry, wanted: &[String]) -> bool {
    let first = entry.name.split([' ', '/']).next();
    wanted.is_empty() || wanted.iter().any(|one| one == entry.name || Some(one.as_str()) == first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(wanted: &str) -> Vec<&'static str> {
        CATALOGUE.iter().filter(|entry| is_wanted(entry, &[wanted.to_owned()])).map(|entry| entry.name).collect()
    }

    #[test]
    fn rows_are_chosen_by_name_word_or_folder() {
        assert_eq!(chosen("ring"), ["ring"]);
        assert_eq!(chosen("comm N=200"), ["comm N=200"]);
        assert_eq!(chosen("procs").len(), 3);
        assert_eq!(chosen("cpu").len(), 11);
        assert_eq!(chosen("others").len(), 13);
        assert_eq!(chosen("nothing").len(), 0);
    }

    #[test]
    fn every_program_is_there_and_every_name_is_used_once() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for (index, entry) in CATALOGUE.iter().enumerate() {
            assert!(entry.program.is_none_or(|file| root.join(file).is_file()), "{}", entry.name);
            assert!(CATALOGUE[..index].iter().all(|other| other.name != entry.name), "{}", entry.name);
        }
        assert!(CATALOGUE.iter().any(|entry| entry.name == FLAT.0));
        assert!(CATALOGUE.iter().any(|entry| entry.name == FLAT.1));
    }
}
