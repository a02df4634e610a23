//! Reading from and writing to open files.

use std::borrow::Cow;
use std::ffi::CStr;
use std::io::IoSlice;
use std::os::fd::{AsFd, BorrowedFd};

use atoll_platform::allocator::may_fail;
use atoll_process::{BuiltIn, Caller, Interrupt, Outcome, badarg};
use atoll_term::atoms::LazyAtom;
use atoll_term::{Build, HEAP_BINARY_LIMIT, HeldBinary, OffHeapBinary, Term, atoms};
use rustix::fs::{Advice, FallocateFlags, SeekFrom};
use rustix::io::Errno;

use crate::arguments::{int, position};
use crate::dirty;
use crate::files::handles::{Handle, handle, open_to_read, room_for, with_file};
use crate::files::names::path;
use crate::results::{done, ok, posix_error};

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("prim_file", "read_nif", 2, read),
    BuiltIn::new("prim_file", "write_nif", 2, write),
    BuiltIn::new("prim_file", "pread_nif", 3, pread),
    BuiltIn::new("prim_file", "pwrite_nif", 3, pwrite),
    BuiltIn::new("prim_file", "seek_nif", 3, seek),
    BuiltIn::new("prim_file", "sync_nif", 2, sync),
    BuiltIn::new("prim_file", "truncate_nif", 1, truncate),
    BuiltIn::new("prim_file", "allocate_nif", 3, allocate),
    BuiltIn::new("prim_file", "advise_nif", 4, advise),
    BuiltIn::new("prim_file", "ipread_s32bu_p32bu_nif", 3, read_indirect),
    BuiltIn::new("prim_file", "read_file_nif", 1, read_file),
];

/// Bytes up to which data is read into memory of this thread first.
const SMALL_READ: usize = 16 << 10;
/// Pieces that one call writes; the program calls again for more.
const PIECES: usize = 64;

static BOF: LazyAtom = LazyAtom::new("bof");
static CONTINUE: LazyAtom = LazyAtom::new("continue");
static CUR: LazyAtom = LazyAtom::new("cur");
static EOF: LazyAtom = LazyAtom::new("eof");

/// Reads until the room is full or the file ends.
fn fill(mut room: &mut [u8], mut read: impl FnMut(&mut [u8], u64) -> Result<usize, Errno>) -> Result<usize, Errno> {
    let mut total = 0;
    while !room.is_empty() {
        let count = rustix::io::retry_on_intr(|| read(room, total as u64))?;
        if count == 0 {
            break;
        }
        total += count;
        room = &mut room[count..];
    }
    Ok(total)
}

/// A binary of what is read, at most `limit` bytes; `None` at the end of the file.
fn read_binary(
    caller: &mut Caller<'_>,
    limit: usize,
    read: impl FnMut(&mut [u8], u64) -> Result<usize, Errno>,
) -> Result<Option<Term>, Errno> {
    if limit <= SMALL_READ {
        let mut bytes = vec![0; limit];
        let count = fill(&mut bytes, read)?;
        return Ok((count > 0).then(|| caller.heap().binary(&bytes[..count])));
    }
    let mut small = None;
    let mut count = 0;
    let work = |room: &mut [u8]| {
        count = fill(room, read)?;
        if count < limit / 2 {
            small = Some(room[..count].to_vec());
            count = 0;
            // Much of the room would be wasted: the data is copied.
            return Err(None);
        }
        Ok(count)
    };
    let filled = may_fail(|| OffHeapBinary::filled(limit, work));
    match (filled, small) {
        (None, _) => Err(Errno::NOMEM),
        (Some(Err(Some(error))), _) => Err(error),
        (Some(Ok(binary)), _) => Ok(Some(caller.heap().binary_handle(binary))),
        (Some(Err(None)), small) => {
            let bytes = small.unwrap_or_default();
            Ok((!bytes.is_empty()).then(|| caller.heap().binary(&bytes)))
        }
    }
}

/// `{ok, Binary}`, `eof` or `{error, Reason}`.
fn answer(caller: &mut Caller<'_>, result: Result<Option<Term>, Errno>) -> Outcome {
    match result {
        Ok(Some(binary)) => ok(caller, binary),
        Ok(None) => Ok(EOF.get()),
        Err(error) => posix_error(caller, error),
    }
}

fn read(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    if let Some(result) = dirty::result(caller, arguments)? {
        return answer_data(caller, result);
    }
    let limit = position(arguments[1])?;
    let result = match (handle(arguments[0])?, limit) {
        (Ok(file), Ok(limit)) if file.may_block(limit as usize) => {
            let read = move || {
                let guess = file.left(None);
                read_data(limit as usize, guess, |room, _| rustix::io::read(&file.descriptor, room))
            };
            return Err(dirty::start(caller, arguments, read));
        }
        (Ok(file), Ok(limit)) => {
            read_binary(caller, limit as usize, |room, _| rustix::io::read(&file.descriptor, room))
        }
        (Err(error), _) | (_, Err(error)) => Err(error),
    };
    answer(caller, result)
}

fn pread(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    if let Some(result) = dirty::result(caller, arguments)? {
        return answer_data(caller, result);
    }
    let (offset, limit) = (position(arguments[1])?, position(arguments[2])?);
    let result = match (handle(arguments[0])?, offset, limit) {
        (Ok(file), Ok(offset), Ok(limit)) => {
            let limit = limit as usize;
            if file.may_block(limit) {
                let read = move || {
                    let guess = file.left(Some(offset));
                    read_data(limit, guess, |room, done| rustix::io::pread(&file.descriptor, room, offset + done))
                };
                return Err(dirty::start(caller, arguments, read));
            }
            read_binary(caller, limit, |room, done| rustix::io::pread(&file.descriptor, room, offset + done))
        }
        (Err(error), _, _) | (_, Err(error), _) | (_, _, Err(error)) => Err(error),
    };
    answer(caller, result)
}

/// What was read, for a binary of it.
enum Data {
    /// To be copied.
    Bytes(Vec<u8>),
    /// Lies where it is to stay.
    Binary(HeldBinary),
}

/// What is read, at most `limit` bytes; `None` at the end of the file. If it is less than `guess` bytes and not much
/// less, it is copied nowhere. Touches no term.
fn read_data(
    limit: usize,
    guess: usize,
    mut read: impl FnMut(&mut [u8], u64) -> Result<usize, Errno>,
) -> Result<Option<Data>, Errno> {
    let first = guess.min(limit);
    let filled = may_fail(|| HeldBinary::filled(first, |room| fill(room, &mut read))).ok_or(Errno::NOMEM)??;
    let count = filled.bytes().len();
    if first < limit && count == first {
        return read_more(filled.bytes().to_vec(), limit, read).map(|bytes| Some(Data::Bytes(bytes)));
    }
    Ok(match count {
        0 => None,
        // Much of the room would be wasted, or the bytes belong into the heap.
        _ if count < first / 2 || count <= HEAP_BINARY_LIMIT => Some(Data::Bytes(filled.bytes().to_vec())),
        _ => Some(Data::Binary(filled)),
    })
}

/// Reads on behind these bytes. A limit far above what there is costs nothing.
fn read_more(
    mut bytes: Vec<u8>,
    limit: usize,
    mut read: impl FnMut(&mut [u8], u64) -> Result<usize, Errno>,
) -> Result<Vec<u8>, Errno> {
    while bytes.len() < limit {
        let start = bytes.len();
        let room = (start * 2).min(limit);
        may_fail(|| bytes.try_reserve_exact(room - start)).map_err(|_| Errno::NOMEM)?;
        bytes.resize(room, 0);
        let count = fill(&mut bytes[start..], |room, done| read(room, start as u64 + done))?;
        bytes.truncate(start + count);
        if start + count < room {
            break;
        }
    }
    Ok(bytes)
}

fn data_term(caller: &mut Caller<'_>, data: Data) -> Term {
    match data {
        Data::Bytes(bytes) => caller.heap().binary(&bytes),
        Data::Binary(binary) => caller.heap().binary_handle(binary.into_raw()),
    }
}

fn answer_data(caller: &mut Caller<'_>, result: Result<Option<Data>, Errno>) -> Outcome {
    let result = result.map(|data| data.map(|data| data_term(caller, data)));
    answer(caller, result)
}

fn length_of(pieces: &Pieces<'_>) -> usize {
    pieces.iter().map(|piece| piece.len()).sum()
}

/// Bytes of binaries.
type Pieces<'h> = Vec<Cow<'h, [u8]>>;

/// The first binaries of a list, and the rest of it.
fn pieces(mut list: &Term) -> Result<(Pieces<'_>, Term), Interrupt> {
    let mut pieces = Vec::new();
    while list.is_cons() && pieces.len() < PIECES {
        let [head, tail] = list.cons_cell();
        let bits = head.bits().filter(|bits| bits.is_binary()).ok_or_else(badarg)?;
        pieces.push(bits.to_bytes());
        list = tail;
    }
    if list.is_list() { Ok((pieces, *list)) } else { Err(badarg()) }
}

/// Writes all of the pieces; returns how many bytes they have.
fn write_all(
    pieces: &[Cow<'_, [u8]>],
    mut write: impl FnMut(&[IoSlice<'_>], u64) -> Result<usize, Errno>,
) -> Result<u64, Errno> {
    let mut slices: Vec<IoSlice<'_>> = pieces.iter().map(|piece| IoSlice::new(piece)).collect();
    let mut left = &mut slices[..];
    IoSlice::advance_slices(&mut left, 0);
    let mut total = 0;
    while !left.is_empty() {
        let count = rustix::io::retry_on_intr(|| write(left, total))?;
        if count == 0 {
            return Err(Errno::IO);
        }
        total += count as u64;
        IoSlice::advance_slices(&mut left, count);
    }
    Ok(total)
}

fn write(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let (pieces, rest) = pieces(&arguments[1])?;
    let result = match (dirty::result(caller, arguments)?, handle(arguments[0])?) {
        (Some(result), _) => result,
        (None, Ok(file)) if file.may_block(length_of(&pieces)) => {
            let bytes = pieces.concat();
            let write = move || write_all(&[bytes.into()], |slices, _| rustix::io::writev(&file.descriptor, slices));
            return Err(dirty::start(caller, arguments, write));
        }
        (None, Ok(file)) => write_all(&pieces, |slices, _| rustix::io::writev(&file.descriptor, slices)),
        (None, Err(error)) => Err(error),
    };
    match result {
        Ok(_) if rest.is_nil() => Ok(atoms::OK),
        Ok(_) => Ok(caller.heap().tuple(&[CONTINUE.get(), rest])),
        Err(error) => posix_error(caller, error),
    }
}

fn pwrite(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let offset = position(arguments[1])?;
    let (pieces, rest) = pieces(&arguments[2])?;
    let result = match (dirty::result(caller, arguments)?, handle(arguments[0])?, offset) {
        (Some(result), _, _) => result,
        (None, Ok(file), Ok(offset)) => {
            let blocks = file.may_block(length_of(&pieces));
            let write =
                move |slices: &[IoSlice<'_>], done| rustix::io::pwritev(&file.descriptor, slices, offset + done);
            if blocks {
                let bytes = pieces.concat();
                return Err(dirty::start(caller, arguments, move || write_all(&[bytes.into()], write)));
            }
            write_all(&pieces, write)
        }
        (None, Err(error), _) | (None, _, Err(error)) => Err(error),
    };
    match result {
        Ok(_) if rest.is_nil() => Ok(atoms::OK),
        Ok(written) => Ok(caller.heap().tuple(&[CONTINUE.get(), Term::small(written as i64), rest])),
        Err(error) => posix_error(caller, error),
    }
}

/// `seek_nif(File, bof | cur | eof, Offset)`
fn seek(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let offset = arguments[2].to_i64().ok_or_else(badarg)?;
    let mark = arguments[1];
    let target = match u64::try_from(offset) {
        Ok(offset) if mark == BOF.get() => Ok(SeekFrom::Start(offset)),
        Err(_) if mark == BOF.get() => Err(Errno::INVAL),
        _ if mark == CUR.get() => Ok(SeekFrom::Current(offset)),
        _ if mark == EOF.get() => Ok(SeekFrom::End(offset)),
        _ => return Err(badarg()),
    };
    match with_file(arguments[0], |file| rustix::fs::seek(file, target?))? {
        Ok(position) => {
            let position = caller.heap().unsigned(position);
            ok(caller, position)
        }
        Err(error) => posix_error(caller, error),
    }
}

fn sync(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let data_only = int(arguments[1])? != 0;
    let file = handle(arguments[0])?;
    let sync = move |file: &Handle| match data_only {
        true => rustix::fs::fdatasync(&file.descriptor),
        false => rustix::fs::fsync(&file.descriptor),
    };
    let result = dirty::away(caller, arguments, || file.map(|file| move || sync(&file)))?;
    done(caller, result)
}

/// Cuts the file off where it is read and written next.
fn truncate(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let file = handle(arguments[0])?;
    let truncate = |file: &Handle| rustix::fs::ftruncate(&file.descriptor, rustix::fs::tell(&file.descriptor)?);
    let result = dirty::away(caller, arguments, || file.map(|file| move || truncate(&file)))?;
    done(caller, result)
}

fn allocate(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let (offset, length) = (position(arguments[1])?, position(arguments[2])?);
    let file = handle(arguments[0])?;
    let prepare = || {
        let (file, offset, length) = (file?, offset?, length?);
        let flags = FallocateFlags::empty();
        Ok(move || rustix::io::retry_on_intr(|| rustix::fs::fallocate(&file.descriptor, flags, offset, length)))
    };
    let result = dirty::away(caller, arguments, prepare)?;
    done(caller, result)
}

fn advise(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let (offset, length) = (position(arguments[1])?, position(arguments[2])?);
    let name = atoms::name_if_atom(arguments[3]);
    let advice = match name {
        "normal" => Ok(Advice::Normal),
        "random" => Ok(Advice::Random),
        "sequential" => Ok(Advice::Sequential),
        "will_need" => Ok(Advice::WillNeed),
        "dont_need" => Ok(Advice::DontNeed),
        "no_reuse" => Ok(Advice::NoReuse),
        _ => Err(Errno::INVAL),
    };
    let file = handle(arguments[0])?;
    let prepare = || {
        let (file, offset, length, advice) = (file?, offset?, length?, advice?);
        // What the system says to the advice does not matter, but whether the file is open does.
        Ok(move || {
            let _ = rustix::fs::fadvise(&file.descriptor, offset, std::num::NonZeroU64::new(length), advice);
            Ok(())
        })
    };
    let result = dirty::away(caller, arguments, prepare)?;
    done(caller, result)
}

/// Largest size that `ipread_s32bu_p32bu_nif` may be asked for.
const MAX_INDIRECT: i64 = 1 << 31;

/// `ipread_s32bu_p32bu_nif(File, Offset, MaxSize)`: reads size and position (32 bits each), then what is there.
fn read_indirect(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let offset = position(arguments[1])?;
    if !arguments[2].is_integer() && !arguments[2].is_float() {
        return Err(badarg());
    }
    let limit = arguments[2].to_i64().filter(|limit| *limit < MAX_INDIRECT).ok_or(Errno::INVAL);
    let file = handle(arguments[0])?;
    let prepare = || {
        let (file, offset, limit) = (file?, offset?, limit?);
        Ok(move || read_pointed(&file, offset, limit))
    };
    match dirty::away(caller, arguments, prepare)? {
        Ok(Some((size, place, data))) => {
            let data = data.map_or(EOF.get(), |data| data_term(caller, data));
            let parts = [Term::small(i64::from(size)), Term::small(i64::from(place)), data];
            let parts = caller.heap().tuple(&parts);
            ok(caller, parts)
        }
        Ok(None) => Ok(EOF.get()),
        Err(error) => posix_error(caller, error),
    }
}

/// Size and position that lie at `offset`, and the data there; `None` if there are none or they say more than the
/// limit.
fn read_pointed(file: &Handle, offset: u64, limit: i64) -> Result<Option<(u32, u32, Option<Data>)>, Errno> {
    let Some((size, place)) = read_pointer(file.descriptor.as_fd(), offset)? else { return Ok(None) };
    if i64::from(size) > limit {
        return Ok(None);
    }
    let read = |room: &mut [u8], done| rustix::io::pread(&file.descriptor, room, u64::from(place) + done);
    let data = read_data(size as usize, file.left(Some(u64::from(place))), read)?;
    Ok(Some((size, place, data)))
}

/// Two big-endian numbers, unless the file ends before.
fn read_pointer(file: BorrowedFd<'_>, offset: u64) -> Result<Option<(u32, u32)>, Errno> {
    let mut pointer = [0; 8];
    let count = fill(&mut pointer, |room, done| rustix::io::pread(file, room, offset + done))?;
    let [a, b, c, d, e, f, g, h] = pointer;
    let numbers = (u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h]));
    Ok((count == pointer.len()).then_some(numbers))
}

/// `read_file_nif(Path)`: all of a file, also of one that has no size, as those of `/proc`.
fn read_file(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let result = dirty::away(caller, arguments, || path(arguments[0]).map(|path| move || read_all(&path)))?;
    match result {
        Ok(data) => {
            let binary = data_term(caller, data);
            ok(caller, binary)
        }
        Err(error) => posix_error(caller, error),
    }
}

/// All of a file. Touches no term.
fn read_all(path: &CStr) -> Result<Data, Errno> {
    let file = open_to_read(path)?;
    let size = rustix::fs::fstat(&file).map_or(0, |stat| usize::try_from(stat.st_size).unwrap_or(0));
    let data = read_data(usize::MAX, room_for(size), |room, _| rustix::io::read(&file, room))?;
    Ok(data.unwrap_or(Data::Bytes(Vec::new())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_goes_on_until_the_end_or_the_room_is_full() {
        let mut parts = vec![3, 1, 0].into_iter();
        let mut room = [0; 8];
        let count = fill(&mut room, |_, _| Ok(parts.next().unwrap_or(0)));
        assert_eq!(count, Ok(4));
        let mut places = Vec::new();
        let full = fill(&mut room, |room, done| {
            places.push(done);
            Ok(room.len().min(5))
        });
        assert_eq!((full, places), (Ok(8), vec![0, 5]));
    }

    #[test]
    fn writing_goes_on_where_the_system_stopped() {
        let pieces = [b"abc"[..].into(), b""[..].into(), b"defgh"[..].into()];
        let mut written = Vec::new();
        let total = write_all(&pieces, |slices, done| {
            assert_eq!(done as usize, written.len());
            let first = slices.iter().find(|slice| !slice.is_empty()).expect("something is left");
            let count = first.len().min(2);
            written.extend_from_slice(&first[..count]);
            Ok(count)
        });
        assert_eq!(total, Ok(8));
        assert_eq!(written, b"abcdefgh");
    }
}
