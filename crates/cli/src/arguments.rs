//! The command line. Options that begin with `+` are the runtime's, as for `erl`; they are turned into long options
//! before the rest is parsed.

use std::ffi::{OsStr, OsString};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use atoll_simulate::{Faults, PolicyKind, Schedule};
use clap::builder::{PathBufValueParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};

/// Runs Erlang and Elixir programs on the heap architecture of your choice.
#[derive(Debug, Parser)]
#[command(name = "atoll", version, about, propagate_version = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a program: calls main/1 with the arguments as strings.
    ///
    /// The exit status is 0 when main/1 returns, the program's own at halt(N), and 1, with a report on standard
    /// error, when it fails.
    Run(RunOptions),
    /// Run a program under schedules that seeds choose; the same seed runs the same schedule.
    ///
    /// The program is run as by `atoll run`, on one thread, without native code unless --native is given, and by a
    /// clock of its own: timeouts take no time. The exit status is that of the first run that failed, or 0.
    Simulate(SimulateOptions),
    /// Run a program on every architecture and on stock erl, and show what each costs.
    Compare(CompareOptions),
    /// Reproduce a published evaluation.
    Bench {
        /// Which one.
        #[command(subcommand)]
        evaluation: Evaluation,
    },
    /// Boot OTP itself: takes all options of `erl`. --heap NAME, --old-generation HOW, --native WHICH,
    /// --native-cache DIR, --otp DIR, --scheduler ORDER, --gc-stress N, --verify-heap, --check-natives and
    /// --simulate SEED may stand in front of them. ATOLL_HEAP, ATOLL_OLD_GENERATION, ATOLL_NATIVE, ATOLL_NATIVE_CACHE,
    /// ATOLL_OTP, ATOLL_SCHEDULER, ATOLL_GC_STRESS, ATOLL_VERIFY_HEAP and ATOLL_CHECK_NATIVES say the same; programs
    /// that OTP starts find them set. `atoll` with an option of `erl` as its first word is `atoll erl`.
    #[command(disable_help_flag = true)]
    Erl(OtpOptions),
    /// Compile with OTP's compiler: takes all options of `erlc`, as `atoll erl` does.
    #[command(disable_help_flag = true)]
    Erlc(OtpOptions),
    /// Run an Erlang script: takes all options of `escript`, as `atoll erl` does.
    #[command(disable_help_flag = true)]
    Escript(OtpOptions),
    /// Say which OTP was found, and what of it this machine does not have yet.
    Doctor {
        /// Folder of OTP, the one that holds `lib` [default: ATOLL_OTP, the erl on PATH, /usr/lib/erlang]
        #[arg(long, value_name = "DIR")]
        otp: Option<PathBuf>,
        /// Print only the missing functions of all known releases, one a line
        #[arg(long)]
        list: bool,
    },
    /// Show where messages are born: which sends and stores copy what they are given, and which code builds it.
    ///
    /// Says of each place that sends, spawns or stores where the parts of the term come from, with their source lines.
    /// What is built there `always` for a message can be built in the message area of `hybrid`; all else is copied.
    Analyse {
        /// Show all allocation sites, and what becomes of their objects
        #[arg(long)]
        sites: bool,
        /// Write all of it to this file
        #[arg(long, value_name = "FILE.json")]
        json: Option<PathBuf>,
        /// Folder of OTP, the one that holds `lib` [default: ATOLL_OTP, the erl on PATH, /usr/lib/erlang]
        #[arg(long, value_name = "DIR")]
        otp: Option<PathBuf>,
        /// A .beam file, a folder of them, or the name of one of OTP's applications. The modules of a folder or an
        /// application know what the others do with their arguments.
        subject: PathBuf,
    },
    /// Print the instructions of a .beam file, or the machine code of one of its functions.
    Disasm {
        /// Print the machine code that is made of the function when it is hot
        #[arg(long, requires = "function")]
        native: bool,
        /// Heap architecture for which machine code is made: private, shared, unified, hybrid or nogc
        #[arg(long, default_value = "private", value_name = "NAME", requires = "native")]
        heap: String,
        /// The file.
        file: PathBuf,
        /// With --native: the function, NAME or NAME/ARITY.
        #[arg(requires = "native")]
        function: Option<String>,
    },
}

/// Published evaluations.
#[derive(Debug, Subcommand)]
pub enum Evaluation {
    /// The tables and figures of Lim, Pardyak and Bershad (ISMM 1998) over the collectors of the treadmill crate,
    /// published figures beside measured ones. The whole takes several minutes.
    Treadmill {
        /// A short run of everything, about half a minute
        #[arg(long)]
        quick: bool,
        /// Where to write tables (CSV) and plots (SVG)
        #[arg(long, default_value = "out/treadmill", value_name = "DIR")]
        out: PathBuf,
    },
    /// The programs and figures of Feeley (2001), "A case for the unified heap approach to Erlang memory management",
    /// on all heaps and on stock erl. The whole takes about a quarter of an hour.
    Feeley {
        /// Few points, and one run of each: some minutes
        #[arg(long)]
        quick: bool,
        /// The folder of the programs
        #[arg(long, default_value = "bench/feeley", value_name = "DIR")]
        programs: PathBuf,
        /// Where to write points (CSV), curves (SVG) and the report
        #[arg(long, default_value = "out/feeley", value_name = "DIR")]
        out: PathBuf,
    },
}

/// How the shared heap collects what is old.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum OldGeneration {
    /// All that lives is copied.
    #[default]
    Copying,
    /// Nothing is moved.
    MarkSweep,
}

/// What `hybrid` puts into its message area.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Area {
    /// All lists and tuples are built there, and long messages copied there
    Always,
    /// Those of code of which analysis says that it builds long messages; feedback corrects it. Long messages
    Analysis,
    /// Lists and tuples of code whose objects turn out to be sent. Long messages
    Feedback,
    /// As feedback, but only long messages of kinds that turn out to be sent on, stored, or sent more than once
    #[default]
    Use,
    /// Long messages only
    Never,
}

/// Which functions are compiled to machine code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Native {
    /// None
    Off,
    /// Those that turn out to be hot
    #[default]
    On,
    /// All, each when it is first called: finds mistakes of the machine, slowly
    Eager,
}

/// Which process runs first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Scheduler {
    /// As in OTP: max, high, normal and low
    #[default]
    Levels,
    /// By priorities that are numbers (`atoll:process_priority/2`), then by deadlines (`atoll:deadline/2`)
    Deadline,
}

/// Options of the machine.
#[derive(Clone, Debug, Args)]
pub struct MachineOptions {
    /// Which process runs first
    #[arg(long, value_enum, default_value_t, value_name = "ORDER")]
    pub scheduler: Scheduler,
    /// Number of schedulers (also: +S N) [default: the machine's processors]
    #[arg(long = "schedulers", value_name = "N")]
    pub schedulers: Option<usize>,
    /// Initial heap of a process, in words (also: +hms W) [default: 233]
    #[arg(long = "min-heap-size", value_name = "W")]
    pub minimum_heap: Option<usize>,
    /// Initial binary heap of a process, in words (also: +hmbs W)
    #[arg(long = "min-bin-heap-size", value_name = "W")]
    pub minimum_binary: Option<usize>,
    /// Highest number of processes (also: +P N) [default: 262144]
    #[arg(long = "max-processes", value_name = "N")]
    pub processes: Option<usize>,
    /// How the shared heap collects what is old
    #[arg(long, value_enum, default_value_t, value_name = "HOW")]
    pub old_generation: OldGeneration,
    /// Which functions are compiled to machine code [default: ATOLL_NATIVE, on; off in simulated runs]
    #[arg(long, value_enum, value_name = "WHICH")]
    pub native: Option<Native>,
    /// Folder for machine code that later runs use again, or off
    /// [default: ATOLL_NATIVE_CACHE, atoll in XDG_CACHE_HOME or ~/.cache]
    #[arg(long, value_name = "DIR")]
    pub native_cache: Option<OsString>,
    /// The memory that machine code may take: 64M
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub native_limit: Option<usize>,
    /// Folder to look for modules in before OTP's libraries (also: -pa DIR); may be given several times
    #[arg(long = "path", value_name = "DIR")]
    pub paths: Vec<PathBuf>,
    /// Folder of OTP, the one that holds `lib` [default: ATOLL_OTP, the erl on PATH, /usr/lib/erlang]
    #[arg(long, value_name = "DIR")]
    pub otp: Option<PathBuf>,
}

/// `atoll run`
#[derive(Clone, Debug, Args)]
pub struct RunOptions {
    /// Heap architecture: private, shared, unified, hybrid or nogc
    #[arg(long, default_value = "private", value_name = "NAME")]
    pub heap: String,
    #[command(flatten)]
    pub machine: MachineOptions,
    /// Write what the run cost to this file, as JSON
    #[arg(long, value_name = "FILE.json", value_parser = PathBufValueParser::new().try_map(written))]
    pub stats: Option<PathBuf>,
    /// The longest time for which an incremental collector may keep a scheduler at once: 1ms, 500us
    #[arg(long, value_name = "TIME", default_value = "1ms", value_parser = pause)]
    pub max_pause: Duration,
    /// The memory that the message area of `hybrid` may have: 512M, 4G [default: as much as the machine has]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub area_limit: Option<usize>,
    /// The memory that the heap of `unified` has, which then neither grows nor shrinks: 64M, 2G, at least 8M
    /// [default: it follows what lives]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub heap_size: Option<usize>,
    /// Which lists and tuples are built in the message area of `hybrid` at once, instead of being copied there when
    /// they are sent
    #[arg(long, value_enum, default_value_t, value_name = "WHICH")]
    pub area: Area,
    /// Collect at every Nth allocation point: finds mistakes of the machine, slowly
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub gc_stress: u32,
    /// Leave one in N instructions of machine code to the interpreter: finds mistakes of the machine, slowly
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub native_exits: u32,
    /// Check the heap after every collection
    #[arg(long)]
    pub verify_heap: bool,
    /// Check the terms that native libraries make
    #[arg(long)]
    pub check_natives: bool,
    /// Name machine code for `perf`, in /tmp/perf-PID.map
    #[arg(long)]
    pub perf_map: bool,
    /// Name machine code for `gdb`
    #[arg(long)]
    pub gdb_names: bool,
    /// Print a line on standard error for every collection
    #[arg(long)]
    pub trace_gc: bool,
    /// An .erl file, a .beam file, or the name of a module
    pub program: String,
    /// Given to main/1 as strings
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub arguments: Vec<String>,
}

/// `atoll simulate`
#[derive(Clone, Debug, Args)]
pub struct SimulateOptions {
    /// Heap architecture: private, shared, unified, hybrid or nogc
    #[arg(long, default_value = "private", value_name = "NAME")]
    pub heap: String,
    #[command(flatten)]
    pub machine: MachineOptions,
    /// The seed of a single run [default: 1]
    #[arg(long, value_name = "N", conflicts_with = "seeds")]
    pub seed: Option<u64>,
    /// The seeds of many runs, from A to B, both included
    #[arg(long, value_name = "A..B", value_parser = seeds)]
    pub seeds: Option<RangeInclusive<u64>>,
    /// Decisions of another run, as they were printed
    #[arg(long, value_name = "TURNS", conflicts_with_all = ["seed", "seeds", "until"])]
    pub schedule: Option<Schedule>,
    /// What goes wrong beside, with a comma between them: kill:RATE:FIRST and timeout:RATE, each at one of RATE
    /// decisions, but no process with a lower pid than FIRST is killed; delay:RATE (one of RATE signals is late),
    /// io:RATE (of operations on files and sockets), alloc:RATE (memory is refused). RATE may be left out
    #[arg(long, default_value = "", hide_default_value = true, value_name = "FAULTS", value_parser = faults)]
    pub faults: Faults,
    /// Who decides: random, round-robin, pct:DEPTH:STEPS (probabilistic concurrency testing), exhaustive
    /// (all schedules that differ) or exhaustive:DELAYS (all with so few delays)
    #[arg(long, default_value = "random", value_name = "POLICY")]
    pub policy: PolicyKind,
    /// Stop at the first run that fails [default seeds: a thousand]
    #[arg(long, value_enum, value_name = "WHAT")]
    pub until: Option<Until>,
    /// Print what processes did to each other in the run; after `--until fail` it is printed anyway
    #[arg(long)]
    pub story: bool,
    /// Draw that as a sequence diagram
    #[arg(long, value_name = "FILE.svg")]
    pub svg: Option<PathBuf>,
    /// Longest time for finding a smaller schedule that fails as well, in seconds; 0: keep the one that was found
    #[arg(long, default_value_t = 20, value_name = "SECONDS")]
    pub shrink: u64,
    /// A process that ends by an error, or logs one, is no failure
    #[arg(long)]
    pub may_crash: bool,
    /// A run fails that asks for what is not repeated: ports, sockets, files, native libraries, standard input
    #[arg(long)]
    pub strict: bool,
    /// Schedules begin where the program calls atoll_simulate:begins(); what it does before is the same in each run
    #[arg(long)]
    pub from_mark: bool,
    /// Most decisions of one run
    #[arg(long, default_value_t = 10_000_000, value_name = "N")]
    pub limit: usize,
    /// Longest real time of one run, in seconds
    #[arg(long, default_value_t = 60, value_name = "SECONDS")]
    pub timeout: u64,
    /// Collect at every Nth allocation point
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub gc_stress: u32,
    /// Check the heap after every collection
    #[arg(long)]
    pub verify_heap: bool,
    /// An .erl file, a .beam file, or the name of a module; or `eunit`, then files or names of modules with tests; or
    /// `ct` and suites (.erl files); or `exunit` and files of tests (.exs); or `erl` and its options: all of OTP
    pub program: String,
    /// Given to main/1 as strings
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub arguments: Vec<String>,
}

/// When many runs stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Until {
    /// At the first that fails: by its exit status, a crash of a process, a deadlock or an assertion
    Fail,
}

/// Options of OTP's programs; they are taken before these are parsed, and stand here to be shown.
#[derive(Clone, Debug, Args)]
pub struct OtpOptions {
    /// As for OTP's program of this name
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub words: Vec<OsString>,
}

/// `atoll compare`
#[derive(Clone, Debug, Args)]
pub struct CompareOptions {
    /// Architectures to compare, with commas between them [default: all]
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    pub heaps: Vec<String>,
    /// Runs of each
    #[arg(long, default_value_t = 5, value_name = "N")]
    pub runs: usize,
    /// Leave stock erl out
    #[arg(long)]
    pub no_erl: bool,
    #[command(flatten)]
    pub machine: MachineOptions,
    /// Longest time for one run, in seconds
    #[arg(long, default_value_t = 600, value_name = "SECONDS")]
    pub timeout: u64,
    /// Write all figures to this file
    #[arg(long, value_name = "FILE.json")]
    pub json: Option<PathBuf>,
    /// Draw the comparison into this file
    #[arg(long, value_name = "FILE.svg")]
    pub plot: Option<PathBuf>,
    /// An .erl file, a .beam file, or the name of a module
    pub program: String,
    /// Given to main/1 as strings
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub arguments: Vec<String>,
}

/// Runtime options and the long options that they stand for.
const RUNTIME: [(&str, &str); 4] =
    [("+S", "--schedulers"), ("+hms", "--min-heap-size"), ("+hmbs", "--min-bin-heap-size"), ("+P", "--max-processes")];

/// Long options without a value.
const FLAGS: [&str; 11] = [
    "story",
    "verify-heap",
    "may-crash",
    "check-natives",
    "perf-map",
    "gdb-names",
    "trace-gc",
    "sites",
    "no-erl",
    "help",
    "version",
];

/// Turns `+X N` and `-pa DIR` in front of the program's name into long options.
///
/// # Errors
/// An option that begins with `+` and is not known.
pub fn split(words: impl Iterator<Item = String>) -> Result<Vec<String>, String> {
    let mut words: Vec<String> = words.collect();
    let mut index = 2;
    while index < words.len() {
        let word = words[index].clone();
        if word == "--" {
            break;
        }
        if word == "-pa" {
            words[index] = "--path".to_owned();
            index += 2;
        } else if word.starts_with('+') {
            let known = RUNTIME.iter().find(|(short, _)| *short == word);
            let Some((_, long)) = known else {
                let names = RUNTIME.map(|(short, _)| short).join(", ");
                return Err(format!("{word}: unknown runtime option; known are {names}"));
            };
            words[index] = (*long).to_owned();
            index += 2;
        } else if let Some(option) = word.strip_prefix("--") {
            let flag = FLAGS.contains(&option);
            index += if flag || option.contains('=') { 1 } else { 2 };
        } else if word.starts_with('-') {
            index += 1;
        } else {
            break;
        }
    }
    Ok(words)
}

/// Limits of the message area in bytes.
const LEAST_AREA: usize = 4 << 20;
const MOST_AREA: usize = 1 << 40;

/// Bytes with their unit: `512M`.
pub fn size(text: &str) -> Result<usize, String> {
    let wanted = "a number of bytes from 4M up is wanted, as 512M or 4G";
    let digits = text.trim_end_matches(|letter: char| !letter.is_ascii_digit());
    let number: usize = digits.parse().map_err(|_| wanted.to_owned())?;
    let shift = match &text[digits.len()..] {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return Err(wanted.to_owned()),
    };
    let bytes = number.checked_mul(1 << shift).filter(|bytes| (LEAST_AREA..=MOST_AREA).contains(bytes));
    bytes.ok_or_else(|| wanted.to_owned())
}

/// None unless some are named.
fn faults(text: &str) -> Result<Faults, String> {
    if text.is_empty() { Ok(Faults::default()) } else { text.parse() }
}

/// Seeds as `A..B`, both included.
fn seeds(text: &str) -> Result<RangeInclusive<u64>, String> {
    let numbers = text.split_once("..").and_then(|(first, last)| Some((first.parse().ok()?, last.parse().ok()?)));
    let seeds = numbers.filter(|(first, last)| first <= last).map(|(first, last): (u64, u64)| first..=last);
    seeds.ok_or_else(|| "two numbers are wanted, as 1..1000".to_owned())
}

/// A file to be written: a program that stands behind an option whose file was forgotten must not be overwritten.
pub fn written(file: PathBuf) -> Result<PathBuf, String> {
    match file.extension().and_then(OsStr::to_str) {
        Some("beam" | "erl" | "ex" | "exs") => {
            Err("a file to write to is wanted here, and this looks like the program".to_owned())
        }
        _ => Ok(file),
    }
}

/// A time with its unit: `1ms`, `250us`.
pub fn pause(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|letter: char| !letter.is_ascii_digit());
    let number: u64 = digits.parse().map_err(|_| "a number with a unit is wanted, as 1ms or 500us".to_owned())?;
    match &text[digits.len()..] {
        "us" => Ok(Duration::from_micros(number)),
        "ms" => Ok(Duration::from_millis(number)),
        "s" => Ok(Duration::from_secs(number)),
        _ => Err("the unit is us, ms or s".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(size("512M"), Ok(512 << 20));
        assert_eq!(size("4194304"), Ok(4 << 20));
        for wrong in ["", "M", "1M", "1.5G", "3X", "99999999999999999999", "9999999999T"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_program_is_not_taken_for_the_file_of_statistics() {
        let stats = |line: &str| {
            let Command::Run(options) =
                Cli::try_parse_from(line.split(' ')).map_err(|error| error.to_string())?.command
            else {
                return Err("not run".to_owned());
            };
            Ok(options.stats)
        };
        assert_eq!(stats("atoll run --stats s.json prog.beam 5"), Ok(Some(PathBuf::from("s.json"))));
        let error = stats("atoll run --stats prog.beam 5").unwrap_err();
        assert!(error.contains("prog.beam") && error.contains("a file to write to"), "{error}");
    }

    fn split_words(line: &str) -> Result<Vec<String>, String> {
        split(line.split(' ').map(str::to_owned))
    }

    #[test]
    fn runtime_options_stand_before_the_program_only() {
        let words = split_words("atoll run --heap shared +S 2 -pa x prog.erl +S 9 -pa y").unwrap();
        assert_eq!(words.join(" "), "atoll run --heap shared --schedulers 2 --path x prog.erl +S 9 -pa y");
        let Command::Run(options) = Cli::parse_from(words).command else { panic!("not run") };
        assert_eq!(options.machine.schedulers, Some(2));
        assert_eq!(options.arguments, ["+S", "9", "-pa", "y"]);
    }

    #[test]
    fn nothing_behind_two_dashes_is_an_option() {
        let words = split_words("atoll simulate -pa x -- erl -noinput -pa y +S 2").unwrap();
        assert_eq!(words.join(" "), "atoll simulate --path x -- erl -noinput -pa y +S 2");
    }

    #[test]
    fn unknown_runtime_options_are_refused() {
        assert!(split_words("atoll run +Q 3 p.erl").unwrap_err().contains("+Q"));
    }
}
