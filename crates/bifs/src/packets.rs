//! `erlang:decode_packet/3`.

use atoll_operations::packets::{Extent, PacketLimits, PacketMode, content, extent, is_ssl2};
use atoll_operations::{http, list};
use atoll_process::{BuiltIn, Caller, Outcome, badarg};
use atoll_term::{Build, Term, atoms};

use crate::charging::charge_bytes;
use crate::errors::badopt;

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[BuiltIn::new("erlang", "decode_packet", 3, decode_packet)];

fn mode(term: Term) -> Option<PacketMode> {
    if let Some(size) = term.as_small() {
        return match size {
            0 => Some(PacketMode::Raw),
            1 | 2 | 4 => Some(PacketMode::Length(size as u8)),
            _ => None,
        };
    }
    Some(match atoms::atom_name(Some(term).filter(|term| term.is_atom())?) {
        "raw" => PacketMode::Raw,
        "asn1" => PacketMode::Asn1,
        "sunrm" => PacketMode::SunRm,
        "cdr" => PacketMode::Cdr,
        "fcgi" => PacketMode::Fcgi,
        "line" => PacketMode::Line,
        "tpkt" => PacketMode::Tpkt,
        "http" => PacketMode::Http { binary: false },
        "http_bin" => PacketMode::Http { binary: true },
        "httph" => PacketMode::HttpHeader { binary: false },
        "httph_bin" => PacketMode::HttpHeader { binary: true },
        "ssl_tls" => PacketMode::SslTls,
        _ => return None,
    })
}

fn limits(mode: PacketMode, options: Term) -> Option<PacketLimits> {
    let mut limits = PacketLimits::default();
    for option in list::elements_or_badarg(options).ok()? {
        let &[key, value] = option.tuple_elements()? else { return None };
        let number = value.as_small().and_then(|value| u32::try_from(value).ok())?;
        match atoms::atom_name(Some(key).filter(|key| key.is_atom())?) {
            "packet_size" => limits.packet = number as usize,
            "line_length" => limits.line = number as usize,
            "line_delimiter" if mode == PacketMode::Line => limits.delimiter = u8::try_from(number).ok()?,
            _ => return None,
        }
    }
    Some(limits)
}

/// `decode_packet(Type, Binary, Options)`
fn decode_packet(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let &[kind, binary, options] = arguments else { return Err(badarg()) };
    let Some(mode) = mode(kind) else { return Err(badopt(caller)) };
    let bits = binary.bits().ok_or_else(badarg)?;
    let limits = limits(mode, options).ok_or_else(badarg)?;
    // Bits behind the last whole byte belong to the rest.
    let whole = bits.length() / 8 * 8;
    let bytes = bits.slice(0, whole).to_bytes();
    let length = match extent(mode, &bytes, &limits) {
        Err(_) => return Ok(caller.heap().tuple(&[atoms::ERROR, atoms::atom("invalid")?])),
        Ok(Extent::Unknown) => return Ok(caller.heap().tuple(&[atoms::atom("more")?, atoms::UNDEFINED])),
        Ok(Extent::Bytes(length)) if length > bytes.len() => {
            return Ok(caller.heap().tuple(&[atoms::atom("more")?, Term::small(length as i64)]));
        }
        Ok(Extent::Bytes(length)) => length,
    };
    charge_bytes(caller, length);
    let heap = caller.heap();
    let packet = match mode {
        PacketMode::Http { binary } => http::decode(heap, &bytes[..length], false, binary).1,
        PacketMode::HttpHeader { binary } => http::decode(heap, &bytes[..length], true, binary).1,
        PacketMode::SslTls => tls_record(heap, &bytes[..length])?,
        _ => {
            let content = content(mode, &bytes[..length]);
            let start = if matches!(mode, PacketMode::Length(_)) { length - content.len() } else { 0 };
            heap.part_of_bits(binary, start * 8, content.len() * 8)
        }
    };
    let rest = heap.part_of_bits(binary, length * 8, bits.length() - length * 8);
    Ok(heap.tuple(&[atoms::OK, packet, rest]))
}

/// Type of a record with a handshake.
const HANDSHAKE: i64 = 22;

/// `{ssl_tls, [], ContentType, {Major, Minor}, Data}`; an SSL 2 hello looks like a handshake of its version.
fn tls_record(heap: &mut (impl Build + ?Sized), record: &[u8]) -> Result<Term, atoll_operations::Exception> {
    let (kind, version, data) = if is_ssl2(record) {
        let body = &record[3..];
        let length = (body.len() as u32).to_be_bytes();
        let hello = [&[1], &length[1..], body].concat();
        (HANDSHAKE, [record[3], record[4]], heap.binary(&hello))
    } else {
        (i64::from(record[0]), [record[1], record[2]], heap.binary(&record[5..]))
    };
    let version = heap.tuple(&version.map(|part| Term::small(i64::from(part))));
    Ok(heap.tuple(&[atoms::atom("ssl_tls")?, Term::NIL, Term::small(kind), version, data]))
}
