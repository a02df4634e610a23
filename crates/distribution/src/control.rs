//! Numbers of control messages, as in OTP's description of the protocol. Those with a payload are followed by a term.

/// `{1, From, To}`
pub const LINK: i64 = 1;
/// `{2, Unused, To}`, payload
pub const SEND: i64 = 2;
/// `{3, From, To, Reason}`
pub const EXIT: i64 = 3;
/// `{4, From, To}`
pub const UNLINK: i64 = 4;
/// `{5}`
pub const NODE_LINK: i64 = 5;
/// `{6, From, Unused, ToName}`, payload
pub const REG_SEND: i64 = 6;
/// `{7, From, To}`
pub const GROUP_LEADER: i64 = 7;
/// `{8, From, To, Reason}`
pub const EXIT2: i64 = 8;
/// `{12, Unused, To, Token}`, payload
pub const SEND_TT: i64 = 12;
/// `{13, From, To, Token, Reason}`
pub const EXIT_TT: i64 = 13;
/// `{16, From, Unused, ToName, Token}`, payload
pub const REG_SEND_TT: i64 = 16;
/// `{18, From, To, Token, Reason}`
pub const EXIT2_TT: i64 = 18;
/// `{19, From, To or Name, Reference}`
pub const MONITOR_P: i64 = 19;
/// `{20, From, To or Name, Reference}`
pub const DEMONITOR_P: i64 = 20;
/// `{21, From or Name, To, Reference, Reason}`
pub const MONITOR_P_EXIT: i64 = 21;
/// `{22, From, To}`, payload
pub const SEND_SENDER: i64 = 22;
/// `{23, From, To, Token}`, payload
pub const SEND_SENDER_TT: i64 = 23;
/// `{24, From, To}`, payload: reason
pub const PAYLOAD_EXIT: i64 = 24;
/// `{25, From, To, Token}`, payload: reason
pub const PAYLOAD_EXIT_TT: i64 = 25;
/// `{26, From, To}`, payload: reason
pub const PAYLOAD_EXIT2: i64 = 26;
/// `{27, From, To, Token}`, payload: reason
pub const PAYLOAD_EXIT2_TT: i64 = 27;
/// `{28, From or Name, To, Reference}`, payload: reason
pub const PAYLOAD_MONITOR_P_EXIT: i64 = 28;
/// `{29, Request, From, GroupLeader, {Module, Function, Arity}, Options}`, payload: arguments
pub const SPAWN_REQUEST: i64 = 29;
/// `{30, Request, From, GroupLeader, {Module, Function, Arity}, Options, Token}`, payload: arguments
pub const SPAWN_REQUEST_TT: i64 = 30;
/// `{31, Request, To, Flags, Result}`
pub const SPAWN_REPLY: i64 = 31;
/// `{32, Request, To, Flags, Result, Token}`
pub const SPAWN_REPLY_TT: i64 = 32;
/// `{33, From, Alias}`, payload
pub const ALIAS_SEND: i64 = 33;
/// `{34, From, Alias, Token}`, payload
pub const ALIAS_SEND_TT: i64 = 34;
/// `{35, Number, From, To}`
pub const UNLINK_ID: i64 = 35;
/// `{36, Number, From, To}`
pub const UNLINK_ID_ACK: i64 = 36;

/// Bit of the flags of a [`SPAWN_REPLY`]: the new process is linked.
pub const SPAWNED_LINK: i64 = 1;
/// Bit of the flags of a [`SPAWN_REPLY`]: the new process is watched.
pub const SPAWNED_MONITOR: i64 = 2;

/// Whether a term follows a control message with this number.
pub fn has_payload(number: i64) -> bool {
    matches!(
        number,
        SEND | REG_SEND | SEND_TT | REG_SEND_TT | SEND_SENDER | SEND_SENDER_TT | ALIAS_SEND | ALIAS_SEND_TT
    ) || matches!(number, PAYLOAD_EXIT..=SPAWN_REQUEST_TT)
}
