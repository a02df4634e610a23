//! The file around the chunks: gzip, and the IFF form `FOR1` … `BEAM`.

use std::borrow::Cow;
use std::io::Read;

use flate2::read::{GzDecoder, ZlibDecoder};

use crate::cursor::Cursor;
use crate::error::{LoadError, Result};

/// No file may unpack to more bytes than this.
const LARGEST_FILE: usize = 256 << 20;

/// Deflate cannot compress better than this, so a larger promise is a lie.
const LARGEST_RATIO: usize = 1_040;

/// Unpacks a file that is compressed as a whole.
pub(crate) fn unpack(bytes: &[u8]) -> Result<Cow<'_, [u8]>> {
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return Ok(Cow::Borrowed(bytes));
    }
    let limit = bytes.len().saturating_mul(LARGEST_RATIO).min(LARGEST_FILE);
    read_bounded("file", GzDecoder::new(bytes), limit).map(Cow::Owned)
}

/// Unpacks zlib data that is known to give `size` bytes.
pub(crate) fn inflate(chunk: &'static str, data: &[u8], size: usize) -> Result<Vec<u8>> {
    if size > data.len().saturating_mul(LARGEST_RATIO) || size > LARGEST_FILE {
        return Err(LoadError::new(chunk, 0, format!("{} compressed bytes cannot hold {size} bytes", data.len())));
    }
    let unpacked = read_bounded(chunk, ZlibDecoder::new(data), size)?;
    if unpacked.len() != size {
        return Err(LoadError::new(chunk, 0, format!("{size} bytes are announced and {} unpacked", unpacked.len())));
    }
    Ok(unpacked)
}

fn read_bounded(chunk: &'static str, decoder: impl Read, limit: usize) -> Result<Vec<u8>> {
    let mut unpacked = Vec::new();
    decoder
        .take(limit as u64 + 1)
        .read_to_end(&mut unpacked)
        .map_err(|error| LoadError::new(chunk, 0, format!("compressed data is damaged: {error}")))?;
    if unpacked.len() > limit {
        return Err(LoadError::new(chunk, 0, format!("more than {limit} bytes when unpacked")));
    }
    Ok(unpacked)
}

/// The chunks that loading looks at, as they lie in the file.
#[derive(Default)]
pub(crate) struct Chunks<'a> {
    /// Atom table with UTF-8 names.
    pub(crate) atoms: Option<&'a [u8]>,
    /// Atom table with Latin-1 names, from before OTP 20.
    pub(crate) latin1_atoms: Option<&'a [u8]>,
    pub(crate) code: Option<&'a [u8]>,
    pub(crate) strings: Option<&'a [u8]>,
    pub(crate) imports: Option<&'a [u8]>,
    pub(crate) exports: Option<&'a [u8]>,
    pub(crate) lambdas: Option<&'a [u8]>,
    pub(crate) literals: Option<&'a [u8]>,
    pub(crate) lines: Option<&'a [u8]>,
    pub(crate) attributes: Option<&'a [u8]>,
    pub(crate) compile_info: Option<&'a [u8]>,
    /// Enabled language features; read for the digest only.
    pub(crate) meta: Option<&'a [u8]>,
}

impl<'a> Chunks<'a> {
    /// Finds the chunks of an unpacked file.
    pub(crate) fn read(file: &'a [u8]) -> Result<Self> {
        let mut cursor = Cursor::new("file", file);
        if file.len() < 12 || &file[..4] != b"FOR1" || &file[8..12] != b"BEAM" {
            return Err(cursor.error("not a BEAM file"));
        }
        cursor.bytes(4)?;
        let size = cursor.u32()? as usize;
        if size < 4 || size > cursor.remaining() {
            return Err(cursor.error(format!("the form is {size} bytes long and {} follow", cursor.remaining())));
        }
        let mut cursor = Cursor::new("file", &file[..8 + size]);
        cursor.bytes(12)?;

        let mut chunks = Chunks::default();
        while cursor.remaining() > 0 {
            let start = cursor.clone();
            let name = cursor.bytes(4)?;
            let size = cursor.u32()? as usize;
            let data = cursor.bytes(size)?;
            // The padding of the last chunk may be missing.
            let padding = (4 - size % 4) % 4;
            cursor.bytes(padding.min(cursor.remaining()))?;
            let place = match name {
                b"AtU8" => &mut chunks.atoms,
                b"Atom" => &mut chunks.latin1_atoms,
                b"Code" => &mut chunks.code,
                b"StrT" => &mut chunks.strings,
                b"ImpT" => &mut chunks.imports,
                b"ExpT" => &mut chunks.exports,
                b"FunT" => &mut chunks.lambdas,
                b"LitT" => &mut chunks.literals,
                b"Line" => &mut chunks.lines,
                b"Attr" => &mut chunks.attributes,
                b"CInf" => &mut chunks.compile_info,
                b"Meta" => &mut chunks.meta,
                _ => continue,
            };
            if place.replace(data).is_some() {
                return Err(start.error(format!("a second chunk {}", String::from_utf8_lossy(name))));
            }
        }
        Ok(chunks)
    }
}
