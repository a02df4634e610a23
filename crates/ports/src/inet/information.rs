//! What sockets tell of the machine's network: interfaces, services.

use std::net::IpAddr;

use nix::ifaddrs::{InterfaceAddress, getifaddrs};
use nix::net::if_::InterfaceFlags;
use nix::sys::socket::SockaddrStorage;
use rustix::io::Errno;

use crate::inet::Answer;
use crate::inet::address::{INET, INET6, take, take_number};

const ADDRESS: u8 = 1;
const BROADCAST: u8 = 2;
const DESTINATION: u8 = 3;
const MTU: u8 = 4;
const NETMASK: u8 = 5;
const FLAGS: u8 = 6;
const HARDWARE: u8 = 7;

/// File of the services that have names.
const SERVICES: &str = "/etc/services";

/// Name, port and protocol of the services.
fn services() -> Vec<(Vec<String>, u16, String)> {
    let text = std::fs::read_to_string(SERVICES).unwrap_or_default();
    let service = |line: &str| {
        let mut words = line.split('#').next()?.split_whitespace();
        let name = words.next()?.to_owned();
        let (port, protocol) = words.next()?.split_once('/')?;
        let names = std::iter::once(name).chain(words.map(str::to_owned)).collect();
        Some((names, port.parse().ok()?, protocol.to_owned()))
    };
    text.lines().filter_map(service).collect()
}

fn take_text(data: &mut &[u8]) -> Result<String, Errno> {
    let length = take_number(data, 1)? as usize;
    Ok(String::from_utf8_lossy(take(data, length)?).into_owned())
}

/// Port of a service: gets its name and protocol.
pub fn service_port(mut data: &[u8]) -> Answer {
    let (name, protocol) = (take_text(&mut data)?, take_text(&mut data)?);
    let found = services().into_iter().find(|(names, _, own)| names.contains(&name) && *own == protocol);
    Ok(found.ok_or(Errno::INVAL)?.1.to_be_bytes().to_vec())
}

/// Name of a service: gets its port and protocol.
pub fn service_name(mut data: &[u8]) -> Answer {
    let (port, protocol) = (take_number(&mut data, 2)? as u16, take_text(&mut data)?);
    let found = services().into_iter().find(|(_, own, known)| *own == port && *known == protocol);
    Ok(found.and_then(|(names, ..)| names.into_iter().next()).ok_or(Errno::INVAL)?.into_bytes())
}

fn all() -> Result<Vec<InterfaceAddress>, Errno> {
    Ok(getifaddrs().map_err(|error| Errno::from_raw_os_error(error as i32))?.collect())
}

fn is_v4(one: &InterfaceAddress) -> bool {
    one.address.is_some_and(|address| address.as_sockaddr_in().is_some())
}

/// Names of the interfaces that have an address, each with a zero behind it.
pub fn interfaces() -> Answer {
    let mut names: Vec<String> = Vec::new();
    for one in all()?.into_iter().filter(is_v4) {
        if !names.contains(&one.interface_name) {
            names.push(one.interface_name);
        }
    }
    Ok(names.into_iter().flat_map(|name| [name.into_bytes(), vec![0]].concat()).collect())
}

/// The flags as OTP numbers them.
fn flags(flags: InterfaceFlags) -> u32 {
    let pairs = [
        (InterfaceFlags::IFF_UP, 1),
        (InterfaceFlags::IFF_BROADCAST, 2),
        (InterfaceFlags::IFF_LOOPBACK, 4),
        (InterfaceFlags::IFF_POINTOPOINT, 8),
        (InterfaceFlags::IFF_RUNNING, 16),
        (InterfaceFlags::IFF_MULTICAST, 32),
    ];
    pairs.iter().filter(|(flag, _)| flags.contains(*flag)).map(|(_, number)| number).sum()
}

/// An internet address with its family in front.
fn internet(address: Option<&SockaddrStorage>) -> Option<Vec<u8>> {
    let address = address?;
    let v4 = address.as_sockaddr_in().map(|address| IpAddr::from(address.ip()));
    match v4.or_else(|| address.as_sockaddr_in6().map(|address| IpAddr::from(address.ip())))? {
        IpAddr::V4(address) => Some([&[INET], &address.octets()[..]].concat()),
        IpAddr::V6(address) => Some([&[INET6], &address.octets()[..]].concat()),
    }
}

fn hardware(address: Option<&SockaddrStorage>) -> Option<Vec<u8>> {
    let address = address?.as_link_addr()?.addr()?;
    Some([&(address.len() as u16).to_be_bytes()[..], &address].concat())
}

/// What is known of an interface's address, by number.
fn option(one: &InterfaceAddress, number: u8) -> Option<Vec<u8>> {
    match number {
        ADDRESS => internet(one.address.as_ref()),
        BROADCAST => internet(one.broadcast.as_ref()),
        DESTINATION => internet(one.destination.as_ref()),
        NETMASK => internet(one.netmask.as_ref()),
        FLAGS => Some(flags(one.flags).to_be_bytes().to_vec()),
        HARDWARE => hardware(one.address.as_ref()),
        _ => None,
    }
}

/// Bytes of the longest packet.
fn mtu(name: &str) -> Option<u32> {
    let is_name = !name.is_empty() && !name.contains(['/', '\0']);
    let path = format!("/sys/class/net/{name}/mtu");
    std::fs::read_to_string(path).ok().filter(|_| is_name)?.trim().parse().ok()
}

/// What a program asks of an interface.
pub fn interface(mut data: &[u8]) -> Answer {
    let name = take_text(&mut data)?;
    let own: Vec<_> = all()?.into_iter().filter(|one| one.interface_name == name).collect();
    let mut answer = Vec::new();
    for number in data {
        let value = match *number {
            MTU => mtu(&name).map(|mtu| mtu.to_be_bytes().to_vec()),
            number => own.iter().find_map(|one| option(one, number)),
        };
        let nothing = (*number == BROADCAST && own.iter().any(is_v4)).then(|| vec![INET, 0, 0, 0, 0]);
        if let Some(value) = value.or(nothing) {
            answer.push(*number);
            answer.extend(value);
        }
    }
    Ok(answer)
}

/// All addresses of all interfaces: name, zero, what is known, zero.
pub fn addresses() -> Answer {
    let mut answer = Vec::new();
    for one in all()? {
        answer.extend(one.interface_name.bytes());
        answer.push(0);
        let is_point_to_point = one.flags.contains(InterfaceFlags::IFF_POINTOPOINT);
        let other = if is_point_to_point { DESTINATION } else { BROADCAST };
        for number in [FLAGS, ADDRESS, NETMASK, other, HARDWARE] {
            if let Some(value) = option(&one, number) {
                answer.push(number);
                answer.extend(value);
            }
        }
        answer.push(0);
    }
    Ok(answer)
}
