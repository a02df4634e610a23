//! A machine: what its parts keep. Several can live in one process of the operating system; each thread works for one
//! of them, and the parts find what is theirs through the thread.

use atoll_heap::{Architecture, HeapOptions};
use atoll_platform::clock::{self, Virtual};
use atoll_platform::threads;
use atoll_process::System;
use atoll_process::table::ProcessTable;

use crate::boot::End;
use crate::on_load::OnLoad;
use crate::output::Output;
use crate::run::Running;
use crate::simulation::Findings;

/// The parts of one machine.
pub(crate) struct Machine {
    terms: atoll_term::Part,
    pub(crate) heap: &'static atoll_heap::Part,
    pub(crate) code: atoll_code::Part,
    pub(crate) system: System,
    tables: atoll_ets::Part,
    ports: atoll_ports::Part,
    runtime: atoll_runtime::Part,
    pub(crate) interpreter: atoll_interpreter::Part,
    built_ins: atoll_bifs::Part,
    natives: atoll_natives::Part,
    libraries: atoll_nifs::Part,
    distribution: atoll_distribution::Part,
    pub(crate) end: End,
    pub(crate) running: Running,
    pub(crate) on_load: OnLoad,
    pub(crate) output: Output,
    pub(crate) findings: Findings,
    native: atoll_native::Part,
    clock: Option<&'static Virtual>,
}

atoll_platform::part_of_machine!(Machine);

impl threads::Machine for Machine {
    fn enter_parts(&'static self) {
        clock::enter(self.clock);
        atoll_term::enter(&self.terms);
        self.heap.enter_parts();
        atoll_code::enter(&self.code);
        atoll_process::enter(&self.system);
        atoll_ets::enter(&self.tables);
        atoll_ports::enter(&self.ports);
        atoll_runtime::enter(&self.runtime);
        atoll_interpreter::enter(&self.interpreter);
        atoll_bifs::enter(&self.built_ins);
        atoll_natives::enter(&self.natives);
        atoll_nifs::enter(&self.libraries);
        atoll_distribution::enter(&self.distribution);
        enter(self);
        atoll_native::enter(&self.native);
    }
}

impl Machine {
    /// A machine with this architecture, process table, number of schedulers, heaps of processes without options, and
    /// what running code needs, and a clock, if it is
    /// not the system's. The calling thread enters it. It lives as long as the process of the operating system,
    /// because threads of its own may outlive its end.
    pub(crate) fn start(
        architecture: Box<dyn Architecture>,
        table: ProcessTable,
        schedulers: usize,
        default_heap: HeapOptions,
        runtime: atoll_runtime::Part,
        distribution: atoll_distribution::Part,
        clock: Option<&'static Virtual>,
    ) -> &'static Machine {
        let heap: &'static atoll_heap::Part = Box::leak(Box::new(atoll_heap::Part::new(architecture)));
        let machine: &'static Machine = Box::leak(Box::new(Machine {
            terms: atoll_term::Part::default(),
            heap,
            code: atoll_code::Part::default(),
            system: System::new(heap.architecture(), table, schedulers),
            tables: atoll_ets::Part::default(),
            ports: atoll_ports::Part::default(),
            runtime,
            interpreter: atoll_interpreter::Part::default(),
            built_ins: atoll_bifs::Part::new(default_heap),
            natives: atoll_natives::Part::default(),
            libraries: atoll_nifs::Part::default(),
            distribution,
            end: End::default(),
            running: Running::default(),
            on_load: OnLoad::default(),
            output: Output::default(),
            findings: Findings::default(),
            native: atoll_native::Part::default(),
            clock,
        }));
        threads::enter(machine);
        machine.heap.set_world(&machine.system);
        machine.heap.set_sites(&machine.interpreter);
        machine
    }
}
