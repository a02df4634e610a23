//! The suites of the list, and their modules as compiled files.

use std::env;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::compile::is_newer;
use crate::libraries::{compile_library, headers};
use crate::run::{End, run};

/// How long `erlc` may take for one suite.
const COMPILER_LIMIT: Duration = Duration::from_secs(300);

/// Suites that OTP derives from others when it is built: what their names have in front of `_SUITE`, and how the
/// compiler is to treat them.
const DERIVED: &[(&str, &[&str])] = &[
    (
        "_no_opt",
        &[
            "+no_copt",
            "+no_bool_opt",
            "+no_share_opt",
            "+no_bsm_opt",
            "+no_fun_opt",
            "+no_ssa_opt",
            "+no_recv_opt",
            "+no_postopt",
        ],
    ),
    ("_no_copt", &["+no_copt"]),
    ("_no_module_opt", &["+no_module_opt"]),
    ("_no_type_opt", &["+no_type_opt"]),
    ("_inline", &["+inline"]),
    ("_r23", &["+r23"]),
    ("_r24", &["+r24"]),
];

/// One suite: its path in OTP's source without `.erl`, as in `lib/stdlib/test/lists_SUITE`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Suite {
    path: String,
    seconds: u64,
}

impl Suite {
    /// The suite of a line of the list: its path, and perhaps how many seconds it needs.
    pub fn new(line: &str) -> Suite {
        let mut words = line.split_whitespace();
        let path = words.next().unwrap_or_default().to_owned();
        Suite { path, seconds: words.next().and_then(|seconds| seconds.parse().ok()).unwrap_or(0) }
    }

    /// How long it may run, where others may run for so long.
    pub fn limit(&self, usual: Duration) -> Duration {
        usual.max(Duration::from_secs(self.seconds))
    }

    /// Its module.
    pub fn module(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// The application whose suite it is.
    pub fn application(&self) -> &str {
        match self.path.split('/').collect::<Vec<_>>().as_slice() {
            ["erts", "emulator", ..] => "emulator",
            ["lib", application, ..] => application,
            _ => "erts",
        }
    }

    /// Its application and module in one word, as files are named.
    pub fn label(&self) -> String {
        format!("{}.{}", self.application(), self.module())
    }

    /// The module that it is derived from, and the flags that make the difference, if it may be a derived one.
    fn derived_from(&self) -> Option<(String, &'static [&'static str])> {
        let name = self.module().strip_suffix("_SUITE")?;
        let of = |(suffix, flags): &(&str, &'static [&'static str])| Some((name.strip_suffix(suffix)?, *flags));
        let (original, flags) = DERIVED.iter().find_map(of)?;
        Some((format!("{original}_SUITE"), flags))
    }

    fn folder(&self) -> &Path {
        Path::new(&self.path).parent().unwrap_or(Path::new(""))
    }
}

impl fmt::Display for Suite {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.path)
    }
}

/// The suites of a list: one a line; empty lines and what follows a `#` do not count.
///
/// # Errors
/// The file cannot be read.
pub fn suites(list: &Path) -> io::Result<Vec<Suite>> {
    let text = fs::read_to_string(list)?;
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or("").trim());
    Ok(lines.filter(|line| !line.is_empty()).map(Suite::new).collect())
}

/// The folders of a run.
#[derive(Clone, Debug)]
pub struct Workplace {
    /// OTP's source, as `scripts/fetch-suites` unpacks it.
    source: PathBuf,
    /// Results, logs and our own modules.
    out: PathBuf,
}

/// A suite that is ready to run.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The suite.
    pub suite: Suite,
    /// Where its compiled module and its data are.
    pub folder: PathBuf,
}

impl Prepared {
    /// Whether its module asks for experimental features of the language, which `erl` loads only with an option.
    pub(super) fn uses_features(&self) -> io::Result<bool> {
        let source = fs::read(self.folder.join(format!("{}.erl", self.suite.module())))?;
        Ok(String::from_utf8_lossy(&source).lines().any(|line| line.starts_with("-feature(")))
    }
}

impl Workplace {
    /// Opens the unpacked source and compiles the modules that watch Common Test into `out`.
    ///
    /// # Errors
    /// The source is not there, or `erlc` fails.
    pub fn open(source: &Path, out: &Path) -> io::Result<Workplace> {
        let source = source.canonicalize().map_err(|error| {
            let text = format!("{}: {error}; scripts/fetch-suites puts OTP's test suites there", source.display());
            io::Error::new(error.kind(), text)
        })?;
        fs::create_dir_all(out)?;
        let workplace = Workplace { source, out: out.canonicalize()? };
        fs::create_dir_all(workplace.modules())?;
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("erlang");
        let files: Vec<PathBuf> = erlang_files(&own)?;
        compile_changed(&files, &workplace.modules(), &[])?;
        Ok(workplace)
    }

    /// Where our own modules are, compiled.
    pub fn modules(&self) -> PathBuf {
        self.out.join("modules")
    }

    /// The file with what became of a suite's cases on a machine.
    pub fn results(&self, machine: &str, suite: &Suite) -> PathBuf {
        self.out.join(machine).join(format!("{}.tsv", suite.label()))
    }

    /// What a machine printed while it ran a suite.
    pub fn printed(&self, machine: &str, suite: &Suite) -> PathBuf {
        self.out.join(machine).join(format!("{}.txt", suite.label()))
    }

    /// Common Test's own pages.
    pub fn logs(&self, machine: &str, suite: &Suite) -> PathBuf {
        self.out.join("logs").join(machine).join(suite.label())
    }

    /// Compiles a suite and the modules beside it that are no suites, if they have changed.
    ///
    /// # Errors
    /// `erlc` refuses the suite. Modules beside it are tried one by one, because a suite rarely needs all of them.
    pub fn prepare(&self, suite: &Suite) -> io::Result<Prepared> {
        let folder = self.source.join(suite.folder());
        let flags: &[&str] = match suite.application() {
            "compiler" => &["+clint", "+clint0", "+ssalint"],
            _ => &[],
        };
        // Several processes may prepare suites of one folder at a time.
        let lock = fs::File::create(folder.join(".lock"))?;
        lock.lock()?;
        for file in erlang_files(&folder)? {
            if file.file_stem().is_some_and(|stem| !stem.to_string_lossy().ends_with("_SUITE")) {
                // A helper that cannot be compiled here is missed only by the suites that need it.
                let _ = compile_changed(&[file], &folder, flags);
            }
        }
        let file = folder.join(suite.module()).with_extension("erl");
        match suite.derived_from().filter(|(original, _)| folder.join(original).with_extension("erl").exists()) {
            Some((original, more)) => {
                derive(&folder, &original, suite.module())?;
                compile_changed(&[file], &folder, &[flags, more].concat())?;
            }
            None => compile_changed(&[file], &folder, flags)?,
        }
        let data = folder.join(format!("{}_data", suite.module()));
        derive_thread_libraries(&data)?;
        compile_c(&data)?;
        Ok(Prepared { suite: suite.clone(), folder })
    }
}

fn erlang_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries: Result<Vec<_>, _> = fs::read_dir(folder)?.collect();
    let mut files: Vec<PathBuf> = entries?.iter().map(fs::DirEntry::path).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "erl"));
    files.sort();
    Ok(files)
}

fn compile_changed(files: &[PathBuf], into: &Path, flags: &[&str]) -> io::Result<()> {
    let beam = |file: &Path| into.join(file.file_stem().unwrap_or_default()).with_extension("beam");
    let changed: Vec<&PathBuf> = files.iter().filter(|file| is_newer(file, &beam(file))).collect();
    if changed.is_empty() {
        return Ok(());
    }
    let mut command = Command::new("erlc");
    // Suites ask for their abstract code, and for headers that are not installed.
    command
        .args(["-W0", "+debug_info", "-I", "../src", "-I", "../include", "-I", "../..", "-I", "../../ssl/src"])
        .args(flags)
        .arg("-o")
        .arg(into)
        .args(changed)
        .current_dir(into);
    let finished = run(&mut command, COMPILER_LIMIT)?;
    if finished.end == End::Exited(0) {
        return Ok(());
    }
    let report = String::from_utf8_lossy(&[finished.stdout, finished.stderr].concat()).into_owned();
    Err(io::Error::other(format!("erlc: {}: {report}", finished.end)))
}

/// Writes a module that differs from the original in its name alone.
fn derive(folder: &Path, original: &str, name: &str) -> io::Result<()> {
    let [from, to] = [original, name].map(|module| folder.join(module).with_extension("erl"));
    if !is_newer(&from, &to) {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&fs::read(from)?).into_owned();
    fs::write(to, text.replacen(&format!("-module({original})"), &format!("-module({name})"), 1))
}

/// Writes three libraries of `nif_SUITE`, which OTP's build makes of the drivers of another suite with other names.
fn derive_thread_libraries(data: &Path) -> io::Result<()> {
    let originals = data.with_file_name("erl_drv_thread_SUITE_data");
    let [Ok(head), Ok(tail)] = ["head.txt", "tail.txt"].map(|name| fs::read_to_string(data.join(name))) else {
        return Ok(());
    };
    for name in ["basic.c", "rwlock.c", "tsd.c"] {
        let (from, to) = (originals.join(name), data.join(name));
        if is_newer(&from, &to) {
            let text = String::from_utf8_lossy(&fs::read(from)?).into_owned();
            let text = text.replace("erl_drv_", "enif_").replace("driver_", "enif_").replace("ErlDrv", "ErlNif");
            fs::write(to, [&*head, &text, &tail].concat())?;
        }
    }
    Ok(())
}

/// Compiles the programs that a suite starts and the libraries that it loads, of which each is one file in C. What
/// cannot be compiled here is missed only by the cases that need it.
fn compile_c(data: &Path) -> io::Result<()> {
    let Ok(entries) = fs::read_dir(data) else { return Ok(()) };
    for file in entries.map(|entry| entry.map(|entry| entry.path())) {
        let file = file?;
        if file.extension().is_none_or(|extension| extension != "c") {
            continue;
        }
        let is_program = String::from_utf8_lossy(&fs::read(&file)?).contains("main(");
        let made = file.with_extension(if is_program { "" } else { "so" });
        if !is_newer(&file, &made) {
            continue;
        }
        if is_program {
            let mut command = Command::new("cc");
            command.args(["-w", "-O", "-DHAVE_STRERROR", "-o"]).arg(made).arg(file).current_dir(data);
            if let Some(root) = root() {
                // C nodes need OTP's library for them; other programs take nothing of it.
                command.arg("-I").arg(root.join("usr/include")).arg("-L").arg(root.join("usr/lib"));
                command.args(["-D_REENTRANT", "-lei", "-lpthread"]);
            }
            let _ = run(&mut command, COMPILER_LIMIT);
        } else {
            let _ = compile_library(&file, &made, &headers()?);
        }
    }
    Ok(())
}

/// OTP's root, if it has what C nodes are linked with.
fn root() -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let erl = env::split_paths(&path).map(|folder| folder.join("erl")).find_map(|erl| erl.canonicalize().ok())?;
    let root = erl.parent()?.parent()?.to_owned();
    root.join("usr/lib/libei.a").is_file().then_some(root)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suite_knows_its_application() {
        let of = |path: &str| Suite::new(path).label();
        assert_eq!(of("erts/emulator/test/a_SUITE"), "emulator.a_SUITE");
        assert_eq!(of("erts/test/otp_SUITE"), "erts.otp_SUITE");
        assert_eq!(of("lib/stdlib/test/lists_SUITE"), "stdlib.lists_SUITE");
    }

    #[test]
    fn a_derived_suite_knows_its_original() {
        let of = |path: &str| Suite::new(path).derived_from().map(|(original, flags)| (original, flags.len()));
        assert_eq!(of("lib/a/test/bs_match_inline_SUITE"), Some(("bs_match_SUITE".to_owned(), 1)));
        assert_eq!(of("lib/a/test/bs_match_no_opt_SUITE"), Some(("bs_match_SUITE".to_owned(), 8)));
        assert_eq!(of("lib/a/test/bs_match_SUITE"), None);
    }

    #[test]
    fn a_suite_may_need_longer_than_others() {
        let limit = |line: &str| Suite::new(line).limit(Duration::from_secs(300)).as_secs();
        let limits = ["lib/a/test/b_SUITE", "lib/a/test/b_SUITE 900", "lib/a/test/b_SUITE 10"].map(limit);
        assert_eq!(limits, [300, 900, 300]);
        assert_eq!(Suite::new("lib/a/test/b_SUITE 900").to_string(), "lib/a/test/b_SUITE");
    }
}
