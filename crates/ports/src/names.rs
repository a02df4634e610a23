//! Atoms that ports speak.

use atoll_term::{Term, atoms};

/// The atom of a name; `undefined` when there can be no more atoms.
pub fn name(text: &str) -> Term {
    atoms::atom(text).unwrap_or(atoms::UNDEFINED)
}

/// The name of an error of the operating system, as in `enoent`.
pub fn error_name(error: rustix::io::Errno) -> Term {
    name(error_text(error))
}

fn error_text(error: rustix::io::Errno) -> &'static str {
    use rustix::io::Errno;
    match error {
        Errno::NOENT => "enoent",
        Errno::ACCESS => "eacces",
        Errno::PERM => "eperm",
        Errno::BADF => "ebadf",
        Errno::PIPE => "epipe",
        Errno::INVAL => "einval",
        Errno::IO => "eio",
        Errno::NOSPC => "enospc",
        Errno::NOMEM => "enomem",
        Errno::AGAIN => "eagain",
        Errno::MFILE => "emfile",
        Errno::NFILE => "enfile",
        Errno::NOTDIR => "enotdir",
        Errno::ISDIR => "eisdir",
        Errno::FBIG => "efbig",
        Errno::TOOBIG => "e2big",
        Errno::NAMETOOLONG => "enametoolong",
        Errno::LOOP => "eloop",
        Errno::NXIO => "enxio",
        Errno::TXTBSY => "etxtbsy",
        Errno::NOEXEC => "enoexec",
        _ => "unknown",
    }
}
