//! The compressed form: a length, then a zlib stream.

use std::io::Read;

use flate2::Compression;
use flate2::bufread::{ZlibDecoder, ZlibEncoder};

use crate::decode::DecodeError;

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

/// Appends the zlib stream of `bytes` to `packed`.
pub fn deflate(bytes: &[u8], level: u32, packed: &mut Vec<u8>) -> std::io::Result<()> {
    ZlibEncoder::new(bytes, Compression::new(level.min(9))).read_to_end(packed).map(|_| ())
}
