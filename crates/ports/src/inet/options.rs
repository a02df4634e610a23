//! Options of sockets: those of the system, and those that the machine itself acts on.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use atoll_operations::packets::{PacketLimits, PacketMode};
use atoll_platform::sockets::{get_integer, get_option, set_integer, set_option};
use rustix::io::Errno;
use rustix::net::AddressFamily;

use crate::inet::Answer;
use crate::inet::address::{INET, INET6, take, take_integer, take_number, take_v4};
use crate::inet::ancillary;

/// When a socket sends what arrives as messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Active {
    /// Always.
    Always,
    /// Never.
    #[default]
    Never,
    /// Once.
    Once,
    /// So many times more.
    Times(i16),
}

/// Options that the machine acts on.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// `active`
    pub active: Active,
    /// `packet`
    pub packet: PacketMode,
    packet_number: i32,
    /// `mode` is `binary`.
    pub binary: bool,
    /// `deliver` is `port`.
    pub deliver_port: bool,
    /// `header`
    pub header: usize,
    /// `buffer`, in bytes.
    pub buffer: usize,
    /// `exit_on_close`
    pub exit_on_close: bool,
    /// `high_watermark`, in bytes.
    pub high: usize,
    /// `low_watermark`, in bytes.
    pub low: usize,
    high_messages: i32,
    low_messages: i32,
    send_timeout: i32,
    /// `send_timeout_close`
    pub send_timeout_close: bool,
    delay_send: bool,
    packet_size: i32,
    /// `read_packets`
    pub read_packets: usize,
    /// `show_econnreset`
    pub show_reset: bool,
    delimiter: u8,
    /// The socket is one for datagrams.
    pub datagrams: bool,
    /// Which of what comes beside data is asked for: bits of `ancillary::wish`.
    pub ancillary: u8,
}

/// `buffer` if the program does not set it.
const BUFFER: usize = 1460;

impl Default for Options {
    fn default() -> Self {
        Options {
            active: Active::Never,
            packet: PacketMode::Raw,
            packet_number: 0,
            binary: false,
            deliver_port: false,
            header: 0,
            buffer: BUFFER,
            exit_on_close: true,
            high: 8192,
            low: 4096,
            high_messages: 8192,
            low_messages: 4096,
            send_timeout: -1,
            send_timeout_close: false,
            delay_send: false,
            packet_size: 0,
            read_packets: 5,
            show_reset: false,
            delimiter: b'\n',
            datagrams: false,
            ancillary: 0,
        }
    }
}

/// What a change of options asks for beside the options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// `active` was set.
    pub active: bool,
    /// `{active, N}` has come to its end.
    pub exhausted: bool,
}

/// Where the system keeps an option: level and number.
fn place(option: u8, family: AddressFamily) -> Option<(i32, i32)> {
    let is_v6 = family == AddressFamily::INET6;
    Some(match option {
        0 => (libc::SOL_SOCKET, libc::SO_REUSEADDR),
        1 => (libc::SOL_SOCKET, libc::SO_KEEPALIVE),
        2 => (libc::SOL_SOCKET, libc::SO_DONTROUTE),
        4 => (libc::SOL_SOCKET, libc::SO_BROADCAST),
        5 => (libc::SOL_SOCKET, libc::SO_OOBINLINE),
        6 => (libc::SOL_SOCKET, libc::SO_SNDBUF),
        7 => (libc::SOL_SOCKET, libc::SO_RCVBUF),
        8 => (libc::SOL_SOCKET, libc::SO_PRIORITY),
        9 => (libc::IPPROTO_IP, libc::IP_TOS),
        10 => (libc::IPPROTO_TCP, libc::TCP_NODELAY),
        12 if is_v6 => (libc::IPPROTO_IPV6, libc::IPV6_MULTICAST_HOPS),
        12 => (libc::IPPROTO_IP, libc::IP_MULTICAST_TTL),
        13 if is_v6 => (libc::IPPROTO_IPV6, libc::IPV6_MULTICAST_LOOP),
        13 => (libc::IPPROTO_IP, libc::IP_MULTICAST_LOOP),
        16 => (libc::IPPROTO_IPV6, libc::IPV6_V6ONLY),
        41 => (libc::IPPROTO_IPV6, libc::IPV6_TCLASS),
        43 => (libc::IPPROTO_IP, libc::IP_RECVTOS),
        44 => (libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS),
        46 => (libc::IPPROTO_IP, libc::IP_TTL),
        47 => (libc::IPPROTO_IP, libc::IP_RECVTTL),
        48 => (libc::IPPROTO_TCP, libc::TCP_CORK),
        99 => (libc::SOL_SOCKET, libc::SO_DEBUG),
        _ => return None,
    })
}

/// Programs get an error when one of these cannot be set: `tclass`, `recvtos`, `recvtclass`, `ttl`, `recvttl`.
const MUST_SUCCEED: [u8; 5] = [41, 43, 44, 46, 47];
const LINGER: u8 = 3;
const RECEIVE_BUFFER: u8 = 7;
const MULTICAST_INTERFACE: u8 = 11;
const ADD_MEMBERSHIP: u8 = 14;
const DROP_MEMBERSHIP: u8 = 15;
const RAW: u8 = 34;
const NAMESPACE: u8 = 38;
const DEVICE: u8 = 42;
const PACKET_OPTIONS: u8 = 45;
/// What came beside the data of a stream, in Linux.
const IP_PKTOPTIONS: i32 = 9;
/// Bytes that a datagram can have.
const LONGEST_DATAGRAM: usize = 1 << 16;
/// How many bytes `{raw, ...}` may ask for.
const LONGEST_RAW: usize = 4096;

/// Packet modes in the order of their numbers.
const MODES: [PacketMode; 15] = [
    PacketMode::Raw,
    PacketMode::Length(1),
    PacketMode::Length(2),
    PacketMode::Length(4),
    PacketMode::Asn1,
    PacketMode::SunRm,
    PacketMode::Cdr,
    PacketMode::Fcgi,
    PacketMode::Line,
    PacketMode::Tpkt,
    PacketMode::Http { binary: false },
    PacketMode::HttpHeader { binary: false },
    PacketMode::SslTls,
    PacketMode::Http { binary: true },
    PacketMode::HttpHeader { binary: true },
];

impl Options {
    /// The options of a socket that was accepted by one with these.
    pub fn accepted(&self) -> Options {
        Options { active: Active::Never, ..*self }
    }

    /// What limits packets.
    pub fn limits(&self) -> PacketLimits {
        PacketLimits { packet: self.packet_size as usize, line: self.buffer, delimiter: self.delimiter }
    }

    /// How long sending may take.
    pub fn send_timeout(&self) -> Option<Duration> {
        u64::try_from(self.send_timeout).ok().map(Duration::from_millis)
    }

    /// A packet is about to be sent to the owner as a message; returns whether that was the last one.
    pub fn count_message(&mut self) -> bool {
        match self.active {
            Active::Once => self.active = Active::Never,
            Active::Times(left) => {
                self.active = if left <= 1 { Active::Never } else { Active::Times(left - 1) };
                return left <= 1;
            }
            Active::Always | Active::Never => {}
        }
        false
    }

    /// Sets the options that a command's bytes say.
    ///
    /// # Errors
    /// `EINVAL`, or what the system says
    pub fn set(&mut self, socket: Option<&OwnedFd>, family: AddressFamily, mut data: &[u8]) -> Result<Change, Errno> {
        let mut change = Change::default();
        while !data.is_empty() {
            let option = take_number(&mut data, 1)? as u8;
            match option {
                RAW => {
                    let (level, number) = (take_integer(&mut data)?, take_integer(&mut data)?);
                    let length = take_number(&mut data, 4)? as usize;
                    let value = take(&mut data, length)?;
                    // As in OTP, an option that the system does not have does no harm.
                    let _ = set_option(socket.ok_or(Errno::INVAL)?.as_fd(), level, number, value);
                }
                DEVICE | NAMESPACE => {
                    let length = take_number(&mut data, 4)? as usize;
                    let value = take(&mut data, length)?;
                    if option == DEVICE {
                        let socket = socket.ok_or(Errno::INVAL)?.as_fd();
                        set_option(socket, libc::SOL_SOCKET, libc::SO_BINDTODEVICE, value).map_err(|_| Errno::INVAL)?;
                    }
                }
                LINGER => {
                    let value = [take_integer(&mut data)?, take_integer(&mut data)?].map(i32::to_ne_bytes).concat();
                    set_option(socket.ok_or(Errno::INVAL)?.as_fd(), libc::SOL_SOCKET, libc::SO_LINGER, &value)?;
                }
                ADD_MEMBERSHIP | DROP_MEMBERSHIP => {
                    let socket = socket.ok_or(Errno::INVAL)?.as_fd();
                    // As above.
                    let _ = membership(socket, option == ADD_MEMBERSHIP, &mut data)?;
                }
                MULTICAST_INTERFACE => {
                    let value = take(&mut data, 4)?;
                    let socket = socket.ok_or(Errno::INVAL)?.as_fd();
                    // As above.
                    let _ = if family == AddressFamily::INET6 {
                        let index = i32::from_be_bytes(value.try_into().map_err(|_| Errno::INVAL)?);
                        set_integer(socket, libc::IPPROTO_IPV6, libc::IPV6_MULTICAST_IF, index)
                    } else {
                        set_option(socket, libc::IPPROTO_IP, libc::IP_MULTICAST_IF, value)
                    };
                }
                _ => {
                    let value = take_integer(&mut data)?;
                    if let Some((level, number)) = place(option, family) {
                        if level == libc::IPPROTO_IPV6 && family != AddressFamily::INET6 {
                            return Err(Errno::INVAL);
                        }
                        let set = set_integer(socket.ok_or(Errno::INVAL)?.as_fd(), level, number, value);
                        if set.is_err() && MUST_SUCCEED.contains(&option) {
                            return Err(Errno::INVAL);
                        }
                        if option == RECEIVE_BUFFER {
                            let most = if self.datagrams { LONGEST_DATAGRAM } else { usize::MAX };
                            self.buffer = self.buffer.max(usize::try_from(value).unwrap_or(0).min(most));
                        }
                        if let Some(wish) = ancillary::wish(option) {
                            self.ancillary = if value == 0 { self.ancillary & !wish } else { self.ancillary | wish };
                        }
                    } else {
                        self.set_own(option, value, &mut data, &mut change)?;
                    }
                }
            }
        }
        Ok(change)
    }

    fn set_own(&mut self, option: u8, value: i32, data: &mut &[u8], change: &mut Change) -> Result<(), Errno> {
        let natural = || usize::try_from(value).map_err(|_| Errno::INVAL);
        match option {
            20 => {
                if value > 0 {
                    self.buffer = natural()?;
                }
            }
            21 => self.header = natural()?,
            22 => {
                change.active = true;
                self.set_active(value, data, change)?;
            }
            23 => {
                self.packet = *MODES.get(natural()?).ok_or(Errno::INVAL)?;
                self.packet_number = value;
            }
            24 => self.binary = value != 0,
            25 => self.deliver_port = value == 0,
            26 => self.exit_on_close = value != 0,
            27 => self.high = natural()?,
            28 => self.low = natural()?,
            30 => self.send_timeout = value,
            31 => self.delay_send = value != 0,
            32 => self.packet_size = value.max(0),
            33 => self.read_packets = natural()?.max(1),
            35 => self.send_timeout_close = value != 0,
            36 => self.high_messages = value,
            37 => self.low_messages = value,
            39 => self.show_reset = value != 0,
            40 => self.delimiter = value as u8,
            _ => return Err(Errno::INVAL),
        }
        Ok(())
    }

    fn set_active(&mut self, value: i32, data: &mut &[u8], change: &mut Change) -> Result<(), Errno> {
        self.active = match value {
            0 => Active::Never,
            1 => Active::Always,
            2 => Active::Once,
            3 => {
                let more = i32::from(take_number(data, 2)? as u16 as i16);
                let present = if let Active::Times(left) = self.active { i32::from(left) } else { 0 };
                let sum = if more == 0 && self.active == Active::Never { 0 } else { present + more };
                match i16::try_from(sum) {
                    Err(_) => return Err(Errno::INVAL),
                    Ok(..=0) => {
                        change.exhausted = true;
                        Active::Never
                    }
                    Ok(left) => Active::Times(left),
                }
            }
            _ => return Err(Errno::INVAL),
        };
        Ok(())
    }

    /// The options that a command's bytes ask for. Those that this kind of socket does not have are left out.
    ///
    /// # Errors
    /// `EINVAL`
    pub fn get(&self, socket: Option<&OwnedFd>, family: AddressFamily, mut data: &[u8]) -> Answer {
        let mut answer = Vec::new();
        while !data.is_empty() {
            let option = take_number(&mut data, 1)? as u8;
            let socket = || socket.map(AsFd::as_fd).ok_or(Errno::INVAL);
            match option {
                RAW => {
                    let (level, number) = (take_integer(&mut data)?, take_integer(&mut data)?);
                    let mut room = raw_room(&mut data)?;
                    let length = get_option(socket()?, level, number, &mut room)?;
                    answer.push(RAW);
                    answer.extend([level, number, length as i32].map(i32::to_be_bytes).concat());
                    answer.extend_from_slice(&room[..length]);
                }
                LINGER => {
                    let mut room = [0; 8];
                    get_option(socket()?, libc::SOL_SOCKET, libc::SO_LINGER, &mut room)?;
                    answer.push(LINGER);
                    for half in room.chunks_exact(4) {
                        answer.extend(half.iter().rev());
                    }
                }
                DEVICE => {
                    let mut room = [0; 64];
                    let length = get_option(socket()?, libc::SOL_SOCKET, libc::SO_BINDTODEVICE, &mut room)?;
                    let device = room[..length].split(|byte| *byte == 0).next().unwrap_or_default();
                    answer.push(DEVICE);
                    answer.extend((device.len() as u32).to_be_bytes());
                    answer.extend_from_slice(device);
                }
                PACKET_OPTIONS => {
                    let mut room = [0; ancillary::ROOM];
                    let length = get_option(socket()?, libc::IPPROTO_IP, IP_PKTOPTIONS, &mut room)?;
                    let options = ancillary::options(&room[..length.min(room.len())]);
                    answer.push(PACKET_OPTIONS);
                    answer.extend((options.len() as u32).to_be_bytes());
                    answer.extend(options);
                }
                MULTICAST_INTERFACE => {
                    let mut room = [0; 4];
                    let is_v6 = family == AddressFamily::INET6;
                    if is_v6 {
                        let index = get_integer(socket()?, libc::IPPROTO_IPV6, libc::IPV6_MULTICAST_IF)?;
                        room = index.to_be_bytes();
                    } else {
                        get_option(socket()?, libc::IPPROTO_IP, libc::IP_MULTICAST_IF, &mut room)?;
                    }
                    answer.push(MULTICAST_INTERFACE);
                    answer.extend(room);
                    answer.extend(u32::from(if is_v6 { INET6 } else { INET }).to_be_bytes());
                }
                _ => {
                    let value = match place(option, family) {
                        Some((level, number)) => get_integer(socket()?, level, number).ok(),
                        None if self.lacks(option) => None,
                        None => Some(self.own(option).ok_or(Errno::INVAL)?),
                    };
                    if let Some(value) = value {
                        answer.push(option);
                        answer.extend(value.to_be_bytes());
                    }
                    if let (22, Active::Times(left)) = (option, self.active) {
                        answer.extend(left.to_be_bytes());
                    }
                }
            }
        }
        Ok(answer)
    }

    /// Whether sockets of this kind do not have the option.
    fn lacks(&self, option: u8) -> bool {
        match option {
            27 | 28 | 30 | 31 | 35 | 39 => self.datagrams,
            33 => !self.datagrams,
            NAMESPACE => true,
            _ => false,
        }
    }

    fn own(&self, option: u8) -> Option<i32> {
        Some(match option {
            20 => self.buffer as i32,
            21 => self.header as i32,
            22 => match self.active {
                Active::Never => 0,
                Active::Always => 1,
                Active::Once => 2,
                Active::Times(_) => 3,
            },
            23 => self.packet_number,
            24 => self.binary.into(),
            25 => (!self.deliver_port).into(),
            26 => self.exit_on_close.into(),
            27 => self.high as i32,
            28 => self.low as i32,
            30 => self.send_timeout,
            31 => self.delay_send.into(),
            32 => self.packet_size,
            33 => self.read_packets as i32,
            35 => self.send_timeout_close.into(),
            36 => self.high_messages,
            37 => self.low_messages,
            39 => self.show_reset.into(),
            _ => return None,
        })
    }
}

/// Room for a raw option: of a size, or a copy of bytes.
fn raw_room(data: &mut &[u8]) -> Result<Vec<u8>, Errno> {
    let is_bytes = take_number(data, 1)? != 0;
    let length = take_number(data, 4)? as usize;
    if length > LONGEST_RAW {
        return Err(Errno::INVAL);
    }
    if is_bytes { Ok(take(data, length)?.to_vec()) } else { Ok(vec![0; length]) }
}

/// Joins a multicast group or leaves it; inside, what the system says.
fn membership(socket: BorrowedFd<'_>, join: bool, data: &mut &[u8]) -> Result<Result<(), Errno>, Errno> {
    use rustix::net::sockopt::{
        set_ip_add_membership_with_ifindex, set_ip_drop_membership_with_ifindex, set_ipv6_add_membership,
        set_ipv6_drop_membership,
    };
    let family = take_integer(data)?;
    let index = take_integer(data)? as u32;
    if family == i32::from(INET) {
        let (group, interface) = (take_v4(data)?, take_v4(data)?);
        return Ok(match join {
            true => set_ip_add_membership_with_ifindex(socket, &group, &interface, index),
            false => set_ip_drop_membership_with_ifindex(socket, &group, &interface, index),
        });
    }
    if family != i32::from(INET6) {
        return Err(Errno::INVAL);
    }
    let group: [u8; 16] = take(data, 16)?.try_into().map_err(|_| Errno::INVAL)?;
    Ok(match join {
        true => set_ipv6_add_membership(socket, &group.into(), index),
        false => set_ipv6_drop_membership(socket, &group.into(), index),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_messages_add_up() {
        let mut options = Options { active: Active::Never, ..Options::default() };
        let more = |count: i16| [&[22, 0, 0, 0, 3][..], &count.to_be_bytes()].concat();
        let family = AddressFamily::INET;
        options.set(None, family, &more(2)).expect("a count");
        options.set(None, family, &more(1)).expect("a count");
        assert_eq!(options.active, Active::Times(3));
        assert_eq!([(); 3].map(|()| options.count_message()), [false, false, true]);
        assert_eq!(options.active, Active::Never);
        options.set(None, family, &more(2)).expect("a count");
        assert!(options.set(None, family, &more(-5)).expect("a count").exhausted);
        assert_eq!(options.set(None, family, &more(i16::MAX)).map(|_| options.active), Ok(Active::Times(i16::MAX)));
        assert_eq!(options.set(None, family, &more(1)), Err(Errno::INVAL));
    }

    #[test]
    fn the_system_s_options_need_a_socket() {
        let mut options = Options::default();
        assert_eq!(options.set(None, AddressFamily::INET, &[0, 0, 0, 0, 1]), Err(Errno::INVAL));
        assert_eq!(options.set(None, AddressFamily::INET, &[]), Ok(Change::default()));
    }
}
