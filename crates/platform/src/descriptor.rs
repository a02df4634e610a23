//! File descriptors that a program knows by their numbers.

use std::os::fd::{BorrowedFd, RawFd};

/// The descriptor of this number, if it is open. Whoever closes it meanwhile makes its users' next calls fail.
pub fn borrow(number: RawFd) -> Option<BorrowedFd<'static>> {
    if number < 0 {
        return None;
    }
    // SAFETY: the number is no -1; that it is open is asked next, and system calls on a closed one only fail.
    let descriptor = unsafe { BorrowedFd::borrow_raw(number) };
    rustix::io::fcntl_getfd(descriptor).ok().map(|_| descriptor)
}
