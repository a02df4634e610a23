//! Where messages end in a stream of bytes: the packet modes of sockets and of `erlang:decode_packet/3`.

/// How a stream is cut into packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PacketMode {
    /// Not at all.
    #[default]
    Raw,
    /// By a length of so many bytes in front (1, 2 or 4), which is not part of the packet.
    Length(u8),
    /// ASN.1 BER.
    Asn1,
    /// Sun's record marking.
    SunRm,
    /// CORBA (GIOP 1.1).
    Cdr,
    /// Fast CGI.
    Fcgi,
    /// Lines.
    Line,
    /// TPKT (RFC 1006).
    Tpkt,
    /// HTTP: the first line of a message.
    Http {
        /// Text as binaries, not lists.
        binary: bool,
    },
    /// HTTP: a header.
    HttpHeader {
        /// Text as binaries, not lists.
        binary: bool,
    },
    /// Records of TLS, and the first of SSL 2.
    SslTls,
}

/// What limits packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketLimits {
    /// Most bytes of a packet without its length; 0: no limit.
    pub packet: usize,
    /// Bytes at which a line is cut; 0: nowhere.
    pub line: usize,
    /// What ends a line.
    pub delimiter: u8,
}

impl Default for PacketLimits {
    fn default() -> Self {
        PacketLimits { packet: 0, line: 0, delimiter: b'\n' }
    }
}

/// A stream in which no packet can begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Invalid;

/// Length of the packet at the beginning of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// It takes so many bytes, perhaps more than are there.
    Bytes(usize),
    /// That cannot be said yet.
    Unknown,
}

/// Most bytes of a packet with everything.
const MOST: usize = i32::MAX as usize;

/// How far the first packet reaches.
///
/// # Errors
/// The bytes are not such a packet, or it is too long.
pub fn extent(mode: PacketMode, bytes: &[u8], limits: &PacketLimits) -> Result<Extent, Invalid> {
    let counted = |head: usize, body: Option<usize>| match body {
        None => Ok(Extent::Unknown),
        Some(body) if limits.packet != 0 && body > limits.packet || body > MOST - head => Err(Invalid),
        Some(body) => Ok(Extent::Bytes(head + body)),
    };
    let demand = |is_right: bool| if is_right { Ok(()) } else { Err(Invalid) };
    match mode {
        PacketMode::Raw => Ok(if bytes.is_empty() { Extent::Unknown } else { Extent::Bytes(bytes.len()) }),
        PacketMode::Length(head) => counted(head.into(), number(bytes, 0, head.into())),
        PacketMode::SunRm => counted(4, number(bytes, 0, 4).map(|length| length & 0x7fff_ffff)),
        PacketMode::Asn1 => match asn1(bytes)? {
            Some((head, body)) => counted(head, Some(body)),
            None => Ok(Extent::Unknown),
        },
        PacketMode::Cdr => {
            let Some(head) = bytes.first_chunk::<12>() else { return Ok(Extent::Unknown) };
            demand(head.starts_with(b"GIOP"))?;
            let size = [head[8], head[9], head[10], head[11]];
            let is_little = head[6] & 1 == 1;
            let size = if is_little { u32::from_le_bytes(size) } else { u32::from_be_bytes(size) };
            counted(12, Some(size as usize))
        }
        PacketMode::Fcgi => {
            let Some(head) = bytes.first_chunk::<8>() else { return Ok(Extent::Unknown) };
            demand(head[0] == 1)?;
            counted(8, number(bytes, 4, 2).map(|content| content + usize::from(head[6])))
        }
        PacketMode::Tpkt => {
            let Some(head) = bytes.first_chunk::<4>() else { return Ok(Extent::Unknown) };
            let length = usize::from(u16::from_be_bytes([head[2], head[3]]));
            demand(head[0] == 3 && length >= 4)?;
            counted(4, Some(length - 4))
        }
        PacketMode::SslTls => {
            let Some(head) = bytes.first_chunk::<5>() else { return Ok(Extent::Unknown) };
            if is_ssl2(head) {
                let length = number(bytes, 0, 2).map_or(0, |length| length & 0x7fff);
                demand(length >= 3)?;
                return counted(5, Some(length - 3));
            }
            counted(5, number(bytes, 3, 2))
        }
        PacketMode::Line => line(bytes, limits),
        PacketMode::Http { .. } => http_line(bytes, limits, false),
        PacketMode::HttpHeader { .. } => http_line(bytes, limits, true),
    }
}

/// Whether a client of SSL 2 says hello.
pub fn is_ssl2(head: &[u8]) -> bool {
    head[0] & 0x80 != 0 && head[2] == 1
}

/// The part of a packet that a program gets.
pub fn content(mode: PacketMode, packet: &[u8]) -> &[u8] {
    match mode {
        PacketMode::Length(head) => packet.get(usize::from(head)..).unwrap_or_default(),
        // Without padding.
        PacketMode::Fcgi => number(packet, 4, 2).and_then(|content| packet.get(..8 + content)).unwrap_or(packet),
        _ => packet,
    }
}

/// A number of `count` bytes, most significant first.
fn number(bytes: &[u8], from: usize, count: usize) -> Option<usize> {
    let digits = bytes.get(from..from + count)?;
    Some(digits.iter().fold(0, |number, byte| number << 8 | usize::from(*byte)))
}

/// Lengths of tag and length, and of what follows.
fn asn1(bytes: &[u8]) -> Result<Option<(usize, usize)>, Invalid> {
    let Some(first) = bytes.first() else { return Ok(None) };
    let mut at = 1;
    if first & 0x1f == 0x1f {
        loop {
            let Some(more) = bytes.get(at) else { return Ok(None) };
            at += 1;
            if more & 0x80 == 0 {
                break;
            }
        }
    }
    let Some(length) = bytes.get(at) else { return Ok(None) };
    at += 1;
    if length & 0x80 == 0 {
        return Ok(Some((at, usize::from(*length))));
    }
    let digits = usize::from(length & 0x7f);
    if digits > 4 {
        return Err(Invalid);
    }
    Ok(number(bytes, at, digits).map(|length| (at + digits, length)))
}

fn line(bytes: &[u8], limits: &PacketLimits) -> Result<Extent, Invalid> {
    let end = memchr::memchr(limits.delimiter, bytes).map(|end| end + 1);
    let length = end.unwrap_or(bytes.len());
    if limits.packet != 0 && length > limits.packet {
        return Err(Invalid);
    }
    if limits.line != 0 && (length > limits.line || end.is_none() && length >= limits.line) {
        return Ok(Extent::Bytes(limits.line));
    }
    Ok(end.map_or(Extent::Unknown, Extent::Bytes))
}

/// A line of HTTP; a header goes on in lines that begin with a space.
fn http_line(bytes: &[u8], limits: &PacketLimits, header: bool) -> Result<Extent, Invalid> {
    // The limit of lines stands in for that of packets, for old callers.
    let most = if limits.packet == 0 { limits.line } else { limits.packet };
    let too_long = |length: usize| most != 0 && length > most;
    let mut from = 0;
    loop {
        let Some(end) = memchr::memchr(b'\n', &bytes[from..]).map(|end| from + end + 1) else {
            return if too_long(bytes.len()) { Err(Invalid) } else { Ok(Extent::Unknown) };
        };
        if too_long(end) {
            return Err(Invalid);
        }
        let is_end_of_headers = matches!(&bytes[..end], b"\n" | b"\r\n");
        if !header || is_end_of_headers {
            return Ok(Extent::Bytes(end));
        }
        match bytes.get(end) {
            None => return Ok(Extent::Unknown),
            Some(b' ' | b'\t') => from = end,
            Some(_) => return Ok(Extent::Bytes(end)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(mode: PacketMode, bytes: &[u8]) -> Result<Extent, Invalid> {
        extent(mode, bytes, &PacketLimits::default())
    }

    #[test]
    fn lengths_stand_in_front() {
        assert_eq!(of(PacketMode::Length(2), &[0, 2, 1]), Ok(Extent::Bytes(4)));
        assert_eq!(of(PacketMode::Length(2), &[0]), Ok(Extent::Unknown));
        assert_eq!(of(PacketMode::Length(4), &[255, 255, 255, 255]), Err(Invalid));
        assert_eq!(content(PacketMode::Length(2), &[0, 1, 7]), [7]);
        assert_eq!(content(PacketMode::Fcgi, &[1, 1, 0, 1, 0, 1, 1, 0, 7, 0]), [1, 1, 0, 1, 0, 1, 1, 0, 7]);
    }

    #[test]
    fn asn1_has_tags_and_lengths_of_several_bytes() {
        assert_eq!(of(PacketMode::Asn1, &[0x30, 0x81, 3]), Ok(Extent::Bytes(6)));
        assert_eq!(of(PacketMode::Asn1, &[0x1f, 0x81, 1, 2]), Ok(Extent::Bytes(6)));
        assert_eq!(of(PacketMode::Asn1, &[0x30, 0x85, 1, 1, 1, 1, 1]), Err(Invalid));
        assert_eq!(of(PacketMode::Asn1, &[0x1f, 0x81]), Ok(Extent::Unknown));
    }

    #[test]
    fn lines_are_cut_or_refused() {
        let limits = |packet, line| PacketLimits { packet, line, delimiter: b'\n' };
        assert_eq!(extent(PacketMode::Line, b"abc\nd", &limits(0, 0)), Ok(Extent::Bytes(4)));
        assert_eq!(extent(PacketMode::Line, b"abcd", &limits(0, 3)), Ok(Extent::Bytes(3)));
        assert_eq!(extent(PacketMode::Line, b"abcd", &limits(3, 0)), Err(Invalid));
    }

    #[test]
    fn headers_of_http_go_on_after_a_space() {
        let header = PacketMode::HttpHeader { binary: false };
        assert_eq!(of(header, b"A: b\r\n c\r\nD"), Ok(Extent::Bytes(10)));
        assert_eq!(of(header, b"A: b\r\n"), Ok(Extent::Unknown));
        assert_eq!(of(header, b"\r\n"), Ok(Extent::Bytes(2)));
        assert_eq!(of(PacketMode::Http { binary: true }, b"GET /\r\n"), Ok(Extent::Bytes(7)));
    }
}
