//! The one table of functions that the machine provides in the place of OTP's emulator, and what it lacks.

use atoll_bifs::{OtpFunction, missing_from, otp_functions};
use atoll_process::BuiltIn;

/// The functions that the machine provides in the place of OTP's emulator.
pub fn machine_functions() -> Vec<BuiltIn> {
    [atoll_bifs::built_ins(), &atoll_ports::built_ins(), atoll_natives::built_ins(), atoll_nifs::built_ins()].concat()
}

/// Functions of OTP's emulator, of any release, that the machine lacks.
pub fn missing_functions() -> Vec<OtpFunction> {
    missing_from(&machine_functions())
}

/// How many functions OTP's emulator of this release has.
pub fn known_functions(release: u32) -> usize {
    otp_functions().filter(|one| one.is_in(release)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The list may only become shorter: what is made is taken out of it, and nothing is added.
    #[test]
    fn the_list_of_what_is_missing_is_true() {
        let listed: Vec<&str> = include_str!("../../bifs/missing.txt").lines().collect();
        let missing: Vec<String> = missing_functions().iter().map(ToString::to_string).collect();
        let lost: Vec<&String> = missing.iter().filter(|one| !listed.contains(&one.as_str())).collect();
        assert!(lost.is_empty(), "these functions are gone: {lost:?}");
        let made: Vec<&&str> = listed.iter().filter(|one| !missing.contains(&(**one).to_owned())).collect();
        assert!(made.is_empty(), "take out with `atoll doctor --list > crates/bifs/missing.txt`: {made:?}");
    }
}
