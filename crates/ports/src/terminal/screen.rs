//! What the terminal can do, as the database of terminals says.

use term::terminfo::TermInfo;

/// Columns where the database names no number.
const DEFAULT_COLUMNS: usize = 80;

/// The movements that editing needs.
#[derive(Clone, Debug)]
pub struct Screen {
    pub up: Vec<u8>,
    pub down: Vec<u8>,
    pub left: Vec<u8>,
    pub right: Vec<u8>,
    /// The cursor stays behind the last column until another character comes.
    pub wraps_late: bool,
    /// Columns of the screen, if the terminal itself does not say.
    pub columns: usize,
}

impl Screen {
    /// The terminal that `TERM` names; `None` if it is not known or cannot move its cursor.
    pub fn of_environment() -> Option<Screen> {
        let info = TermInfo::from_env().ok()?;
        let text = |key: &str| info.strings.get(key).map(|text| without_delays(text));
        Some(Screen {
            up: text("cuu1")?,
            down: text("cud1").unwrap_or_else(|| b"\n".to_vec()),
            left: text("cub1").unwrap_or_else(|| b"\x08".to_vec()),
            right: text("cuf1")?,
            wraps_late: info.bools.get("xenl").copied().unwrap_or(false),
            columns: info.numbers.get("cols").map_or(DEFAULT_COLUMNS, |count| *count as usize),
        })
    }
}

/// A movement without the times (`$<5>`) that terminals of old needed for it.
pub fn without_delays(text: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((byte, behind)) = rest.split_first() {
        let delay = rest.starts_with(b"$<").then(|| rest.iter().position(|byte| *byte == b'>')).flatten();
        match delay {
            Some(end) => rest = &rest[end + 1..],
            None => {
                kept.push(*byte);
                rest = behind;
            }
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_left_out() {
        assert_eq!(without_delays(b"\x1b[A$<5/>x$"), b"\x1b[Ax$");
    }
}
