//! Sequential tracing (`seq_trace`): a token that a process hands on with what it sends. A process without one looks at
//! the switches that tracing has anyway ([`crate::Flags::traced`]), and at [`crate::Flags::sequenced`] when it takes a
//! message out of its mailbox.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use atoll_heap::{Fragment, Message, Mutator, Stored};
use atoll_term::atoms::known_atom;
use atoll_term::{Allocate, AtomicImmediate, Build, Immediate, ScratchHeap, Term, atoms};

use crate::held::Stopped;
use crate::libraries::{Event, TracerNumber};
use crate::process::Own;
use crate::remote::RemotePid;
use crate::signal::{self, Signal, attach};
use crate::system::System;
use crate::{tracers, tracing};

/// `send`
pub const SEND: u32 = 1;
/// `'receive'`
pub const RECEIVE: u32 = 2;
/// `print`
pub const PRINT: u32 = 4;
/// `timestamp`
pub const TIMESTAMP: u32 = 8;
/// `strict_monotonic_timestamp`
pub const STRICT_MONOTONIC: u32 = 16;
/// `monotonic_timestamp`
pub const MONOTONIC: u32 = 32;

/// A label that came from another node.
pub trait Foreign: Send + Sync {
    /// Makes it on a heap.
    fn label(&self, heap: &mut dyn Allocate) -> Term;
}

/// A token's label: kept outside of heaps unless it is immediate.
#[derive(Clone)]
pub enum Label {
    /// An immediate term.
    Immediate(Term),
    /// What a process of this node has set.
    Kept(Arc<Stored>),
    /// What a process of another node has set.
    Foreign(Arc<dyn Foreign>),
}

/// A process that causes an event.
#[derive(Clone, Copy, Debug)]
pub enum Origin {
    /// One of this node (local pid), or a node (atom) for a process that could not be made.
    Here(Term),
    /// One of another node.
    Elsewhere(RemotePid),
}

impl Origin {
    /// Its pid.
    pub fn term(self, heap: &mut (impl Build + ?Sized)) -> Term {
        match self {
            Origin::Here(pid) => pid,
            Origin::Elsewhere(pid) => pid.term(heap),
        }
    }
}

/// What is handed on.
#[derive(Clone)]
pub struct Token {
    /// Sum of the constants of this module.
    pub flags: u32,
    /// Its label.
    pub label: Label,
    /// Number of the last event.
    pub serial: i64,
    /// The process that caused it.
    pub from: Origin,
    /// Number of the event before it that the same process has seen.
    pub last: i64,
}

impl std::fmt::Debug for Token {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.debug_struct("Token").field("flags", &self.flags).field("serial", &self.serial).finish_non_exhaustive()
    }
}

/// What a process knows of sequences of events.
#[derive(Default)]
pub struct Sequence {
    /// The token that it hands on.
    pub token: Option<Token>,
    /// Number of the last event it has caused or seen.
    pub clock: i64,
    /// Number of the last event it has seen.
    pub last: i64,
}

/// What all processes of a machine share.
pub struct Common {
    /// A process has set a token. Until then, no process marks messages.
    used: AtomicBool,
    /// The system tracer, as in [`tracing::Tracing`].
    tracer: AtomicImmediate,
}

impl Default for Common {
    fn default() -> Common {
        Common { used: AtomicBool::new(false), tracer: AtomicImmediate::new(Immediate::NONE) }
    }
}

fn common() -> &'static Common {
    &System::get().sequence
}

/// The system tracer, if it is there.
pub fn tracer() -> Option<Term> {
    let tracer = common().tracer.load(Ordering::Relaxed).term();
    (!tracer.is_none() && tracing::is_there(tracer)).then_some(tracer)
}

/// Sets the system tracer (local pid or port).
pub fn set_tracer(tracer: Option<Term>) {
    common().tracer.store(tracer.map_or(Immediate::NONE, Immediate::or_none), Ordering::Relaxed);
}

impl Token {
    /// The label, to be looked at while the heap lives.
    pub fn label(&self, heap: &mut ScratchHeap) -> Term {
        match &self.label {
            Label::Immediate(term) => *term,
            Label::Kept(stored) => *stored.term(),
            Label::Foreign(label) => label.label(heap),
        }
    }

    fn label_for(&self, heap: &mut Mutator) -> Term {
        match &self.label {
            Label::Immediate(term) => *term,
            Label::Kept(stored) => stored.fetch(heap),
            Label::Foreign(label) => label.label(heap),
        }
    }

    /// `{Flags, Label, Serial, From, Last}`
    pub fn term(&self, heap: &mut Mutator) -> Term {
        let label = self.label_for(heap);
        let [flags, serial, last] = [i64::from(self.flags), self.serial, self.last].map(Term::small);
        let from = self.from.term(heap);
        heap.tuple(&[flags, label, serial, from, last])
    }
}

/// The flag of a token with this name.
pub fn flag(item: Term) -> Option<u32> {
    Some(match item.is_atom().then(|| atoms::atom_name(item))? {
        "send" => SEND,
        "receive" => RECEIVE,
        "print" => PRINT,
        "timestamp" => TIMESTAMP,
        "strict_monotonic_timestamp" => STRICT_MONOTONIC,
        "monotonic_timestamp" => MONOTONIC,
        _ => return None,
    })
}

impl Sequence {
    fn token_to_change(&mut self, pid: Term) -> &mut Token {
        common().used.store(true, Ordering::Relaxed);
        let (label, last) = (Label::Immediate(Term::small(0)), self.last);
        self.token.get_or_insert_with(|| Token { flags: 0, label, serial: 0, from: Origin::Here(pid), last })
    }

    /// Sets a part of the token of `pid`, which is made if there is none: what it was before. `None` if there is no
    /// such part, or this is no value for it.
    pub fn set(&mut self, pid: Term, heap: &mut Mutator, item: Term, value: Term) -> Option<Term> {
        if let Some(flag) = flag(item) {
            let on = match value {
                atoms::TRUE => true,
                atoms::FALSE => false,
                _ => return None,
            };
            let token = self.token_to_change(pid);
            let old = token.flags & flag != 0;
            token.flags = if on { token.flags | flag } else { token.flags & !flag };
            return Some(Term::boolean(old));
        }
        match item.is_atom().then(|| atoms::atom_name(item))? {
            "label" => {
                let token = self.token_to_change(pid);
                let old = token.label_for(heap);
                token.label = match value.is_immediate() {
                    true => Label::Immediate(value),
                    false => Label::Kept(Arc::new(Stored::new(heap, value))),
                };
                Some(old)
            }
            "serial" => {
                let &[last, serial] = value.tuple_elements()? else { return None };
                let (last, serial) = (last.as_small()?, serial.as_small()?);
                let token = self.token_to_change(pid);
                let old = [token.last, token.serial].map(Term::small);
                (token.last, token.serial) = (last, serial);
                (self.last, self.clock) = (last, serial);
                Some(heap.tuple(&old))
            }
            "sequential_trace_token" if value == Term::NIL => {
                Some(self.token.take().map_or(Term::NIL, |token| token.term(heap)))
            }
            _ => None,
        }
    }
}

impl Own {
    /// Does something with this process's token, its numbers and its heap.
    pub fn with_sequence<R>(&mut self, work: impl FnOnce(&mut Sequence, &mut Mutator) -> R) -> R {
        let mut sequence = self.rare.as_mut().map(|rare| std::mem::take(&mut rare.sequence)).unwrap_or_default();
        let result = work(&mut sequence, &mut self.mutator);
        let Sequence { token, clock, last } = sequence;
        self.set_token(token);
        if clock != 0 || last != 0 || self.rare.is_some() {
            let known = &mut self.rare().sequence;
            (known.clock, known.last) = (clock, last);
        }
        result
    }

    /// The token of this process.
    pub fn token(&self) -> Option<&Token> {
        if self.flags.traced() { self.rare.as_ref()?.sequence.token.as_ref() } else { None }
    }

    /// The token as a term for this process, `[]` if it has none.
    pub fn token_term(&mut self) -> Term {
        match self.token().cloned() {
            Some(token) => token.term(&mut self.mutator),
            None => Term::NIL,
        }
    }

    /// Sets the token.
    pub fn set_token(&mut self, token: Option<Token>) {
        let has_one = token.is_some();
        if has_one || self.rare.is_some() {
            self.rare().sequence.token = token;
        }
        self.flags.set_sequenced(self.flags.sequenced() | has_one);
        self.note_traced();
    }

    /// The token's label as a term for this process, `[]` without a token.
    pub fn label_term(&mut self) -> Term {
        match self.token().cloned() {
            Some(token) => token.label_for(&mut self.mutator),
            None => Term::NIL,
        }
    }

    /// Forgets the token and all numbers.
    pub fn forget_sequence(&mut self) {
        self.set_token(None);
        if let Some(rare) = &mut self.rare {
            rare.sequence = Sequence::default();
        }
    }
}

/// Counts an event that a process causes. One that is the tracer itself counts nothing, nor does the first one after
/// the end of the tracer, by which OTP finds out that there is none any more.
pub fn count(pid: Term, own: &mut Own) {
    let is_set = !common().tracer.load(Ordering::Relaxed).is_none();
    let is_off = is_set && tracer().is_none_or(|tracer| tracer == pid);
    if is_off && tracer().is_none() {
        set_tracer(None);
    }
    let Some(rare) = own.rare.as_mut().filter(|_| !is_off) else { return };
    let Sequence { token, clock, last } = &mut rare.sequence;
    if let Some(token) = token {
        *clock += 1;
        (token.from, token.serial, token.last) = (Origin::Here(pid), *clock, *last);
    }
}

/// Tells the system tracer of an event of `pid`, which runs: `receiver` is a pid, a port, an alias or `[]`.
pub fn tell(pid: Term, own: &mut Own, kind: u32, receiver: Term, message: Term) {
    if let Some(token) = own.token() {
        tell_of(pid, own, token, kind, receiver, message);
    }
}

fn tell_of(pid: Term, own: &Own, token: &Token, kind: u32, receiver: Term, message: Term) {
    if !own.flags.sensitive() {
        tell_with(pid, token, kind, receiver, |_| message);
    }
}

/// Tells the system tracer of an event of `pid`: `message` makes what is sent or taken.
pub fn tell_with(pid: Term, token: &Token, kind: u32, receiver: Term, message: impl Fn(&mut ScratchHeap) -> Term) {
    if token.flags & kind == 0 {
        return;
    }
    let Some(tracer) = tracer().filter(|tracer| *tracer != pid) else { return };
    let what = match kind {
        SEND => known_atom("send"),
        RECEIVE => known_atom("receive"),
        _ => known_atom("print"),
    };
    let parts = |heap: &mut ScratchHeap| {
        let numbers = heap.tuple(&[Term::small(token.last), Term::small(token.serial)]);
        let (from, message) = (token.from.term(heap), message(heap));
        let event = heap.tuple(&[what, numbers, from, receiver, message]);
        (token.label(heap), event)
    };
    let (name, flags) = (known_atom("seq_trace"), time_flags(token.flags));
    // The process's heap gives no room for this: where a message is taken out of the mailbox, the room was requested
    // for other terms.
    if let Some(number) = TracerNumber::of(tracer) {
        let composed = Message::compose(|heap| {
            let (label, event) = parts(heap);
            heap.tuple(&[label, event])
        });
        let both = composed.term();
        if let Some(&[tracee, event]) = both.tuple_elements()
            && !tracers::tell(number, &Event { name, tracee, parts: &[event], flags, asked_about: pid })
        {
            set_tracer(None);
        }
        return;
    }
    tracing::post_composed(tracer, |heap| {
        let (label, event) = parts(heap);
        let time = tracing::time(heap, flags);
        let elements: Vec<Term> = [name, label, event].into_iter().chain(time).collect();
        heap.tuple(&elements)
    });
}

fn time_flags(flags: u32) -> u32 {
    let pairs = [
        (TIMESTAMP, tracing::TIMESTAMP),
        (STRICT_MONOTONIC, tracing::STRICT_MONOTONIC),
        (MONOTONIC, tracing::MONOTONIC),
    ];
    pairs.iter().filter(|(own, _)| flags & own != 0).fold(0, |sum, (_, flag)| sum | flag)
}

/// What a message does to the token of the process that takes it out of its mailbox.
#[derive(Clone, Debug, Default)]
pub enum Mark {
    /// Takes it away.
    #[default]
    Plain,
    /// Leaves it as it is.
    Neutral,
    /// Replaces it.
    Token(Box<Token>),
}

/// A process sends: counts and tells it, and gives what is to go with the message.
pub fn sent(pid: Term, own: &mut Own, receiver: Term, message: Term) -> Mark {
    if own.token().is_none() {
        return Mark::Plain;
    }
    count(pid, own);
    tell(pid, own, SEND, receiver, message);
    carried(own)
}

/// The token of this process as a mark.
pub fn carried(own: &Own) -> Mark {
    own.token().map_or(Mark::Plain, |token| Mark::Token(Box::new(token.clone())))
}

/// Puts a mark into the fragment of a message.
pub fn mark(message: Message, mark: Mark) -> Message {
    if matches!(mark, Mark::Plain) { message } else { attach(message, Signal::Message { mark, from: Term::NONE }) }
}

/// Puts a mark, and the sender if patterns ask for it, into the fragment of a message.
pub fn mark_from(message: Message, kind: Mark, from: Term) -> Message {
    match tracing::names_senders() {
        true => attach(message, Signal::Message { mark: kind, from }),
        false => mark(message, kind),
    }
}

/// What a token of another node does, which has come with a message.
pub fn came(token: Token) -> Mark {
    common().used.store(true, Ordering::Relaxed);
    Mark::Token(Box::new(token))
}

/// A message that leaves its receiver's token as it is.
pub fn neutral(message: Message) -> Message {
    if common().used.load(Ordering::Relaxed) { mark(message, Mark::Neutral) } else { message }
}

/// Puts a message into the mailbox of this process. Marks are kept where they can matter.
pub(crate) fn push(own: &mut Own, message: Message, kind: Mark) {
    own.flags.set_sequenced(own.flags.sequenced() | matches!(kind, Mark::Token(_)));
    let message = if own.flags.sequenced() { mark(message, kind) } else { message };
    own.mailbox.push(message);
}

/// A process with [`crate::Flags::sequenced`] has taken this message out of its mailbox.
#[cold]
#[inline(never)]
pub fn taken(pid: Term, own: &mut Own, message: &Fragment) {
    match signal::detach(message) {
        Some(Signal::Message { mark: Mark::Token(token), .. }) => {
            own.set_token(Some(Token::clone(&token)));
            let sequence = &mut own.rare().sequence;
            sequence.last = token.serial;
            sequence.clock = sequence.clock.max(token.serial);
            tell_of(pid, own, &token, RECEIVE, pid, message.term());
        }
        None => own.set_token(None),
        Some(_) => {}
    }
    if own.mailbox.is_empty() {
        own.flags.set_sequenced(own.token().is_some());
    }
}

/// Description of a spawn for the system tracer.
#[derive(Clone, Copy, Debug)]
pub struct SpawnRequest {
    /// Options (a list on the parent's heap).
    pub options: Term,
    /// Head of the reply.
    pub tag: Term,
    /// The request's reference on the parent's heap, if the program sees it; `NONE` otherwise.
    pub reference: Term,
    /// Whether there is a reply, and whether it is a message.
    pub replies: Reply,
}

/// What the parent learns of a process that was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// At once, as the result of the call.
    Result,
    /// By a message.
    Message,
    /// Nothing.
    Nothing,
}

/// A process makes another: tells of the request, as if it were a message and answered by one. What the new one knows.
pub(crate) fn spawned(
    parent: Term,
    own: &mut Own,
    child: Term,
    call: (Term, Term, Term),
    request: Option<SpawnRequest>,
) -> Option<Sequence> {
    own.token()?;
    count(parent, own);
    let leader = own.leader_term();
    let heap = &mut own.mutator;
    let request = request.unwrap_or(SpawnRequest {
        options: Term::NIL,
        tag: atoms::SPAWN_REPLY,
        reference: Term::NONE,
        replies: Reply::Result,
    });
    let (module, function, arguments) = match (request.replies, call) {
        (Reply::Result, call) => call,
        // OTP has them call what they are to call by a function of its own.
        (_, (module, function, arguments)) => {
            let call = heap.tuple(&[module, function, arguments]);
            (known_atom("erts_internal"), known_atom("spawn_init"), heap.list([call]))
        }
    };
    let reference = match request.reference.is_none() {
        true => crate::reference::ReferenceId::fresh().term(heap),
        false => request.reference,
    };
    let arity = atoll_operations::list::elements(arguments).map_or(0, |elements| elements.len());
    let called = heap.tuple(&[module, function, Term::small(arity as i64)]);
    let head = [known_atom("spawn_request"), reference, parent, leader, called];
    let message = heap.tuple(&[&head[..], &[request.options, request.tag, arguments]].concat());
    tell(parent, own, SEND, child, message);
    tell(parent, own, RECEIVE, child, message);
    let mut token = own.token()?.clone();
    let mut sequence = Sequence { clock: token.serial, last: token.serial, token: Some(token.clone()) };
    if request.replies != Reply::Nothing {
        sequence.clock += 1;
        (token.from, token.last, token.serial) = (Origin::Here(child), token.serial, sequence.clock);
        sequence.token = Some(token.clone());
        let heap = &mut own.mutator;
        let reply = heap.tuple(&[request.tag, reference, atoms::OK, child]);
        tell_of(parent, own, &token, SEND, parent, reply);
        if request.replies == Reply::Result {
            tell_of(parent, own, &token, RECEIVE, parent, reply);
            let parents = &mut own.rare().sequence;
            parents.last = token.serial;
            parents.clock = parents.clock.max(token.serial);
        }
    }
    Some(sequence)
}

/// What goes with the reply of a process that `own` has just made, as if it had sent it itself.
pub fn reply_of(own: &Own, child: Term) -> Mark {
    let Some(token) = own.token() else { return Mark::Plain };
    let reply = Token { from: Origin::Here(child), last: token.serial, serial: token.serial + 1, ..token.clone() };
    Mark::Token(Box::new(reply))
}

/// What a process knows that another node asked for with this token, which is that of its arguments.
pub fn of_request(token: Token) -> Sequence {
    Sequence { clock: token.serial, last: token.serial, token: Some(token) }
}

/// The tokens of a request by another node with this token, and of the answer by `from`.
pub fn of_answer(token: &Token, from: Term) -> (Token, Token) {
    let request = Token { serial: token.serial - 1, ..token.clone() };
    let answer = Token { from: Origin::Here(from), last: request.serial, ..token.clone() };
    (request, answer)
}

/// Forgets all tokens and numbers of all processes, with those of messages on their way, while they stand still.
pub fn reset(stopped: &mut Stopped<'_>) {
    stopped.each(|process, own| {
        own.forget_sequence();
        let clear = |message: &Fragment| match signal::detach(message) {
            None | Some(Signal::Message { .. }) => {}
            Some(other) => message.attach(other),
        };
        own.mailbox.each(clear);
        process.inbox.each(clear);
    });
}
