//! Descriptors that a program names by number.

use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd, RawFd};

use rustix::io::Errno;

/// Takes over an open descriptor, which is closed with the value.
///
/// # Errors
/// `EBADF`: it is not open
pub fn adopt(number: RawFd) -> Result<OwnedFd, Errno> {
    if number < 0 {
        return Err(Errno::BADF);
    }
    // SAFETY: only asks whether a descriptor of this number is open; that is checked by the system.
    rustix::fs::fcntl_getfl(unsafe { BorrowedFd::borrow_raw(number) })?;
    // SAFETY: the descriptor is open; the program that names it gives it away.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

#[cfg(test)]
mod tests {
    use std::os::fd::{AsRawFd, IntoRawFd};

    use super::*;

    #[test]
    fn only_open_descriptors_are_taken() {
        let file = std::fs::File::open("/dev/null").expect("/dev/null");
        let number = file.into_raw_fd();
        let owned = adopt(number).expect("it is open");
        assert_eq!(owned.as_raw_fd(), number);
        assert_eq!(adopt(-1).err(), Some(Errno::BADF));
        assert_eq!(adopt(1_000_000).err(), Some(Errno::BADF));
    }
}
