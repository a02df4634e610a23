//! What the native functions of one machine keep between calls.

use crate::dirty::{self, Pool};
use crate::files::handles::{self, Files};
use crate::sockets::socket::{self, Sockets};
use crate::terminal::reader::{self, Readers};
use crate::terminal::{self, Owner};

/// The native functions' part of a machine.
#[derive(Default)]
pub struct Part {
    pool: Pool,
    files: Files,
    sockets: Sockets,
    owner: Owner,
    readers: Readers,
}

/// This thread's machine has this part.
pub fn enter(part: &'static Part) {
    dirty::enter(&part.pool);
    handles::enter(&part.files);
    socket::enter(&part.sockets);
    terminal::enter(&part.owner);
    reader::enter(&part.readers);
}
