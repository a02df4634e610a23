//! Several machines side by side, and the list of cases that may not fail again.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::io;
use std::path::Path;

use super::results::{Outcome, Results};
use super::suite::{Suite, Workplace};

/// What became of the cases of many suites on stock and on Atoll's heaps.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    heaps: Vec<String>,
    /// For each suite: stock's results, then those of each heap.
    suites: BTreeMap<Suite, (Results, Vec<Results>)>,
}

impl Comparison {
    /// Reads what is in the workplace. Suites that stock has not run are left out.
    ///
    /// # Errors
    /// A file that is there cannot be read.
    pub fn read(workplace: &Workplace, suites: &[Suite], heaps: &[String]) -> io::Result<Comparison> {
        let read = |machine: &str, suite: &Suite| match Results::read(&workplace.results(machine, suite)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Results::default()),
            other => other,
        };
        let mut comparison = Comparison { heaps: heaps.to_vec(), suites: BTreeMap::new() };
        for suite in suites {
            let stock = read("stock", suite)?;
            if !stock.cases.is_empty() {
                let others = heaps.iter().map(|heap| read(heap, suite)).collect::<io::Result<_>>()?;
                comparison.suites.insert(suite.clone(), (stock, others));
            }
        }
        Ok(comparison)
    }

    /// What became of a suite's cases on a heap, if it was run there.
    pub fn of(&self, suite: &Suite, heap: &str) -> Option<&Results> {
        let index = self.heaps.iter().position(|name| name == heap)?;
        self.suites.get(suite).map(|(_, heaps)| &heaps[index]).filter(|results| !results.cases.is_empty())
    }

    /// Cases that passed on stock and on every heap.
    pub fn passing(&self) -> Passing {
        let mut passing = Passing::default();
        for (suite, (stock, heaps)) in &self.suites {
            for case in passed(stock) {
                if heaps.iter().all(|results| results.cases.get(case) == Some(&Outcome::Passed)) {
                    passing.cases.insert((suite.to_string(), case.to_owned()));
                }
            }
        }
        passing
    }

    /// Every case that stock did not merely pass together with all heaps: suite, case, a word for each machine, the
    /// first reason given.
    pub fn table(&self) -> String {
        let mut text = format!("suite\tcase\tstock\t{}\treason\n", self.heaps.join("\t"));
        for (suite, (stock, heaps)) in &self.suites {
            for (case, outcome) in &stock.cases {
                let found: Vec<Option<&Outcome>> = heaps.iter().map(|results| results.cases.get(case)).collect();
                let words: Vec<&str> = found.iter().map(|outcome| outcome.map_or("none", Outcome::word)).collect();
                let reasons = found.iter().flatten().copied().chain([outcome]).map(Outcome::reason);
                let reason = reasons.into_iter().find(|reason| !reason.is_empty()).unwrap_or("");
                let _ = writeln!(text, "{suite}\t{case}\t{}\t{}\t{reason}", outcome.word(), words.join("\t"));
            }
        }
        text
    }

    /// A line for each application, in Markdown: cases, how many stock passes, how many of these each heap passes.
    pub fn summary(&self) -> String {
        let mut lines: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (suite, (stock, heaps)) in &self.suites {
            let counts = std::iter::once(stock.cases.len()).chain([stock.passed()]);
            let counts = counts.chain(heaps.iter().map(|results| {
                passed(stock).filter(|case| results.cases.get(*case) == Some(&Outcome::Passed)).count()
            }));
            let counts: Vec<usize> = counts.chain([self.together(suite)]).collect();
            for name in [suite.application(), "total"] {
                let line = lines.entry(name).or_insert_with(|| vec![0; counts.len()]);
                line.iter_mut().zip(&counts).for_each(|(sum, count)| *sum += count);
            }
        }
        let mut text = format!("| | cases | stock | {} | all of these | |\n", self.heaps.join(" | "));
        text += &format!("|---|{}\n", "---|".repeat(self.heaps.len() + 4));
        let total = lines.remove("total");
        for (name, counts) in lines.into_iter().chain(total.map(|counts| ("**together**", counts))) {
            let shown: Vec<String> = counts.iter().map(ToString::to_string).collect();
            let share = 100.0 * counts[counts.len() - 1] as f64 / counts[1].max(1) as f64;
            let _ = writeln!(text, "| {name} | {} | {share:.1} % |", shown.join(" | "));
        }
        text
    }

    fn together(&self, suite: &Suite) -> usize {
        self.suites.get(suite).map_or(0, |(stock, heaps)| {
            let on_all = |case: &&str| heaps.iter().all(|results| results.cases.get(*case) == Some(&Outcome::Passed));
            passed(stock).filter(on_all).count()
        })
    }
}

fn passed(results: &Results) -> impl Iterator<Item = &str> {
    results.cases.iter().filter(|(_, outcome)| **outcome == Outcome::Passed).map(|(case, _)| case.as_str())
}

/// Cases that passed once on stock and on every heap; the checked-in list of them only grows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Passing {
    /// Suite and case.
    cases: BTreeSet<(String, String)>,
}

impl Passing {
    /// Reads lines of suite and case.
    ///
    /// # Errors
    /// The file is there and cannot be read.
    pub fn read(file: &Path) -> io::Result<Passing> {
        let text = match fs::read_to_string(file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            other => other?,
        };
        let pairs = text.lines().filter_map(|line| line.split_once('\t'));
        Ok(Passing { cases: pairs.map(|(suite, case)| (suite.to_owned(), case.to_owned())).collect() })
    }

    /// Adds what is in `other`.
    pub fn add(&mut self, other: Passing) {
        self.cases.extend(other.cases);
    }

    /// Writes it as [`Passing::read`] reads it.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, file: &Path) -> io::Result<()> {
        let lines = self.cases.iter().map(|(suite, case)| format!("{suite}\t{case}\n"));
        fs::write(file, lines.collect::<String>())
    }

    /// The listed cases of a suite.
    pub fn of<'a>(&'a self, suite: &'a Suite) -> impl Iterator<Item = &'a str> {
        let name = suite.to_string();
        self.cases.iter().filter(move |(of, _)| *of == name).map(|(_, case)| case.as_str())
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.cases.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.cases.is_empty()
    }

    /// Listed cases of a suite that did not pass, one a line, with the reason.
    pub fn missing(&self, suite: &Suite, results: &Results) -> Vec<String> {
        let shown = |case: &str| match results.cases.get(case) {
            Some(Outcome::Passed) => None,
            Some(outcome) => Some(format!("{case}: {} {}", outcome.word(), outcome.reason())),
            None => Some(format!("{case}: not run")),
        };
        self.of(suite).filter_map(shown).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(cases: &[(&str, Outcome)]) -> Results {
        Results { cases: cases.iter().map(|(case, outcome)| ((*case).to_owned(), outcome.clone())).collect() }
    }

    #[test]
    fn only_what_passes_everywhere_is_listed() {
        let suite = Suite::new("lib/stdlib/test/lists_SUITE");
        let failed = Outcome::Failed("why".to_owned());
        let stock = results(&[("a", Outcome::Passed), ("b", Outcome::Passed), ("c", failed.clone())]);
        let private = results(&[("a", Outcome::Passed), ("b", failed), ("c", Outcome::Passed)]);
        let shared = results(&[("a", Outcome::Passed), ("b", Outcome::Passed)]);
        let both = vec![private.clone(), shared];
        let comparison = Comparison {
            heaps: vec!["private".to_owned(), "shared".to_owned()],
            suites: BTreeMap::from([(suite.clone(), (stock, both))]),
        };
        let passing = comparison.passing();
        assert_eq!(passing.of(&suite).collect::<Vec<_>>(), ["a"]);
        assert_eq!(passing.missing(&suite, &private), Vec::<String>::new());
        assert_eq!(passing.missing(&suite, &Results::default()), ["a: not run"]);
        assert!(comparison.summary().contains("| stdlib | 3 | 2 | 1 | 2 | 1 | 50.0 % |"), "{}", comparison.summary());
        assert!(comparison.table().contains("lists_SUITE\tb\tpass\tfail\tpass\twhy\n"));
    }
}
