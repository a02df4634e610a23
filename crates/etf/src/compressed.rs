//! The compressed form: a length, then a zlib stream.

use std::io::Read;

use atoll_zlib::{Code, Stream};
use flate2::bufread::ZlibDecoder;

use crate::error::DecodeError;

/// Inflates the stream at the start of `bytes` to exactly `length` bytes. Gives these and how many bytes of input the
/// stream took. The room grows with what really comes out, whatever length was declared.
pub fn inflate(bytes: &[u8], length: usize) -> Result<(Vec<u8>, usize), DecodeError> {
    let mut decoder = ZlibDecoder::new(bytes);
    let mut inflated = Vec::new();
    // One byte more than declared shows a stream that is too long, and makes the decoder read the checksum.
    decoder.by_ref().take(length as u64 + 1).read_to_end(&mut inflated).map_err(|_| DecodeError::Malformed)?;
    if inflated.len() != length {
        return Err(DecodeError::Malformed);
    }
    Ok((inflated, decoder.total_in() as usize))
}

/// Bytes of memory that the compressor has, as a power of two, and its window: the library's defaults.
const MEMORY: i32 = 8;
/// Its window, likewise.
const WINDOW: i32 = 15;
/// The library's number for its usual method.
const DEFLATED: i32 = 8;
/// The library's number for all that is left.
const FINISH: i32 = 4;
/// Bytes that are compressed at a time.
const PIECE: usize = 1 << 14;

/// Appends the zlib stream of `bytes` to `packed`: the same bytes as OTP writes, which uses the same library.
pub fn deflate(bytes: &[u8], level: u32, packed: &mut Vec<u8>) -> std::io::Result<()> {
    let failed = |code: Code| std::io::Error::other(format!("{code:?}"));
    let mut stream = Stream::deflate(level.min(9) as i32, DEFLATED, WINDOW, MEMORY, 0).map_err(failed)?;
    let mut rest = bytes;
    let mut piece = vec![0; PIECE];
    loop {
        let step = stream.step(rest, &mut piece, FINISH);
        packed.extend_from_slice(&piece[..step.produced]);
        rest = &rest[step.consumed..];
        match step.code {
            Code::Ok => {}
            Code::StreamEnd => return Ok(()),
            code => return Err(failed(code)),
        }
    }
}
