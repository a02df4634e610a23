//! What an instruction makes of fates: the state in front of it, from the state behind it.

use atoll_loader::{Import, Instruction, Label, MatchCommand, Module, Register, SegmentValue, Source};

use crate::blocks::Block;
use crate::fate::{Fate, Ways};
use crate::graph::NONE;
use crate::rules::{ALL_UNKNOWN, UNKNOWN};
use crate::state::{Labels, State};

/// What an instruction builds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A list cell.
    Cons,
    /// A tuple.
    Tuple,
    /// A record, copied with changes.
    Record,
    /// A fun with its environment.
    Fun,
    /// A map.
    Map,
    /// A binary or bitstring.
    Binary,
}

/// Where a value comes from that no instruction of the module builds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outside {
    /// Result of the imported function with this index.
    Call(u32),
    /// Result of a fun or of `apply`.
    Fun,
    /// A message that was received.
    Message,
}

/// A place with the fate of what comes into being there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Born<What> {
    pub(crate) index: u32,
    pub(crate) function: u32,
    /// Number of the walk that has found it.
    walk: u32,
    pub(crate) what: What,
    pub(crate) fate: Fate,
}

/// A local call: what becomes of the result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    pub(crate) caller: u32,
    pub(crate) callee: u32,
    pub(crate) result: Fate,
    walk: u32,
}

/// What passes over functions find.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) sites: Vec<Born<Kind>>,
    pub(crate) origins: Vec<Born<Outside>>,
    pub(crate) edges: Vec<Edge>,
    /// Number of the present walk.
    pub(crate) walk: u32,
}

impl Findings {
    /// Forgets what earlier walks over a function have found; `last` gives the number of the last one.
    pub(crate) fn keep_last(&mut self, last: impl Fn(u32) -> u32) {
        self.sites.retain(|site| site.walk == last(site.function));
        self.origins.retain(|origin| origin.walk == last(origin.function));
        self.edges.retain(|edge| edge.walk == last(edge.caller));
    }

    pub(crate) fn counts(&self) -> [usize; 3] {
        [self.sites.len(), self.origins.len(), self.edges.len()]
    }

    pub(crate) fn cut(&mut self, [sites, origins, edges]: [usize; 3]) {
        self.sites.truncate(sites);
        self.origins.truncate(origins);
        self.edges.truncate(edges);
    }
}

/// The fates of arguments by function of the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Summaries {
    /// Label to function, where calls go.
    pub(crate) entered: Vec<u32>,
    /// Function to index of its first argument in `fates`.
    pub(crate) starts: Vec<u32>,
    pub(crate) fates: Vec<Fate>,
}

impl Summaries {
    /// Code that is never reached may call what is no function: of that nothing is known.
    pub(crate) fn of(&self, function: u32, arity: u8) -> &[Fate] {
        let start = self.starts.get(function as usize).map(|start| *start as usize);
        let fates = start.and_then(|start| self.fates.get(start..start + usize::from(arity)));
        fates.unwrap_or(&ALL_UNKNOWN[..arity.into()])
    }
}

/// One module under analysis.
pub(crate) struct Walk<'m, 'o> {
    pub(crate) module: &'m Module,
    /// By import.
    pub(crate) rules: Vec<Option<&'o [Fate]>>,
    pub(crate) summaries: Summaries,
    /// By function: the number of the group of functions that call each other.
    pub(crate) groups: Vec<u32>,
    pub(crate) labels: Labels,
    pub(crate) state: State,
    pub(crate) findings: Findings,
    /// Index of the instruction that is traced.
    pub(crate) traced: Option<u32>,
    /// The function that is walked over.
    pub(crate) function: u32,
}

impl Walk<'_, '_> {
    /// Walks over instructions from the last to the first.
    pub(crate) fn walk(&mut self, range: std::ops::Range<usize>) {
        let module = self.module;
        for index in range.rev() {
            self.step(index as u32, &module.code[index]);
        }
    }

    /// Walks over a block whose successors have been walked over.
    pub(crate) fn block(&mut self, block: &Block) {
        match block.next {
            Some(label) => self.labels.jump(label, &mut self.state),
            None => self.state.raise(),
        }
        self.walk(block.start as usize..block.end as usize);
    }

    fn step(&mut self, index: u32, instruction: &Instruction) {
        use Instruction as I;
        match instruction {
            I::Label(label) => self.labels.keep(*label, &mut self.state),
            I::Line(_) | I::NifStart | I::OnLoad | I::TestHeap { .. } | I::Expect { .. } => {}
            I::Move { source, destination } => {
                let fate = self.state.write(*destination);
                self.state.read(*source, fate);
            }
            I::Swap { first, second } => {
                let (one, other) = (self.state.write(*first), self.state.write(*second));
                self.state.read((*second).into(), one);
                self.state.read((*first).into(), other);
            }
            I::Jump(label) | I::LoopRecEnd(label) | I::Wait(label) => self.labels.jump(*label, &mut self.state),
            I::Allocate { .. } => self.state.drop_frame(),
            I::Deallocate { .. } => self.state.drop_frame(),
            I::Trim { slots, .. } => self.state.untrim(*slots),
            I::InitYregs(slots) => slots.iter().for_each(|slot| {
                self.state.write(Register::Y(*slot));
            }),
            I::Return => {
                self.state.leave();
                self.state.read_x(0, Fate::RESULT);
            }
            I::FuncInfo { arity, .. } => {
                self.state.raise();
                self.fail_x(0..usize::from(*arity));
            }
            _ => {
                let done = self.call(index, instruction) || self.build(index, instruction);
                let done =
                    done || self.look(index, instruction) || self.exception(instruction) || self.bits(instruction);
                debug_assert!(done, "no rule for {instruction:?}");
            }
        }
    }

    fn fail_x(&mut self, range: std::ops::Range<usize>) {
        range.for_each(|index| self.state.read_x(index, Fate::LOOKED_AT));
    }

    fn fail(&mut self, source: Source) {
        self.state.read(source, Fate::LOOKED_AT);
    }

    /// A value that comes from elsewhere.
    fn origin(&mut self, index: u32, what: Outside, fate: Fate) {
        if self.traced.is_some() {
            self.findings.origins.push(Born { index, function: self.function, walk: self.findings.walk, what, fate });
        }
    }

    /// A call ends here; the fate of its result, after which no X register holds anything.
    fn result(&mut self, is_tail: bool) -> Fate {
        if is_tail {
            self.state.leave();
            return Fate::RESULT;
        }
        let result = self.state.x(0);
        self.state.drop_x();
        result
    }

    fn call(&mut self, index: u32, instruction: &Instruction) -> bool {
        use Instruction as I;
        match *instruction {
            I::Call { arity, target } => self.local(arity, target, false),
            I::CallOnly { arity, target } | I::CallLast { arity, target, .. } => self.local(arity, target, true),
            I::CallExt { arity, target } => self.external(index, arity, target.0, false),
            I::CallExtOnly { arity, target } | I::CallExtLast { arity, target, .. } => {
                self.external(index, arity, target.0, true);
            }
            I::CallFun { arity } => {
                self.unknown(index, arity.into(), false);
                self.fail_x(arity.into()..usize::from(arity) + 1);
            }
            I::CallFun2 { arity, fun, .. } => {
                self.unknown(index, arity.into(), false);
                self.fail(fun);
            }
            I::Apply { arity } => {
                self.unknown(index, arity.into(), false);
                self.fail_x(arity.into()..usize::from(arity) + 2);
            }
            I::ApplyLast { arity, .. } => {
                self.unknown(index, arity.into(), true);
                self.fail_x(arity.into()..usize::from(arity) + 2);
            }
            I::Send => {
                let result = self.result(false);
                let mut sent = Fate::certainly(Ways::SENT).joined(Fate::LOOKED_AT);
                if self.traced == Some(index) {
                    sent = sent.traced();
                }
                self.fail_x(0..1);
                self.state.read_x(1, sent.and(result));
            }
            _ => return false,
        }
        true
    }

    fn local(&mut self, arity: u8, target: Label, is_tail: bool) {
        let result = self.result(is_tail);
        let callee = self.summaries.entered[target.0 as usize];
        let inside = self.is_recursive(callee);
        if callee != NONE {
            let result = if inside { result.in_recursion(true) } else { result };
            self.findings.edges.push(Edge { caller: self.function, callee, result, walk: self.findings.walk });
        }
        for (argument, fate) in self.summaries.of(callee, arity).iter().enumerate() {
            self.state.read_x(argument, fate.in_recursion(inside).seen_by_caller(result));
        }
    }

    /// Whether a function that is called here may call this one again.
    fn is_recursive(&self, callee: u32) -> bool {
        self.groups.get(callee as usize) == self.groups.get(self.function as usize)
    }

    fn external(&mut self, index: u32, arity: u8, import: u32, is_tail: bool) {
        let raises = !is_tail && self.raises(&self.module.imports[import as usize]);
        if raises {
            self.state.raise();
            return self.fail_x(0..arity.into());
        }
        let result = self.result(is_tail);
        self.origin(index, Outside::Call(import), result);
        let is_traced = self.traced == Some(index);
        for (argument, fate) in self.rules[import as usize].unwrap_or(&ALL_UNKNOWN[..arity.into()]).iter().enumerate() {
            let seen = fate.seen_by_caller(result);
            let leaves = is_traced && fate.all_ways().meets(Ways::LEAVING);
            self.state.read_x(argument, if leaves { seen.traced() } else { seen });
        }
    }

    fn raises(&self, import: &Import) -> bool {
        import.arity <= 3 && import.never_returns(&self.module.atoms)
    }

    fn unknown(&mut self, index: u32, arguments: usize, is_tail: bool) {
        let result = self.result(is_tail);
        self.origin(index, Outside::Fun, result);
        (0..arguments).for_each(|argument| self.state.read_x(argument, UNKNOWN));
    }

    /// The fate of the new object.
    fn site(&mut self, index: u32, what: Kind, destination: Register) -> Fate {
        let fate = self.state.write(destination);
        self.findings.sites.push(Born { index, function: self.function, walk: self.findings.walk, what, fate });
        fate
    }

    fn build(&mut self, index: u32, instruction: &Instruction) -> bool {
        use Instruction as I;
        match instruction {
            I::PutList { head, tail, destination } => {
                let fate = self.site(index, Kind::Cons, *destination);
                self.state.read(*head, fate.of_element());
                // The tail's cells are of the new list's upper level.
                self.state.read(*tail, fate);
            }
            I::PutTuple { destination, elements } => {
                let fate = self.site(index, Kind::Tuple, *destination).of_element();
                elements.iter().for_each(|element| self.state.read(*element, fate));
            }
            I::UpdateRecord { source, destination, updates, .. } => {
                let fate = self.site(index, Kind::Record, *destination);
                updates.iter().for_each(|(_, value)| self.state.read(*value, fate.of_element()));
                // It may be the result itself, if nothing changes or nothing else refers to it.
                self.state.read(*source, fate.may());
                self.fail(*source);
            }
            I::SetTupleElement { value, .. } => {
                // Another register may refer to the tuple as well.
                let fate = self.state.of_any_element();
                self.state.read(*value, fate);
            }
            I::MakeFun { lambda, destination, free } => {
                let fate = self.site(index, Kind::Fun, *destination).of_element();
                let lambda = &self.module.lambdas[lambda.0 as usize];
                let body = self.summaries.entered[lambda.label.0 as usize];
                let first = usize::from(lambda.arity).saturating_sub(free.len());
                for (place, variable) in free.iter().enumerate() {
                    self.state.read(*variable, fate);
                    let used = self.summaries.of(body, lambda.arity).get(first + place).copied();
                    let used = used.unwrap_or(UNKNOWN).seen_by_caller(Fate::perhaps(Ways::RETURNED));
                    self.state.read(*variable, used.may());
                }
            }
            I::PutMap { fail, map, destination, pairs, .. } => {
                let fate = self.site(index, Kind::Map, *destination);
                for (key, value) in pairs {
                    // A key that the map has already stays.
                    self.state.read(*key, fate.of_element().may());
                    self.fail(*key);
                    self.state.read(*value, fate.of_element());
                }
                self.state.read(*map, fate.of_any());
                self.fail(*map);
                self.branch(*fail);
            }
            I::BsCreateBin { fail, destination, segments, .. } => {
                self.site(index, Kind::Binary, *destination);
                for segment in segments {
                    if let SegmentValue::Term(value) = segment.value {
                        self.fail(value);
                    }
                }
                self.branch(*fail);
            }
            I::BsInit { fail, destination, .. } => {
                self.site(index, Kind::Binary, *destination);
                self.branch(*fail);
            }
            I::BsAppend { fail, destination, binary, .. } => {
                self.site(index, Kind::Binary, *destination);
                self.fail(*binary);
                self.branch(*fail);
            }
            _ => return false,
        }
        true
    }

    fn branch(&mut self, fail: Label) {
        if fail != Label::NONE {
            self.labels.branch(fail, &mut self.state);
        }
    }

    fn look(&mut self, index: u32, instruction: &Instruction) -> bool {
        use Instruction as I;
        match instruction {
            I::GetList { source, head, tail } => {
                let (head, tail) = (self.state.write(*head), self.state.write(*tail));
                self.state.read((*source).into(), head.of_whole());
                self.state.read((*source).into(), tail.may());
            }
            I::GetHead { source, head } => {
                let head = self.state.write(*head);
                self.state.read((*source).into(), head.of_whole());
            }
            I::GetTail { source, tail } => {
                let tail = self.state.write(*tail);
                self.state.read((*source).into(), tail.may());
            }
            I::GetTupleElement { source, destination, .. } => {
                let element = self.state.write(*destination);
                self.state.read((*source).into(), element.of_whole());
            }
            I::GetMapElements { fail, map, pairs } => {
                for (_, destination) in pairs {
                    let value = self.state.write(*destination);
                    self.state.read(*map, value.of_whole());
                }
                self.branch(*fail);
            }
            I::Test { fail, .. }
            | I::TestFunctionArity { fail, .. }
            | I::TestArity { fail, .. }
            | I::TestTaggedTuple { fail, .. }
            | I::Compare { fail, .. }
            | I::HasMapFields { fail, .. } => self.branch(*fail),
            I::SelectValue { fail, cases, .. } => {
                self.labels.jump(*fail, &mut self.state);
                cases.iter().for_each(|(_, label)| self.labels.branch(*label, &mut self.state));
            }
            I::SelectTupleArity { fail, cases, .. } => {
                self.labels.jump(*fail, &mut self.state);
                cases.iter().for_each(|(_, label)| self.labels.branch(*label, &mut self.state));
            }
            I::Bif { fail, bif, arguments, destination } | I::GcBif { fail, bif, arguments, destination, .. } => {
                let result = self.state.write(*destination);
                let rule = self.rules[bif.0 as usize].unwrap_or(&ALL_UNKNOWN[..arguments.len()]);
                for (argument, fate) in arguments.iter().zip(rule) {
                    // In a guard nothing is raised.
                    let fate = if *fail == Label::NONE { *fate } else { fate.without_failure() };
                    self.state.read(*argument, fate.seen_by_caller(result));
                }
                self.branch(*fail);
            }
            I::LoopRec { fail, destination, .. } => {
                let fate = self.state.write(*destination);
                self.origin(index, Outside::Message, fate);
                self.labels.branch(*fail, &mut self.state);
            }
            I::WaitTimeout { fail, .. } => self.labels.branch(*fail, &mut self.state),
            I::KeepMessage | I::RemoveMessage(_) | I::Timeout => {}
            I::RecvMarkerReserve(destination) => {
                self.state.write(*destination);
            }
            I::RecvMarkerBind { .. } | I::RecvMarkerClear(_) | I::RecvMarkerUse(_) => {}
            _ => return false,
        }
        true
    }

    fn exception(&mut self, instruction: &Instruction) -> bool {
        use Instruction as I;
        match instruction {
            I::BadMatch(value) | I::CaseEnd(value) | I::BadRecord(value) | I::TryCaseEnd(value) => {
                self.state.raise();
                self.fail(*value);
            }
            I::IfEnd | I::Unsupported { .. } => self.state.raise(),
            I::Raise { trace, reason } => {
                self.state.raise();
                self.fail(*trace);
                self.fail(*reason);
            }
            I::RawRaise => {
                // It goes on if X0 is no class.
                self.fail_x(0..3);
            }
            I::BuildStacktrace => {
                let result = self.state.write(Register::X(0));
                self.state.read_x(0, result.of_any());
                self.fail_x(0..1);
            }
            I::Catch { handler, .. } | I::Try { handler, .. } => {
                self.labels.handler(*handler, &mut self.state);
            }
            I::CatchEnd { .. } | I::TryEnd { .. } => {}
            I::TryCase { .. } => {
                (0..3).for_each(|register| {
                    self.state.write(Register::X(register));
                });
            }
            _ => return false,
        }
        true
    }

    /// A value that may be part of what a register holds: a binary of another one.
    fn derived(&mut self, source: Source, destination: Register) {
        let fate = self.state.write(destination);
        self.state.read(source, fate.of_any());
    }

    fn bits(&mut self, instruction: &Instruction) -> bool {
        use Instruction as I;
        match instruction {
            I::FloatLoad { .. }
            | I::FloatConvert { .. }
            | I::FloatArithmetic { .. }
            | I::FloatNegate { .. }
            | I::BsSetPosition { .. } => {}
            I::FloatStore { destination, .. } | I::BsGetPosition { destination, .. } => {
                self.state.write(*destination);
            }
            I::BsStartMatch { fail, value, destination, .. } => {
                self.derived(*value, *destination);
                self.branch(*fail);
            }
            I::BsGetInteger { fail, destination, .. } | I::BsGetFloat { fail, destination, .. } => {
                self.state.write(*destination);
                self.branch(*fail);
            }
            I::BsGetBinary { fail, context, destination, .. } => {
                self.derived((*context).into(), *destination);
                self.branch(*fail);
            }
            I::BsGetTail { context, destination, .. } => self.derived((*context).into(), *destination),
            I::BsGetUtf { fail, destination, .. } => {
                destination.iter().for_each(|destination| {
                    self.state.write(*destination);
                });
                self.branch(*fail);
            }
            I::BsMatch { fail, context, commands } => {
                for command in commands.iter().rev() {
                    match command {
                        MatchCommand::Integer { destination, .. } => {
                            self.state.write(*destination);
                        }
                        MatchCommand::Binary { destination, .. } | MatchCommand::GetTail { destination, .. } => {
                            self.derived((*context).into(), *destination);
                        }
                        _ => {}
                    }
                }
                self.branch(*fail);
            }
            I::BsSkipBits { fail, .. }
            | I::BsTestTail { fail, .. }
            | I::BsTestUnit { fail, .. }
            | I::BsMatchString { fail, .. } => self.branch(*fail),
            I::BsInitWritable => {
                self.state.write(Register::X(0));
            }
            I::BsPut { fail, segment } => {
                if let SegmentValue::Term(value) = segment.value {
                    self.fail(value);
                }
                self.branch(*fail);
            }
            I::BsAdd { fail, destination, .. } | I::BsUtfSize { fail, destination, .. } => {
                self.state.write(*destination);
                self.branch(*fail);
            }
            _ => return false,
        }
        true
    }
}
