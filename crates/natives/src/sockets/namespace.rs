//! Network namespaces: a socket belongs to that of the thread that opens it.

use std::ffi::CString;
use std::os::fd::{AsFd, OwnedFd};

use atoll_platform::endpoints;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// Opens a socket in the namespace of a path. A thread of its own enters it, so that nobody else is moved.
///
/// # Errors
/// What the system says.
pub fn open_in(path: &[u8], domain: i32, kind: i32, protocol: i32) -> Result<OwnedFd, Errno> {
    let path = CString::new(path).map_err(|_| Errno::INVAL)?;
    let work = move || {
        let namespace = openat(CWD, &path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?;
        endpoints::open(domain, kind, protocol)
    };
    let thread = std::thread::Builder::new().name("network namespace".to_owned()).spawn(work);
    thread.map_err(|_| Errno::AGAIN)?.join().unwrap_or(Err(Errno::INVAL))
}
