//! Compressed streams: a safe wrapper of the zlib library, with all that OTP's module `zlib` asks of it.
//!
//! It is zlib itself because what the compiler writes into `.beam` files has to be the same to the byte, and because no
//! other library has dictionaries, flushes, strategies and changes of parameters together.

use std::ffi::{c_int, c_uint};
use std::mem::{MaybeUninit, size_of};

use libz_sys as sys;

/// Why the library did not do what it was asked for, or that there is more to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// Done, for now.
    Ok,
    /// The stream has ended.
    StreamEnd,
    /// A dictionary is needed; [`Stream::adler`] says which.
    NeedDictionary,
    /// The parameters or the state of the stream are wrong.
    StreamError,
    /// What came in is no such stream.
    DataError,
    /// There is no memory.
    MemoryError,
    /// There is no input or no room for output.
    BufferError,
    /// Something that the library has no name for here.
    Other,
}

impl Code {
    fn of(code: c_int) -> Code {
        match code {
            sys::Z_OK => Code::Ok,
            sys::Z_STREAM_END => Code::StreamEnd,
            sys::Z_NEED_DICT => Code::NeedDictionary,
            sys::Z_STREAM_ERROR => Code::StreamError,
            sys::Z_DATA_ERROR => Code::DataError,
            sys::Z_MEM_ERROR => Code::MemoryError,
            sys::Z_BUF_ERROR => Code::BufferError,
            _ => Code::Other,
        }
    }
}

/// What a stream does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Compresses.
    Deflate,
    /// Gives back what was compressed.
    Inflate,
}

/// What one step has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// How it ended.
    pub code: Code,
    /// Bytes of input that were used.
    pub consumed: usize,
    /// Bytes of output that were written.
    pub produced: usize,
}

/// Most bytes that a dictionary of the library has.
const WINDOW: usize = 1 << 15;

/// A stream. The library keeps the address of its state, so the state is boxed.
pub struct Stream {
    state: Box<sys::z_stream>,
    direction: Direction,
}

// SAFETY: the state belongs to the stream alone, and the library keeps nothing by thread.
unsafe impl Send for Stream {}

impl Drop for Stream {
    fn drop(&mut self) {
        self.end();
    }
}

unsafe extern "C" fn allocate(_: sys::voidpf, items: c_uint, size: c_uint) -> sys::voidpf {
    // SAFETY: any size may be asked for; the library looks whether it got null.
    unsafe { libz_sys_calloc(items as usize, size as usize) }
}

unsafe extern "C" fn free(_: sys::voidpf, address: sys::voidpf) {
    // SAFETY: the library gives back what `allocate` gave.
    unsafe { libz_sys_free(address) }
}

unsafe extern "C" {
    #[link_name = "calloc"]
    fn libz_sys_calloc(items: usize, size: usize) -> sys::voidpf;
    #[link_name = "free"]
    fn libz_sys_free(address: sys::voidpf);
    // The bindings leave this one out.
    fn inflateGetDictionary(state: sys::z_streamp, dictionary: *mut u8, length: *mut c_uint) -> c_int;
}

/// A state that is not initialised by the library yet.
fn fresh() -> Box<sys::z_stream> {
    let mut state: Box<MaybeUninit<sys::z_stream>> = Box::new(MaybeUninit::zeroed());
    let fields = state.as_mut_ptr();
    // SAFETY: all other fields are numbers and pointers, for which zero is a value.
    unsafe {
        (&raw mut (*fields).zalloc).write(allocate);
        (&raw mut (*fields).zfree).write(free);
        state.assume_init()
    }
}

fn size_of_state() -> c_int {
    size_of::<sys::z_stream>() as c_int
}

impl Stream {
    /// A stream that compresses; the parameters are those of the library's `deflateInit2`.
    ///
    /// # Errors
    /// A parameter is out of range, or there is no memory.
    pub fn deflate(level: i32, method: i32, window: i32, memory: i32, strategy: i32) -> Result<Stream, Code> {
        let mut state = fresh();
        // SAFETY: the state has functions for memory and stays where it is.
        let code = unsafe {
            let (version, size) = (sys::zlibVersion(), size_of_state());
            sys::deflateInit2_(&raw mut *state, level, method, window, memory, strategy, version, size)
        };
        match Code::of(code) {
            Code::Ok => Ok(Stream { state, direction: Direction::Deflate }),
            error => Err(error),
        }
    }

    /// A stream that gives back what was compressed; the parameter is that of the library's `inflateInit2`.
    ///
    /// # Errors
    /// The parameter is out of range, or there is no memory.
    pub fn inflate(window: i32) -> Result<Stream, Code> {
        let mut state = fresh();
        // SAFETY: the state has functions for memory and stays where it is.
        let code = unsafe { sys::inflateInit2_(&raw mut *state, window, sys::zlibVersion(), size_of_state()) };
        match Code::of(code) {
            Code::Ok => Ok(Stream { state, direction: Direction::Inflate }),
            error => Err(error),
        }
    }

    /// What the stream does.
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// Goes on with this input and room for output; `flush` is one of the library's numbers. Of input and output no
    /// more than 4 GB are used in one step.
    pub fn step(&mut self, input: &[u8], output: &mut [u8], flush: i32) -> Step {
        let given = input.len().min(c_uint::MAX as usize) as c_uint;
        let room = output.len().min(c_uint::MAX as usize) as c_uint;
        self.state.next_in = input.as_ptr().cast_mut();
        self.state.avail_in = given;
        self.state.next_out = output.as_mut_ptr();
        self.state.avail_out = room;
        // SAFETY: the state is initialised; input is only read, and both are as long as is said.
        let code = unsafe {
            match self.direction {
                Direction::Deflate => sys::deflate(&raw mut *self.state, flush),
                Direction::Inflate => sys::inflate(&raw mut *self.state, flush),
            }
        };
        let consumed = (given - self.state.avail_in) as usize;
        let produced = (room - self.state.avail_out) as usize;
        self.forget_buffers();
        Step { code: Code::of(code), consumed, produced }
    }

    fn forget_buffers(&mut self) {
        self.state.next_in = std::ptr::null_mut();
        self.state.next_out = std::ptr::null_mut();
        self.state.avail_in = 0;
        self.state.avail_out = 0;
    }

    /// The checksum that the library keeps: of a dictionary that is needed or was set, else of the data.
    pub fn adler(&self) -> u32 {
        self.state.adler as u32
    }

    /// Sets the dictionary.
    pub fn set_dictionary(&mut self, dictionary: &[u8]) -> Code {
        let Ok(length) = c_uint::try_from(dictionary.len()) else { return Code::StreamError };
        // SAFETY: the state is initialised, and the dictionary is as long as is said.
        let code = unsafe {
            match self.direction {
                Direction::Deflate => sys::deflateSetDictionary(&raw mut *self.state, dictionary.as_ptr(), length),
                Direction::Inflate => sys::inflateSetDictionary(&raw mut *self.state, dictionary.as_ptr(), length),
            }
        };
        Code::of(code)
    }

    /// The dictionary of a stream that gives back: what came out last, up to 32 KB.
    ///
    /// # Errors
    /// The stream compresses.
    pub fn dictionary(&mut self) -> Result<Vec<u8>, Code> {
        if self.direction == Direction::Deflate {
            return Err(Code::StreamError);
        }
        let mut dictionary = vec![0; WINDOW];
        let mut length = 0;
        // SAFETY: the state is initialised, and no dictionary is longer than the window.
        let code = unsafe { inflateGetDictionary(&raw mut *self.state, dictionary.as_mut_ptr(), &raw mut length) };
        dictionary.truncate(length as usize);
        if Code::of(code) == Code::Ok { Ok(dictionary) } else { Err(Code::of(code)) }
    }

    /// Begins anew, with the same parameters.
    pub fn reset(&mut self) -> Code {
        // SAFETY: the state is initialised for this direction.
        Code::of(unsafe {
            match self.direction {
                Direction::Deflate => sys::deflateReset(&raw mut *self.state),
                Direction::Inflate => sys::inflateReset(&raw mut *self.state),
            }
        })
    }

    /// Ends the stream: [`Code::DataError`] if it compresses and has begun and not finished. Nothing else can be done
    /// with it afterwards.
    pub fn end(&mut self) -> Code {
        // SAFETY: the state is initialised for this direction; the library sees that it has ended already.
        Code::of(unsafe {
            match self.direction {
                Direction::Deflate => sys::deflateEnd(&raw mut *self.state),
                Direction::Inflate => sys::inflateEnd(&raw mut *self.state),
            }
        })
    }

    /// Changes level and strategy of a stream that compresses. What was given before has to be flushed.
    pub fn parameters(&mut self, level: i32, strategy: i32) -> Code {
        if self.direction == Direction::Inflate {
            return Code::StreamError;
        }
        let mut room = [0u8; 1];
        self.state.next_out = room.as_mut_ptr();
        self.state.avail_out = 1;
        // SAFETY: the state is initialised; there is a byte of room, and no input.
        let code = unsafe { sys::deflateParams(&raw mut *self.state, level, strategy) };
        let wrote = self.state.avail_out == 0;
        self.forget_buffers();
        if wrote { Code::StreamError } else { Code::of(code) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FINISH: i32 = sys::Z_FINISH;

    fn compress(input: &[u8]) -> Vec<u8> {
        let mut stream = Stream::deflate(6, 8, 15, 8, 0).unwrap();
        let mut output = vec![0; 1000];
        let step = stream.step(input, &mut output, FINISH);
        assert_eq!((step.code, step.consumed), (Code::StreamEnd, input.len()));
        output.truncate(step.produced);
        output
    }

    #[test]
    fn what_is_compressed_comes_back() {
        let input = b"abc abc abc abc abc";
        let packed = compress(input);
        let mut stream = Stream::inflate(15).unwrap();
        let mut output = [0; 100];
        let step = stream.step(&packed, &mut output, 0);
        assert_eq!((step.code, &output[..step.produced]), (Code::StreamEnd, &input[..]));
    }

    #[test]
    fn wrong_data_and_parameters_are_told() {
        assert!(matches!(Stream::deflate(77, 8, 15, 8, 0), Err(Code::StreamError)));
        let mut stream = Stream::inflate(15).unwrap();
        assert_eq!(stream.step(b"no such stream", &mut [0; 10], 0).code, Code::DataError);
    }

    #[test]
    fn a_dictionary_is_asked_for() {
        let mut stream = Stream::deflate(6, 8, 15, 8, 0).unwrap();
        assert_eq!(stream.set_dictionary(b"words"), Code::Ok);
        let wanted = stream.adler();
        let mut packed = [0; 100];
        let step = stream.step(b"words words", &mut packed, FINISH);
        let mut back = Stream::inflate(15).unwrap();
        let first = back.step(&packed[..step.produced], &mut [0; 100], 0);
        assert_eq!((first.code, back.adler()), (Code::NeedDictionary, wanted));
        assert_eq!(back.set_dictionary(b"words"), Code::Ok);
        let mut output = [0; 100];
        let second = back.step(&packed[first.consumed..step.produced], &mut output, 0);
        assert_eq!(&output[..second.produced], b"words words");
    }
}
