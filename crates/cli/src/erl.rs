//! `atoll erl`, and what `atoll erlc` and `atoll escript` share with it: OTP is booted with the words of an `erl`
//! command line. Atoll's own options may stand in front of them, or in variables of the environment, where programs
//! that Atoll starts find them again: a node that another one starts (`peer`) has the same heap.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use atoll_vm::{Options, Simulated};
use clap::ValueEnum;

use crate::arguments::{Area, OldGeneration, Scheduler, pause, size, written};
use crate::native;
use crate::run::{built_in, check_heap_size, order};

/// The options without a value.
const VERIFY: &str = "--verify-heap";
const CHECK_NATIVES: &str = "--check-natives";
const PERF_MAP: &str = "--perf-map";
const GDB_NAMES: &str = "--gdb-names";

/// Atoll's own options and the variables that say the same. `--stats` has none: a node that another one starts would
/// write the same file.
const OWN: [(&str, &str); 18] = [
    ("--heap", "ATOLL_HEAP"),
    ("--native", "ATOLL_NATIVE"),
    ("--native-cache", native::CACHE),
    ("--old-generation", "ATOLL_OLD_GENERATION"),
    ("--otp", "ATOLL_OTP"),
    ("--scheduler", "ATOLL_SCHEDULER"),
    ("--root", "ATOLL_ROOT"),
    ("--gc-stress", "ATOLL_GC_STRESS"),
    (VERIFY, "ATOLL_VERIFY_HEAP"),
    (CHECK_NATIVES, "ATOLL_CHECK_NATIVES"),
    ("--simulate", "ATOLL_SIMULATE"),
    ("--area", "ATOLL_AREA"),
    ("--area-limit", "ATOLL_AREA_LIMIT"),
    ("--heap-size", "ATOLL_HEAP_SIZE"),
    ("--max-pause", "ATOLL_MAX_PAUSE"),
    (PERF_MAP, "ATOLL_PERF_MAP"),
    (GDB_NAMES, "ATOLL_GDB_NAMES"),
    ("--stats", ""),
];

/// Takes Atoll's own options from the front of the words.
///
/// # Errors
/// A value is missing or not one of those that there are.
pub fn own_options(mut words: Vec<OsString>) -> Result<(Options, Vec<OsString>), String> {
    let (program, native_cache) = (std::env::current_exe().ok(), native::cache(None));
    let mut options = Options { program, native_cache, ..Options::default() };
    for (name, variable) in OWN {
        if let Some(value) = std::env::var_os(variable).filter(|value| !value.is_empty()) {
            set(&mut options, name, &value).map_err(|error| format!("{variable}: {error}"))?;
        }
    }
    let own = |word: Option<&OsString>| OWN.into_iter().find(|(name, _)| word.is_some_and(|word| word == *name));
    while let Some((name, variable)) = own(words.first()) {
        let is_flag = matches!(name, VERIFY | CHECK_NATIVES | PERF_MAP | GDB_NAMES);
        let value = match is_flag {
            true => "1".into(),
            false => words.get(1).cloned().ok_or_else(|| format!("{name}: a value is missing"))?,
        };
        set(&mut options, name, &value)?;
        if !variable.is_empty() {
            options.handed_on.push((variable.into(), value));
        }
        words.drain(..if is_flag { 1 } else { 2 });
    }
    check_heap_size(&options)?;
    Ok((options, words))
}

fn set(options: &mut Options, name: &str, value: &OsStr) -> Result<(), String> {
    let text = value.to_string_lossy();
    match name {
        "--heap" => options.heap = text.into_owned(),
        "--root" => options.root = Some(PathBuf::from(value)),
        "--native" => options.native = Some(native::named(&text)?),
        "--native-cache" => options.native_cache = native::cache(Some(value)),
        "--otp" => options.otp = Some(PathBuf::from(value)),
        "--gc-stress" => options.stress = text.parse().map_err(|_| format!("{name} {text}: not a number"))?,
        VERIFY => options.verify = true,
        "--scheduler" => {
            let scheduler = Scheduler::from_str(&text, false);
            options.order = order(scheduler.map_err(|_| format!("{name} {text}: choose levels or deadline"))?);
        }
        "--simulate" => {
            let seed = text.parse().map_err(|_| format!("{name} {text}: a seed is a number"))?;
            options.scheduling = Some(Simulated::seeded(seed));
        }
        CHECK_NATIVES => options.check_natives = true,
        PERF_MAP => options.perf_map = true,
        GDB_NAMES => options.gdb_names = true,
        "--stats" => {
            options.statistics =
                Some(written(PathBuf::from(value)).map_err(|error| format!("{name} {text}: {error}"))?);
        }
        "--area" => {
            let area = Area::from_str(&text, false);
            let area = area.map_err(|_| format!("{name} {text}: choose always, analysis, feedback, use or never"))?;
            options.area = built_in(area);
        }
        "--area-limit" => options.area_limit = Some(size(&text).map_err(|error| format!("{name} {text}: {error}"))?),
        "--heap-size" => options.heap_size = Some(size(&text).map_err(|error| format!("{name} {text}: {error}"))?),
        "--max-pause" => options.longest_pause = pause(&text).map_err(|error| format!("{name} {text}: {error}"))?,
        _ => {
            let how = OldGeneration::from_str(&text, false);
            let how = how.map_err(|_| format!("{name} {text}: choose copying or mark-sweep"))?;
            options.mark_sweep = how == OldGeneration::MarkSweep;
        }
    }
    Ok(())
}

/// Whether these are the words of `erl` without its name in front, as programs start nodes with what `init` gives them
/// as `progname`, which is this executable.
pub fn is_command_line(first: &OsStr) -> bool {
    let flag = first.as_encoded_bytes().first().is_some_and(|byte| matches!(byte, b'-' | b'+'));
    flag && !["-h", "--help", "-V", "--version"].iter().any(|own| first == *own)
}

/// Boots OTP; returns the exit status.
///
/// # Errors
/// What keeps it from starting.
pub fn boot(options: Options, words: Vec<OsString>) -> Result<i32, String> {
    atoll_vm::erl::run(options, words).map_err(|error| error.to_string())
}

/// `atoll erl`
pub fn erl(words: Vec<OsString>) -> Result<i32, String> {
    let (options, words) = own_options(words)?;
    boot(options, words)
}

#[cfg(test)]
mod tests {
    use atoll_vm::BuildInArea;

    use super::*;

    fn taken(words: &str) -> Result<(Options, Vec<OsString>), String> {
        own_options(words.split(' ').map(OsString::from).collect())
    }

    #[test]
    fn own_options_are_taken_and_handed_on() {
        let (options, rest) = taken("--heap shared --verify-heap --gc-stress 3 -s m --heap x").unwrap();
        assert_eq!((options.heap.as_str(), options.verify, options.stress), ("shared", true, 3));
        assert_eq!(rest, ["-s", "m", "--heap", "x"]);
        let handed = [("ATOLL_HEAP", "shared"), ("ATOLL_VERIFY_HEAP", "1"), ("ATOLL_GC_STRESS", "3")];
        assert_eq!(options.handed_on, handed.map(|(name, value)| (name.into(), value.into())));
        assert!(taken("--heap").is_err() && taken("--gc-stress often").is_err());
        let (options, rest) = taken("--stats f --area always --max-pause 2ms --perf-map -s m").unwrap();
        assert_eq!(options.statistics, Some(PathBuf::from("f")));
        assert_eq!((options.area, options.longest_pause.as_millis()), (BuildInArea::Always, 2));
        assert_eq!((options.perf_map, rest.len(), options.handed_on.len()), (true, 2, 3), "not the file");
        assert!(
            taken("--stats m.beam -s m").is_err()
                && taken("--area none").is_err()
                && taken("--max-pause 2").is_err()
                && taken("--heap-size x").is_err()
        );
        assert!(taken("--heap-size 64M").is_err() && taken("--heap-size 64M --heap unified").is_ok());
    }

    #[test]
    fn words_of_erl_are_told_from_atolls() {
        for word in ["-noshell", "+S", "--heap"] {
            assert!(is_command_line(OsStr::new(word)), "{word}");
        }
        for word in ["run", "--help", "-V", ""] {
            assert!(!is_command_line(OsStr::new(word)), "{word}");
        }
    }
}
