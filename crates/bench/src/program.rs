//! Finds the program and compiles it once, so that no contender's time holds the compiler's.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::CompareError;
use crate::options::CompareOptions;

const EMPTY_MODULE: &str = "atoll_compare_empty";
const EMPTY_SOURCE: &str = "-module(atoll_compare_empty).\n-export([main/1]).\nmain(_) -> ok.\n";

/// A program that is ready to run.
#[derive(Clone, Debug)]
pub struct Program {
    /// The module whose `main/1` is called.
    pub module: String,
    /// What `atoll run` gets: a `.beam` file or the name of a module.
    pub atoll_name: OsString,
    /// The folder that stock `erl` has to search, where it is not the current one or one of OTP's.
    pub folder: Option<PathBuf>,
}

/// The commands of the installed OTP, as far as it is installed.
#[derive(Clone, Debug)]
pub struct Toolchain {
    /// Stock `erl`.
    pub erl: Option<PathBuf>,
    /// The compiler.
    pub erlc: Option<PathBuf>,
}

impl Toolchain {
    /// Looks in the folder that was named, or else on PATH.
    pub fn find(otp: Option<&Path>) -> Toolchain {
        let find = |name: &str| match otp {
            Some(folder) => Some(folder.join("bin").join(name)).filter(|path| path.is_file()),
            None => on_path(name),
        };
        Toolchain { erl: find("erl"), erlc: find("erlc") }
    }
}

fn on_path(name: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?).map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// The program that the options name, compiled into `folder` if it is a source file.
pub fn prepare(options: &CompareOptions, tools: &Toolchain, folder: &Path) -> Result<Program, CompareError> {
    let path = Path::new(&options.program);
    let extension = path.extension().and_then(OsStr::to_str);
    match extension {
        Some("erl" | "beam") if !path.is_file() => Err(CompareError::NoSuchProgram(path.to_owned())),
        Some("erl") => {
            let erlc = tools.erlc.as_deref().ok_or_else(|| CompareError::NoCompiler(path.to_owned()))?;
            compile(erlc, path, folder, &code_paths(&options.runtime_options))?;
            of_beam(&folder.join(path.with_extension("beam").file_name().unwrap_or_default()))
        }
        Some("beam") => of_beam(path),
        _ if path.components().count() > 1 && path.exists() => Err(CompareError::UnknownProgram(path.to_owned())),
        _ if path.components().count() > 1 => Err(CompareError::NoSuchProgram(path.to_owned())),
        _ => {
            let module = utf8(path)?;
            Ok(Program { atoll_name: module.clone().into(), module, folder: None })
        }
    }
}

/// A program that does nothing, to show what starting costs; `None` without a compiler.
pub fn empty_program(tools: &Toolchain, folder: &Path) -> Result<Option<Program>, CompareError> {
    let Some(erlc) = &tools.erlc else { return Ok(None) };
    let source = folder.join(EMPTY_MODULE).with_extension("erl");
    fs::write(&source, EMPTY_SOURCE).map_err(CompareError::io("write", &source))?;
    compile(erlc, &source, folder, &[])?;
    of_beam(&source.with_extension("beam")).map(Some)
}

fn of_beam(path: &Path) -> Result<Program, CompareError> {
    let absolute = fs::canonicalize(path).map_err(CompareError::io("open", path))?;
    let module = utf8(Path::new(path.file_stem().unwrap_or_default()))?;
    let folder = absolute.parent().map(Path::to_owned);
    Ok(Program { module, atoll_name: absolute.into(), folder })
}

fn utf8(path: &Path) -> Result<String, CompareError> {
    path.to_str().map(str::to_owned).ok_or_else(|| CompareError::NotUtf8(path.to_owned()))
}

/// The folders named by `-pa` and `-pz`, where parse transforms and behaviours may be.
fn code_paths(runtime_options: &[OsString]) -> Vec<OsString> {
    runtime_options
        .windows(2)
        .filter(|pair| pair[0] == "-pa" || pair[0] == "-pz")
        .flat_map(|pair| ["-pa".into(), pair[1].clone()])
        .collect()
}

fn compile(erlc: &Path, source: &Path, folder: &Path, code_paths: &[OsString]) -> Result<(), CompareError> {
    let output =
        Command::new(erlc).args(code_paths).arg("-o").arg(folder).arg(source).stdin(Stdio::null()).output().map_err(
            |error| match error.kind() {
                io::ErrorKind::NotFound => CompareError::NoCompiler(source.to_owned()),
                _ => CompareError::io("start", erlc)(error),
            },
        )?;
    if output.status.success() {
        return Ok(());
    }
    let report = [output.stdout, output.stderr].concat();
    let report = String::from_utf8_lossy(&report).trim().to_owned();
    Err(CompareError::Compile { file: source.to_owned(), report })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prepared(program: impl Into<OsString>, folder: &Path) -> Result<Program, CompareError> {
        let options = CompareOptions::new("atoll", program, ["private"]);
        prepare(&options, &Toolchain::find(None), folder)
    }

    #[test]
    fn what_is_missing_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let no_file = prepared("nowhere.erl", folder.path()).unwrap_err().to_string();
        assert!(no_file.starts_with("nowhere.erl: no such file"), "{no_file}");
        let no_folder = prepared("no/where", folder.path()).unwrap_err().to_string();
        assert!(no_folder.starts_with("no/where: no such file"), "{no_folder}");
        let odd = prepared(folder.path(), folder.path()).unwrap_err().to_string();
        assert!(odd.contains("neither an .erl nor a .beam file"), "{odd}");
    }

    #[test]
    fn a_missing_compiler_is_told_with_what_to_install() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("a.erl");
        fs::write(&source, "-module(a).\n").unwrap();
        let options = CompareOptions::new("atoll", &source, ["private"]);
        let nothing = Toolchain { erl: None, erlc: None };
        let error = prepare(&options, &nothing, folder.path()).unwrap_err().to_string();
        assert!(error.contains("apt-get install erlang-base"), "{error}");
        assert!(empty_program(&nothing, folder.path()).unwrap().is_none());
    }

    #[test]
    fn a_module_name_is_passed_on() {
        let program = prepared("Elixir.Foo", Path::new("/nonexistent")).unwrap();
        assert_eq!(program.module, "Elixir.Foo");
        assert_eq!(program.atoll_name, "Elixir.Foo");
        assert_eq!(program.folder, None);
    }

    #[test]
    fn a_beam_file_is_found_by_both() {
        let folder = tempfile::tempdir().unwrap();
        let beam = folder.path().join("ring.beam");
        fs::write(&beam, "").unwrap();
        let program = prepared(&beam, folder.path()).unwrap();
        assert_eq!(program.module, "ring");
        assert_eq!(Path::new(&program.atoll_name), fs::canonicalize(&beam).unwrap());
        assert_eq!(program.folder, Some(fs::canonicalize(folder.path()).unwrap()));
    }
}
