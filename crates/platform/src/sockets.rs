//! Options of sockets by number, as programs give them.

use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::io::Errno;

fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL)
}

/// Sets an option to these bytes.
///
/// # Errors
/// What the system says.
pub fn set_option(socket: BorrowedFd<'_>, level: i32, option: i32, value: &[u8]) -> Result<(), Errno> {
    let length = libc::socklen_t::try_from(value.len()).map_err(|_| Errno::INVAL)?;
    // SAFETY: the bytes are read up to the length that is given with them.
    let result = unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, value.as_ptr().cast(), length) };
    if result == 0 { Ok(()) } else { Err(last_error()) }
}

/// Reads an option into `room`; returns how many bytes were written there.
///
/// # Errors
/// What the system says.
pub fn get_option(socket: BorrowedFd<'_>, level: i32, option: i32, room: &mut [u8]) -> Result<usize, Errno> {
    let mut length = libc::socklen_t::try_from(room.len()).map_err(|_| Errno::INVAL)?;
    // SAFETY: the room is written up to the length that is given with it.
    let result =
        unsafe { libc::getsockopt(socket.as_raw_fd(), level, option, room.as_mut_ptr().cast(), &raw mut length) };
    if result == 0 { Ok(length as usize) } else { Err(last_error()) }
}

/// Sets an option whose value is an integer.
///
/// # Errors
/// What the system says.
pub fn set_integer(socket: BorrowedFd<'_>, level: i32, option: i32, value: i32) -> Result<(), Errno> {
    set_option(socket, level, option, &value.to_ne_bytes())
}

/// Reads an option whose value is an integer; the system may give one byte only.
///
/// # Errors
/// What the system says.
pub fn get_integer(socket: BorrowedFd<'_>, level: i32, option: i32) -> Result<i32, Errno> {
    let mut room = [0; 4];
    match get_option(socket, level, option, &mut room)? {
        1 => Ok(i32::from(room[0])),
        _ => Ok(i32::from_ne_bytes(room)),
    }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn an_option_is_what_it_was_set_to() {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        set_integer(socket.as_fd(), libc::SOL_SOCKET, libc::SO_BROADCAST, 1).expect("known");
        assert_eq!(get_integer(socket.as_fd(), libc::SOL_SOCKET, libc::SO_BROADCAST), Ok(1));
        assert_eq!(get_integer(socket.as_fd(), 9999, 1).err(), Some(Errno::OPNOTSUPP));
    }
}
