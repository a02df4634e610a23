//! The command lines of those that take part.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Serialize;

use crate::options::CompareOptions;
use crate::program::Program;

/// What a contender is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ContenderKind {
    /// Atoll, on one of its heap architectures.
    Atoll,
    /// Stock `erl`.
    Erl,
}

/// One that takes part: an executable, and for atoll the architecture.
#[derive(Clone, Debug)]
pub struct Contender {
    /// As it is shown: the architecture, or `erl`.
    pub name: String,
    /// What it is.
    pub kind: ContenderKind,
    /// What is started.
    pub executable: PathBuf,
}

/// The name under which stock `erl` is shown.
pub const ERL: &str = "erl";

impl Contender {
    /// The command that runs `program`; atoll writes its statistics to `statistics`.
    pub fn command(
        &self,
        options: &CompareOptions,
        program: &Program,
        arguments: &[OsString],
        statistics: &Path,
    ) -> Command {
        let mut command = Command::new(&self.executable);
        match self.kind {
            ContenderKind::Atoll => {
                command.args(["run", "--heap", &self.name, "--stats"]).arg(statistics);
                if let Some(otp) = &options.otp {
                    command.arg("--otp").arg(otp);
                }
                command.args(&options.atoll_options).args(&options.runtime_options);
                command.arg(&program.atoll_name).args(arguments);
            }
            ContenderKind::Erl => {
                command.args(&options.runtime_options).arg("-noshell");
                if let Some(folder) = &program.folder {
                    command.arg("-pa").arg(folder);
                }
                command.arg("-eval").arg(call_main(&program.module)).arg("-extra").args(arguments);
                // A program that fails on purpose should not leave dumps in the user's folder.
                command.env("ERL_CRASH_DUMP_SECONDS", "0");
            }
        }
        command
    }
}

/// The expression that calls `main/1` as escript does. Everything after `-extra` is a plain argument, whatever it looks
/// like.
fn call_main(module: &str) -> String {
    let module = module.replace('\\', r"\\").replace('\'', r"\'");
    format!(
        "try '{module}':main(init:get_plain_arguments()) of _ -> erlang:halt(0) \
         catch Class:Reason:Stack -> \
         io:format(standard_error, \"~tp: ~tp~n~tp~n\", [Class, Reason, Stack]), erlang:halt(1) end."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(contender: &Contender) -> Vec<String> {
        let mut options = CompareOptions::new("atoll", "ring", ["private"]);
        options.runtime_options = vec!["+S".into(), "2".into()];
        options.atoll_options = vec!["--verify-heap".into()];
        options.otp = Some("/opt/otp".into());
        let program = Program { module: "it's".into(), atoll_name: "/x/it's.beam".into(), folder: Some("/x".into()) };
        let command = contender.command(&options, &program, &["-a".into(), "".into()], Path::new("/tmp/s.json"));
        command.get_args().map(|word| word.to_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn atoll_gets_its_options_before_the_program() {
        let contender = Contender { name: "shared".into(), kind: ContenderKind::Atoll, executable: "atoll".into() };
        let wanted = "run --heap shared --stats /tmp/s.json --otp /opt/otp --verify-heap +S 2 /x/it's.beam -a ";
        assert_eq!(words(&contender).join(" "), wanted);
    }

    #[test]
    fn erl_gets_the_module_quoted_and_the_arguments_last() {
        let contender = Contender { name: ERL.into(), kind: ContenderKind::Erl, executable: "erl".into() };
        let words = words(&contender);
        assert_eq!(words[..6], ["+S", "2", "-noshell", "-pa", "/x", "-eval"]);
        assert!(words[6].starts_with(r"try 'it\'s':main(init:get_plain_arguments())"), "{}", words[6]);
        assert_eq!(words[7..], ["-extra", "-a", ""]);
    }
}
