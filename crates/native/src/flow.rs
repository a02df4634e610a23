//! What a function's instructions do to control and to X registers: which follow each other, which registers are live,
//! and where native code has to be entered anew.
//!
//! A function's code is divided into *regions*. Each has one *head*, where it is entered, and becomes one native
//! function. Heads are the function's entry, the places behind calls, the places behind instructions that the first
//! engine runs, and the labels that several regions lead to.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use atoll_code::Linked;
use atoll_loader::instruction::{Instruction, Label, Source};
use atoll_runtime::mark::PASSED;

/// A set of X registers, by their numbers.
pub type Registers = u64;

/// Functions that use a register of this number or a higher one stay with the first engine.
pub const MOST_REGISTERS: u16 = 64;

/// How a region is entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    /// By a call of the function: the first arguments are in machine registers.
    Function,
    /// By a return: X0 is in a machine register.
    Return,
    /// From anywhere: X registers are in the core.
    Point,
}

/// How an instruction is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// By native code, which goes on with what follows.
    Native,
    /// By native code that leaves the region: a call, a return.
    Leaves,
    /// By a call of native code, which returns to a head behind it.
    Calls,
    /// By the first engine; native code goes on behind it.
    Lent,
    /// As `Lent`, of a call.
    LentCall,
    /// A call of a built-in function. Native code goes on behind it, unless it is in a tail position.
    BuiltIn,
}

/// One function of a module, by the indices of its instructions in the file.
pub struct Flow<'l> {
    /// The file.
    pub linked: &'l Linked,
    /// Index of the function in the file.
    pub function: usize,
    /// Index of its first instruction.
    pub start: usize,
    /// Index behind its last instruction.
    pub end: usize,
    /// Index of the first instruction behind its entry's label.
    pub entry: usize,
    /// For each instruction from `start` on: how it is carried out.
    pub ways: Vec<Way>,
    /// For each instruction from `start` on: registers that it or what follows reads.
    pub live: Vec<Registers>,
    /// Whether it uses floating-point registers.
    pub has_floats: bool,
    /// Where regions begin.
    pub heads: BTreeMap<usize, Head>,
    /// How many instructions may be carried out before the function calls or leaves, if it may also return before.
    beginning: Option<usize>,
    /// For each instruction from `start` on: X registers that hold match contexts there, whichever engine came there.
    contexts: Vec<Registers>,
    /// For each instruction from `start` on: from how many places control gets there.
    ways_to: Vec<u32>,
}

impl<'l> Flow<'l> {
    /// Looks at a function. `None`: it stays with the first engine, because it is large, does not fit, or
    /// (unless `all`) would win little.
    pub fn new(
        linked: &'l Linked,
        function: usize,
        all: bool,
        exits: u32,
        way: impl Fn(&Instruction) -> Way,
    ) -> Option<Flow<'l>> {
        const LONGEST: usize = 16_000;
        let this = &linked.module.functions[function];
        let (start, end) = (this.start as usize, this.end as usize);
        let entry = linked.module.position(this.entry) + 1;
        if end - start > LONGEST {
            return None;
        }
        let code = &linked.module.code[start..end];
        let mut ways: Vec<Way> = code.iter().map(way).collect();
        for (index, way) in ways.iter_mut().enumerate() {
            if tail_of_fun_call(&code[index..]).is_some() {
                *way = Way::Leaves;
            }
        }
        // Values of floating-point registers are in the machine's registers alone.
        if exits > 0 && !code.iter().any(uses_floats) {
            lend_some(&mut ways, code, exits, linked.module.md5[0]);
        }
        let mut flow = Flow {
            linked,
            function,
            start,
            end,
            entry,
            ways,
            live: Vec::new(),
            has_floats: code.iter().any(uses_floats),
            heads: BTreeMap::new(),
            beginning: None,
            contexts: Vec::new(),
            ways_to: Vec::new(),
        };
        if !all && flow.is_mostly_lent() {
            return None;
        }
        if code.iter().any(|instruction| flow.highest_register(instruction) >= MOST_REGISTERS) {
            return None;
        }
        flow.find_live();
        flow.find_heads();
        flow.beginning = flow.find_beginning();
        flow.find_contexts();
        flow.ways_to = vec![0; end - start];
        for index in start..end {
            let mut found = Vec::new();
            flow.followers(index, |next| found.push(next));
            for next in found {
                flow.ways_to[next - start] += 1;
            }
        }
        Some(flow)
    }

    /// The instruction with this index.
    pub fn instruction(&self, index: usize) -> &'l Instruction {
        &self.linked.module.code[index]
    }

    /// How the instruction with this index is carried out.
    pub fn way(&self, index: usize) -> Way {
        self.ways[index - self.start]
    }

    /// Registers that are live in front of the instruction with this index.
    pub fn live(&self, index: usize) -> Registers {
        self.live.get(index - self.start).copied().unwrap_or(0)
    }

    /// Whether so few instructions are carried out before the function calls, leaves or returns that a call may be
    /// written in place.
    pub fn is_short(&self) -> bool {
        const LONGEST: usize = 24;
        self.beginning.is_some_and(|length| length <= LONGEST)
    }

    /// Whether a call may be written in place of which no native code is left but what the call's place has: the
    /// function is short and calls nothing.
    pub fn is_leaf(&self) -> bool {
        let own = self.linked.module.functions[self.function].entry;
        let is_plain = |index: usize| match self.way(index) {
            // A loop takes longer than its call.
            Way::Leaves if matches!(self.instruction(index), Instruction::CallOnly { target, .. } if *target == own) => {
                false
            }
            Way::Native | Way::Leaves => true,
            Way::Lent => self.ends(index),
            Way::Calls | Way::LentCall | Way::BuiltIn => false,
        };
        self.is_short() && self.heads.len() == 1 && (self.entry..self.end).all(is_plain)
    }

    /// Functions of the module that this one calls and goes on behind, by their indices, without long ones: those are
    /// not called in place, and need no look at what they do.
    pub fn called(&self) -> BTreeSet<usize> {
        /// Instructions, with labels and lines.
        const LONG: u32 = 64;
        let functions = &self.linked.module.functions;
        let of = |label: &Label| functions.iter().position(|function| function.entry == *label);
        let code = &self.linked.module.code[self.entry..self.end];
        let called = code.iter().filter_map(|instruction| match instruction {
            Instruction::Call { target, .. } => of(target),
            _ => None,
        });
        let is_short = |function: &usize| functions[*function].end - functions[*function].start <= LONG;
        called.filter(|function| *function != self.function).filter(is_short).collect()
    }

    /// X registers that hold match contexts in front of the instruction with this index.
    pub fn contexts(&self, index: usize) -> Registers {
        self.contexts.get(index - self.start).copied().unwrap_or(0)
    }

    /// Whether control gets to an instruction from one place alone, in front of it or elsewhere.
    pub fn has_one_way_to(&self, index: usize) -> bool {
        !self.heads.contains_key(&index) && self.ways_to[index - self.start] == 1
    }

    /// Index of the instruction at a label.
    pub fn position(&self, label: Label) -> usize {
        self.linked.module.position(label)
    }

    /// Whether nothing follows this instruction.
    pub fn ends(&self, index: usize) -> bool {
        let instruction = self.instruction(index);
        instruction.ends_block()
            || self.way(index) == Way::Leaves
            || matches!(instruction, Instruction::CallExt { target, .. }
                if self.linked.module.imports[target.0 as usize].never_returns(&self.linked.module.atoms))
    }

    /// Whether so much would be lent to the first engine that going there and back would cost more than is won.
    fn is_mostly_lent(&self) -> bool {
        let (mut lent, mut native) = (0, 0);
        for index in self.entry..self.end {
            match self.way(index) {
                // What raises is hardly ever reached, and calls of built-in functions take longer than the way there.
                Way::Lent if self.ends(index) => {}
                Way::LentCall | Way::BuiltIn => {}
                Way::Lent => lent += 1,
                _ if is_mark(self.instruction(index)) => {}
                _ => native += 1,
            }
        }
        lent * 4 > native
    }

    fn highest_register(&self, instruction: &Instruction) -> u16 {
        let mut highest = 0;
        instruction.for_each_source(|source| {
            if let Source::X(x) = source {
                highest = highest.max(x);
            }
        });
        instruction.for_each_destination(|destination| {
            if let Source::X(x) = destination.into() {
                highest = highest.max(x);
            }
        });
        let implied = (64 - implied_reads(instruction).leading_zeros()) as u16;
        let arity = match instruction {
            Instruction::Call { arity, .. }
            | Instruction::CallExt { arity, .. }
            | Instruction::CallOnly { arity, .. }
            | Instruction::CallExtOnly { arity, .. }
            | Instruction::CallLast { arity, .. }
            | Instruction::CallExtLast { arity, .. }
            | Instruction::CallFun { arity }
            | Instruction::CallFun2 { arity, .. }
            | Instruction::Apply { arity }
            | Instruction::ApplyLast { arity, .. }
            | Instruction::FuncInfo { arity, .. } => u16::from(*arity) + 2,
            Instruction::Allocate { live, .. } | Instruction::TestHeap { live, .. } => *live,
            _ => 0,
        };
        highest.max(implied).max(arity)
    }

    /// The frame that a call of a fun in a tail position gives back.
    pub fn tail_of_fun_call(&self, index: usize) -> Option<u16> {
        tail_of_fun_call(&self.linked.module.code[index..self.end])
    }

    /// The instructions that may follow, and whether the one behind is among them.
    fn followers(&self, index: usize, mut visit: impl FnMut(usize)) {
        self.instruction(index).for_each_target(|label| visit(self.position(label)));
        if !self.ends(index) && index + 1 < self.end {
            visit(index + 1);
        }
    }

    fn find_live(&mut self) {
        self.live = vec![0; self.end - self.start];
        loop {
            let mut changed = false;
            for index in (self.start..self.end).rev() {
                let instruction = self.instruction(index);
                let mut after = 0;
                if !returns_afresh(instruction) {
                    self.followers(index, |next| after |= self.live(next));
                } else {
                    // Behind a call there is its result alone.
                    self.followers(index, |next| after |= self.live(next) & 1);
                }
                let live = implied_reads(instruction) | named_reads(instruction) | (after & !writes(instruction));
                let place = &mut self.live[index - self.start];
                changed |= *place != live;
                *place = live;
            }
            if !changed {
                return;
            }
        }
    }

    /// What is there on each way to an instruction is there; only the beginning of a match makes contexts.
    fn find_contexts(&mut self) {
        const UNKNOWN: Registers = Registers::MAX;
        let matches = |instruction: &Instruction| matches!(instruction, Instruction::BsStartMatch { .. });
        if !self.linked.module.code[self.start..self.end].iter().any(matches) {
            return;
        }
        self.contexts = vec![UNKNOWN; self.end - self.start];
        let mut next: Vec<usize> = vec![self.entry];
        self.contexts[self.entry - self.start] = 0;
        // Handlers of exceptions are reached from anywhere.
        for index in self.entry..self.end {
            if let Instruction::Catch { handler, .. } | Instruction::Try { handler, .. } = self.instruction(index) {
                let handler = self.position(*handler);
                self.contexts[handler - self.start] = 0;
                next.push(handler);
            }
        }
        while let Some(index) = next.pop() {
            let instruction = self.instruction(index);
            let before = self.contexts(index);
            let mut written = writes(instruction);
            instruction.for_each_destination(|destination| {
                if let Source::X(x) = destination.into() {
                    written |= first(usize::from(x) + 1) & !first(x.into());
                }
            });
            let has = |source: Source| matches!(source, Source::X(x) if before >> x & 1 != 0);
            let behind = match instruction {
                one if returns_afresh(one) => 0,
                Instruction::BsStartMatch { .. } => before | written,
                Instruction::Move { source, .. } if has(*source) => before | written,
                _ => before & !written,
            };
            let (mut targets, mut follows) = (Vec::new(), None);
            instruction.for_each_target(|label| targets.push(self.position(label)));
            if !self.ends(index) && index + 1 < self.end {
                follows = Some(index + 1);
            }
            let found = targets.into_iter().map(|target| (target, before & !written));
            for (place, found) in found.chain(follows.map(|place| (place, behind))) {
                let known = &mut self.contexts[place - self.start];
                if *known & found != *known {
                    *known &= found;
                    next.push(place);
                }
            }
        }
        // What nothing leads to.
        self.contexts.iter_mut().filter(|known| **known == UNKNOWN).for_each(|known| *known = 0);
    }

    fn find_beginning(&self) -> Option<usize> {
        let (mut next, mut met, mut returns) = (vec![self.entry], HashSet::new(), false);
        while let Some(index) = next.pop() {
            let is_left = self.heads.contains_key(&index) && index != self.entry;
            if is_left || !met.insert(index) {
                continue;
            }
            returns |= matches!(self.instruction(index), Instruction::Return);
            if self.way(index) == Way::Native {
                self.followers(index, |follower| next.push(follower));
            }
        }
        let length = met.iter().filter(|index| !is_mark(self.instruction(**index))).count();
        returns.then_some(length)
    }

    fn find_heads(&mut self) {
        self.heads.insert(self.entry, Head::Function);
        for index in self.entry..self.end {
            match self.way(index) {
                Way::Calls | Way::LentCall | Way::BuiltIn if !self.ends(index) && index + 1 < self.end => {
                    self.heads.insert(index + 1, Head::Return);
                }
                Way::Lent => {
                    let mut found = Vec::new();
                    self.followers(index, |next| found.push(next));
                    for next in found {
                        self.heads.entry(next).or_insert(Head::Point);
                    }
                }
                _ => {}
            }
            if let Instruction::Catch { handler, .. } | Instruction::Try { handler, .. } = self.instruction(index) {
                self.heads.entry(self.position(*handler)).or_insert(Head::Point);
            }
        }
        // Labels that several regions lead to become heads, until there are none.
        loop {
            let mut owner: Vec<Option<usize>> = vec![None; self.end - self.start];
            let mut met = Vec::new();
            for head in self.heads.keys().copied() {
                let mut next = vec![head];
                while let Some(index) = next.pop() {
                    if index != head && self.heads.contains_key(&index) {
                        continue;
                    }
                    match owner[index - self.start] {
                        Some(one) if one == head => continue,
                        Some(_) if !self.has_short_end(index) => {
                            // The place where the two met may lie in the middle of a block: its label is what both jump
                            // to, or it follows an instruction that one of them skips.
                            met.push(index);
                            continue;
                        }
                        _ => {}
                    }
                    owner[index - self.start] = Some(head);
                    if matches!(self.way(index), Way::Native) {
                        self.followers(index, |follower| next.push(follower));
                    }
                }
            }
            if met.is_empty() {
                return;
            }
            self.heads.extend(met.into_iter().map(|index| (index, Head::Point)));
        }
    }

    /// Whether so little follows that several regions may have it each.
    fn has_short_end(&self, index: usize) -> bool {
        const SHORT: usize = 8;
        for (count, at) in (index..self.end).enumerate() {
            if count > SHORT || self.heads.contains_key(&at) {
                return false;
            }
            if !matches!(self.way(at), Way::Native) {
                return true;
            }
            if self.ends(at) || !is_straight(self.instruction(at)) {
                return false;
            }
        }
        false
    }
}

/// Has one in `exits` instructions carried out by the first engine; which ones depends on their places and on `seed`.
fn lend_some(ways: &mut [Way], code: &[Instruction], exits: u32, seed: u8) {
    let mut state = u64::from(seed) + 1;
    for (way, instruction) in ways.iter_mut().zip(code) {
        // Knuth's multiplicative generator for MMIX.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if *way == Way::Native && !is_mark(instruction) && (state >> 33).is_multiple_of(exits.into()) {
            *way = Way::Lent;
        }
    }
}

/// The frame that a call of a fun gives back, if it is one and the function returns behind it.
fn tail_of_fun_call(code: &[Instruction]) -> Option<u16> {
    match code {
        [
            Instruction::CallFun { .. } | Instruction::CallFun2 { .. },
            Instruction::Deallocate { slots },
            Instruction::Return,
            ..,
        ] => Some(*slots),
        _ => None,
    }
}

fn uses_floats(instruction: &Instruction) -> bool {
    use Instruction as I;
    matches!(
        instruction,
        I::FloatLoad { .. }
            | I::FloatStore { .. }
            | I::FloatConvert { .. }
            | I::FloatArithmetic { .. }
            | I::FloatNegate { .. }
    )
}

fn is_mark(instruction: &Instruction) -> bool {
    matches!(instruction, Instruction::Label(_) | Instruction::Line(_) | Instruction::NifStart | Instruction::OnLoad)
}

fn is_straight(instruction: &Instruction) -> bool {
    let mut straight = true;
    instruction.for_each_target(|_| straight = false);
    straight
}

/// Whether what follows finds nothing but a result in X0.
fn returns_afresh(instruction: &Instruction) -> bool {
    matches!(
        instruction,
        Instruction::Call { .. }
            | Instruction::CallExt { .. }
            | Instruction::CallFun { .. }
            | Instruction::CallFun2 { .. }
            | Instruction::Apply { .. }
    )
}

/// The first `count` registers.
pub fn first(count: usize) -> Registers {
    if count >= 64 { Registers::MAX } else { (1 << count) - 1 }
}

fn named_reads(instruction: &Instruction) -> Registers {
    let mut reads = 0;
    instruction.for_each_source(|source| {
        if let Source::X(x) = source {
            reads |= first(usize::from(x) + 1) & !first(x.into());
        }
    });
    reads
}

/// Registers that an instruction reads without naming them: arguments, and what has to be a term when it collects.
fn implied_reads(instruction: &Instruction) -> Registers {
    use Instruction as I;
    match instruction {
        // What may have been caught, beside what the instruction needs.
        I::CatchEnd { .. } => 0b1111,
        I::TryCase { .. } => 0b1110,
        I::BsAppend { live, .. } => first((*live).into()),
        I::BsMatch { commands, .. } => commands.iter().fold(0, |reads, command| {
            use atoll_loader::instruction::MatchCommand as C;
            match command {
                C::Integer { live, .. }
                | C::Binary { live, .. }
                | C::GetTail { live, .. }
                | C::ExactlyEqual { live, .. } => reads | first((*live).into()),
                _ => reads,
            }
        }),
        _ => first(atoll_loader::implied_reads(instruction).into()),
    }
}

fn writes(instruction: &Instruction) -> Registers {
    let mut writes = match instruction {
        Instruction::BuildStacktrace | Instruction::BsInitWritable | Instruction::Send | Instruction::RawRaise => 1,
        Instruction::CatchEnd { .. } => 1,
        Instruction::TryCase { .. } => 0b111,
        one if returns_afresh(one) => 1,
        _ => 0,
    };
    // Where an instruction may fail and jump, its destinations are not written on that way.
    let mut jumps = false;
    instruction.for_each_target(|_| jumps = true);
    if !jumps {
        instruction.for_each_destination(|destination| {
            if let Source::X(x) = destination.into() {
                writes |= first(usize::from(x) + 1) & !first(x.into());
            }
        });
    }
    writes
}

/// Registers passed in machine registers at a call of a function of this arity.
pub fn passed(arity: usize) -> usize {
    arity.min(PASSED)
}
