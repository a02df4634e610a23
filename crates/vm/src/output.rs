//! Input and output without OTP's kernel: a process that speaks the I/O protocol, as the group leader of the program,
//! and reports of programs that fail.

use std::io::{BufRead, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use atoll_code::registry;
use atoll_heap::Message;
use atoll_operations::unicode::{Converted, Encoding, convert};
use atoll_operations::{Class, Exception};
use atoll_process::handle::take_message;
use atoll_process::spawn::{Parent, SpawnOptions, spawn};
use atoll_process::{BuiltIn, Caller, Interrupt, Outcome, Process, System};
use atoll_term::atoms::known_atom;
use atoll_term::{Build, ScratchHeap, Term, View, atoms, text as term_text};
use parking_lot::Mutex;

use crate::machine::part;

/// What the I/O process runs.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn { module: "atoll_io", name: "loop", arity: 1, function: serve },
    BuiltIn { module: "atoll_io", name: "formatted", arity: 1, function: formatted },
];

/// What the I/O process of a machine writes.
#[derive(Default)]
pub(crate) struct Output {
    /// Written, and not yet given to the system.
    buffer: Mutex<Vec<u8>>,
    utf8: AtomicBool,
}

fn output() -> &'static Output {
    &part().output
}

const BUFFER: usize = 16 << 10;

/// Writes out what is still buffered.
pub fn flush() {
    let mut buffer = output().buffer.lock();
    write_out(&mut buffer);
}

fn write_out(buffer: &mut Vec<u8>) {
    let mut out = std::io::stdout().lock();
    if let Err(error) = out.write_all(buffer).and_then(|()| out.flush()) {
        eprintln!("atoll: cannot write to standard output: {error}");
        atoll_platform::ending::leave(1);
    }
    buffer.clear();
}

/// First release of the `kernel` library that writes UTF-8 without a shell (OTP 26).
const UTF8_KERNEL: u32 = 9;

/// Takes over what the libraries' own I/O server would do: before OTP 26 it writes Latin-1 when there is no shell.
pub fn set_encoding(kernel_release: Option<u32>) {
    output().utf8.store(kernel_release.is_none_or(|release| release >= UTF8_KERNEL), Ordering::Relaxed);
}

fn is_utf8() -> bool {
    output().utf8.load(Ordering::Relaxed)
}

/// Writes text to a stream; standard error is not buffered.
fn put_text_to(stream: Term, text: &str) {
    if stream == atoms::STANDARD_ERROR {
        eprint!("{text}");
    } else {
        put_text(text);
    }
}

/// Writes text; characters that a Latin-1 terminal does not have are escaped, as OTP does.
fn put_text(text: &str) {
    let mut buffer = output().buffer.lock();
    if is_utf8() {
        buffer.extend_from_slice(text.as_bytes());
    } else {
        for character in text.chars() {
            match u8::try_from(u32::from(character)) {
                Ok(byte) => buffer.push(byte),
                Err(_) => buffer.extend_from_slice(format!("\\x{{{:X}}}", u32::from(character)).as_bytes()),
            }
        }
    }
    if buffer.len() >= BUFFER {
        write_out(&mut buffer);
    }
}

/// Writes text past the I/O process, in order with what it has written, and always in UTF-8, as `erlang:display/1`
/// does.
pub fn print(text: &str) {
    output().buffer.lock().extend_from_slice(text.as_bytes());
    flush();
}

/// Starts the I/O process of a stream, `standard_io` or `standard_error`; `None` if there can be no more processes.
pub fn spawn_server(stream: Term, options: &SpawnOptions) -> Option<Term> {
    let arguments = Parent::Machine(Message::compose(|heap| heap.list([stream])));
    spawn(arguments, (known_atom("atoll_io"), known_atom("loop")), None, options).ok()
}

/// Whether this process is one of those that [`spawn_server`] starts.
pub fn is_server(pid: Term) -> bool {
    [atoms::USER, atoms::STANDARD_ERROR].iter().any(|name| System::get().whereis(*name) == Some(pid))
}

/// Makes the I/O process the group leader of a process that has not run yet.
pub fn adopt(process: &Process, user: Term) {
    let leader = atoll_process::signal::bare(atoll_process::Signal::GroupLeader { leader: user });
    drop(process.push(leader));
}

/// Serves requests for ever.
fn serve(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let stream = arguments[0];
    while let Some(message) = take_message(caller.own) {
        if let Some(&[tag, from, reply_as, request]) = message.tuple_elements()
            && tag == atoms::IO_REQUEST
        {
            match carry_out(caller, stream, request) {
                Done::Reply(result) => reply(caller, from, reply_as, result),
                Done::Format { function, arguments, latin1 } => {
                    let remembered = caller.heap().tuple(&[from, reply_as, Term::boolean(latin1), stream]);
                    caller.own.rare().dictionary.put(atoms::IO_REQUEST, remembered);
                    let then = registry().export(known_atom("atoll_io"), known_atom("formatted"), 1);
                    return Err(Interrupt::CallCatching(function, arguments, then));
                }
            }
        }
    }
    flush();
    Err(Interrupt::Wait(vec![stream]))
}

/// The text that a request asked to be formatted has been made.
fn formatted(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let remembered = caller.own.rare().dictionary.erase(atoms::IO_REQUEST);
    let mut served = atoms::STANDARD_IO;
    if let Some(&[from, reply_as, latin1, stream]) = remembered.as_ref().and_then(Term::tuple_elements) {
        let encoding = if latin1 == atoms::TRUE { Encoding::Latin1 } else { Encoding::Utf8 };
        let result = put_characters(caller, stream, arguments[0], encoding);
        reply(caller, from, reply_as, result);
        served = stream;
    }
    Err(Interrupt::Call(registry().export(known_atom("atoll_io"), known_atom("loop"), 1), vec![served]))
}

fn reply(caller: &mut Caller<'_>, from: Term, reply_as: Term, result: Term) {
    let message = caller.heap().tuple(&[atoms::IO_REPLY, reply_as, result]);
    let own = caller.process.pid;
    // A client that has gone needs no answer.
    let _ = atoll_process::send::send(own, caller.own, from, message);
}

enum Done {
    Reply(Term),
    Format { function: &'static atoll_term::Export, arguments: Vec<Term>, latin1: bool },
}

fn error(caller: &mut Caller<'_>, reason: &str) -> Term {
    caller.heap().tuple(&[atoms::ERROR, known_atom(reason)])
}

fn carry_out(caller: &mut Caller<'_>, stream: Term, request: Term) -> Done {
    if request == known_atom("getopts") {
        let encoding = if is_utf8() { atoms::UNICODE } else { atoms::LATIN1 };
        let heap = caller.heap();
        let binary = heap.tuple(&[atoms::BINARY, atoms::FALSE]);
        let encoding = heap.tuple(&[known_atom("encoding"), encoding]);
        return Done::Reply(heap.list([binary, encoding]));
    }
    let Some(elements) = request.tuple_elements() else { return Done::Reply(error(caller, "request")) };
    match *elements {
        [tag, encoding, characters] if tag == atoms::PUT_CHARS => {
            let encoding = if encoding == atoms::LATIN1 { Encoding::Latin1 } else { Encoding::Utf8 };
            Done::Reply(put_characters(caller, stream, characters, encoding))
        }
        [tag, characters] if tag == atoms::PUT_CHARS => {
            Done::Reply(put_characters(caller, stream, characters, Encoding::Latin1))
        }
        [tag, encoding, module, function, arguments] if tag == atoms::PUT_CHARS => {
            format(caller, module, function, arguments, encoding == atoms::LATIN1)
        }
        [tag, module, function, arguments] if tag == atoms::PUT_CHARS => {
            format(caller, module, function, arguments, true)
        }
        [tag, mut list] if tag == known_atom("requests") => {
            let mut last = atoms::OK;
            while list.is_cons() {
                match carry_out(caller, stream, list.head()) {
                    Done::Reply(result) => last = result,
                    // Formatting inside of a list of requests would need a state of its own; clients do not ask it.
                    Done::Format { .. } => return Done::Reply(error(caller, "enotsup")),
                }
                list = list.tail();
            }
            Done::Reply(last)
        }
        [tag, _, prompt] if tag == atoms::GET_LINE => Done::Reply(get_line(caller, prompt)),
        [tag, prompt] if tag == atoms::GET_LINE => Done::Reply(get_line(caller, prompt)),
        [tag, _, prompt, count] if tag == atoms::GET_CHARS => Done::Reply(get_characters(caller, prompt, count)),
        [tag, _] if tag == known_atom("setopts") => Done::Reply(atoms::OK),
        _ => Done::Reply(error(caller, "enotsup")),
    }
}

fn format(caller: &mut Caller<'_>, module: Term, function: Term, arguments: Term, latin1: bool) -> Done {
    match atoll_operations::list::elements(arguments) {
        Some(arguments) if module.is_atom() && function.is_atom() && arguments.len() < 255 => {
            let function = registry().export(module, function, arguments.len() as u8);
            Done::Format { function, arguments, latin1 }
        }
        _ => Done::Reply(error(caller, "request")),
    }
}

fn put_characters(caller: &mut Caller<'_>, stream: Term, characters: Term, encoding: Encoding) -> Term {
    let converted = convert(characters, encoding, caller.heap());
    match converted {
        Ok(Converted::All(text)) => {
            put_text_to(stream, &text);
            atoms::OK
        }
        Ok(_) | Err(Exception { .. }) => error(caller, "put_chars"),
    }
}

fn prompt(caller: &mut Caller<'_>, prompt: Term) {
    if prompt.is_atom() {
        put_text(atoms::atom_name(prompt));
    } else if let Ok(Converted::All(text)) = convert(prompt, Encoding::Utf8, caller.heap()) {
        put_text(&text);
    }
    flush();
}

fn get_line(caller: &mut Caller<'_>, text: Term) -> Term {
    crate::simulation::note_input(caller.process.pid);
    prompt(caller, text);
    let mut line = Vec::new();
    match std::io::stdin().lock().read_until(b'\n', &mut line) {
        Ok(0) => known_atom("eof"),
        Ok(_) => input_text(caller, &line),
        Err(_) => error(caller, "terminated"),
    }
}

fn get_characters(caller: &mut Caller<'_>, text: Term, count: Term) -> Term {
    crate::simulation::note_input(caller.process.pid);
    prompt(caller, text);
    let Some(count @ 0..=0x10_0000) = count.as_small() else { return error(caller, "request") };
    let mut bytes = Vec::new();
    match std::io::stdin().lock().take(count as u64).read_to_end(&mut bytes) {
        Ok(0) if count > 0 => known_atom("eof"),
        Ok(_) => input_text(caller, &bytes),
        Err(_) => error(caller, "terminated"),
    }
}

fn input_text(caller: &mut Caller<'_>, bytes: &[u8]) -> Term {
    match std::str::from_utf8(bytes) {
        Ok(text) if is_utf8() => caller.heap().string(text),
        _ => caller.heap().list(bytes.iter().map(|byte| Term::small(i64::from(*byte)))),
    }
}

/// A term as text.
pub fn text(term: Term) -> String {
    term_text::to_string(term)
}

/// What a user reads when an uncaught exception ends a process.
pub fn report(pid: Term, class: Class, reason: Term, main: bool) -> String {
    let mut out = String::new();
    let (what, trace) = match reason.view() {
        View::Tuple([what, trace]) if class != Class::Exit && trace.is_list() => (*what, *trace),
        _ => (reason, Term::NIL),
    };
    let who = if main { "the program".to_owned() } else { format!("process {}", text(pid)) };
    let kind = match class {
        Class::Error => "error",
        Class::Exit => "exit",
        Class::Throw => "throw",
    };
    out.push_str(&format!("atoll: {who} failed: {kind} {}\n", text(what)));
    let mut at = trace;
    while at.is_cons() {
        if let Some(&[module, function, arity, location]) = at.head().tuple_elements() {
            out.push_str(&frame(module, function, arity, location));
        }
        at = at.tail();
    }
    out
}

fn frame(module: Term, function: Term, arity: Term, location: Term) -> String {
    let arguments = if arity.is_list() {
        let arguments = atoll_operations::list::elements(arity).unwrap_or_default();
        format!("({})", arguments.iter().map(|one| text(*one)).collect::<Vec<_>>().join(", "))
    } else {
        format!("/{}", text(arity))
    };
    let (mut file, mut line) = (None, None);
    let mut at = location;
    while at.is_cons() {
        if let Some(&[key, value]) = at.head().tuple_elements() {
            match key {
                atoms::FILE => file = characters(value),
                atoms::LINE => line = value.as_small(),
                _ => {}
            }
        }
        at = at.tail();
    }
    let place = match (file, line) {
        (Some(file), Some(line)) => format!("  ({file}:{line})"),
        _ => String::new(),
    };
    format!("  in {}:{}{arguments}{place}\n", text(module), text(function))
}

fn characters(list: Term) -> Option<String> {
    let mut scratch = ScratchHeap::new();
    match convert(list, Encoding::Utf8, &mut scratch).ok()? {
        Converted::All(text) => Some(text),
        _ => None,
    }
}
