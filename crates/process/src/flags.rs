//! The switches of a process, one bit each.

/// Switches of a process, all off at first.
#[derive(Clone, Copy, Debug, Default)]
pub struct Flags(u16);

impl Flags {
    /// All off.
    pub const NONE: Flags = Flags(0);
}

/// The functions that read a switch, and those that set it and return what it was.
macro_rules! switches {
    ($($bit:literal: $(#[$meaning:meta])* $name:ident $set:ident;)*) => {
        impl Flags {
            $(
                $(#[$meaning])*
                #[inline(always)]
                pub fn $name(self) -> bool {
                    self.0 & (1 << $bit) != 0
                }

                #[doc = concat!("Sets [`Flags::", stringify!($name), "`]. Returns what it was.")]
                #[inline]
                pub fn $set(&mut self, on: bool) -> bool {
                    let before = self.$name();
                    self.0 = (self.0 & !(1 << $bit)) | (u16::from(on) << $bit);
                    before
                }
            )*
        }
    };
}

switches! {
    0:
    /// `trap_exit`
    trap_exit set_trap_exit;
    1:
    /// `sensitive`
    sensitive set_sensitive;
    2:
    /// `message_queue_data` is `off_heap`
    off_heap_messages set_off_heap_messages;
    3:
    /// Is to be removed from the table without being counted as the program's.
    system set_system;
    4:
    /// Sleeps in `erlang:hibernate/3`.
    hibernating set_hibernating;
    5:
    /// Was exited by `max_heap_size` without a log message.
    quiet_heap_limit set_quiet_heap_limit;
    6:
    /// `max_heap_size` does not kill.
    heap_limit_spares set_heap_limit_spares;
    7:
    /// Has something to tell a tracer: see [`crate::tracing`]; or has a token: see [`crate::sequence`].
    traced set_traced;
    8:
    /// Frames that wait for the returns of traced functions may be on its stack.
    awaits_returns set_awaits_returns;
    9:
    /// Has a token, or messages in the mailbox may: see [`crate::sequence`].
    sequenced set_sequenced;
}
