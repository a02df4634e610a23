//! Crash dumps: what the machine was doing when it had to stop, in the format that OTP's `crashdump_viewer` reads.
//! Terms of processes are written last, because a machine without memory may not get that far. If a collection is
//! moving them, the dump shows only places, sizes and relations.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Builder;
use std::time::Duration;

use atoll_distribution::description;
use atoll_heap::architecture;
use atoll_platform::{environment, threads};
use atoll_process::{Own, Process, System, inspect};
use atoll_term::{Term, atoms, text};
use jiff::Zoned;

use crate::dump_limit::Limited;
use crate::dump_terms::{self, Terms, terms_of};

/// Frames of a stack that are shown.
const FRAMES: usize = 64;
/// Names the file, in the place of [`FILE`].
const FILE_VARIABLE: &str = "ERL_CRASH_DUMP";
/// Seconds that writing may take: 0 for no dump, less than 0 for no limit.
const SECONDS_VARIABLE: &str = "ERL_CRASH_DUMP_SECONDS";
/// Bytes that a dump may have: 0 for no dump, less than 0 for no limit.
const BYTES_VARIABLE: &str = "ERL_CRASH_DUMP_BYTES";
const FILE: &str = "erl_crash.dump";

/// A number that the environment gives; -1 where it gives none.
fn number_of(variable: &str) -> i64 {
    environment::get(variable).and_then(|text| text.to_str()?.parse().ok()).unwrap_or(-1)
}

/// Writes a dump to the file that the environment names. Only the first call does anything.
pub fn write(slogan: &str, terms: bool) {
    static WRITTEN: AtomicBool = AtomicBool::new(false);
    if WRITTEN.swap(true, Ordering::AcqRel) {
        return;
    }
    let (seconds, bytes) = (number_of(SECONDS_VARIABLE), number_of(BYTES_VARIABLE));
    if seconds == 0 || bytes == 0 {
        return;
    }
    if let Ok(limit @ 1..) = u64::try_from(seconds) {
        // Whatever keeps the dump from being written, the machine ends.
        let _ = threads::start(Builder::new().name("dump limit".to_owned()), move || {
            std::thread::sleep(Duration::from_secs(limit));
            atoll_platform::ending::leave(1)
        });
    }
    let name = environment::get(FILE_VARIABLE).filter(|name| !name.is_empty()).unwrap_or_else(|| FILE.into());
    let shown = name.to_string_lossy();
    eprint!("\nCrash dump is being written to: {shown}...");
    let file = match File::create(&name) {
        Ok(file) => file,
        Err(error) => return eprintln!("\natoll: {shown}: {error}"),
    };
    let mut file = Limited::new(file, u64::try_from(bytes).ok());
    let written = write_all(&mut BufWriter::new(&mut file), slogan, terms);
    match written {
        Ok(()) => eprintln!("done"),
        Err(_) if file.is_full() => eprintln!("cut at {bytes} bytes"),
        Err(error) => eprintln!("\natoll: {shown}: {error}"),
    }
}

fn write_all(out: &mut impl Write, slogan: &str, is_safe: bool) -> std::io::Result<()> {
    let terms = is_safe || architecture().is_readable();
    writeln!(out, "=erl_crash_dump:0.5\n{}", Zoned::now().strftime("%a %b %e %H:%M:%S %Y"))?;
    writeln!(out, "Slogan: {}", slogan.replace('\n', "\\n"))?;
    let atoms = atoms::atom_limit_and_count().1;
    let (version, heap) = (env!("CARGO_PKG_VERSION"), architecture().name());
    writeln!(out, "System version: Atoll {version} [heap:{heap}]\nTaints: \nAtoms: {atoms}")?;
    writeln!(out, "Calling Thread: {}", std::thread::current().name().unwrap_or("unnamed"))?;
    for (index, length) in System::get().schedule().queue_lengths().into_iter().enumerate() {
        writeln!(out, "=scheduler:{}\nRun Queue Normal Length: {length}\nCurrent Process: ", index + 1)?;
    }
    memory(out)?;
    processes(out, terms)?;
    ports(out)?;
    tables(out)?;
    out.write_all(description::text(description::each_waiting).as_bytes())?;
    modules(out)?;
    if terms {
        out.flush()?;
        all_terms(out)?;
    }
    writeln!(out, "=atoms")?;
    for atom in (0..atoms::atom_indices() as u32).rev().map(Term::atom).filter(|atom| atoms::is_made(*atom)) {
        writeln!(out, "{}", text::to_string(atom))?;
    }
    writeln!(out, "=end")?;
    out.flush()
}

/// Memory by what it is used for.
pub fn memory(out: &mut impl Write) -> std::io::Result<()> {
    writeln!(out, "=memory")?;
    atoll_bifs::memory().into_iter().try_for_each(|(kind, bytes)| writeln!(out, "{kind}: {bytes}"))
}

/// All ports.
pub fn ports(out: &mut impl Write) -> std::io::Result<()> {
    atoll_ports::each(&mut |port, state| {
        writeln!(out, "=port:{}\nState: CONNECTED\nSlot: {}", show(port.id), port.id.immediate_data())?;
        writeln!(out, "Connected: {}", show(state.connected))?;
        if !state.links.is_empty() {
            writeln!(out, "Links: {}", joined(&state.links))?;
        }
        writeln!(out, "Port controls linked-in driver: {}", port.name)?;
        writeln!(out, "Input: {}\nOutput: {}", state.input, state.output)
    })
}

fn show(term: Term) -> String {
    text::to_string(term)
}

fn joined(terms: &[Term]) -> String {
    terms.iter().map(|term| show(*term)).collect::<Vec<_>>().join(" ")
}

fn processes(out: &mut impl Write, terms: bool) -> std::io::Result<()> {
    let table = &System::get().table;
    let mut result = Ok(());
    table.each(|process| {
        if result.is_ok() {
            let mut shown = Ok(());
            let waits = process.inspect(&mut |own| shown = one_process(out, process, Some(own), terms));
            result = if waits { shown } else { one_process(out, process, None, terms) };
        }
    });
    result
}

/// A process, with what belongs to it if it waits; its stack too if its terms are not shown later.
pub fn one_process(out: &mut impl Write, process: &Process, own: Option<&mut Own>, terms: bool) -> std::io::Result<()> {
    let (mut details, mut stack) = (Vec::new(), String::new());
    let state = if own.is_some() { "Waiting" } else { "Running" };
    if let Some(own) = own {
        details_of(own, &mut details)?;
        if !terms {
            return_addresses(own, &mut stack);
        }
    }
    writeln!(out, "=proc:{}\nState: {state}", show(process.pid))?;
    if let Some(name) = System::get().name_of(process) {
        writeln!(out, "Name: {}", show(name))?;
    }
    out.write_all(&details)?;
    part(out, process, "stack", &stack)
}

/// The terms of all processes that wait.
fn all_terms(out: &mut impl Write) -> std::io::Result<()> {
    let mut result = Ok(());
    System::get().table.each(|process| {
        if result.is_ok() {
            result = terms_of_process(out, process);
        }
    });
    result
}

fn terms_of_process(out: &mut impl Write, process: &Process) -> std::io::Result<()> {
    let mut shown = Terms::default();
    process.inspect(&mut |own| shown = terms_of(own));
    part(out, process, "messages", &shown.messages)?;
    part(out, process, "dictionary", &shown.dictionary)?;
    part(out, process, "stack", &shown.stack)?;
    part(out, process, "heap", &shown.heap)
}

/// What is shown of a process in a part of its own, if there is anything.
fn part(out: &mut impl Write, process: &Process, name: &str, lines: &str) -> std::io::Result<()> {
    if lines.is_empty() {
        return Ok(());
    }
    write!(out, "=proc_{name}:{}\n{lines}", show(process.pid))
}

fn return_addresses(own: &Own, stack: &mut String) {
    for address in inspect::return_addresses(own, FRAMES) {
        stack.push_str(&dump_terms::return_line(address));
    }
}

/// What is known of a process that waits.
fn details_of(own: &mut Own, out: &mut Vec<u8>) -> std::io::Result<()> {
    if let Some(call) = own.initial_call {
        writeln!(out, "Spawned as: {}:{}/{}", show(call.module), show(call.name), call.arity)?;
    }
    if !own.parent.is_none() {
        writeln!(out, "Spawned by: {}", show(own.parent))?;
    }
    writeln!(out, "Message queue length: {}", own.mailbox.len())?;
    writeln!(out, "Number of heap fragments: 0\nHeap fragment data: 0")?;
    if let Some(rare) = own.rare.as_ref().filter(|rare| !rare.links.is_empty()) {
        writeln!(
            out,
            "Link list: [{}]",
            rare.links.as_slice().iter().map(|pid| show(*pid)).collect::<Vec<_>>().join(", ")
        )?;
    }
    let sizes = architecture().sizes(&own.mutator);
    writeln!(out, "Reductions: {}", own.reductions)?;
    writeln!(out, "Stack+heap: {}\nOldHeap: {}", sizes.young_block + sizes.stack, sizes.old_block)?;
    writeln!(out, "Heap unused: {}", sizes.young_block.saturating_sub(sizes.young_used))?;
    writeln!(out, "OldHeap unused: {}", sizes.old_block.saturating_sub(sizes.old_used))?;
    let words = sizes.young_block + sizes.stack + sizes.old_block + sizes.fragments;
    writeln!(out, "Memory: {}", words * size_of::<usize>())?;
    let place = atoll_code::frame_of(own.address.wrapping_add(1));
    let place = place.map(|place| format!(" ({}:{}/{} + 0)", show(place.module), show(place.name), place.arity));
    writeln!(out, "Program counter: {:#018x}{}", own.address.addr(), place.unwrap_or_default())?;
    writeln!(out, "Internal State: ACT_PRIO_NORMAL | USR_PRIO_NORMAL | PRQ_PRIO_NORMAL")
}

/// All ETS tables, without their objects.
pub fn tables(out: &mut impl Write) -> std::io::Result<()> {
    for (slot, table) in atoll_ets::all().into_iter().enumerate() {
        let (objects, words) = table.size();
        writeln!(out, "=ets:{}\nSlot: {slot}\nTable: {1}\nName: {1}", show(table.owner()), show(table.name()))?;
        writeln!(out, "Objects: {objects}\nWords: {words}")?;
        let kind = format!("{:?}", table.kind()).to_lowercase();
        writeln!(out, "Type: {kind}\nProtection: {}", format!("{:?}", table.protection()).to_lowercase())?;
    }
    Ok(())
}

/// All loaded modules with their sizes.
pub fn modules(out: &mut impl Write) -> std::io::Result<()> {
    let words = |code: &Option<std::sync::Arc<atoll_code::ModuleCode>>| {
        code.as_ref().map_or(0, |code| size_of_val(&*code.words))
    };
    let loaded: Vec<_> = atoll_code::loaded_modules()
        .into_iter()
        .filter_map(|name| Some((name, atoll_code::module(name)?)))
        .map(|(name, module)| (name, words(&module.current), words(&module.old)))
        .collect();
    let current: usize = loaded.iter().map(|(_, current, _)| current).sum();
    let old: usize = loaded.iter().map(|(_, _, old)| old).sum();
    writeln!(out, "=loaded_modules\nCurrent code: {current}\nOld code: {old}")?;
    for (name, current, old) in loaded {
        writeln!(out, "=mod:{}\nCurrent size: {current}", show(name))?;
        if old > 0 {
            writeln!(out, "Old size: {old}")?;
        }
    }
    Ok(())
}
