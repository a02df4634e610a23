//! What runs a suite: stock `erl`, or Atoll with one heap.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use super::results::{Outcome, Results};
use super::suite::{Prepared, Workplace};
use crate::names::Names;
use crate::run::{End, run};

/// A machine that runs OTP.
#[derive(Clone, Debug)]
pub enum Machine {
    /// `erl` on PATH.
    Stock,
    /// `atoll erl`.
    Atoll {
        /// The program.
        executable: PathBuf,
        /// `--heap`, and after a `+` the value of `--native`, if that is to be another one than usual.
        heap: String,
    },
}

impl Machine {
    /// `stock`, or the name of the heap, with what follows it.
    pub fn name(&self) -> &str {
        match self {
            Machine::Stock => "stock",
            Machine::Atoll { heap, .. } => heap,
        }
    }

    fn command(&self) -> Command {
        match self {
            Machine::Stock => Command::new("erl"),
            Machine::Atoll { executable, heap } => {
                let mut command = Command::new(executable);
                match heap.split_once('+') {
                    Some((heap, native)) => command.args(["erl", "--heap", heap, "--native", native]),
                    None => command.args(["erl", "--heap", heap]),
                };
                command
            }
        }
    }

    /// Runs one suite in a process of its own, ended after `limit`. What becomes of each case stays in the workplace.
    ///
    /// # Errors
    /// The machine cannot be started, or files cannot be written.
    pub fn run(&self, prepared: &Prepared, workplace: &Workplace, limit: Duration) -> io::Result<Results> {
        let suite = &prepared.suite;
        let (file, logs) = (workplace.results(self.name(), suite), workplace.logs(self.name(), suite));
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        for old in [&file, &workplace.printed(self.name(), suite)] {
            remove(fs::remove_file(old))?;
        }
        remove(fs::remove_dir_all(&logs))?;
        fs::create_dir_all(&logs)?;
        let names = Names::start()?;
        let mut command = self.command();
        names.serve(&mut command);
        // As OTP's own runs have it: cases start nodes beside this one.
        command
            .args(["-sname", "conformance", "-noshell", "-pa"])
            .arg(workplace.modules())
            .arg("-pa")
            .arg(&prepared.folder);
        if prepared.uses_features()? {
            command.args(["-enable-feature", "all"]);
        }
        command.args(["-s", "conformance_run", "start", "-extra"]).arg(&prepared.folder).arg(suite.module());
        command.arg(&file).arg(&logs).current_dir(&logs);
        let finished = run(&mut command, limit)?;
        fs::write(workplace.printed(self.name(), suite), [&*finished.stdout, &*finished.stderr].concat())?;
        let mut results = match Results::read(&file) {
            Ok(results) => results,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Results::default(),
            Err(error) => return Err(error),
        };
        if finished.end != End::Exited(0) {
            results.ended(&finished.end.to_string());
        }
        if let Some(report) = finished.violation() {
            results.fail(&report);
        }
        results.write(&file)?;
        Ok(results)
    }
}

impl Results {
    /// No case counts as passed on a heap that was broken.
    fn fail(&mut self, report: &str) {
        for outcome in self.cases.values_mut() {
            *outcome = Outcome::Failed(report.replace('\t', " "));
        }
    }

    /// Cases that ran before the machine stopped, and what stopped it.
    fn ended(&mut self, how: &str) {
        for outcome in self.cases.values_mut() {
            if *outcome == Outcome::Unfinished {
                *outcome = Outcome::Failed(format!("machine: {how}"));
            }
        }
    }
}

fn remove(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
