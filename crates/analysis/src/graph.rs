//! Which functions of a module call which, and an order in which callees come first.

use atoll_loader::{Instruction, Label, Module};

/// No function.
pub(crate) const NONE: u32 = u32::MAX;

/// The calls of a module, and what else is seen of its functions on the way.
pub(crate) struct Graph {
    /// Label to function, where calls go; [`NONE`] for other labels.
    pub(crate) entered: Vec<u32>,
    /// Functions called by the function with the same index begin here in `callees`.
    starts: Vec<u32>,
    callees: Vec<u32>,
    /// Labels that exceptions lead to.
    pub(crate) handlers: Vec<Label>,
    /// Functions that renumber their slots while exceptions may lead to a handler. Compilers write none.
    pub(crate) trims: Vec<bool>,
    /// Functions whose body may be replaced by something else.
    pub(crate) replaceable: Vec<bool>,
}

impl Graph {
    pub(crate) fn of(module: &Module) -> Graph {
        let count = module.functions.len();
        let mut entered = vec![NONE; module.labels.len()];
        for (index, function) in module.functions.iter().enumerate() {
            entered[function.entry.0 as usize] = index as u32;
        }
        let import = |name: &str, arity: u8| {
            module.imports.iter().position(|import| {
                import.arity == arity && module.atom(import.name) == name && module.atom(import.module) == "erlang"
            })
        };
        // What says that it ought to be native may be built in, and a library may replace functions.
        let (not_loaded, loads) = (import("nif_error", 1), import("load_nif", 2).is_some());
        let mut graph = Graph {
            entered,
            starts: Vec::with_capacity(count + 1),
            callees: Vec::new(),
            handlers: Vec::new(),
            trims: vec![false; count],
            replaceable: vec![false; count],
        };
        let mut declares = false;
        for (index, function) in module.functions.iter().enumerate() {
            graph.starts.push(graph.callees.len() as u32);
            let (mut open, mut trims, mut replaceable) = (0, false, false);
            for instruction in &module.code[function.start as usize..function.end as usize] {
                match instruction {
                    Instruction::Call { target, .. }
                    | Instruction::CallLast { target, .. }
                    | Instruction::CallOnly { target, .. } => graph.call(*target),
                    Instruction::MakeFun { lambda, .. } => {
                        graph.call(module.lambdas[lambda.0 as usize].label);
                    }
                    Instruction::CallExt { target, .. }
                    | Instruction::CallExtLast { target, .. }
                    | Instruction::CallExtOnly { target, .. } => replaceable |= Some(target.0 as usize) == not_loaded,
                    Instruction::Catch { handler, .. } | Instruction::Try { handler, .. } => {
                        graph.handlers.push(*handler);
                        open += 1;
                    }
                    Instruction::TryEnd { .. } | Instruction::CatchEnd { .. } => open -= 1,
                    Instruction::Trim { .. } => trims |= open > 0,
                    Instruction::NifStart => {
                        declares = true;
                        replaceable = true;
                    }
                    _ => {}
                }
            }
            graph.trims[index] = trims;
            graph.replaceable[index] = replaceable;
        }
        graph.starts.push(graph.callees.len() as u32);
        if loads && !declares {
            graph.replaceable.fill(true);
        }
        graph
    }

    fn call(&mut self, target: Label) {
        let callee = self.entered[target.0 as usize];
        if callee != NONE {
            self.callees.push(callee);
        }
    }

    fn callees(&self, function: u32) -> std::ops::Range<usize> {
        self.starts[function as usize] as usize..self.starts[function as usize + 1] as usize
    }

    /// The functions that a function calls.
    pub(crate) fn calls(&self, function: u32) -> &[u32] {
        &self.callees[self.callees(function)]
    }

    /// The functions from which calls lead to one of these, and all that those call: in the others, nothing is built
    /// that is handed to one of these.
    pub(crate) fn around(&self, functions: impl Iterator<Item = u32>) -> Vec<bool> {
        let mut is_near = vec![false; self.trims.len()];
        functions.for_each(|function| is_near[function as usize] = true);
        let mut changed = true;
        while changed {
            changed = false;
            // Callees tend to stand behind their callers.
            for function in (0..self.trims.len()).rev() {
                if !is_near[function] && self.calls(function as u32).iter().any(|callee| is_near[*callee as usize]) {
                    is_near[function] = true;
                    changed = true;
                }
            }
        }
        let mut waiting: Vec<u32> = (0..self.trims.len() as u32).filter(|one| is_near[*one as usize]).collect();
        while let Some(function) = waiting.pop() {
            for callee in self.calls(function) {
                if !std::mem::replace(&mut is_near[*callee as usize], true) {
                    waiting.push(*callee);
                }
            }
        }
        is_near
    }

    /// Calls `visit` with each group of functions that call each other, after the groups that it calls, and whether
    /// it calls itself. (Tarjan 1972, without recursion.)
    pub(crate) fn each_group(&self, mut visit: impl FnMut(&[u32], bool)) {
        let count = self.trims.len();
        let (mut numbers, mut lowest) = (vec![NONE; count], vec![NONE; count]);
        let mut is_open = vec![false; count];
        let (mut open, mut path): (Vec<u32>, Vec<(u32, usize)>) = (Vec::new(), Vec::new());
        let mut next = 0;
        for root in 0..count as u32 {
            if numbers[root as usize] != NONE {
                continue;
            }
            path.push((root, self.callees(root).start));
            while let Some((function, place)) = path.last_mut() {
                let (at, here) = (*function as usize, *place);
                if numbers[at] == NONE {
                    (numbers[at], lowest[at], is_open[at]) = (next, next, true);
                    next += 1;
                    open.push(at as u32);
                }
                if here < self.callees(at as u32).end {
                    *place += 1;
                    let callee = self.callees[here] as usize;
                    if numbers[callee] == NONE {
                        path.push((callee as u32, self.callees(callee as u32).start));
                    } else if is_open[callee] {
                        lowest[at] = lowest[at].min(numbers[callee]);
                    }
                    continue;
                }
                path.pop();
                if let Some((caller, _)) = path.last() {
                    lowest[*caller as usize] = lowest[*caller as usize].min(lowest[at]);
                }
                if lowest[at] == numbers[at] {
                    let first = open.iter().rposition(|one| *one == at as u32).expect("its root is open");
                    let group = &open[first..];
                    group.iter().for_each(|one| is_open[*one as usize] = false);
                    let calls_itself = group.len() > 1 || self.callees[self.callees(at as u32)].contains(&(at as u32));
                    visit(group, calls_itself);
                    open.truncate(first);
                }
            }
        }
    }
}
