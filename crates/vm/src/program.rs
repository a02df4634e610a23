//! The program to run: an `.erl` file, a `.beam` file or a module's name.

use std::path::{Path, PathBuf};
use std::process::Command;

use thiserror::Error;

/// Why a program cannot be run.
#[derive(Debug, Error)]
pub enum ProgramError {
    /// There is no such file.
    #[error("{0}: no such file; give an .erl file, a .beam file or the name of a module on the code path")]
    Missing(PathBuf),
    /// A file that is neither `.erl` nor `.beam`.
    #[error("{0}: neither an .erl nor a .beam file")]
    Kind(PathBuf),
    /// The compiler is not there.
    #[error(
        "cannot run erlc to compile {0}: {1}; install Erlang (Debian: apt-get install erlang) or give a .beam file"
    )]
    Compiler(PathBuf, std::io::Error),
    /// The compiler refused the program.
    #[error("{0} does not compile:\n{1}")]
    Compile(PathBuf, String),
    /// A file cannot be written.
    #[error("{0}: {1}")]
    Io(PathBuf, std::io::Error),
}

/// A module that can be found, and the folder that it is in, if it was given as a file.
#[derive(Debug)]
pub struct Program {
    /// Module.
    pub module: String,
    /// Folder to look into first.
    pub folder: Option<PathBuf>,
    /// Modules whose EUnit tests are to be run, in the place of `main/1`.
    pub(crate) tests: Vec<String>,
    /// Folder made for compiled code, removed at the end.
    made: Option<PathBuf>,
}

impl Drop for Program {
    fn drop(&mut self) {
        if let Some(made) = &self.made {
            let _ = std::fs::remove_dir_all(made);
        }
    }
}

impl Program {
    /// Finds, and if need be compiles, the program that a user named.
    ///
    /// # Errors
    /// See [`ProgramError`].
    pub fn prepare(name: &str) -> Result<Program, ProgramError> {
        let path = Path::new(name);
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("erl") => compile(path),
            Some("beam") => {
                if !path.is_file() {
                    return Err(ProgramError::Missing(path.to_owned()));
                }
                Ok(Program { module: stem(path), folder: Some(folder_of(path)), made: None, tests: Vec::new() })
            }
            _ if path.is_file() => Err(ProgramError::Kind(path.to_owned())),
            _ if name.contains('/') => Err(ProgramError::Missing(path.to_owned())),
            _ => Ok(Program { module: name.to_owned(), folder: None, made: None, tests: Vec::new() }),
        }
    }
}

impl Program {
    /// The EUnit tests of modules, which are `.erl` or `.beam` files or names. All files lie in one folder.
    ///
    /// # Errors
    /// See [`ProgramError`].
    pub fn tests(names: &[String]) -> Result<Program, ProgramError> {
        let mut all = Program { module: "eunit".to_owned(), folder: None, made: None, tests: Vec::new() };
        for name in names {
            let mut one = Program::prepare(name)?;
            all.tests.push(std::mem::take(&mut one.module));
            all.folder = one.folder.take().or(all.folder.take());
            all.made = one.made.take().or(all.made.take());
        }
        Ok(all)
    }
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

fn compile(source: &Path) -> Result<Program, ProgramError> {
    if !source.is_file() {
        return Err(ProgramError::Missing(source.to_owned()));
    }
    let unique = format!("atoll-{:010}-{}", std::process::id(), stem(source));
    let folder = std::env::temp_dir().join(unique);
    std::fs::create_dir_all(&folder).map_err(|error| ProgramError::Io(folder.clone(), error))?;
    let program =
        Program { module: stem(source), folder: Some(folder.clone()), made: Some(folder.clone()), tests: Vec::new() };
    let mut command = Command::new("erlc");
    command.arg("-o").arg(&folder).arg("-pa").arg(folder_of(source)).arg("-I").arg(folder_of(source)).arg(source);
    let output = command.output().map_err(|error| ProgramError::Compiler(source.to_owned(), error))?;
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(ProgramError::Compile(source.to_owned(), text.trim_end().to_owned()));
    }
    if !text.trim().is_empty() {
        eprintln!("{}", text.trim_end());
    }
    Ok(program)
}
