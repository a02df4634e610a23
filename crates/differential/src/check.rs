//! One program in one configuration, held against what stock `erl` did.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::configuration::Configuration;
use crate::run::{Finished, run};

const SHOWN_LINES: usize = 4;
const SHOWN_BYTES: usize = 400;
/// Bytes of a long line that are shown before the first difference.
const SHOWN_BEFORE: usize = 100;
const SHOWN_ERRORS: usize = 1500;

/// The command under test.
#[derive(Clone, Debug)]
pub struct Atoll {
    /// The executable.
    pub executable: PathBuf,
}

impl Atoll {
    /// Runs a module's `main([])`.
    ///
    /// # Errors
    /// What is different from `expected`, and how to repeat it.
    pub fn check(
        &self,
        configuration: &Configuration,
        folder: &Path,
        module: &str,
        timeout: Duration,
        expected: &Finished,
    ) -> Result<(), String> {
        let mut command = Command::new(&self.executable);
        command.arg("run").args(configuration.options()).arg("-pa").arg(folder).arg(module);
        let shown = format!("{} run {configuration} -pa {} {module}", self.executable.display(), folder.display());
        let actual = run(&mut command, timeout).map_err(|error| format!("{shown}: {error}"))?;
        match difference(expected, &actual) {
            None => Ok(()),
            Some(difference) => {
                let errors = excerpt(&actual.stderr, SHOWN_ERRORS);
                let errors = if errors.is_empty() { String::new() } else { format!("\nstandard error:\n{errors}") };
                Err(format!("$ LC_ALL=C.UTF-8 {shown}\n{difference}{errors}"))
            }
        }
    }
}

/// What differs in output and end, and what the verifier has found; `None` if all is well.
pub fn difference(expected: &Finished, actual: &Finished) -> Option<String> {
    let mut report: Vec<String> = actual.violation().into_iter().collect();
    if expected.end != actual.end {
        report.push(format!("stock erl: {}; atoll: {}", expected.end, actual.end));
    }
    if expected.stdout != actual.stdout {
        let lines = |bytes: &[u8]| bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>();
        let (stock, atoll) = (lines(&expected.stdout), lines(&actual.stdout));
        let same = stock.iter().zip(&atoll).take_while(|(stock, atoll)| stock == atoll).count();
        report.push(format!("standard output differs from line {} on", same + 1));
        let column = match (stock.get(same), atoll.get(same)) {
            (Some(stock), Some(atoll)) => stock.iter().zip(atoll).take_while(|(stock, atoll)| stock == atoll).count(),
            _ => 0,
        };
        for (name, lines) in [("stock", &stock), ("atoll", &atoll)] {
            for (number, line) in lines.iter().skip(same).take(SHOWN_LINES).enumerate() {
                let from = if number == 0 { column.saturating_sub(SHOWN_BEFORE) } else { 0 };
                let cut = if from > 0 { "... " } else { "" };
                report.push(format!("  {name}: {cut}{}", excerpt(&line[from..], SHOWN_BYTES)));
            }
            if lines.len() <= same {
                report.push(format!("  {name}: (ends here)"));
            }
        }
    }
    (!report.is_empty()).then(|| report.join("\n"))
}

fn excerpt(bytes: &[u8], limit: usize) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(limit)]).trim_end().to_owned();
    if bytes.len() > limit { text + " ..." } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::End;

    fn finished(status: i64, stdout: &str) -> Finished {
        Finished { end: End::Exited(status), stdout: stdout.into(), stderr: Vec::new() }
    }

    #[test]
    fn the_first_line_that_differs_is_shown() {
        assert_eq!(difference(&finished(0, "a\nb\n"), &finished(0, "a\nb\n")), None);
        let text = difference(&finished(0, "a\nb\nc\n"), &finished(0, "a\nx\nc\n")).unwrap();
        assert!(text.contains("line 2") && text.contains("stock: b") && text.contains("atoll: x"), "{text}");
        let text = difference(&finished(0, "a\nb"), &finished(0, "a")).unwrap();
        assert!(text.contains("atoll: (ends here)"), "{text}");
        let text = difference(&finished(0, ""), &finished(1, "")).unwrap();
        assert_eq!(text, "stock erl: exit status 0; atoll: exit status 1");
        let mut found = finished(0, "a\n");
        found.stderr = b"more\natoll: heap invariant P1 (why) is broken\n".to_vec();
        let text = difference(&finished(0, "a\n"), &found).unwrap();
        assert_eq!(text, "atoll: heap invariant P1 (why) is broken");
    }
}
