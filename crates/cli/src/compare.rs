//! `atoll compare`

use std::time::Duration;

use atoll_bench::{CompareOptions as Comparison, TerminalBar, compare as run_all};

use crate::arguments::{CompareOptions, OldGeneration, Scheduler};

/// Compares; returns 1 if a contender failed.
pub fn compare(options: &CompareOptions) -> Result<i32, String> {
    let executable =
        std::env::current_exe().map_err(|error| format!("cannot find the atoll command itself: {error}"))?;
    let known = atoll_vm::architectures();
    let heaps: Vec<String> = if options.heaps.is_empty() {
        known.iter().map(|name| (*name).to_owned()).collect()
    } else {
        options.heaps.clone()
    };
    if let Some(unknown) = heaps.iter().find(|heap| !known.contains(&heap.as_str())) {
        return Err(format!("--heaps {unknown}: there is no such architecture; choose from {}", known.join(", ")));
    }
    let mut comparison = Comparison::new(executable, options.program.clone(), heaps);
    comparison.arguments = options.arguments.iter().map(Into::into).collect();
    comparison.runs = options.runs.max(1);
    comparison.with_erl = !options.no_erl;
    comparison.timeout = Some(Duration::from_secs(options.timeout.max(1)));
    comparison.otp.clone_from(&options.machine.otp);
    let machine = &options.machine;
    let numbers = [
        ("+S", machine.schedulers),
        ("+hms", machine.minimum_heap),
        ("+hmbs", machine.minimum_binary),
        ("+P", machine.processes),
    ];
    for (name, value) in numbers {
        if let Some(value) = value {
            comparison.runtime_options.extend([name.into(), value.to_string().into()]);
        }
    }
    if machine.scheduler == Scheduler::Deadline {
        comparison.atoll_options.extend(["--scheduler".into(), "deadline".into()]);
    }
    if machine.old_generation == OldGeneration::MarkSweep {
        comparison.atoll_options.extend(["--old-generation".into(), "mark-sweep".into()]);
    }
    for path in &machine.paths {
        comparison.runtime_options.extend(["-pa".into(), path.into()]);
    }
    let result = run_all(&comparison, &mut TerminalBar::new()).map_err(|error| error.to_string())?;
    println!("{}", result.table());
    if let Some(file) = &options.json {
        result.write_json(file).map_err(|error| error.to_string())?;
    }
    if let Some(file) = &options.plot {
        result.write_plot(file).map_err(|error| error.to_string())?;
        println!("plot: {}", file.display());
    }
    Ok(i32::from(result.has_failures()))
}
