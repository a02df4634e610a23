//! What two nodes agree on when they connect: bits of the handshake, named as in OTP's description of the protocol.

/// The node is to be seen by `nodes/0`.
pub const PUBLISHED: u64 = 1;
/// Processes can be watched, by their names too: two bits, and OTP sends nothing of monitors to a node without both.
pub const MONITOR: u64 = 0x28;
/// Packets begin with a distribution header, which has a cache of atoms.
pub const HEADER: u64 = 0x2000;
/// Sends name their sender.
pub const SEND_SENDER: u64 = 0x8_0000;
/// Labels of tokens may be any terms.
pub const BIG_LABELS: u64 = 0x10_0000;
/// Reasons of exits stand behind the control message.
pub const EXIT_PAYLOAD: u64 = 0x40_0000;
/// Packets may be sent in parts.
pub const FRAGMENTS: u64 = 0x80_0000;
/// Ends of links are numbered.
pub const UNLINK_ID: u64 = 0x200_0000;
/// Processes can be asked for.
pub const SPAWN: u64 = 1 << 32;
/// Messages can be sent to aliases.
pub const ALIAS: u64 = 1 << 35;

/// What is supposed of a node as long as the connection is being made: all that releases from 25 on have.
pub const SUPPOSED: u64 =
    MONITOR | HEADER | SEND_SENDER | BIG_LABELS | EXIT_PAYLOAD | FRAGMENTS | UNLINK_ID | SPAWN | ALIAS;
