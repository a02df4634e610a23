//! The chunks that are tables: atoms, imports, exports, lambdas, literals and lines.

use crate::compact;
use crate::container::inflate;
use crate::cursor::Cursor;
use crate::error::Result;
use crate::instruction::{AtomIndex, Label};
use crate::module::{Export, Import, Lambda, LineTable};

/// Atoms have at most this many characters.
const LONGEST_ATOM: usize = 255;

/// Reads `AtU8`. Up to OTP 27 a length is one byte; from OTP 28 the count is negative and a length
/// is a compact term.
pub(crate) fn atoms(data: &[u8]) -> Result<Vec<Box<str>>> {
    let mut cursor = Cursor::new("AtU8", data);
    let count = cursor.u32()? as i32;
    let compact_lengths = count < 0;
    let count = count.unsigned_abs() as usize;
    cursor.fits(count, 1)?;
    let mut atoms = Vec::with_capacity(count);
    for _ in 0..count {
        let length = if compact_lengths { compact::read_unsigned(&mut cursor)? } else { u64::from(cursor.byte()?) };
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let start = cursor.clone();
        let text = std::str::from_utf8(cursor.bytes(length)?)
            .map_err(|error| start.error(format!("an atom is not UTF-8: {error}")))?;
        if text.len() > LONGEST_ATOM && text.chars().count() > LONGEST_ATOM {
            return Err(start.error("an atom has more than 255 characters"));
        }
        atoms.push(text.into());
    }
    end(&cursor)?;
    Ok(atoms)
}

/// Reads `Atom`, the table of files from before OTP 20: names are Latin-1.
pub(crate) fn latin1_atoms(data: &[u8]) -> Result<Vec<Box<str>>> {
    let mut cursor = Cursor::new("Atom", data);
    let count = cursor.count(1)?;
    let mut atoms = Vec::with_capacity(count);
    for _ in 0..count {
        let length = usize::from(cursor.byte()?);
        let text: String = cursor.bytes(length)?.iter().copied().map(char::from).collect();
        atoms.push(text.into());
    }
    end(&cursor)?;
    Ok(atoms)
}

/// Reads `ImpT`.
pub(crate) fn imports(data: &[u8], atoms: usize) -> Result<Vec<Import>> {
    let mut cursor = Cursor::new("ImpT", data);
    let count = cursor.count(12)?;
    let mut imports = Vec::with_capacity(count);
    for _ in 0..count {
        let module = atom(&mut cursor, atoms)?;
        let name = atom(&mut cursor, atoms)?;
        imports.push(Import { module, name, arity: arity(&mut cursor)? });
    }
    end(&cursor)?;
    Ok(imports)
}

/// Reads `ExpT`.
pub(crate) fn exports(data: &[u8], atoms: usize) -> Result<Vec<Export>> {
    let mut cursor = Cursor::new("ExpT", data);
    let count = cursor.count(12)?;
    let mut exports = Vec::with_capacity(count);
    for _ in 0..count {
        let name = atom(&mut cursor, atoms)?;
        let arity = arity(&mut cursor)?;
        exports.push(Export { name, arity, label: Label(cursor.u32()?) });
    }
    end(&cursor)?;
    Ok(exports)
}

/// Reads `FunT`.
pub(crate) fn lambdas(data: &[u8], atoms: usize) -> Result<Vec<Lambda>> {
    let mut cursor = Cursor::new("FunT", data);
    let count = cursor.count(24)?;
    let mut lambdas = Vec::with_capacity(count);
    for _ in 0..count {
        let name = atom(&mut cursor, atoms)?;
        let arity = arity(&mut cursor)?;
        let label = Label(cursor.u32()?);
        let index = cursor.u32()?;
        let free = cursor.u32()?;
        if free > u32::from(arity) {
            return Err(cursor.error(format!("a fun of {arity} arguments has {free} free variables")));
        }
        let old_unique = cursor.u32()?;
        lambdas.push(Lambda { name, arity, label, index, free, old_unique });
    }
    end(&cursor)?;
    Ok(lambdas)
}

/// Reads `LitT`. Up to OTP 27 the table is compressed behind its size; from OTP 28 the size is 0
/// and the table follows as it is.
pub(crate) fn literals(data: &[u8]) -> Result<Vec<Box<[u8]>>> {
    let mut outer = Cursor::new("LitT", data);
    let size = outer.u32()? as usize;
    let rest = outer.bytes(outer.remaining())?;
    let unpacked;
    let table = if size == 0 {
        rest
    } else {
        unpacked = inflate("LitT", rest, size)?;
        &unpacked
    };

    let mut cursor = Cursor::new("LitT", table);
    let count = cursor.count(4)?;
    let mut literals = Vec::with_capacity(count);
    for _ in 0..count {
        let size = cursor.u32()? as usize;
        let start = cursor.clone();
        let term = cursor.bytes(size)?;
        if term.len() < 2 || term[0] != 131 {
            return Err(start.error("a literal is not in the external term format"));
        }
        literals.push(term.into());
    }
    end(&cursor)?;
    Ok(literals)
}

/// Higher numbers of lines are not kept, as in OTP.
const HIGHEST_LINE: u32 = (1 << 24) - 2;

/// Reads `Line`. Lines of the file that holds the module come first; an atom-tagged item names the
/// file of the items behind it.
pub(crate) fn lines(data: &[u8], module: &str) -> Result<LineTable> {
    let mut cursor = Cursor::new("Line", data);
    let version = cursor.u32()?;
    if version != 0 {
        return Err(cursor.error(format!("version {version} is not known")));
    }
    let _flags = cursor.u32()?;
    let _instructions = cursor.u32()?;
    let items = cursor.count(1)?;
    let names = cursor.u32()? as usize;
    cursor.fits(names, 2)?;

    let mut entries = Vec::with_capacity(items + 1);
    entries.push((0, 0));
    let mut file = 0;
    while entries.len() <= items {
        let (tag, value) = compact::read(&mut cursor)?;
        let value = value
            .unsigned()
            .and_then(|value| u32::try_from(value).ok())
            .ok_or_else(|| cursor.error("a line or file number is out of range"))?;
        match tag {
            compact::TAG_INTEGER if value > HIGHEST_LINE => entries.push((0, 0)),
            compact::TAG_INTEGER => entries.push((file, value)),
            compact::TAG_ATOM if value as usize <= names => file = value,
            compact::TAG_ATOM => {
                return Err(cursor.error(format!("file {value} of {names} does not exist")));
            }
            _ => return Err(cursor.error(format!("an item has tag {tag}"))),
        }
    }

    let mut files = Vec::with_capacity(names + 1);
    files.push(format!("{module}.erl").into());
    for _ in 0..names {
        let length = usize::from(cursor.u16()?);
        // A name in an unknown encoding must not make a module unusable.
        files.push(String::from_utf8_lossy(cursor.bytes(length)?).into());
    }
    Ok(LineTable { files, entries })
}

fn atom(cursor: &mut Cursor<'_>, atoms: usize) -> Result<AtomIndex> {
    let number = cursor.u32()?;
    match number.checked_sub(1) {
        Some(index) if (index as usize) < atoms => Ok(AtomIndex(index)),
        _ => Err(cursor.error(format!("atom {number} of {atoms} does not exist"))),
    }
}

fn arity(cursor: &mut Cursor<'_>) -> Result<u8> {
    let arity = cursor.u32()?;
    u8::try_from(arity).map_err(|_| cursor.error(format!("{arity} arguments are too many")))
}

fn end(cursor: &Cursor<'_>) -> Result<()> {
    match cursor.remaining() {
        0 => Ok(()),
        more => Err(cursor.error(format!("{more} bytes follow the last entry"))),
    }
}
