//! Which release of OTP programs see.

use std::sync::OnceLock;

use crate::system::System;

/// Release and version that programs see: those of the libraries that they run on.
#[derive(Clone, Debug)]
pub struct Release {
    /// `otp_release`, as in `25`.
    pub otp: String,
    /// Version of the runtime, as in `13.1.5`.
    pub runtime: String,
}

/// The release that programs of one machine see, with its number.
#[derive(Default)]
pub(crate) struct Seen(OnceLock<(Release, u32)>);

/// Sets the release of the libraries; the first call counts. Without it, it is that of OTP 25.
pub fn install_release(release: Release) {
    let number = release.otp.parse().unwrap_or(25);
    let _ = System::get().release.0.set((release, number));
}

/// The release that programs see.
pub fn release() -> &'static Release {
    &seen().0
}

fn seen() -> &'static (Release, u32) {
    let usual = || (Release { otp: "25".to_owned(), runtime: "13.1.5".to_owned() }, 25);
    System::get().release.0.get_or_init(usual)
}

/// Number of the release, as 25.
pub fn release_number() -> u32 {
    seen().1
}
