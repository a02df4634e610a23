//! What `atoll simulate` runs: a program, or the tests of EUnit, Common Test and ExUnit.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use atoll_simulate::Subject;
use atoll_vm::Program;

use crate::arguments::SimulateOptions;

/// What the command line asks for, and what is kept on disk meanwhile.
pub fn subject(given: &SimulateOptions) -> Result<(Subject, Vec<Program>), String> {
    let files = &given.arguments;
    match given.program.as_str() {
        "erl" => Ok((Subject::Otp(files.iter().map(OsString::from).collect(), None), Vec::new())),
        "eunit" if !files.is_empty() => {
            let program = Program::tests(files).map_err(|error| error.to_string())?;
            Ok((Subject::Program(program, files.clone()), Vec::new()))
        }
        "ct" if !files.is_empty() => common_test(files),
        "exunit" if !files.is_empty() => Ok((ex_unit(files)?, Vec::new())),
        program => {
            let program = Program::prepare(program).map_err(|error| error.to_string())?;
            Ok((Subject::Program(program, files.clone()), Vec::new()))
        }
    }
}

/// A text as Erlang writes it.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Suites, by `ct:run_test/1`. Its log goes into a folder that is empty at first, and the machine's exit status says
/// whether a case failed.
fn common_test(suites: &[String]) -> Result<(Subject, Vec<Program>), String> {
    let mut words: Vec<OsString> = vec!["-noinput".into()];
    let (mut made, mut tests) = (Vec::new(), Vec::new());
    for suite in suites {
        let program = Program::prepare(suite).map_err(|error| error.to_string())?;
        let folder = program.folder.clone().unwrap_or_else(|| PathBuf::from("."));
        words.extend(["-pa".into(), folder.clone().into_os_string()]);
        let (folder, module) = (quoted(&folder.to_string_lossy()), &program.module);
        tests.push(format!("[{{dir, {folder}}}, {{suite, '{module}'}}]"));
        made.push(program);
    }
    // Of the same length each time: it is part of what is logged, and to write it costs reductions.
    let log = std::env::temp_dir().join(format!("atoll-{:010}-log", std::process::id()));
    let run = format!(
        "Run = fun(Test) -> case ct:run_test(Test ++ [{{auto_compile, false}}, {{logdir, {}}}]) of \
         {{_, 0, {{_, 0}}}} -> 0; Other -> io:format(\"~p~n\", [Other]), 1 end end, \
         halt(lists:max([Run(Test) || Test <- [{}]])).",
        quoted(&log.to_string_lossy()),
        tests.join(", ")
    );
    words.extend(["-eval".into(), run.into()]);
    Ok((Subject::Otp(words, Some(log)), made))
}

/// Files of tests, by Elixir, whose libraries are found through the `elixir` on PATH. `test_helper.exs` beside the
/// first file comes first, as with Mix; without one ExUnit is started as it would do.
fn ex_unit(files: &[String]) -> Result<Subject, String> {
    let missing = || "exunit: there is no `elixir` on PATH".to_owned();
    let paths = std::env::var_os("PATH").ok_or_else(missing)?;
    let elixir = std::env::split_paths(&paths).map(|folder| folder.join("elixir")).find(|file| file.is_file());
    let elixir = elixir.and_then(|file| file.canonicalize().ok()).ok_or_else(missing)?;
    let library = elixir.parent().and_then(Path::parent).ok_or_else(missing)?.join("lib");
    let mut words: Vec<OsString> = vec!["-noinput".into(), "-pa".into()];
    for application in ["elixir", "ex_unit", "eex", "logger", "mix", "iex"] {
        words.push(library.join(application).join("ebin").into_os_string());
    }
    words.extend(["-s", "elixir", "start_cli", "-extra"].map(OsString::from));
    let helper = Path::new(&files[0]).with_file_name("test_helper.exs");
    match helper.is_file() {
        true => words.extend(["-r".into(), helper.into_os_string()]),
        false => words.extend(["-e", "ExUnit.start()"].map(OsString::from)),
    }
    for file in files {
        if !Path::new(file).is_file() {
            return Err(format!("{file}: no such file"));
        }
        words.extend(["-r".into(), file.into()]);
    }
    Ok(Subject::Otp(words, None))
}
