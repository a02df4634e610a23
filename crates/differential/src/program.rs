//! The programs in a folder, what their first lines ask for, and which are known to differ.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

const DIRECTIVE: &str = "%% differential:";

/// A program and how it is to be run. Its leading comment may hold a line `%% differential: WORD...` with
///
/// * `slow`: collect at every 200th allocation point, where others do at every one;
/// * `stress=N`: collect at every Nth;
/// * `allocates`: needs a collector, so `nogc` is left out;
/// * `timeout=SECONDS`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The module.
    pub module: String,
    /// The source file.
    pub source: PathBuf,
    /// `--gc-stress` for the configurations with stress.
    pub stress: u32,
    /// Whether it allocates more than a heap without a collector has.
    pub allocates: bool,
    /// Longest time for one run.
    pub timeout: Duration,
}

impl Program {
    /// Reads the directives of a source.
    ///
    /// # Errors
    /// A directive that is not known.
    pub fn parse(source: &Path, text: &str) -> Result<Program, String> {
        let module = source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let mut program = Program {
            module,
            source: source.to_owned(),
            stress: 1,
            allocates: false,
            timeout: Duration::from_secs(240),
        };
        let comment = text.lines().take_while(|line| line.starts_with('%'));
        for word in comment.filter_map(|line| line.strip_prefix(DIRECTIVE)).flat_map(str::split_whitespace) {
            let number = |digits: &str| digits.parse::<u32>().map_err(|_| unknown(source, word));
            match word.split_once('=') {
                None if word == "slow" => program.stress = 200,
                None if word == "allocates" => program.allocates = true,
                Some(("stress", digits)) => program.stress = number(digits)?,
                Some(("timeout", digits)) => program.timeout = Duration::from_secs(number(digits)?.into()),
                _ => return Err(unknown(source, word)),
            }
        }
        Ok(program)
    }
}

fn unknown(source: &Path, word: &str) -> String {
    format!("{}: {word:?} is no directive; known are slow, allocates, stress=N, timeout=SECONDS", source.display())
}

fn unreadable(path: &Path, error: &io::Error) -> String {
    format!("{}: {error}", path.display())
}

/// The programs of a folder, by name.
///
/// # Errors
/// The folder or a file cannot be read, or a directive is not known.
pub fn programs(folder: &Path) -> Result<Vec<Program>, String> {
    let mut sources = Vec::new();
    for entry in fs::read_dir(folder).map_err(|error| unreadable(folder, &error))? {
        let path = entry.map_err(|error| unreadable(folder, &error))?.path();
        if path.extension().is_some_and(|extension| extension == "erl") {
            sources.push(path);
        }
    }
    sources.sort();
    sources
        .iter()
        .map(|source| {
            let text = fs::read(source).map_err(|error| unreadable(source, &error))?;
            Program::parse(source, &String::from_utf8_lossy(&text))
        })
        .collect()
}

/// Programs that are known to differ from stock `erl`, each with the reason. A line is `NAME: REASON`, or
/// `NAME/HEAP: REASON` when only one heap is meant; `#` begins a comment.
#[derive(Clone, Debug, Default)]
pub struct KnownDifferences(BTreeMap<String, String>);

impl KnownDifferences {
    /// Reads a list.
    ///
    /// # Errors
    /// A line without a reason, or that names something twice.
    pub fn parse(text: &str) -> Result<KnownDifferences, String> {
        let mut known = BTreeMap::new();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let (name, reason) = line.split_once(':').ok_or_else(|| format!("{line:?}: no reason given"))?;
            if reason.trim().is_empty() {
                return Err(format!("{line:?}: no reason given"));
            }
            if known.insert(name.trim().to_owned(), reason.trim().to_owned()).is_some() {
                return Err(format!("{name}: listed twice"));
            }
        }
        Ok(KnownDifferences(known))
    }

    /// The reason why this program differs on this heap, if it is known to.
    pub fn reason(&self, module: &str, heap: &str) -> Option<&str> {
        self.0.get(&format!("{module}/{heap}")).or_else(|| self.0.get(module)).map(String::as_str)
    }

    /// Entries that name none of these programs.
    pub fn stale(&self, programs: &[Program]) -> Vec<&str> {
        let exists = |name: &str| programs.iter().any(|program| name.split('/').next() == Some(&program.module));
        self.0.keys().map(String::as_str).filter(|name| !exists(name)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Program, String> {
        Program::parse(Path::new("dir/p.erl"), text)
    }

    #[test]
    fn directives_stand_in_the_leading_comment() {
        let program = parse("%% About.\n%% differential: slow allocates timeout=5\n-module(p).\n").unwrap();
        assert_eq!((&*program.module, program.stress, program.allocates), ("p", 200, true));
        assert_eq!(program.timeout, Duration::from_secs(5));
        assert_eq!(parse("-module(p).\n%% differential: slow\n").unwrap().stress, 1);
        assert!(parse("%% differential: sloow\n").unwrap_err().contains("sloow"));
        assert!(parse("%% differential: stress=x\n").is_err());
    }

    #[test]
    fn known_differences_have_a_reason() {
        let known = KnownDifferences::parse("# why\na: because: of this\nb/shared: that\n\n").unwrap();
        assert_eq!(known.reason("a", "private"), Some("because: of this"));
        assert_eq!(known.reason("b", "shared"), Some("that"));
        assert_eq!(known.reason("b", "private"), None);
        assert_eq!(known.stale(&[parse("").unwrap()]), ["a", "b/shared"]);
        assert!(KnownDifferences::parse("a:").is_err());
        assert!(KnownDifferences::parse("a").is_err());
        assert!(KnownDifferences::parse("a: x\na: y").is_err());
    }
}
