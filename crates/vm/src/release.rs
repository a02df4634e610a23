//! Which release of OTP the libraries are of. One executable serves all: what differs between releases and cannot be
//! seen from the modules themselves is decided by this.

use std::path::Path;

use atoll_process::release::{Release, install_release, release_number};

/// Version of the runtime and number of the release, as `releases/start_erl.data` of an installation has them.
fn read(root: &Path) -> Option<Release> {
    let text = std::fs::read_to_string(root.join("releases/start_erl.data")).ok()?;
    parse(&text)
}

fn parse(text: &str) -> Option<Release> {
    let mut words = text.split_whitespace().map(str::to_owned);
    let (runtime, otp) = (words.next()?, words.next()?);
    otp.parse::<u32>().ok()?;
    Some(Release { otp, runtime })
}

/// Tells all parts of the machine about the release below this folder; without a statement of its own it counts as 25.
pub fn install(root: &Path) {
    let Some(release) = read(root) else { return };
    install_release(release);
    atoll_term::set_release(release_number());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        let release = parse("15.2.7 27\n").expect("two words");
        assert_eq!((release.otp.as_str(), release.runtime.as_str()), ("27", "15.2.7"));
        assert!(parse("15.2.7").is_none());
        assert!(parse("15.2.7 R1").is_none());
    }
}
