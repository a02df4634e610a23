//! What is known of a file beside its data: kind, size, owner, times; reading and changing it,
//! away from schedulers.

use std::ffi::CStr;

use atoll_process::{BuiltIn, Caller, Outcome, badarg};
use atoll_term::atoms::LazyAtom;
use atoll_term::{Build, Term, atoms};
use rustix::fs::{Access, AtFlags, CWD, FileType, Gid, Mode, Stat, Timespec, Timestamps, Uid};
use rustix::io::Errno;

use crate::arguments::int;
use crate::dirty;
use crate::files::handles::handle;
use crate::files::names::path;
use crate::results::{done, posix_error};

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("prim_file", "read_info_nif", 2, read_info),
    BuiltIn::new("prim_file", "read_handle_info_nif", 1, read_handle_info),
    BuiltIn::new("prim_file", "set_permissions_nif", 2, set_permissions),
    BuiltIn::new("prim_file", "set_owner_nif", 3, set_owner),
    BuiltIn::new("prim_file", "set_time_nif", 4, set_time),
];

static DEVICE: LazyAtom = LazyAtom::new("device");
static DIRECTORY: LazyAtom = LazyAtom::new("directory");
static FILE_INFO: LazyAtom = LazyAtom::new("file_info");
static OTHER: LazyAtom = LazyAtom::new("other");
static READ: LazyAtom = LazyAtom::new("read");
static READ_WRITE: LazyAtom = LazyAtom::new("read_write");
static REGULAR: LazyAtom = LazyAtom::new("regular");
static SYMLINK: LazyAtom = LazyAtom::new("symlink");
static WRITE: LazyAtom = LazyAtom::new("write");

/// Times that OTP's calendar can show: the years 1902 to 9999, in seconds.
const TIMES: std::ops::RangeInclusive<i64> = -2_145_916_800..=253_402_300_799;

/// Modes that a program can set: permissions, and running as owner or group.
const SETTABLE: u32 = 0o6777;
/// Running as owner or group.
const SET_ID: u32 = 0o6000;

/// What the machine may do with a file.
#[derive(Clone, Copy)]
struct May {
    read: bool,
    write: bool,
}

impl May {
    fn atom(self) -> Term {
        match (self.read, self.write) {
            (true, true) => READ_WRITE.get(),
            (true, false) => READ.get(),
            (false, true) => WRITE.get(),
            (false, false) => atoms::NONE,
        }
    }
}

/// `#file_info{}`. Numbers of devices and files have 32 bits there.
fn file_info(caller: &mut Caller<'_>, stat: &Stat, may: May) -> Outcome {
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::CharacterDevice | FileType::BlockDevice => DEVICE.get(),
        FileType::Directory => DIRECTORY.get(),
        FileType::RegularFile => REGULAR.get(),
        FileType::Symlink => SYMLINK.get(),
        _ => OTHER.get(),
    };
    let time = |seconds: i64| Term::small(seconds.clamp(*TIMES.start(), *TIMES.end()));
    let number = |value: u64| Term::small(i64::from(value as u32));
    let size = caller.heap().integer(stat.st_size);
    Ok(caller.heap().tuple(&[
        FILE_INFO.get(),
        size,
        kind,
        may.atom(),
        time(stat.st_atime),
        time(stat.st_mtime),
        time(stat.st_ctime),
        number(u64::from(stat.st_mode)),
        number(stat.st_nlink),
        number(stat.st_dev),
        number(stat.st_rdev),
        number(stat.st_ino),
        number(u64::from(stat.st_uid)),
        number(u64::from(stat.st_gid)),
    ]))
}

fn look(path: &CStr, follow: bool) -> Result<(Stat, May), Errno> {
    let stat = if follow { rustix::fs::stat(path) } else { rustix::fs::lstat(path) }?;
    let allowed = |access| rustix::fs::access(path, access).is_ok();
    Ok((stat, May { read: allowed(Access::READ_OK), write: allowed(Access::WRITE_OK) }))
}

/// `read_info_nif(Path, FollowLinks)`
fn read_info(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let follow = int(arguments[1])? != 0;
    match dirty::away(caller, arguments, || path(arguments[0]).map(|path| move || look(&path, follow)))? {
        Ok((stat, may)) => file_info(caller, &stat, may),
        Err(error) => posix_error(caller, error),
    }
}

/// What the permissions say, for a file of which there may be no path.
fn may(stat: &Stat) -> May {
    let shift = if stat.st_uid == rustix::process::geteuid().as_raw() {
        6
    } else if stat.st_gid == rustix::process::getegid().as_raw() {
        3
    } else {
        0
    };
    let bits = stat.st_mode >> shift;
    May { read: bits & 4 != 0, write: bits & 2 != 0 }
}

fn read_handle_info(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let file = handle(arguments[0])?;
    match dirty::away(caller, arguments, || file.map(|file| move || rustix::fs::fstat(&file.descriptor)))? {
        Ok(stat) => file_info(caller, &stat, may(&stat)),
        Err(error) => posix_error(caller, error),
    }
}

/// `set_permissions_nif(Path, Mode)`. Where running as owner or group cannot be set, the rest is.
fn set_permissions(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let mode = arguments[1].as_small().and_then(|mode| u32::try_from(mode).ok()).ok_or_else(badarg)? & SETTABLE;
    let set = move |path: &CStr| {
        rustix::fs::chmod(path, Mode::from_raw_mode(mode))
            .or_else(|_| rustix::fs::chmod(path, Mode::from_raw_mode(mode & !SET_ID)))
    };
    let result = dirty::away(caller, arguments, || path(arguments[0]).map(|path| move || set(&path)))?;
    done(caller, result)
}

/// `set_owner_nif(Path, Uid, Gid)`; -1 leaves one as it is.
fn set_owner(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let [user, group] = [int(arguments[1])?, int(arguments[2])?].map(|id| (id != -1).then_some(id as u32));
    let set = move |path: &CStr| rustix::fs::chown(path, user.map(Uid::from_raw), group.map(Gid::from_raw));
    let result = dirty::away(caller, arguments, || path(arguments[0]).map(|path| move || set(&path)))?;
    done(caller, result)
}

/// `set_time_nif(Path, Accessed, Modified, Created)`, in seconds; the last cannot be set.
fn set_time(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let time = |term: Term| term.to_i64().map(|tv_sec| Timespec { tv_sec, tv_nsec: 0 }).ok_or_else(badarg);
    let times = Timestamps { last_access: time(arguments[1])?, last_modification: time(arguments[2])? };
    time(arguments[3])?;
    let set = move |path: &CStr| rustix::fs::utimensat(CWD, path, &times, AtFlags::empty());
    let result = dirty::away(caller, arguments, || path(arguments[0]).map(|path| move || set(&path)))?;
    done(caller, result)
}
