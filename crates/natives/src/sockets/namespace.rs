//! Network namespaces: what a thread asks the system about the network concerns its own.

use std::ffi::CString;
use std::os::fd::AsFd;
use std::thread::Builder;

use atoll_platform::threads;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// Does something in the namespace of a path. A thread of its own enters it, so that no other thread changes its own.
///
/// # Errors
/// What the system says.
pub fn within<T: Send + 'static>(
    path: &[u8],
    work: impl FnOnce() -> Result<T, Errno> + Send + 'static,
) -> Result<T, Errno> {
    let path = CString::new(path).map_err(|_| Errno::INVAL)?;
    let enter = move || {
        let namespace = openat(CWD, &path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?;
        work()
    };
    let thread = threads::start(Builder::new().name("network namespace".to_owned()), enter);
    thread.map_err(|_| Errno::AGAIN)?.join().unwrap_or(Err(Errno::INVAL))
}
