//! `tty_sl`: the driver of a terminal with lines that can be edited. This machine does not have it yet: opening it fails
//! as it does where there is no terminal, and OTP's shell goes on without editing.

use rustix::io::Errno;

use crate::driver::{Failure, Opened};
use crate::open::Settings;

/// Name of the driver.
pub const NAME: &str = "tty_sl";

/// Refuses.
///
/// # Errors
/// Always `enotsup`.
pub fn open(_: &str, _: &Settings) -> Result<Opened, Failure> {
    Err(Failure::System(Errno::NOTSUP))
}
