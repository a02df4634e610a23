//! The bytes at the beginning of a packet.

/// Version of the external term format.
pub const VERSION: u8 = 131;
/// A header with atoms, then the terms.
pub const HEADED: u8 = 68;
/// The first fragment of a packet: sequence, number, header with atoms, then the beginning of the terms.
pub const FIRST_FRAGMENT: u8 = 69;
/// A later fragment: sequence, number, more of the terms.
pub const NEXT_FRAGMENT: u8 = 70;
/// No header: terms with version bytes.
pub const PASS_THROUGH: u8 = 112;
