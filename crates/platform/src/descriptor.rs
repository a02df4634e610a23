//! File descriptors that a program knows by their numbers.

use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd, RawFd};

use rustix::io::Errno;

/// The descriptor of this number, if it is open. If another thread closes it meanwhile, its users' next calls fail.
pub fn borrow(number: RawFd) -> Option<BorrowedFd<'static>> {
    if number < 0 {
        return None;
    }
    // SAFETY: the number is no -1; that it is open is asked next, and system calls on a closed one only fail.
    let descriptor = unsafe { BorrowedFd::borrow_raw(number) };
    rustix::io::fcntl_getfd(descriptor).ok().map(|_| descriptor)
}

/// Takes over an open descriptor, which is closed with the value.
///
/// # Errors
/// `EBADF`: it is not open
pub fn adopt(number: RawFd) -> Result<OwnedFd, Errno> {
    borrow(number).ok_or(Errno::BADF)?;
    // SAFETY: the descriptor is open; the program that names it gives it away.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// Has every open descriptor but the standard ones closed in programs that are started from now on: those that this one
/// was given when it was started are none of theirs.
pub fn keep_inherited_from_programs() {
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else { return };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<RawFd>().ok());
    for descriptor in numbers.filter(|number| *number > 2).filter_map(borrow) {
        // It was closed meanwhile.
        let _ = rustix::io::fcntl_setfd(descriptor, rustix::io::FdFlags::CLOEXEC);
    }
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
