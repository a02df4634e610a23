//! What the system knows of hosts, services and network interfaces.

use std::ffi::{CStr, CString};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::{null, null_mut};

use rustix::io::Errno;

use crate::endpoints::ADDRESS_BYTES;

fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL)
}

/// Bytes of a request about an interface: its name, and what is asked or told.
pub const REQUEST_BYTES: usize = 40;
/// Bytes of an interface's name in it.
pub const NAME_BYTES: usize = 16;

/// Requests whose argument is one of [`REQUEST_BYTES`], as the system numbers them: from, to.
const REQUESTS: [(u64, u64); 4] = [(0x8910, 0x8910), (0x8913, 0x8933), (0x8942, 0x8943), (0x8970, 0x8971)];

/// Asks the system about an interface, or tells it something.
///
/// # Errors
/// What the system says; `EOPNOTSUPP`: another kind of request.
pub fn interface_request(socket: BorrowedFd<'_>, request: u64, data: &mut [u8; REQUEST_BYTES]) -> Result<(), Errno> {
    if !REQUESTS.iter().any(|(from, to)| (*from..=*to).contains(&request)) {
        return Err(Errno::OPNOTSUPP);
    }
    let mut aligned = [0u64; REQUEST_BYTES / 8];
    for (word, bytes) in aligned.iter_mut().zip(data.chunks_exact(8)) {
        *word = u64::from_ne_bytes(bytes.try_into().unwrap_or_default());
    }
    // SAFETY: each of these requests reads and writes no more than so many bytes.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), request as _, aligned.as_mut_ptr()) };
    if result < 0 {
        return Err(last_error());
    }
    for (word, bytes) in aligned.iter().zip(data.chunks_exact_mut(8)) {
        bytes.copy_from_slice(&word.to_ne_bytes());
    }
    Ok(())
}

/// The interfaces that have an IPv4 address, as requests that were answered.
///
/// # Errors
/// What the system says.
pub fn configured_interfaces(socket: BorrowedFd<'_>) -> Result<Vec<[u8; REQUEST_BYTES]>, Errno> {
    const REQUEST: u64 = 0x8912;
    let mut most = 64 * REQUEST_BYTES;
    loop {
        let mut room = vec![0u64; most / 8];
        // SAFETY: all zero is a request without room.
        let mut request: libc::ifconf = unsafe { std::mem::zeroed() };
        request.ifc_len = most as i32;
        request.ifc_ifcu.ifcu_buf = room.as_mut_ptr().cast();
        // SAFETY: the request names room of the length that it says.
        let result = unsafe { libc::ioctl(socket.as_raw_fd(), REQUEST as _, &raw mut request) };
        if result < 0 {
            return Err(last_error());
        }
        let length = usize::try_from(request.ifc_len).unwrap_or(0);
        if length >= most {
            most *= 2;
            continue;
        }
        let bytes: Vec<u8> = room.iter().flat_map(|word| word.to_ne_bytes()).take(length).collect();
        return Ok(bytes.chunks_exact(REQUEST_BYTES).filter_map(|one| one.try_into().ok()).collect());
    }
}

/// An address of an interface. Addresses are laid out as the system does.
#[derive(Clone, Debug)]
pub struct InterfaceAddress {
    /// The interface's name.
    pub name: Vec<u8>,
    /// Its flags.
    pub flags: u32,
    /// The address.
    pub address: Option<Vec<u8>>,
    /// Its mask.
    pub mask: Option<Vec<u8>>,
    /// Where broadcasts go, or the other end.
    pub other: Option<Vec<u8>>,
}

/// The bytes of an address that the system has laid out.
///
/// # Safety
/// The pointer is null, or that of a whole address.
unsafe fn address_bytes(address: *const libc::sockaddr) -> Option<Vec<u8>> {
    if address.is_null() {
        return None;
    }
    // SAFETY: the caller vouches for a whole address, whose length its family says.
    unsafe {
        let length = match i32::from((*address).sa_family) {
            libc::AF_INET => size_of::<libc::sockaddr_in>(),
            libc::AF_INET6 => size_of::<libc::sockaddr_in6>(),
            libc::AF_PACKET => size_of::<libc::sockaddr_ll>(),
            _ => size_of::<libc::sockaddr>(),
        };
        Some(std::slice::from_raw_parts(address.cast::<u8>(), length).to_vec())
    }
}

/// The addresses of all interfaces.
///
/// # Errors
/// What the system says.
pub fn interface_addresses() -> Result<Vec<InterfaceAddress>, Errno> {
    let mut list = null_mut();
    // SAFETY: the system makes the list, which is given back below.
    if unsafe { libc::getifaddrs(&raw mut list) } != 0 {
        return Err(last_error());
    }
    let mut addresses = Vec::new();
    let mut next = list;
    while !next.is_null() {
        // SAFETY: an element of the list is whole, and so are the addresses that it names.
        unsafe {
            let element = &*next;
            addresses.push(InterfaceAddress {
                name: CStr::from_ptr(element.ifa_name).to_bytes().to_vec(),
                flags: element.ifa_flags,
                address: address_bytes(element.ifa_addr),
                mask: address_bytes(element.ifa_netmask),
                other: address_bytes(element.ifa_ifu),
            });
            next = element.ifa_next;
        }
    }
    // SAFETY: the list is the system's, and nothing of it is used any more.
    unsafe { libc::freeifaddrs(list) };
    Ok(addresses)
}

/// Names of host and service of an address. May take long.
///
/// # Errors
/// A number of `getaddrinfo`'s kind (`EAI_...`).
pub fn names_of(address: &[u8], flags: i32) -> Result<(Vec<u8>, Vec<u8>), i32> {
    let (mut host, mut service) = ([0u8; 1025], [0u8; 256]);
    // SAFETY: all three are given with their lengths.
    let result = unsafe {
        libc::getnameinfo(
            address.as_ptr().cast(),
            address.len() as u32,
            host.as_mut_ptr().cast(),
            host.len() as u32,
            service.as_mut_ptr().cast(),
            service.len() as u32,
            flags,
        )
    };
    let text = |room: &[u8]| room.split(|byte| *byte == 0).next().unwrap_or_default().to_vec();
    if result == 0 { Ok((text(&host), text(&service))) } else { Err(result) }
}

/// An address of a host and a service.
#[derive(Clone, Debug)]
pub struct HostAddress {
    /// Its family.
    pub family: i32,
    /// The type of sockets.
    pub kind: i32,
    /// Their protocol.
    pub protocol: i32,
    /// The address, as the system lays it out.
    pub address: Vec<u8>,
}

/// The addresses of a host, a service, or both. May take long.
///
/// # Errors
/// A number of `getaddrinfo`'s kind (`EAI_...`).
pub fn addresses_of(host: Option<&CString>, service: Option<&CString>) -> Result<Vec<HostAddress>, i32> {
    let pointer = |text: Option<&CString>| text.map_or(null(), |text| text.as_ptr());
    let mut list = null_mut();
    // SAFETY: the texts are borrowed; the system makes the list, which is given back below.
    let result = unsafe { libc::getaddrinfo(pointer(host), pointer(service), null(), &raw mut list) };
    if result != 0 {
        return Err(result);
    }
    let mut addresses = Vec::new();
    let mut next: *const libc::addrinfo = list;
    while !next.is_null() {
        // SAFETY: an element of the list is whole, and names an address of the length that it says.
        unsafe {
            let element = &*next;
            let length = (element.ai_addrlen as usize).min(ADDRESS_BYTES);
            addresses.push(HostAddress {
                family: element.ai_family,
                kind: element.ai_socktype,
                protocol: element.ai_protocol,
                address: std::slice::from_raw_parts(element.ai_addr.cast::<u8>(), length).to_vec(),
            });
            next = element.ai_next;
        }
    }
    // SAFETY: as for the interfaces.
    unsafe { libc::freeaddrinfo(list) };
    Ok(addresses)
}

/// Numbers and names of the interfaces.
///
/// # Errors
/// What the system says.
pub fn interface_names() -> Result<Vec<(u32, Vec<u8>)>, Errno> {
    // SAFETY: the system makes the list, which is given back below.
    let list = unsafe { libc::if_nameindex() };
    if list.is_null() {
        return Err(last_error());
    }
    let mut names = Vec::new();
    let mut next = list;
    loop {
        // SAFETY: the list ends with an element whose number is 0; the others have names.
        unsafe {
            let element = &*next;
            if element.if_index == 0 || element.if_name.is_null() {
                break;
            }
            names.push((element.if_index, CStr::from_ptr(element.if_name).to_bytes().to_vec()));
            next = next.add(1);
        }
    }
    // SAFETY: as above.
    unsafe { libc::if_freenameindex(list) };
    Ok(names)
}

/// The number of an interface.
///
/// # Errors
/// `ENODEV`: there is none of this name.
pub fn interface_number(name: &CStr) -> Result<u32, Errno> {
    // SAFETY: the text ends with a zero.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(last_error()),
        number => Ok(number),
    }
}

/// The name of an interface.
///
/// # Errors
/// `ENXIO`: there is none of this number.
pub fn interface_name(number: u32) -> Result<Vec<u8>, Errno> {
    let mut room = [0u8; libc::IF_NAMESIZE];
    // SAFETY: there is room for the longest name.
    let result = unsafe { libc::if_indextoname(number, room.as_mut_ptr().cast()) };
    if result.is_null() {
        return Err(last_error());
    }
    Ok(room.split(|byte| *byte == 0).next().unwrap_or_default().to_vec())
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn the_loopback_interface_is_known_by_all_ways() {
        let number = interface_number(c"lo").expect("it is there");
        assert_eq!(interface_name(number), Ok(b"lo".to_vec()));
        assert!(interface_names().expect("there are some").contains(&(number, b"lo".to_vec())));
        assert!(interface_addresses().expect("there are some").iter().any(|address| address.name == b"lo"));
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let mut request = [0; REQUEST_BYTES];
        request[..2].copy_from_slice(b"lo");
        interface_request(socket.as_fd(), 0x8933, &mut request).expect("it has a number");
        assert_eq!(request[NAME_BYTES..NAME_BYTES + 4], number.to_ne_bytes());
        assert_eq!(interface_request(socket.as_fd(), 1, &mut request), Err(Errno::OPNOTSUPP));
        let configured = configured_interfaces(socket.as_fd()).expect("there are some");
        assert!(configured.iter().any(|one| one.starts_with(b"lo\0")));
    }

    #[test]
    fn addresses_have_names() {
        let host = CString::new("127.0.0.1").expect("no zero");
        let found = addresses_of(Some(&host), None).expect("it is a number");
        let (host, service) = names_of(&found[0].address, libc::NI_NUMERICHOST | libc::NI_NUMERICSERV).expect("two");
        assert_eq!((&host[..], &service[..]), (&b"127.0.0.1"[..], &b"0"[..]));
    }
}
