//! Holds what two runs printed against each other, without reading either into memory: a large resident set of ours
//! would show up in the next child's.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

/// How much of a differing line is shown.
const EXCERPT_BYTES: u64 = 60;

/// The first place at which two outputs differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Number of the line, from 1.
    pub line: u64,
    /// The beginning of this line in the reference; `None` past its end.
    pub expected: Option<String>,
    /// The beginning of this line in the other output; `None` past its end.
    pub found: Option<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |text: &Option<String>| text.as_ref().map_or("nothing more".to_owned(), |text| format!("{text:?}"));
        write!(out, "at line {}: {} instead of {}", self.line, shown(&self.found), shown(&self.expected))
    }
}

/// Where `found` first differs from `expected`, if anywhere.
pub fn first_difference(expected: &File, found: &File) -> io::Result<Option<Difference>> {
    let (mut left, mut right) = (from_start(expected)?, from_start(found)?);
    let (mut line, mut line_start, mut offset) = (1, 0, 0);
    loop {
        let (a, b) = (left.fill_buf()?, right.fill_buf()?);
        let common = a.len().min(b.len());
        let same = a.iter().zip(b).take_while(|(x, y)| x == y).count();
        for (index, byte) in a[..same].iter().enumerate() {
            if *byte == b'\n' {
                line += 1;
                line_start = offset + index as u64 + 1;
            }
        }
        if common == 0 && a.is_empty() && b.is_empty() {
            return Ok(None);
        }
        if same < common || common == 0 {
            break;
        }
        left.consume(common);
        right.consume(common);
        offset += common as u64;
    }
    Ok(Some(Difference { line, expected: line_at(expected, line_start)?, found: line_at(found, line_start)? }))
}

fn from_start(mut file: &File) -> io::Result<BufReader<&File>> {
    file.seek(SeekFrom::Start(0))?;
    Ok(BufReader::with_capacity(1 << 16, file))
}

fn line_at(mut file: &File, offset: u64) -> io::Result<Option<String>> {
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    BufReader::new(file.take(EXCERPT_BYTES)).read_until(b'\n', &mut bytes)?;
    Ok((!bytes.is_empty()).then(|| String::from_utf8_lossy(&bytes).trim_end_matches('\n').to_owned()))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn file(text: &str) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file
    }

    fn difference(expected: &str, found: &str) -> Option<String> {
        first_difference(&file(expected), &file(found)).unwrap().map(|found| found.to_string())
    }

    #[test]
    fn equal_outputs_do_not_differ() {
        assert_eq!(difference("", ""), None);
        assert_eq!(difference("a\nb", "a\nb"), None);
        let long = "0123456789\n".repeat(20_000);
        assert_eq!(difference(&long, &long), None);
    }

    #[test]
    fn the_first_differing_line_is_shown() {
        assert_eq!(difference("a\nbc\nd\n", "a\nbx\nd\n").unwrap(), r#"at line 2: "bx" instead of "bc""#);
        assert_eq!(difference("a\n", "a\nb\n").unwrap(), r#"at line 2: "b" instead of nothing more"#);
        assert_eq!(difference("ab", "").unwrap(), r#"at line 1: nothing more instead of "ab""#);
        let long = "0123456789\n".repeat(20_000);
        let text = difference(&format!("{long}x"), &format!("{long}y")).unwrap();
        assert_eq!(text, r#"at line 20001: "y" instead of "x""#);
    }
}
