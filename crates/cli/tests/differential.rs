//! Every program of `tests/programs` on every heap, held against stock `erl`: one test for each program and heap, eight
//! runs in each, and one more where there is a choice of old generations.
//!
//! `known_differences.txt` beside the programs lists those that are known to differ. They are shown as ignored, with
//! the reason, and a test of their own fails as soon as they pass.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, OnceLock};

use atoll_differential::{
    Atoll, Configuration, End, Finished, KnownDifferences, Program, Stock, compile, compile_library, headers, is_newer,
    matrix, not_moved, programs, quick_matrix,
};
use libtest_mimic::{Arguments, Failed, Trial};

/// What stock printed, once it has run.
type Expected = Arc<OnceLock<Result<Finished, String>>>;

/// What all tests share.
struct Suite {
    atoll: Atoll,
    stock: Stock,
    folder: PathBuf,
    /// Stock's result for each module, made by whichever test needs it first.
    expected: Mutex<HashMap<String, Expected>>,
}

impl Suite {
    fn expected(&self, program: &Program) -> Result<Finished, String> {
        let mut all = self.expected.lock().map_err(|error| error.to_string())?;
        let cell = Arc::clone(all.entry(program.module.clone()).or_default());
        drop(all);
        cell.get_or_init(|| {
            let finished = self.stock.run_once(&self.folder, &program.module, program.timeout);
            let finished = finished.map_err(|error| format!("stock erl: {error}"))?;
            match finished.end {
                End::Exited(_) => Ok(finished),
                end => Err(format!("stock erl: {end}")),
            }
        })
        .clone()
    }

    fn check(&self, program: &Program, configurations: &[Configuration]) -> Result<(), String> {
        let expected = self.expected(program)?;
        for configuration in configurations {
            self.atoll.check(configuration, &self.folder, &program.module, program.timeout, &expected)?;
        }
        Ok(())
    }
}

/// Compiles what has changed since the last run.
fn compile_changed(programs: &[Program], folder: &Path) -> Result<(), String> {
    let changed: Vec<PathBuf> = programs
        .iter()
        .filter(|program| is_newer(&program.source, &folder.join(&program.module).with_extension("beam")))
        .map(|program| program.source.clone())
        .collect();
    compile(&changed, folder).map_err(|error| error.to_string())
}

/// Compiles the native libraries that have changed, against the header of the installed OTP.
fn compile_libraries(sources: &Path, folder: &Path) -> Result<(), String> {
    let include = headers().map_err(|error| format!("cannot run erl: {error}"))?;
    std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    for entry in std::fs::read_dir(sources).map_err(|error| error.to_string())? {
        let source = entry.map_err(|error| error.to_string())?.path();
        let Some(name) = source.file_stem().filter(|_| source.extension().is_some_and(|kind| kind == "c")) else {
            continue;
        };
        let library = folder.join(name).with_extension("so");
        if !is_newer(&source, &library) {
            continue;
        }
        compile_library(&source, &library, &include).map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn trials(suite: &Arc<Suite>, program: &Program, heap: &'static str, known: &KnownDifferences) -> Vec<Trial> {
    let name = format!("{}/{heap}", program.module);
    // The whole matrix takes about an hour on two cores: ATOLL_MATRIX=full.
    let full = std::env::var_os("ATOLL_MATRIX").is_some_and(|value| value == "full");
    let mut configurations = if full { matrix(heap, program.stress) } else { quick_matrix(heap, program.stress) };
    if heap == "shared" {
        configurations.push(not_moved(heap, program.stress));
    }
    let (suite, program) = (Arc::clone(suite), program.clone());
    let check = move || suite.check(&program, &configurations);
    match known.reason(name.split('/').next().unwrap_or_default(), heap) {
        None => vec![Trial::test(name, move || check().map_err(Failed::from))],
        Some(reason) => {
            let still = check.clone();
            let shown = Trial::test(name.clone(), move || check().map_err(Failed::from));
            let guard = Trial::test(format!("{name} still differs"), move || match still() {
                Err(_) => Ok(()),
                Ok(()) => Err("it passes: remove it from tests/programs/known_differences.txt".into()),
            });
            vec![shown.with_kind(format!("known difference: {reason}")).with_ignored_flag(true), guard]
        }
    }
}

fn suite() -> Result<Vec<Trial>, String> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("differential");
    let folder = target.join("programs");
    let all = programs(&sources)?;
    let list = sources.join("known_differences.txt");
    let text = std::fs::read_to_string(&list).map_err(|error| format!("{}: {error}", list.display()))?;
    let known = KnownDifferences::parse(&text)?;
    let stale = known.stale(&all);
    if !stale.is_empty() {
        return Err(format!("{}: there is no {}", list.display(), stale.join(", ")));
    }
    compile_changed(&all, &folder)?;
    compile_libraries(&sources, &folder)?;
    let stock = Stock::find(&target.join("stock")).map_err(|error| format!("cannot run erl: {error}"))?;
    let atoll = Atoll { executable: env!("CARGO_BIN_EXE_atoll").into() };
    let suite = Arc::new(Suite { atoll, stock, folder, expected: Mutex::default() });
    let pairs = all.iter().flat_map(|program| atoll_vm::architectures().iter().map(move |heap| (program, *heap)));
    let wanted = pairs.filter(|(program, heap)| !(program.allocates && *heap == "nogc"));
    let mut trials: Vec<Trial> = wanted.flat_map(|(program, heap)| trials(&suite, program, heap, &known)).collect();
    trials.push(Trial::test("a program that differs is seen to differ", move || differs(&target)));
    Ok(trials)
}

/// Runs a program of which no two runs print the same, as those that are compared are run.
fn differs(target: &Path) -> Result<(), Failed> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/differs.erl");
    let program = Program::parse(&source, &std::fs::read_to_string(&source)?)?;
    let folder = target.join("differs");
    compile_changed(std::slice::from_ref(&program), &folder)?;
    let stock = Stock::find(&target.join("stock"))?;
    let atoll = Atoll { executable: env!("CARGO_BIN_EXE_atoll").into() };
    let suite = Suite { atoll, stock, folder, expected: Mutex::default() };
    match suite.check(&program, &quick_matrix("private", program.stress)) {
        Err(report) if report.contains("standard output differs from line 1 on") => Ok(()),
        other => Err(format!("{other:?}").into()),
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    match suite() {
        Ok(trials) => libtest_mimic::run(&arguments, trials).exit_code(),
        Err(error) => {
            eprintln!("differential: {error}");
            ExitCode::FAILURE
        }
    }
}
