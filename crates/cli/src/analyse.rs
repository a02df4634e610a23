//! `atoll analyse`

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use atoll_analysis::{Analysis, Kind, Outside, Site, Summary, Verdict, Ways, analyse_among, births, exits, line_of};
use atoll_loader::{Import, Instruction, Module};
use serde::Serialize;

use crate::disasm::print;

/// Rounds in which the modules of an application learn from each other. Each result is sound; later ones know more.
const ROUNDS: usize = 3;

/// A place in a source file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Place {
    module: String,
    /// Name and arity.
    function: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
}

/// An allocation site.
#[derive(Clone, Debug, Serialize)]
struct Born {
    #[serde(flatten)]
    place: Place,
    builds: &'static str,
    verdict: &'static str,
    /// They may go from one round of a recursion to the next, as what accumulates a list does.
    grows: bool,
    /// How its objects may leave their process.
    ways: Vec<&'static str>,
}

/// A part of a message that is not built in this module.
#[derive(Clone, Debug, Serialize)]
struct Given {
    #[serde(flatten)]
    place: Place,
    what: String,
}

/// A place where a term leaves its process.
#[derive(Clone, Debug, Serialize)]
struct Exit {
    #[serde(flatten)]
    place: Place,
    /// `!` or the function that is called.
    by: String,
    /// Not all parts of the term can be built in the message area.
    copies: bool,
    born: Vec<Born>,
    given: Vec<Given>,
}

/// How many sites have which verdict.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Counts {
    always: usize,
    perhaps: usize,
    /// Of those, the ones whose objects leave in exceptions only.
    by_exception: usize,
    never: usize,
}

/// What is said of a module.
#[derive(Clone, Debug, Serialize)]
struct Report {
    module: String,
    counts: Counts,
    exits: Vec<Exit>,
    sites: Vec<Born>,
}

/// Analyses a file, a folder or an application, and prints what was found.
pub fn analyse(subject: &Path, otp: Option<&Path>, sites: bool, json: Option<&Path>) -> Result<i32, String> {
    let mut modules = Vec::new();
    for file in files(subject, otp)? {
        let name = file.display();
        let bytes = std::fs::read(&file).map_err(|error| format!("{name}: {error}"))?;
        modules.push(atoll_loader::load(&bytes).map_err(|error| format!("{name}: {error}"))?);
    }
    let known = learn(&modules);
    let reports: Vec<Report> = modules.iter().map(|module| report(module, &known)).collect();
    if let Some(file) = json {
        let text = serde_json::to_string_pretty(&reports).map_err(|error| error.to_string())?;
        std::fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    let mut text = String::new();
    for report in &reports {
        show(report, sites, &mut text).map_err(|error| error.to_string())?;
    }
    print(&text)
}

/// The `.beam` files that are meant.
fn files(subject: &Path, otp: Option<&Path>) -> Result<Vec<PathBuf>, String> {
    if subject.is_file() {
        return Ok(vec![subject.to_owned()]);
    }
    let name = subject.display();
    let folder = if subject.is_dir() { subject.to_owned() } else { application(subject, otp)? };
    let inner = folder.join("ebin");
    let folder = if inner.is_dir() { inner } else { folder };
    let entries = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let files = entries.flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = files.filter(|file| file.extension().is_some_and(|end| end == "beam")).collect();
    files.sort();
    if files.is_empty() { Err(format!("{name}: {} holds no .beam files", folder.display())) } else { Ok(files) }
}

/// The folder of one of OTP's applications, whatever its version.
fn application(name: &Path, otp: Option<&Path>) -> Result<PathBuf, String> {
    let missing = || format!("{}: no such file, and no application of OTP", name.display());
    let root = atoll_vm::find_otp(otp).ok_or_else(missing)?;
    let wanted = name.to_str().ok_or_else(missing)?;
    let entries = std::fs::read_dir(root.join("lib")).map_err(|_| missing())?;
    let is_it = |folder: &PathBuf| {
        let found = folder.file_name().and_then(|found| found.to_str());
        found.is_some_and(|found| found.split('-').next() == Some(wanted))
    };
    entries.flatten().map(|entry| entry.path()).filter(is_it).max().ok_or_else(missing)
}

/// Functions that other modules call, by module, name and arity.
type Known = HashMap<(String, String, u8), Summary>;

/// What the modules of an application know of each other.
fn learn(modules: &[Module]) -> Known {
    let mut known = Known::new();
    if modules.len() == 1 {
        return known;
    }
    for _ in 0..ROUNDS {
        let mut next = Known::new();
        for module in modules {
            let analysis = analyse_knowing(module, &known);
            for export in &module.exports {
                let Some(place) = module.functions.iter().position(|function| function.entry == export.label) else {
                    continue;
                };
                let name = (module.name().to_owned(), module.atom(export.name).to_owned(), export.arity);
                next.insert(name, analysis.summary(module, place));
            }
        }
        known = next;
    }
    known
}

fn find<'k>(known: &'k Known, module: &str, name: &str, arity: u8) -> Option<&'k Summary> {
    known.get(&(module.to_owned(), name.to_owned(), arity))
}

fn analyse_knowing(module: &Module, known: &Known) -> Analysis {
    analyse_among(module, |_, _| false, &|owner, name, arity| find(known, owner, name, arity))
}

fn report(module: &Module, known: &Known) -> Report {
    let analysis = analyse_knowing(module, known);
    let mut counts = Counts::default();
    for site in &analysis.sites {
        match site.verdict {
            Verdict::Always => counts.always += 1,
            Verdict::Perhaps => counts.perhaps += 1,
            Verdict::Never => counts.never += 1,
        }
        counts.by_exception += usize::from(site.ways == Ways::FAILED);
    }
    let exits = exits(module).into_iter().map(|index| exit(module, known, &analysis, index)).collect();
    let sites = analysis.sites.iter().map(|site| born(module, site)).collect();
    Report { module: module.name().to_owned(), counts, exits, sites }
}

fn exit(module: &Module, known: &Known, analysis: &Analysis, index: u32) -> Exit {
    let births = births(module, index, &|owner, name, arity| find(known, owner, name, arity));
    let sites: Vec<&Site> = births.sites.iter().filter_map(|index| analysis.site(*index)).collect();
    let in_area = |site: &&Site| site.verdict == Verdict::Always && matches!(site.kind, Kind::Cons | Kind::Tuple);
    let mut given: Vec<Given> = Vec::new();
    for (function, argument) in births.arguments {
        let start = module.functions[function as usize].start;
        let what = format!("argument {} from callers elsewhere", argument + 1);
        given.push(Given { place: place(module, start + 1), what });
    }
    for (index, outside) in births.outside {
        if matches!(outside, Outside::Call(import) if is_small(module, &module.imports[import as usize])) {
            continue;
        }
        let what = match outside {
            Outside::Call(import) => format!("result of {}", text(module, &module.imports[import as usize])),
            Outside::Fun => "result of a fun".to_owned(),
            Outside::Message => "received message".to_owned(),
        };
        given.push(Given { place: place(module, index), what });
    }
    let by = match &module.code[index as usize] {
        Instruction::CallExt { target, .. }
        | Instruction::CallExtLast { target, .. }
        | Instruction::CallExtOnly { target, .. } => text(module, &module.imports[target.0 as usize]),
        _ => "!".to_owned(),
    };
    Exit {
        place: place(module, index),
        by,
        copies: !given.is_empty() || !sites.iter().all(in_area),
        born: sites.into_iter().map(|site| born(module, site)).collect(),
        given,
    }
}

/// Whether a function's result is a number, an atom or an identifier: nothing to look for in a message.
fn is_small(module: &Module, import: &Import) -> bool {
    const SMALL: [&str; 12] = [
        "list_to_integer",
        "binary_to_integer",
        "make_ref",
        "monitor",
        "monotonic_time",
        "unique_integer",
        "system_time",
        "whereis",
        "node",
        "list_to_atom",
        "list_to_existing_atom",
        "phash2",
    ];
    module.atom(import.module) == "erlang" && SMALL.contains(&module.atom(import.name))
}

fn text(module: &Module, import: &Import) -> String {
    format!("{}:{}/{}", module.atom(import.module), module.atom(import.name), import.arity)
}

fn place(module: &Module, index: u32) -> Place {
    let inside = module.functions.iter().find(|function| function.start <= index && index < function.end);
    let function =
        inside.map_or(String::new(), |function| format!("{}/{}", module.atom(function.name), function.arity));
    let known = line_of(module, index);
    Place {
        module: module.name().to_owned(),
        function,
        file: known.map(|(file, _)| file.to_owned()),
        line: known.map(|(_, line)| line),
    }
}

fn born(module: &Module, site: &Site) -> Born {
    let builds = match site.kind {
        Kind::Cons => "list cell",
        Kind::Tuple => "tuple",
        Kind::Record => "record",
        Kind::Fun => "fun",
        Kind::Map => "map",
        Kind::Binary => "binary",
    };
    let verdict = match site.verdict {
        Verdict::Always => "always",
        Verdict::Perhaps => "perhaps",
        Verdict::Never => "never",
    };
    Born { place: place(module, site.index), builds, verdict, grows: site.grows, ways: site.ways.names().collect() }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line} {}", self.module, self.function),
            None => write!(f, "{} {}", self.module, self.function),
        }
    }
}

fn show(report: &Report, sites: bool, out: &mut String) -> std::fmt::Result {
    let Counts { always, perhaps, by_exception, never } = report.counts;
    writeln!(
        out,
        "{}: {} allocation sites: {always} always become messages, {perhaps} perhaps ({by_exception} of them by an \
         exception only), {never} never",
        report.module,
        report.sites.len()
    )?;
    for exit in &report.exits {
        let what = if exit.copies { "copies" } else { "copies nothing" };
        writeln!(out, "  {}  {}  {what}", exit.place, exit.by)?;
        let born = exit
            .born
            .iter()
            .map(|born| format!("    born at {}: {}, {}{}", born.place, born.builds, born.verdict, others(born)));
        show_runs(born, out)?;
        let given = exit.given.iter().map(|given| format!("    given at {}: {}", given.place, given.what));
        show_runs(given, out)?;
    }
    if sites {
        writeln!(out, "  all sites")?;
        let all = report.sites.iter().map(|born| {
            let ways = if born.ways.is_empty() { "stays".to_owned() } else { born.ways.join(", ") };
            format!("    {}: {}, {} ({ways})", born.place, born.builds, born.verdict)
        });
        show_runs(all, out)?;
    }
    Ok(())
}

/// Prints lines; those that are repeated once, with their number.
fn show_runs(lines: impl Iterator<Item = String>, out: &mut String) -> std::fmt::Result {
    let mut runs: Vec<(String, usize)> = Vec::new();
    for line in lines {
        match runs.last_mut() {
            Some((last, count)) if *last == line => *count += 1,
            _ => runs.push((line, 1)),
        }
    }
    for (line, count) in runs {
        match count {
            1 => writeln!(out, "{line}")?,
            _ => writeln!(out, "{line}, {count} times")?,
        }
    }
    Ok(())
}

/// The ways of a site that is not sent always, other than in exceptions.
fn others(born: &Born) -> String {
    if born.verdict == "always" {
        return String::new();
    }
    let ways: Vec<&str> = born.ways.iter().copied().filter(|way| *way != "exception").collect();
    format!(" ({})", ways.join(", "))
}
