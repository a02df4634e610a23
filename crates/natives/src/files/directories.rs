//! Folders and links, and the folder in which the machine works. What goes to the disk does so away from schedulers.

use std::ffi::CStr;

use atoll_process::{BuiltIn, Caller, Interrupt, Outcome};
use atoll_term::{Build, Term};
use rustix::fs::{Dir, Mode, OFlags};
use rustix::io::Errno;

use crate::arguments::int;
use crate::dirty;
use crate::files::names::path;
use crate::results::{done, ok, posix_error};

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("prim_file", "list_dir_nif", 1, list),
    BuiltIn::new("prim_file", "make_dir_nif", 1, make),
    BuiltIn::new("prim_file", "del_dir_nif", 1, remove),
    BuiltIn::new("prim_file", "del_file_nif", 1, remove_file),
    BuiltIn::new("prim_file", "rename_nif", 2, rename),
    BuiltIn::new("prim_file", "make_hard_link_nif", 2, make_hard_link),
    BuiltIn::new("prim_file", "make_soft_link_nif", 2, make_soft_link),
    BuiltIn::new("prim_file", "read_link_nif", 1, read_link),
    BuiltIn::new("prim_file", "get_cwd_nif", 0, get_working),
    BuiltIn::new("prim_file", "set_cwd_nif", 1, set_working),
    BuiltIn::new("prim_file", "get_device_cwd_nif", 1, get_working_of_device),
    BuiltIn::new("prim_file", "altname_nif", 1, other_name),
];

/// `{ok, Term}` or `{error, Reason}`.
fn answer(caller: &mut Caller<'_>, result: Result<Term, Errno>) -> Outcome {
    match result {
        Ok(term) => ok(caller, term),
        Err(error) => posix_error(caller, error),
    }
}

fn entries(path: &CStr) -> Result<Vec<Vec<u8>>, Errno> {
    let folder = rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let mut names = Vec::new();
    for entry in Dir::new(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push(name.to_vec());
        }
    }
    Ok(names)
}

/// What a function does with a path, away from schedulers.
fn with_path<T: Send + 'static>(
    caller: &Caller<'_>,
    arguments: &[Term],
    act: fn(&CStr) -> Result<T, Errno>,
) -> Result<Result<T, Errno>, Interrupt> {
    dirty::away(caller, arguments, || path(arguments[0]).map(|path| move || act(&path)))
}

/// What a function does with two paths, away from schedulers.
fn with_paths(caller: &mut Caller<'_>, arguments: &[Term], act: fn(&CStr, &CStr) -> Result<(), Errno>) -> Outcome {
    let prepare = || {
        let (one, other) = (path(arguments[0])?, path(arguments[1])?);
        Ok(move || act(&one, &other))
    };
    let result = dirty::away(caller, arguments, prepare)?;
    done(caller, result)
}

/// The names in a folder, last first.
fn list(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let result = with_path(caller, arguments, entries)?;
    let result = result.map(|names: Vec<Vec<u8>>| {
        let heap = caller.heap();
        names.iter().fold(Term::NIL, |list, name| {
            let name = heap.binary(name);
            heap.cons(name, list)
        })
    });
    answer(caller, result)
}

fn make(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let result = with_path(caller, arguments, |path| rustix::fs::mkdir(path, Mode::from_raw_mode(0o777)))?;
    done(caller, result)
}

/// Whether this is the folder in which the machine works.
fn is_working(path: &CStr) -> bool {
    match (rustix::fs::stat(path), rustix::fs::stat(c".")) {
        (Ok(one), Ok(other)) => (one.st_ino, one.st_dev) == (other.st_ino, other.st_dev),
        _ => false,
    }
}

/// Programs know a folder that is not empty as one that exists, and the one they work in as a wrong argument.
fn remove(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let result = with_path(caller, arguments, |path| {
        rustix::fs::rmdir(path).map_err(|error| match error {
            Errno::NOTEMPTY | Errno::EXIST if is_working(path) => Errno::INVAL,
            Errno::NOTEMPTY => Errno::EXIST,
            other => other,
        })
    })?;
    done(caller, result)
}

/// Folders are removed by [`remove`] only: `EPERM`, as POSIX says.
fn remove_file(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let result = with_path(caller, arguments, |path| {
        rustix::fs::unlink(path).map_err(|error| if error == Errno::ISDIR { Errno::PERM } else { error })
    })?;
    done(caller, result)
}

fn rename(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    with_paths(caller, arguments, |old, new| {
        rustix::fs::rename(old, new).map_err(|error| match error {
            Errno::NOTEMPTY => Errno::EXIST,
            _ if *old == *c"/" => Errno::INVAL,
            other => other,
        })
    })
}

fn make_hard_link(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    with_paths(caller, arguments, |old, new| rustix::fs::link(old, new))
}

fn make_soft_link(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    with_paths(caller, arguments, |old, new| rustix::fs::symlink(old, new))
}

fn read_link(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let result = with_path(caller, arguments, |path| rustix::fs::readlink(path, Vec::new()))?;
    let result = result.map(|name| caller.heap().binary(name.as_bytes()));
    answer(caller, result)
}

fn get_working(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    let result = rustix::process::getcwd(Vec::new()).map(|name| caller.heap().binary(name.as_bytes()));
    answer(caller, result)
}

fn set_working(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let result = with_path(caller, arguments, |path| rustix::process::chdir(path))?;
    done(caller, result)
}

/// Devices have no working folder of their own on this system.
fn get_working_of_device(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    int(arguments[0])?;
    posix_error(caller, Errno::NOTSUP)
}

/// Files have no second name on this system.
fn other_name(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let error = path(arguments[0]).err().unwrap_or(Errno::NOTSUP);
    posix_error(caller, error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_lists_what_is_in_it_and_not_itself() {
        let mut names = entries(c"src").expect("the sources are there");
        names.sort();
        assert!(names.contains(&b"lib.rs".to_vec()) && names.contains(&b"files".to_vec()));
        assert!(!names.contains(&b"..".to_vec()));
        assert_eq!(entries(c"no such folder").err(), Some(Errno::NOENT));
    }

    #[test]
    fn the_working_folder_is_known() {
        assert!(is_working(c".") && !is_working(c"src"));
    }
}
