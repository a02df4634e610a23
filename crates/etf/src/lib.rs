//! The external term format: [`decode`] reads what any OTP from 25 on writes, [`encode`] writes what OTP 25 writes.
//!
//! Both work with explicit stacks, so a term may be as deep as memory allows, and bytes from anywhere are safe to
//! decode: no header makes the decoder reserve more than what the bytes behind it can fill.
//!
//! Deliberately absent: the distribution header and its atom cache, and the pid inside an encoded fun (a fun does
//! not remember who made it; the init process stands in).

#![forbid(unsafe_code)]

mod compressed;
mod decode;
mod encode;
mod identifier;
mod local;
mod reader;
mod sink;
mod tags;

pub use decode::{DecodeError, DecodeOptions, Resolve, decode};
pub use encode::{
    EncodeError, EncodeOptions, Encoded, encode, encode_into, encode_up_to, encoded_size, write_as_since_26,
};
pub use local::{SEAL as LOCAL_SEAL, encode_local};
