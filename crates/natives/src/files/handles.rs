//! Open files: a file stays open until it is closed, until the process that opened it ends, or until nothing holds its
//! reference any more.

use atoll_platform::steady::HashMap;
use std::ffi::CStr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Weak};

use atoll_process::{BuiltIn, Caller, Interrupt, Outcome, Own, ReferenceId, badarg};
use atoll_term::atoms::LazyAtom;
use atoll_term::{Build, Term, atoms};
use parking_lot::{Mutex, MutexGuard};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::arguments::int;
use crate::at_exit::AtExit;
use crate::dirty;
use crate::files::names::path;
use crate::results::{done, ok, posix_error};

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("prim_file", "open_nif", 2, open),
    BuiltIn::new("prim_file", "close_nif", 1, close),
    BuiltIn::new("prim_file", "delayed_close_nif", 1, delayed_close),
    BuiltIn::new("prim_file", "file_desc_to_ref_nif", 1, from_descriptor),
    BuiltIn::new("prim_file", "get_handle_nif", 1, get_handle),
];

static APPEND: LazyAtom = LazyAtom::new("append");
static DIRECTORY: LazyAtom = LazyAtom::new("directory");
static EXCLUSIVE: LazyAtom = LazyAtom::new("exclusive");
static READ: LazyAtom = LazyAtom::new("read");
static SKIP_TYPE_CHECK: LazyAtom = LazyAtom::new("skip_type_check");
static SYNC: LazyAtom = LazyAtom::new("sync");
static WRITE: LazyAtom = LazyAtom::new("write");

/// A file that is open, or was.
pub struct File {
    open: Mutex<Option<Handle>>,
}

/// An open file. Closing it takes effect when no thread works with it any more.
#[derive(Clone)]
pub struct Handle {
    /// The descriptor.
    pub descriptor: Arc<OwnedFd>,
    is_ordinary: bool,
}

/// First guess at the size of a file that does not tell it, in bytes.
const UNKNOWN_SIZE: usize = 16 << 10;

/// Bytes of an ordinary file that are read or written where the process runs: that takes less time than the way to
/// another thread and back.
const SHORT: usize = 64 << 10;

impl Handle {
    /// Whether to read or write so many bytes may keep a scheduler for long.
    pub fn may_block(&self, bytes: usize) -> bool {
        !self.is_ordinary || bytes > SHORT
    }

    /// Room for what can be read from this position, or from the current one, in bytes.
    pub fn left(&self, from: Option<u64>) -> usize {
        let size = rustix::fs::fstat(&self.descriptor).map_or(0, |stat| u64::try_from(stat.st_size).unwrap_or(0));
        let from = from.or_else(|| rustix::fs::tell(&self.descriptor).ok()).unwrap_or(0);
        room_for(usize::try_from(size.saturating_sub(from)).unwrap_or(0))
    }
}

/// Room to read so many bytes in, and to see that there are no more; some for files that do not tell their size.
pub fn room_for(size: usize) -> usize {
    if size == 0 { UNKNOWN_SIZE } else { size.saturating_add(1) }
}

impl File {
    /// Closes it; an error if it was closed before.
    fn close(&self) -> Result<(), Errno> {
        self.open.lock().take().map(drop).ok_or(Errno::INVAL)
    }
}

/// The files of a machine that are open.
#[derive(Default)]
pub struct Files(AtExit<Owned>);

atoll_platform::part_of_machine!(Files);

/// Files that are open, by the process that opened them.
type Owned = HashMap<Term, Vec<Weak<File>>>;

fn owned() -> MutexGuard<'static, Owned> {
    part().0.get(close_all_of).lock()
}

/// Closes the files of a process that has ended.
fn close_all_of(owner: Term, _: &mut Own) {
    let files = owned().remove(&owner).unwrap_or_default();
    for file in files.into_iter().filter_map(|file| file.upgrade()) {
        let _ = file.close();
    }
}

/// Makes a reference that the calling process owns.
fn own(caller: &mut Caller<'_>, descriptor: OwnedFd) -> Outcome {
    let is_ordinary = rustix::fs::fstat(&descriptor).is_ok_and(|stat| !is_slow(FileType::from_raw_mode(stat.st_mode)));
    let handle = Handle { descriptor: Arc::new(descriptor), is_ordinary };
    let file = Arc::new(File { open: Mutex::new(Some(handle)) });
    {
        let mut owned = self::owned();
        let files = owned.entry(caller.process.pid).or_default();
        if files.len() == files.capacity() {
            files.retain(|file| file.strong_count() > 0);
        }
        files.push(Arc::downgrade(&file));
    }
    caller.process.at_end.note_work();
    let reference = ReferenceId::of_value(caller.heap(), file);
    ok(caller, reference)
}

fn file(reference: &Term) -> Result<&Arc<File>, Interrupt> {
    reference.magic().ok_or_else(badarg)
}

/// Does something with an open file; `EINVAL` if it is closed.
///
/// # Errors
/// `badarg`: no reference to a file
pub fn with_file<T>(
    reference: Term,
    act: impl FnOnce(BorrowedFd<'_>) -> Result<T, Errno>,
) -> Result<Result<T, Errno>, Interrupt> {
    Ok(handle(reference)?.and_then(|handle| act(handle.descriptor.as_fd())))
}

/// An open file; `EINVAL` if it is closed.
///
/// # Errors
/// `badarg`: no reference to a file
pub fn handle(reference: Term) -> Result<Result<Handle, Errno>, Interrupt> {
    Ok(file(&reference)?.open.lock().clone().ok_or(Errno::INVAL))
}

/// Whether files of this type make readers and writers wait for others.
fn is_slow(kind: FileType) -> bool {
    !kind.is_file() && !kind.is_dir()
}

/// What a list of modes asks for.
struct Modes {
    flags: OFlags,
    /// Folders are opened, if asked for or if the type does not matter.
    directory: bool,
    any_type: bool,
}

fn modes(list: Term) -> Modes {
    let mut rest = list;
    let has = |wanted: &LazyAtom| {
        rest = list;
        while rest.is_cons() {
            if rest.head() == wanted.get() {
                return true;
            }
            rest = rest.tail();
        }
        false
    };
    let [append, exclusive, read, write, sync, directory, any_type] =
        [&APPEND, &EXCLUSIVE, &READ, &WRITE, &SYNC, &DIRECTORY, &SKIP_TYPE_CHECK].map(has);
    let write = write || append || exclusive;
    let mut flags = match (read || !write, write) {
        (true, false) => OFlags::RDONLY,
        (true, true) => OFlags::RDWR | OFlags::CREATE,
        (false, _) => OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC,
    };
    if append {
        flags = (flags - OFlags::TRUNC) | OFlags::APPEND;
    }
    flags.set(OFlags::EXCL, exclusive);
    flags.set(OFlags::SYNC, sync);
    flags.set(OFlags::DIRECTORY, directory);
    Modes { flags: flags | OFlags::CLOEXEC, directory, any_type }
}

fn open_path(path: &CStr, modes: &Modes) -> Result<OwnedFd, Errno> {
    let mode = Mode::from_raw_mode(if modes.directory { 0o777 } else { 0o666 });
    let descriptor = rustix::io::retry_on_intr(|| rustix::fs::open(path, modes.flags, mode))?;
    if !modes.any_type
        && !modes.directory
        && rustix::fs::fstat(&descriptor).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_dir())
    {
        return Err(Errno::ISDIR);
    }
    Ok(descriptor)
}

/// A file to read from.
///
/// # Errors
/// The system's; `EISDIR` for folders
pub fn open_to_read(path: &CStr) -> Result<OwnedFd, Errno> {
    open_path(path, &Modes { flags: OFlags::RDONLY | OFlags::CLOEXEC, directory: false, any_type: false })
}

/// `open_nif(Path, Modes)`
fn open(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    if !arguments[1].is_list() {
        return Err(badarg());
    }
    let open = || path(arguments[0]).map(|path| (path, modes(arguments[1])));
    let opened = dirty::away(caller, arguments, || open().map(|(path, modes)| move || open_path(&path, &modes)))?;
    match opened {
        Ok(descriptor) => own(caller, descriptor),
        Err(error) => posix_error(caller, error),
    }
}

fn close(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let file = Arc::clone(file(&arguments[0])?);
    let result = dirty::away(caller, arguments, || Ok(move || file.close()))?;
    done(caller, result)
}

/// What OTP's janitor does with files whose owner has ended; here they are closed already.
fn delayed_close(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let _ = file(&arguments[0])?.close();
    Ok(atoms::OK)
}

/// `file_desc_to_ref_nif(Descriptor)`: takes over a descriptor that is open.
fn from_descriptor(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    match atoll_platform::descriptor::adopt(int(arguments[0])?) {
        Ok(descriptor) => own(caller, descriptor),
        Err(error) => posix_error(caller, error),
    }
}

/// The descriptor's number, as a C program would store it.
fn get_handle(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    match with_file(arguments[0], |descriptor| Ok(descriptor.as_raw_fd()))? {
        Ok(number) => Ok(caller.heap().binary(&number.to_ne_bytes())),
        Err(error) => posix_error(caller, error),
    }
}
