//! Addresses as bytes of commands and answers, and as terms.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

use atoll_term::atoms::known_atom;
use atoll_term::{Build, Term};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrAny, SocketAddrUnix};

/// Families as commands number them.
pub const INET: u8 = 1;
/// IPv6.
pub const INET6: u8 = 2;
const ANY: u8 = 3;
const LOOPBACK: u8 = 4;
/// Sockets of the local machine, by path.
pub const LOCAL: u8 = 5;

/// An address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// IPv4 or IPv6.
    Internet(SocketAddr),
    /// A path; empty for a socket without a name.
    Local(Vec<u8>),
}

/// Takes bytes off the front.
pub fn take<'b>(bytes: &mut &'b [u8], count: usize) -> Result<&'b [u8], Errno> {
    let (taken, rest) = bytes.split_at_checked(count).ok_or(Errno::INVAL)?;
    *bytes = rest;
    Ok(taken)
}

/// Takes a number of so many bytes.
pub fn take_number(bytes: &mut &[u8], count: usize) -> Result<u64, Errno> {
    Ok(take(bytes, count)?.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

/// Takes a 32-bit integer with sign.
pub fn take_integer(bytes: &mut &[u8]) -> Result<i32, Errno> {
    Ok(take_number(bytes, 4)? as u32 as i32)
}

fn take_v6(bytes: &mut &[u8]) -> Result<Ipv6Addr, Errno> {
    let octets: [u8; 16] = take(bytes, 16)?.try_into().map_err(|_| Errno::INVAL)?;
    Ok(octets.into())
}

/// Takes an IPv4 address.
pub fn take_v4(bytes: &mut &[u8]) -> Result<Ipv4Addr, Errno> {
    let octets: [u8; 4] = take(bytes, 4)?.try_into().map_err(|_| Errno::INVAL)?;
    Ok(octets.into())
}

impl Address {
    /// Takes an address off a command's bytes. `any` and `loopback` mean those of the socket's family.
    ///
    /// # Errors
    /// `EINVAL`: the bytes are none
    pub fn take(bytes: &mut &[u8], family: AddressFamily) -> Result<Address, Errno> {
        let kind = take_number(bytes, 1)? as u8;
        if kind == LOCAL {
            let length = take_number(bytes, 1)? as usize;
            return Ok(Address::Local(take(bytes, length)?.to_vec()));
        }
        let port = take_number(bytes, 2)? as u16;
        let is_v6 = family == AddressFamily::INET6;
        Ok(Address::Internet(match kind {
            INET => SocketAddrV4::new(take_v4(bytes)?, port).into(),
            INET6 => {
                let ip = take_v6(bytes)?;
                let (flow, scope) = (take_number(bytes, 4)? as u32, take_number(bytes, 4)? as u32);
                SocketAddrV6::new(ip, port, flow, scope).into()
            }
            ANY if is_v6 => (Ipv6Addr::UNSPECIFIED, port).into(),
            ANY => (Ipv4Addr::UNSPECIFIED, port).into(),
            LOOPBACK if is_v6 => (Ipv6Addr::LOCALHOST, port).into(),
            LOOPBACK => (Ipv4Addr::LOCALHOST, port).into(),
            _ => return Err(Errno::INVAL),
        }))
    }

    /// What the system gives.
    pub fn from_system(address: &SocketAddrAny) -> Option<Address> {
        if let Ok(address) = SocketAddr::try_from(address.clone()) {
            return Some(Address::Internet(address));
        }
        let local = SocketAddrUnix::try_from(address.clone()).ok()?;
        if local.is_unnamed() {
            return Some(Address::Local(Vec::new()));
        }
        let abstract_name = local.abstract_name().map(|name| [&[0], name].concat());
        Some(Address::Local(abstract_name.or_else(|| Some(local.path_bytes()?.to_vec())).unwrap_or_default()))
    }

    /// What the system gives, as it lays it out.
    pub fn from_bytes(bytes: &[u8]) -> Address {
        let part = |place: usize, length: usize| bytes.get(place..place + length).unwrap_or_default();
        let port = u16::from_be_bytes(part(2, 2).try_into().unwrap_or_default());
        match part(0, 2).try_into().map_or(0, |family| i32::from(u16::from_ne_bytes(family))) {
            libc::AF_INET => {
                let octets: [u8; 4] = part(4, 4).try_into().unwrap_or_default();
                Address::Internet(SocketAddrV4::new(octets.into(), port).into())
            }
            libc::AF_INET6 => {
                let flow = u32::from_be_bytes(part(4, 4).try_into().unwrap_or_default());
                let octets: [u8; 16] = part(8, 16).try_into().unwrap_or_default();
                let scope = u32::from_ne_bytes(part(24, 4).try_into().unwrap_or_default());
                Address::Internet(SocketAddrV6::new(octets.into(), port, flow, scope).into())
            }
            _ => {
                let path = bytes.get(2..).unwrap_or_default();
                let end = match path {
                    [] | [0, ..] => path.len(),
                    path => path.iter().position(|byte| *byte == 0).unwrap_or(path.len()),
                };
                Address::Local(path[..end].to_vec())
            }
        }
    }

    /// As the system lays it out.
    pub fn system_bytes(&self) -> Vec<u8> {
        let family = |number: i32| (number as u16).to_ne_bytes();
        match self {
            Address::Internet(SocketAddr::V4(address)) => {
                let port = address.port().to_be_bytes();
                [&family(libc::AF_INET)[..], &port, &address.ip().octets(), &[0; 8]].concat()
            }
            Address::Internet(SocketAddr::V6(address)) => {
                let (port, flow) = (address.port().to_be_bytes(), address.flowinfo().to_be_bytes());
                let scope = address.scope_id().to_ne_bytes();
                [&family(libc::AF_INET6)[..], &port, &flow, &address.ip().octets(), &scope].concat()
            }
            Address::Local(path) => {
                let end: &[u8] = if matches!(path[..], [] | [0, ..]) { &[] } else { &[0] };
                [&family(libc::AF_UNIX), &path[..], end].concat()
            }
        }
    }

    fn local(path: &[u8]) -> Result<SocketAddrUnix, Errno> {
        match path {
            // The system finds a name.
            [] => Ok(SocketAddrUnix::new_unnamed()),
            [0, name @ ..] => SocketAddrUnix::new_abstract_name(name),
            path => SocketAddrUnix::new(path),
        }
    }

    /// Binds a socket to it.
    ///
    /// # Errors
    /// The system's.
    pub fn bind(&self, socket: &impl std::os::fd::AsFd) -> Result<(), Errno> {
        match self {
            Address::Internet(address) => rustix::net::bind(socket, address),
            Address::Local(path) => rustix::net::bind(socket, &Address::local(path)?),
        }
    }

    /// Connects a socket to it.
    ///
    /// # Errors
    /// The system's.
    pub fn connect(&self, socket: &impl std::os::fd::AsFd) -> Result<(), Errno> {
        match self {
            Address::Internet(address) => rustix::net::connect(socket, address),
            Address::Local(path) => rustix::net::connect(socket, &Address::local(path)?),
        }
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        match self {
            Address::Internet(address) => address.port(),
            Address::Local(_) => 0,
        }
    }

    /// As bytes of an answer.
    pub fn bytes(&self) -> Vec<u8> {
        match self {
            Address::Internet(SocketAddr::V4(address)) => {
                [&[INET], &address.port().to_be_bytes()[..], &address.ip().octets()].concat()
            }
            Address::Internet(SocketAddr::V6(address)) => {
                [&[INET6], &address.port().to_be_bytes()[..], &address.ip().octets()].concat()
            }
            Address::Local(path) => [&[LOCAL, path.len().min(255) as u8], &path[..path.len().min(255)]].concat(),
        }
    }

    /// Address and port as two terms of a message.
    pub fn terms<H: Build + ?Sized>(&self, heap: &mut H) -> [Term; 2] {
        match self {
            Address::Internet(address) => {
                let parts: Vec<Term> = match address {
                    SocketAddr::V4(address) => {
                        address.ip().octets().into_iter().map(|part| Term::small(part.into())).collect()
                    }
                    SocketAddr::V6(address) => {
                        address.ip().segments().into_iter().map(|part| Term::small(part.into())).collect()
                    }
                };
                [heap.tuple(&parts), Term::small(address.port().into())]
            }
            Address::Local(path) => {
                let path = heap.binary(path);
                [heap.tuple(&[known_atom("local"), path]), Term::small(0)]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_survive_as_bytes() {
        let mut bytes = &[INET, 0x1f, 0x90, 127, 0, 0, 1, 9][..];
        let address = Address::take(&mut bytes, AddressFamily::INET).expect("an address");
        assert_eq!(address, Address::Internet(([127, 0, 0, 1], 8080).into()));
        assert_eq!((address.bytes(), bytes), (vec![INET, 0x1f, 0x90, 127, 0, 0, 1], &[9][..]));
        let v6 = Address::Internet((Ipv6Addr::LOCALHOST, 7).into());
        for address in [&address, &v6, &Address::Local(b"/a/b".to_vec()), &Address::Local(Vec::new())] {
            assert_eq!(Address::from_bytes(&address.system_bytes()), *address);
        }
        let any = Address::take(&mut &[ANY, 0, 1][..], AddressFamily::INET6);
        assert_eq!(any, Ok(Address::Internet((Ipv6Addr::UNSPECIFIED, 1).into())));
        assert_eq!(Address::take(&mut &[INET, 0][..], AddressFamily::INET), Err(Errno::INVAL));
    }
}
