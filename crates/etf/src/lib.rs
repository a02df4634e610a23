//! The external term format: [`decode`] reads what any OTP from 25 on writes, [`encode`] writes what OTP 25 writes.
//!
//! Both work with explicit stacks, so a term may be as deep as memory allows, and bytes from anywhere are safe to
//! decode: no header makes the decoder reserve more than what the bytes behind it can fill.
//!
//! What stands behind a distribution header is written by [`ForChannel`] and read by [`decode_behind_header`]; the
//! header itself, and the cache of atoms that it changes, belong to the crate `distribution`.

#![forbid(unsafe_code)]

mod compressed;
mod decode;
mod decode_identifier;
mod encode;
mod error;
mod identifier;
mod local;
mod parts;
mod pieces;
mod reader;
mod sink;
mod tags;

pub use decode::{DecodeOptions, Resolve, decode, decode_behind_header, decode_held};
pub use encode::{EncodeError, EncodeOptions, ForChannel, encode, encode_into, encode_up_to, encoded_size};
pub use error::DecodeError;
pub use local::{SEAL as LOCAL_SEAL, encode_local};
pub use parts::{Part, Parts, encode_in_parts};
pub use pieces::Pieces;
pub use sink::Encoded;
