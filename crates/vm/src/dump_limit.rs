//! A file of limited length: a crash dump whose writer says how many bytes it may have.

use std::io::{Error, ErrorKind, Write};

/// What ends a file that would have been longer.
const END: &[u8] = b"\n=abort:CRASH DUMP SIZE LIMIT REACHED\n";

/// Passes on what is written, up to a number of bytes; then a last line, and an error.
pub struct Limited<W> {
    out: W,
    /// Bytes; `None` for no limit.
    left: Option<u64>,
}

impl<W: Write> Limited<W> {
    /// At most so many bytes, and the last line.
    pub fn new(out: W, limit: Option<u64>) -> Limited<W> {
        Limited { out, left: limit }
    }

    /// Whether the limit was reached.
    pub fn is_full(&self) -> bool {
        self.left == Some(0)
    }
}

impl<W: Write> Write for Limited<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let Some(left) = &mut self.left else { return self.out.write(bytes) };
        if *left == 0 {
            return Err(Error::from(ErrorKind::FileTooLarge));
        }
        let fitting = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
        let written = self.out.write(&bytes[..fitting])?;
        *left -= written as u64;
        if *left == 0 {
            self.out.write_all(END)?;
        }
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_longer_is_cut_and_says_so() {
        let mut file = Limited::new(Vec::new(), Some(5));
        file.write_all(b"abc").unwrap();
        assert!(!file.is_full());
        assert_eq!(file.write_all(b"defg").unwrap_err().kind(), ErrorKind::FileTooLarge);
        assert!(file.is_full());
        assert_eq!(file.out, [b"abcde", END].concat());
    }

    #[test]
    fn without_a_limit_all_is_written() {
        let mut file = Limited::new(Vec::new(), None);
        file.write_all(&[7; 100_000]).unwrap();
        assert!(!file.is_full());
        assert_eq!(file.out.len(), 100_000);
    }
}
