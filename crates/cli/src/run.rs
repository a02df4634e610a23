//! `atoll run`

use atoll_vm::{BuildInArea, Options, Order, Program};

use crate::arguments::{Area, MachineOptions, OldGeneration, RunOptions, Scheduler};
use crate::native;

/// The machine's options from the command line's.
pub(crate) fn machine_options(machine: &MachineOptions) -> Result<Options, String> {
    let mut options = Options::default();
    if let Some(schedulers) = machine.schedulers {
        if !(1..=1024).contains(&schedulers) {
            return Err(format!("+S {schedulers}: give a number from 1 to 1024"));
        }
        options.schedulers = schedulers;
    }
    options.minimum_heap_words = machine.minimum_heap.unwrap_or(options.minimum_heap_words);
    options.minimum_binary_words = machine.minimum_binary.unwrap_or(options.minimum_binary_words);
    options.order = order(machine.scheduler);
    options.mark_sweep = machine.old_generation == OldGeneration::MarkSweep;
    options.native = machine.native.map(native::of).map_or_else(native::by_environment, |chosen| Ok(Some(chosen)))?;
    options.native_cache = native::cache(machine.native_cache.as_deref());
    options.native_limit = machine.native_limit.unwrap_or(options.native_limit);
    options.processes = machine.processes.unwrap_or(options.processes);
    options.code_path.clone_from(&machine.paths);
    options.otp.clone_from(&machine.otp);
    Ok(options)
}

/// The order of run queues.
pub(crate) fn order(scheduler: Scheduler) -> Order {
    match scheduler {
        Scheduler::Levels => Order::Levels,
        Scheduler::Deadline => Order::Urgency,
    }
}

/// What is built in the message area.
pub(crate) fn built_in(area: Area) -> BuildInArea {
    match area {
        Area::Always => BuildInArea::Always,
        Area::Analysis => BuildInArea::Analysis,
        Area::Feedback => BuildInArea::Feedback,
        Area::Use => BuildInArea::Use,
        Area::Never => BuildInArea::Never,
    }
}

/// A fixed size is refused for heaps that have none.
pub(crate) fn check_heap_size(options: &Options) -> Result<(), String> {
    if options.heap_size.is_some() && options.heap != "unified" {
        return Err("--heap-size: only the heap `unified` has a fixed size on request".to_owned());
    }
    Ok(())
}

/// Runs a program; returns its exit status.
pub fn run(run: &RunOptions) -> Result<i32, String> {
    let mut options = machine_options(&run.machine)?;
    options.heap.clone_from(&run.heap);
    options.statistics.clone_from(&run.stats);
    options.stress = run.gc_stress;
    options.verify = run.verify_heap;
    options.check_natives = run.check_natives;
    options.perf_map = run.perf_map;
    options.gdb_names = run.gdb_names;
    options.native_exits = run.native_exits;
    options.trace = run.trace_gc;
    options.longest_pause = run.max_pause;
    options.area_limit = run.area_limit;
    options.heap_size = run.heap_size;
    check_heap_size(&options)?;
    options.area = built_in(run.area);
    let program = Program::prepare(&run.program).map_err(|error| error.to_string())?;
    atoll_vm::run(&options, &program, &run.arguments).map_err(|error| error.to_string())
}
