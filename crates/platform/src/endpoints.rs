//! Sockets whose addresses are bytes, as the system lays them out: opening, naming, connecting, sending and receiving.

use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use rustix::io::Errno;

use crate::allocator::may_fail;

/// Room for the address of any family, in bytes.
pub const ADDRESS_BYTES: usize = size_of::<libc::sockaddr_storage>();

fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL)
}

fn checked(result: isize) -> Result<usize, Errno> {
    usize::try_from(result).map_err(|_| last_error())
}

/// A new socket that does not block and is closed when another program is started.
///
/// # Errors
/// What the system says.
pub fn open(domain: i32, kind: i32, protocol: i32) -> Result<OwnedFd, Errno> {
    // SAFETY: no memory is involved.
    let number = unsafe { libc::socket(domain, kind | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK, protocol) };
    if number < 0 {
        return Err(last_error());
    }
    // SAFETY: the descriptor is new.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// Takes a connection, which does not block either.
///
/// # Errors
/// What the system says; `EAGAIN` if there is none.
pub fn accept(socket: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
    let (flags, nowhere) = (libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK, std::ptr::null_mut());
    // SAFETY: the peer's address is not asked for.
    let number = unsafe { libc::accept4(socket.as_raw_fd(), nowhere, std::ptr::null_mut(), flags) };
    if number < 0 {
        return Err(last_error());
    }
    // SAFETY: the descriptor is new.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// Gives a socket its name.
///
/// # Errors
/// What the system says.
pub fn bind(socket: BorrowedFd<'_>, address: &[u8]) -> Result<(), Errno> {
    let length = address.len() as libc::socklen_t;
    // SAFETY: the system reads the bytes up to the length that is given with them, and checks what they say.
    let result = unsafe { libc::bind(socket.as_raw_fd(), address.as_ptr().cast(), length) };
    checked(result as isize).map(drop)
}

/// Connects a socket.
///
/// # Errors
/// What the system says; `EINPROGRESS` if that takes longer.
pub fn connect(socket: BorrowedFd<'_>, address: &[u8]) -> Result<(), Errno> {
    let length = address.len() as libc::socklen_t;
    // SAFETY: as in `bind`.
    let result = unsafe { libc::connect(socket.as_raw_fd(), address.as_ptr().cast(), length) };
    checked(result as isize).map(drop)
}

type NameCall = unsafe extern "C" fn(i32, *mut libc::sockaddr, *mut libc::socklen_t) -> i32;

fn name_by(call: NameCall, socket: BorrowedFd<'_>) -> Result<Vec<u8>, Errno> {
    let mut room = vec![0; ADDRESS_BYTES];
    let mut length = ADDRESS_BYTES as libc::socklen_t;
    // SAFETY: the system writes no more bytes than the length says, which is how many there are.
    let result = unsafe { call(socket.as_raw_fd(), room.as_mut_ptr().cast(), &raw mut length) };
    checked(result as isize)?;
    room.truncate(length as usize);
    Ok(room)
}

/// The address of a socket.
///
/// # Errors
/// What the system says.
pub fn own_name(socket: BorrowedFd<'_>) -> Result<Vec<u8>, Errno> {
    name_by(libc::getsockname, socket)
}

/// The address of the one that it is connected to.
///
/// # Errors
/// What the system says.
pub fn peer_name(socket: BorrowedFd<'_>) -> Result<Vec<u8>, Errno> {
    name_by(libc::getpeername, socket)
}

/// Sends bytes, to an address if one is given; returns how many. No signal is raised if nobody will read them.
///
/// # Errors
/// What the system says; `EAGAIN` if there is no room now.
pub fn send(socket: BorrowedFd<'_>, data: &[u8], flags: i32, to: Option<&[u8]>) -> Result<usize, Errno> {
    let (address, length) = to.map_or((std::ptr::null(), 0), |to| (to.as_ptr(), to.len()));
    let flags = flags | libc::MSG_NOSIGNAL;
    // SAFETY: both the data and the address are given with their lengths.
    let result = unsafe {
        libc::sendto(socket.as_raw_fd(), data.as_ptr().cast(), data.len(), flags, address.cast(), length as u32)
    };
    checked(result)
}

/// Sends a message of several parts with control messages, which are laid out as the system wants them.
///
/// # Errors
/// What the system says; `EAGAIN` if there is no room now.
pub fn send_message(
    socket: BorrowedFd<'_>,
    parts: &[&[u8]],
    control: &[u8],
    flags: i32,
    to: Option<&[u8]>,
) -> Result<usize, Errno> {
    let mut vectors: Vec<libc::iovec> = parts
        .iter()
        .map(|part| libc::iovec { iov_base: part.as_ptr().cast_mut().cast(), iov_len: part.len() })
        .collect();
    // SAFETY: all zero is a message header without anything.
    let mut header: libc::msghdr = unsafe { zeroed() };
    if let Some(to) = to {
        header.msg_name = to.as_ptr().cast_mut().cast();
        header.msg_namelen = to.len() as u32;
    }
    header.msg_iov = vectors.as_mut_ptr();
    header.msg_iovlen = vectors.len() as _;
    if !control.is_empty() {
        header.msg_control = control.as_ptr().cast_mut().cast();
        header.msg_controllen = control.len() as _;
    }
    // SAFETY: the header names memory that is borrowed here, with its lengths; sending reads it only.
    checked(unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const header, flags | libc::MSG_NOSIGNAL) })
}

/// An empty vector with room for so many bytes.
fn room(bytes: usize) -> Result<Vec<u8>, Errno> {
    let mut room = Vec::new();
    may_fail(|| room.try_reserve_exact(bytes)).map_err(|_| Errno::NOMEM)?;
    Ok(room)
}

/// Receives at most so many bytes.
///
/// # Errors
/// What the system says; `EAGAIN` if there is nothing now.
pub fn receive(socket: BorrowedFd<'_>, most: usize, flags: i32) -> Result<Vec<u8>, Errno> {
    let mut data = room(most)?;
    // SAFETY: the system writes no more bytes than there is room for.
    let count = checked(unsafe { libc::recv(socket.as_raw_fd(), data.as_mut_ptr().cast(), most, flags) })?;
    // SAFETY: so many bytes were written; with `MSG_TRUNC` the system may count more.
    unsafe { data.set_len(count.min(most)) };
    Ok(data)
}

/// A message that has arrived.
#[derive(Debug, Default)]
pub struct Arrival {
    /// The data.
    pub data: Vec<u8>,
    /// Where it comes from; empty if the system does not say.
    pub from: Vec<u8>,
    /// Control messages, as the system lays them out.
    pub control: Vec<u8>,
    /// Flags of the message.
    pub flags: i32,
}

/// Receives a message of at most `most` bytes, with up to `control` bytes of control messages.
///
/// # Errors
/// What the system says; `EAGAIN` if there is none now.
pub fn receive_message(socket: BorrowedFd<'_>, most: usize, control: usize, flags: i32) -> Result<Arrival, Errno> {
    let mut data = room(most)?;
    let mut from = vec![0; ADDRESS_BYTES];
    // Control messages stand at the addresses of words.
    let mut words = vec![0u64; control.div_ceil(8)];
    let mut vector = libc::iovec { iov_base: data.as_mut_ptr().cast(), iov_len: most };
    // SAFETY: all zero is a message header without anything.
    let mut header: libc::msghdr = unsafe { zeroed() };
    header.msg_name = from.as_mut_ptr().cast();
    header.msg_namelen = ADDRESS_BYTES as u32;
    header.msg_iov = &raw mut vector;
    header.msg_iovlen = 1;
    if control > 0 {
        header.msg_control = words.as_mut_ptr().cast();
        header.msg_controllen = control as _;
    }
    // SAFETY: the header names memory that is ours to write, with its lengths.
    let count = checked(unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut header, flags) })?;
    // SAFETY: so many bytes were written; with `MSG_TRUNC` the system may count more.
    unsafe { data.set_len(count.min(most)) };
    from.truncate(header.msg_namelen as usize);
    let mut control: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    control.truncate(header.msg_controllen as usize);
    Ok(Arrival { data, from, control, flags: header.msg_flags })
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    /// An IPv4 address of this machine.
    fn loopback() -> Vec<u8> {
        let family = (libc::AF_INET as u16).to_ne_bytes();
        [&family[..], &[0, 0, 127, 0, 0, 1], &[0; 8]].concat()
    }

    #[test]
    fn a_datagram_arrives_with_its_address() {
        let receiver = open(libc::AF_INET, libc::SOCK_DGRAM, 0).expect("a socket");
        let sender = open(libc::AF_INET, libc::SOCK_DGRAM, 0).expect("a socket");
        bind(receiver.as_fd(), &loopback()).expect("a free port");
        bind(sender.as_fd(), &loopback()).expect("a free port");
        assert_eq!(receive(receiver.as_fd(), 9, 0).err(), Some(Errno::AGAIN));
        let name = own_name(receiver.as_fd()).expect("it has a name");
        assert_eq!(send_message(sender.as_fd(), &[b"ab", b"c"], &[], 0, Some(&name)), Ok(3));
        let arrival = receive_message(receiver.as_fd(), 9, 64, 0).expect("it is there");
        assert_eq!(arrival.data, b"abc");
        assert_eq!(Ok(arrival.from), own_name(sender.as_fd()));
        assert_eq!(send(sender.as_fd(), b"xyz", 0, Some(&name)), Ok(3));
        assert_eq!(receive(receiver.as_fd(), 2, libc::MSG_TRUNC), Ok(b"xy".to_vec()));
    }
}
