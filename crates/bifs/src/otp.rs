//! What OTP's emulator has: names, arities and releases of its built-in functions and of the native functions that
//! are linked into it. The rows are facts gathered from OTP 25.2, 27.3 and 29.1.

use std::collections::HashSet;

use atoll_process::BuiltIn;

const TABLE: &str = include_str!("../otp-functions.tsv");

/// A function that OTP's emulator has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OtpFunction {
    /// Module.
    pub module: &'static str,
    /// Function.
    pub name: &'static str,
    /// Arity.
    pub arity: u8,
    /// Releases that have it, with spaces between them.
    pub releases: &'static str,
}

impl OtpFunction {
    /// Whether this release has it; of a release without a column, the one before counts.
    pub fn is_in(&self, release: u32) -> bool {
        let column = match release {
            ..=26 => "25",
            27 | 28 => "27",
            _ => "29",
        };
        self.releases.split(' ').any(|one| one == column)
    }
}

impl std::fmt::Display for OtpFunction {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "{}:{}/{}", self.module, self.name, self.arity)
    }
}

fn parse(line: &'static str) -> Option<OtpFunction> {
    let mut cells = line.split('\t');
    let (module, name, arity) = (cells.next()?, cells.next()?, cells.next()?);
    Some(OtpFunction { module, name, arity: arity.parse().ok()?, releases: cells.next()? })
}

/// All functions that one of the releases has, by module, name and arity.
pub fn otp_functions() -> impl Iterator<Item = OtpFunction> {
    TABLE.lines().filter_map(parse)
}

/// Those that `table` lacks.
pub fn missing_from(table: &[BuiltIn]) -> Vec<OtpFunction> {
    let present: HashSet<(&str, &str, u8)> = table.iter().map(|row| (row.module, row.name, row.arity)).collect();
    otp_functions().filter(|one| !present.contains(&(one.module, one.name, one.arity))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_read() {
        let rows = otp_functions().count();
        assert_eq!(rows, TABLE.lines().count() - 1);
        let element = otp_functions().find(|one| one.name == "element").unwrap();
        assert!(element.is_in(25) && element.is_in(26) && element.is_in(28) && element.is_in(30));
    }

    #[test]
    fn what_this_crate_has_is_not_missing() {
        let missing = missing_from(crate::built_ins());
        assert!(missing.iter().all(|one| one.to_string() != "re:run/3"));
        assert!(missing_from(&[]).len() > missing.len());
    }
}
