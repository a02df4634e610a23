//! What became of each case of a suite.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::io;
use std::path::Path;

/// What became of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It passed, in every group that ran it.
    Passed,
    /// It failed, and why.
    Failed(String),
    /// It was not run, and why.
    Skipped(String),
    /// It began, and nothing more was heard of it.
    Unfinished,
}

impl Outcome {
    /// One word for it.
    pub fn word(&self) -> &'static str {
        match self {
            Outcome::Passed => "pass",
            Outcome::Failed(_) => "fail",
            Outcome::Skipped(_) => "skip",
            Outcome::Unfinished => "start",
        }
    }

    /// Why it did not pass.
    pub fn reason(&self) -> &str {
        match self {
            Outcome::Failed(reason) | Outcome::Skipped(reason) => reason,
            Outcome::Passed | Outcome::Unfinished => "",
        }
    }

    fn parse(word: &str, reason: &str) -> Option<Outcome> {
        match word {
            "pass" => Some(Outcome::Passed),
            "fail" => Some(Outcome::Failed(reason.to_owned())),
            "skip" => Some(Outcome::Skipped(reason.to_owned())),
            "start" => Some(Outcome::Unfinished),
            _ => None,
        }
    }
}

/// The cases of one suite on one machine. A case is named `group/case`, or `case` outside of groups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Results {
    /// What became of each.
    pub cases: BTreeMap<String, Outcome>,
}

impl Results {
    /// Reads lines of case, word and reason, with tabs in between.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(file: &Path) -> io::Result<Results> {
        Ok(Results::parse(&String::from_utf8_lossy(&fs::read(file)?)))
    }

    fn parse(text: &str) -> Results {
        let mut results = Results::default();
        let mut passed = BTreeSet::new();
        for line in text.lines() {
            let mut fields = line.splitn(3, '\t');
            let (Some(case), Some(word)) = (fields.next(), fields.next()) else { continue };
            let Some(mut outcome) = Outcome::parse(word, fields.next().unwrap_or("")) else { continue };
            if outcome == Outcome::Passed {
                passed.insert(case);
            } else if matches!(outcome, Outcome::Skipped(_)) && passed.contains(case) {
                // What is skipped in one group is judged by those that ran it.
                outcome = Outcome::Passed;
            }
            results.add(case, outcome);
        }
        results
    }

    /// A group that is repeated, or is in several others, runs its cases again: one failure is enough to fail.
    fn add(&mut self, case: &str, outcome: Outcome) {
        let known = self.cases.get(case);
        if !matches!(known, Some(Outcome::Failed(_))) {
            self.cases.insert(case.to_owned(), outcome);
        }
    }

    /// Writes them as [`Results::read`] reads them.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, file: &Path) -> io::Result<()> {
        let mut text = String::new();
        for (case, outcome) in &self.cases {
            let _ = writeln!(text, "{case}\t{}\t{}", outcome.word(), outcome.reason());
        }
        fs::write(file, text)
    }

    /// How many passed.
    pub fn passed(&self) -> usize {
        self.cases.values().filter(|outcome| **outcome == Outcome::Passed).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_counts_unless_it_failed_before() {
        let text = "a\tstart\t\na\tpass\t\nb\tfail\tbad\nb\tpass\t\nc\tstart\t\ng/d\tskip\tno peer\n\
                    e\tpass\t\ne\tstart\t\ne\tskip\tno crypto\n";
        let results = Results::parse(text);
        let words: Vec<_> = results.cases.iter().map(|(case, outcome)| (case.as_str(), outcome.word())).collect();
        assert_eq!(words, [("a", "pass"), ("b", "fail"), ("c", "start"), ("e", "pass"), ("g/d", "skip")]);
        assert_eq!(results.cases["g/d"].reason(), "no peer");
        assert_eq!(results.passed(), 2);
    }
}
