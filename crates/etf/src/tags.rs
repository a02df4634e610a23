//! Tag bytes of the format, named as in OTP's description of it.

pub const VERSION: u8 = 131;

pub const NEW_FLOAT: u8 = 70;
pub const BIT_BINARY: u8 = 77;
pub const COMPRESSED: u8 = 80;
pub const CACHED_ATOM: u8 = 82;
pub const NEW_PID: u8 = 88;
pub const NEW_PORT: u8 = 89;
pub const NEWER_REFERENCE: u8 = 90;
pub const SMALL_INTEGER: u8 = 97;
pub const INTEGER: u8 = 98;
pub const FLOAT: u8 = 99;
pub const ATOM: u8 = 100;
pub const REFERENCE: u8 = 101;
pub const PORT: u8 = 102;
pub const PID: u8 = 103;
pub const SMALL_TUPLE: u8 = 104;
pub const LARGE_TUPLE: u8 = 105;
pub const NIL: u8 = 106;
pub const STRING: u8 = 107;
pub const LIST: u8 = 108;
pub const BINARY: u8 = 109;
pub const SMALL_BIG: u8 = 110;
pub const LARGE_BIG: u8 = 111;
pub const NEW_FUN: u8 = 112;
pub const EXPORT: u8 = 113;
pub const NEW_REFERENCE: u8 = 114;
pub const SMALL_ATOM: u8 = 115;
pub const MAP: u8 = 116;
pub const ATOM_UTF8: u8 = 118;
pub const SMALL_ATOM_UTF8: u8 = 119;
pub const V4_PORT: u8 = 120;
pub const LOCAL: u8 = 121;
