//! `zlib`: streams that programs compress and take apart step by step. What is given to one lies in a queue until it
//! is asked to go on.

use std::collections::VecDeque;

use atoll_code::Resolver;
use atoll_etf::{DecodeOptions, EncodeOptions};
use atoll_operations::{Exception, iolist, list};
use atoll_process::{BuiltIn, Caller, Interrupt, Outcome, ReferenceId, badarg};
use atoll_term::atoms::known_atom;
use atoll_term::{Build, Term, atoms, this_node};
use atoll_zlib::{Code, Direction, Stream};
use bytes::Bytes;
use parking_lot::{Mutex, MutexGuard};

use crate::arguments::int;

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("zlib", "open_nif", 0, open),
    BuiltIn::new("zlib", "close_nif", 1, close),
    BuiltIn::new("zlib", "set_controller_nif", 2, set_controller),
    BuiltIn::new("zlib", "deflateInit_nif", 6, deflate_init),
    BuiltIn::new("zlib", "deflateSetDictionary_nif", 2, deflate_set_dictionary),
    BuiltIn::new("zlib", "deflateReset_nif", 1, deflate_reset),
    BuiltIn::new("zlib", "deflateEnd_nif", 1, deflate_end),
    BuiltIn::new("zlib", "deflateParams_nif", 3, deflate_params),
    BuiltIn::new("zlib", "deflate_nif", 4, deflate),
    BuiltIn::new("zlib", "inflateInit_nif", 3, inflate_init),
    BuiltIn::new("zlib", "inflateSetDictionary_nif", 2, inflate_set_dictionary),
    BuiltIn::new("zlib", "inflateGetDictionary_nif", 1, inflate_get_dictionary),
    BuiltIn::new("zlib", "inflateReset_nif", 1, inflate_reset),
    BuiltIn::new("zlib", "inflateEnd_nif", 1, inflate_end),
    BuiltIn::new("zlib", "inflate_nif", 4, inflate),
    BuiltIn::new("zlib", "crc32_nif", 1, crc32),
    BuiltIn::new("zlib", "getStash_nif", 1, get_stash),
    BuiltIn::new("zlib", "clearStash_nif", 1, clear_stash),
    BuiltIn::new("zlib", "setStash_nif", 2, set_stash),
    BuiltIn::new("zlib", "getBufSize_nif", 1, get_buffer_size),
    BuiltIn::new("zlib", "setBufSize_nif", 2, set_buffer_size),
    BuiltIn::new("zlib", "enqueue_nif", 2, enqueue),
];

/// What happens when data comes after the end of a stream.
const AT_END_FAIL: i32 = 0;
const AT_END_RESET: i32 = 1;
/// Bytes of output of one step that are too many.
const MAX_OUTPUT: usize = 1 << 30;
/// Binaries that are taken into the queue at a time.
const TAKEN: usize = 256;
/// Bytes that cost a reduction.
const BYTES_PER_REDUCTION: usize = 50;
/// What `inflateChunk/1` gives at a time, unless the program says otherwise.
const CHUNK: i32 = 4000;
/// The library's number for no flush.
const NO_FLUSH: i32 = 0;

struct State {
    controller: Term,
    stream: Option<Stream>,
    closed: bool,
    at_end: i32,
    end_seen: bool,
    raw: bool,
    input: VecDeque<Bytes>,
    /// Of what goes into a raw stream that compresses, or comes out of a raw one that does not.
    checksum: crc32fast::Hasher,
    /// A term in the external format.
    stash: Option<Vec<u8>>,
    chunk: i32,
}

impl State {
    fn queued(&self) -> usize {
        self.input.iter().map(Bytes::len).sum()
    }

    fn reset_input(&mut self) {
        self.input.clear();
        self.stash = None;
    }

    fn begin(&mut self, stream: Stream, raw: bool) {
        self.stream = Some(stream);
        self.raw = raw;
        self.end_seen = false;
        self.checksum = crc32fast::Hasher::new();
    }

    /// The stream, if it goes in this direction.
    fn stream(&mut self, direction: Direction) -> Result<&mut Stream, Interrupt> {
        let stream = self.stream.as_mut().filter(|stream| stream.direction() == direction);
        stream.ok_or_else(|| failure("not_initialized"))
    }
}

/// An error with this reason.
fn failure(reason: &str) -> Interrupt {
    Exception::error(known_atom(reason)).into()
}

/// What a function gives back for a code of the library.
fn result(code: Code) -> Outcome {
    match code {
        Code::Ok => Ok(atoms::OK),
        Code::StreamError => Err(failure("stream_error")),
        Code::DataError => Err(failure("data_error")),
        Code::StreamEnd => Ok(known_atom("stream_end")),
        Code::MemoryError => Ok(known_atom("mem_error")),
        Code::BufferError => Ok(known_atom("buf_error")),
        Code::NeedDictionary | Code::Other => Ok(known_atom("unknown_error")),
    }
}

fn handle(term: &Term) -> Result<&Mutex<State>, Interrupt> {
    term.magic().ok_or_else(badarg)
}

/// The state behind a handle that the caller controls.
fn state<'h>(caller: &Caller<'_>, term: &'h Term) -> Result<MutexGuard<'h, State>, Interrupt> {
    let state = handle(term)?.lock();
    if state.controller == caller.process.pid { Ok(state) } else { Err(failure("not_on_controlling_process")) }
}

fn open(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    let state = State {
        controller: caller.process.pid,
        stream: None,
        closed: false,
        at_end: 0,
        end_seen: false,
        raw: false,
        input: VecDeque::new(),
        checksum: crc32fast::Hasher::new(),
        stash: None,
        chunk: CHUNK,
    };
    Ok(ReferenceId::of_value(caller.heap(), Mutex::new(state)))
}

fn close(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let mut state = state(caller, &arguments[0])?;
    if state.closed {
        return Err(failure("not_initialized"));
    }
    state.stream = None;
    state.closed = true;
    state.reset_input();
    Ok(atoms::OK)
}

fn set_controller(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    handle(&arguments[0])?;
    if !arguments[1].is_local_pid() {
        return Err(badarg());
    }
    state(caller, &arguments[0])?.controller = arguments[1];
    Ok(atoms::OK)
}

/// The state of a handle that has no stream yet.
fn unused<'h>(caller: &Caller<'_>, term: &'h Term) -> Result<MutexGuard<'h, State>, Interrupt> {
    let state = state(caller, term)?;
    if state.stream.is_some() || state.closed { Err(failure("already_initialized")) } else { Ok(state) }
}

/// `deflateInit(Z, Level, Method, WindowBits, MemoryLevel, Strategy)`
fn deflate_init(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    handle(&arguments[0])?;
    let (level, method, window) = (int(arguments[1])?, int(arguments[2])?, int(arguments[3])?);
    let (memory, strategy) = (int(arguments[4])?, int(arguments[5])?);
    let mut state = unused(caller, &arguments[0])?;
    match Stream::deflate(level, method, window, memory, strategy) {
        Ok(stream) => state.begin(stream, window < 0),
        Err(code) => return result(code),
    }
    Ok(atoms::OK)
}

/// `inflateInit(Z, WindowBits, AtEnd)`
fn inflate_init(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    handle(&arguments[0])?;
    let (window, at_end) = (int(arguments[1])?, int(arguments[2])?);
    let mut state = unused(caller, &arguments[0])?;
    match Stream::inflate(window) {
        Ok(stream) => state.begin(stream, window < 0),
        Err(code) => return result(code),
    }
    state.at_end = at_end;
    Ok(atoms::OK)
}

fn dictionary(caller: &mut Caller<'_>, arguments: &[Term], direction: Direction) -> Outcome {
    handle(&arguments[0])?;
    let bytes = iolist::iolist_bytes(arguments[1])?;
    let mut state = state(caller, &arguments[0])?;
    let raw = state.raw;
    let stream = state.stream(direction)?;
    let code = stream.set_dictionary(&bytes);
    if code != Code::Ok || direction == Direction::Inflate {
        return result(code);
    }
    // A raw stream keeps no checksum, so it is made here, from zero.
    let checksum = if raw { adler_from_zero(&bytes) } else { stream.adler() };
    Ok(Term::small(checksum.into()))
}

fn adler_from_zero(bytes: &[u8]) -> u32 {
    let mut adler = adler2::Adler32::from_checksum(0);
    adler.write_slice(bytes);
    adler.checksum()
}

fn deflate_set_dictionary(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    dictionary(caller, arguments, Direction::Deflate)
}

fn inflate_set_dictionary(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    dictionary(caller, arguments, Direction::Inflate)
}

fn inflate_get_dictionary(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let found = state(caller, &arguments[0])?.stream(Direction::Inflate)?.dictionary();
    match found {
        Ok(dictionary) => Ok(caller.heap().binary(&dictionary)),
        Err(code) => result(code),
    }
}

fn reset(caller: &mut Caller<'_>, arguments: &[Term], direction: Direction) -> Outcome {
    let mut state = state(caller, &arguments[0])?;
    let code = state.stream(direction)?.reset();
    state.checksum = crc32fast::Hasher::new();
    state.end_seen = false;
    state.reset_input();
    result(code)
}

fn deflate_reset(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    reset(caller, arguments, Direction::Deflate)
}

fn inflate_reset(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    reset(caller, arguments, Direction::Inflate)
}

fn end(caller: &mut Caller<'_>, arguments: &[Term], direction: Direction) -> Outcome {
    let mut state = state(caller, &arguments[0])?;
    let mut code = state.stream(direction)?.end();
    let unfinished = direction == Direction::Inflate && !state.end_seen;
    if code == Code::Ok && (unfinished || state.queued() > 0) {
        code = Code::DataError;
    }
    state.stream = None;
    state.reset_input();
    result(code)
}

fn deflate_end(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    end(caller, arguments, Direction::Deflate)
}

fn inflate_end(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    end(caller, arguments, Direction::Inflate)
}

fn deflate_params(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    handle(&arguments[0])?;
    let (level, strategy) = (int(arguments[1])?, int(arguments[2])?);
    result(state(caller, &arguments[0])?.stream(Direction::Deflate)?.parameters(level, strategy))
}

fn deflate(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    step(caller, arguments, Direction::Deflate)
}

fn inflate(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    step(caller, arguments, Direction::Inflate)
}

/// What a walk over the queue has done.
struct Walk {
    code: Code,
    consumed: usize,
    produced: usize,
}

/// Gives the queue to the stream, up to `limit` bytes, until it has filled `output` or wants something.
fn walk(state: &mut State, direction: Direction, limit: usize, output: &mut [u8], flush: i32) -> Option<Walk> {
    let State { stream, input, checksum, raw, .. } = state;
    let stream = stream.as_mut()?;
    let mut walk = Walk { code: Code::Ok, consumed: 0, produced: 0 };
    while walk.code == Code::Ok && walk.consumed < limit {
        let Some(head) = input.front_mut() else { break };
        let block = &head[..head.len().min(limit)];
        let step = stream.step(block, &mut output[walk.produced..], NO_FLUSH);
        if *raw && direction == Direction::Deflate {
            checksum.update(&block[..step.consumed]);
        }
        walk.code = step.code;
        walk.consumed += step.consumed;
        walk.produced += step.produced;
        let is_stuck = step.consumed == 0;
        if step.consumed == head.len() {
            input.pop_front();
        } else {
            let _ = head.split_to(step.consumed);
            if is_stuck || walk.produced == output.len() {
                break;
            }
        }
    }
    // At the end of the input the stream is flushed, which does nothing when there is nothing left.
    if walk.code == Code::Ok && input.is_empty() && walk.produced < output.len() {
        let step = stream.step(&[], &mut output[walk.produced..], flush);
        walk.code = step.code;
        walk.produced += step.produced;
    }
    Some(walk)
}

/// `deflate(Z, MostInput, MostOutput, Flush)`, `inflate` likewise: `{continue | finished, [Output]}`, or
/// `{need_dictionary, Checksum, [Output]}`.
fn step(caller: &mut Caller<'_>, arguments: &[Term], direction: Direction) -> Outcome {
    handle(&arguments[0])?;
    let (limit, room, flush) = (int(arguments[1])?, int(arguments[2])?, int(arguments[3])?);
    let mut state = state(caller, &arguments[0])?;
    state.stream(direction)?;
    let (Ok(limit), Ok(room)) = (usize::try_from(limit), usize::try_from(room)) else {
        return result(Code::MemoryError);
    };
    if room > MAX_OUTPUT {
        return result(Code::MemoryError);
    }
    if direction == Direction::Inflate && state.end_seen && state.queued() > 0 {
        match state.at_end {
            AT_END_FAIL => return result(Code::DataError),
            AT_END_RESET => {
                let code = state.stream(direction)?.reset();
                if code != Code::Ok {
                    return result(code);
                }
                state.end_seen = false;
            }
            _ => state.reset_input(),
        }
    }
    let mut output = vec![0; room];
    let walk = walk(&mut state, direction, limit, &mut output, flush).ok_or_else(badarg)?;
    caller.reductions -= ((walk.consumed + walk.produced) / BYTES_PER_REDUCTION) as i64;
    match walk.code {
        Code::StreamError | Code::DataError | Code::MemoryError | Code::Other => return result(walk.code),
        Code::StreamEnd => state.end_seen = true,
        Code::Ok | Code::NeedDictionary | Code::BufferError => {}
    }
    let output = &output[..walk.produced];
    if state.raw && direction == Direction::Inflate {
        state.checksum.update(output);
    }
    let remaining = state.queued();
    if walk.consumed == 0 && walk.produced == 0 && remaining > 0 && walk.code != Code::NeedDictionary {
        return result(Code::DataError);
    }
    let heap = caller.heap();
    let flushed = match output {
        [] => Term::NIL,
        bytes => {
            let binary = heap.binary(bytes);
            heap.list([binary])
        }
    };
    if remaining == 0 && walk.produced < room {
        Ok(heap.tuple(&[known_atom("finished"), flushed]))
    } else if walk.code != Code::NeedDictionary {
        Ok(heap.tuple(&[known_atom("continue"), flushed]))
    } else {
        let adler = state.stream(direction)?.adler();
        Ok(heap.tuple(&[known_atom("need_dictionary"), Term::small(adler.into()), flushed]))
    }
}

fn crc32(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let state = state(caller, &arguments[0])?;
    if state.stream.is_none() {
        return Err(failure("not_initialized"));
    }
    Ok(Term::small(state.checksum.clone().finalize().into()))
}

fn get_stash(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let state = state(caller, &arguments[0])?;
    let Some(bytes) = &state.stash else { return Ok(known_atom("empty")) };
    let decoded = atoll_etf::decode(bytes, DecodeOptions::default(), &mut Resolver, caller.heap());
    let (term, _) = decoded.map_err(|_| badarg())?;
    Ok(caller.heap().tuple(&[atoms::OK, term]))
}

fn clear_stash(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    match state(caller, &arguments[0])?.stash.take() {
        Some(_) => Ok(atoms::OK),
        None => Err(failure("error")),
    }
}

fn set_stash(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let mut state = state(caller, &arguments[0])?;
    if state.stash.is_some() {
        return Err(failure("error"));
    }
    let bytes = atoll_etf::encode(arguments[1], EncodeOptions::default(), this_node()).map_err(|_| badarg())?;
    state.stash = Some(bytes);
    Ok(atoms::OK)
}

fn get_buffer_size(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(Term::small(state(caller, &arguments[0])?.chunk.into()))
}

fn set_buffer_size(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let mut state = state(caller, &arguments[0])?;
    state.chunk = int(arguments[1])?;
    Ok(atoms::OK)
}

/// `enqueue(Z, [Binary])`: `ok`, or `{continue, Rest}`.
fn enqueue(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let mut state = state(caller, &arguments[0])?;
    if state.stream.is_none() {
        return Err(failure("not_initialized"));
    }
    list::elements_or_badarg(arguments[1])?;
    let mut rest = arguments[1];
    let mut taken = Vec::new();
    while rest.is_cons() && taken.len() < TAKEN {
        let head = rest.head();
        let bits = head.bits().filter(|bits| bits.is_binary()).ok_or_else(badarg)?;
        taken.push(Bytes::copy_from_slice(&bits.to_bytes()));
        rest = rest.tail();
    }
    state.input.extend(taken.into_iter().filter(|bytes| !bytes.is_empty()));
    match rest.is_nil() {
        true => Ok(atoms::OK),
        false => Ok(caller.heap().tuple(&[known_atom("continue"), rest])),
    }
}
