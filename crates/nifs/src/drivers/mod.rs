//! Linked-in drivers: what `erl_ddll` loads, and the functions that drivers call, which the executable shows under
//! their C names as it does those of native functions.
//!
//! A port of such a driver is one like any other; the driver's functions are called under the port's lock, by whichever
//! thread has something for it. While one of them runs, the thread knows port and driver ([`port::current`]): functions
//! that concern a port act on that one alone. Any thread may send terms.
//!
//! * [`layout`]: layouts; [`binaries`], [`queue`]: memory that drivers look into
//! * [`port`]: the port; `select`: descriptors; `functions`: what else drivers ask of it; `terms`: messages;
//!   `processes`: monitors, the environment
//! * `wrappers.c`: what is another name for something else

mod binaries;
mod functions;
mod layout;
mod port;
mod processes;
mod queue;
pub mod select;
mod terms;

use std::collections::{HashMap, VecDeque};
use std::ffi::{CStr, CString, c_int};
use std::ptr::NonNull;
use std::sync::Arc;

use atoll_ports::external::{self, External, LoadError};
use atoll_ports::{Failure, Opened, Settings};
use atoll_term::atoms::known_atom;
use parking_lot::Mutex;

use crate::env::enter_machine;
use crate::library::Image;
use crate::machine;
use layout::{Entry, MAJOR, MARKER, MINOR, OLDEST_MAJOR};

/// Why a driver is not loaded, by number.
const NO_INIT: LoadError = LoadError::Number(-1);
const INIT_FAILED: LoadError = LoadError::Number(-2);
const BAD_NAME: LoadError = LoadError::Number(-3);
const BAD_VERSION: LoadError = LoadError::Number(-5);

/// Work on threads beside the schedulers that was asked for with the same key is done in order.
type Waiting = HashMap<u32, VecDeque<Box<dyn FnOnce() + Send>>>;

/// A driver whose file is loaded.
struct Loaded {
    name: &'static str,
    entry: NonNull<Entry>,
    /// Work by its key; a key is there while a thread works for it.
    waiting: Mutex<Waiting>,
    /// Dropped last. A driver that another one has brought has none.
    _image: Option<Image>,
}

// SAFETY: the entry is constant.
unsafe impl Send for Loaded {}
// SAFETY: as above.
unsafe impl Sync for Loaded {}

impl std::fmt::Debug for Loaded {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(self.name)
    }
}

impl Loaded {
    fn entry(&self) -> &Entry {
        // SAFETY: it is part of the file, which is loaded.
        unsafe { self.entry.as_ref() }
    }
}

impl External for Loaded {
    fn open(self: Arc<Self>, command: &str, _: &Settings) -> Result<Opened, Failure> {
        let text = CString::new(command).map_err(|_| Failure::BadArgument)?;
        Ok(Opened { driver: Box::new(port::Linked::new(self, text)), name: command.to_owned() })
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        if let Some(finish) = self.entry().finish {
            // SAFETY: the driver's own function; no port of it is open any more.
            unsafe { finish() };
        }
    }
}

/// Loads the driver of this name.
///
/// # Errors
/// What the linker says, or what is wrong with the driver.
pub fn load(folder: &str, name: &'static str) -> Result<Arc<dyn External>, LoadError> {
    let file = CString::new(format!("{folder}/{name}.so")).map_err(|_| BAD_NAME)?;
    let image = Image::open(&file).map_err(|text| {
        // Without the path in front of it.
        LoadError::Text(text.split_once(": ").map_or(text.clone(), |(_, why)| why.to_owned()))
    })?;
    machine::install();
    let init = image.find(c"driver_init").map_err(|_| NO_INIT)?;
    // SAFETY: a symbol of this name is a function of this type.
    let entry = unsafe {
        let init = std::mem::transmute::<*mut std::ffi::c_void, unsafe extern "C" fn() -> *mut Entry>(init.as_ptr());
        NonNull::new(init()).ok_or(INIT_FAILED)?
    };
    // SAFETY: the driver's entry lasts as long as the file is loaded. All that are accepted have all fields.
    let found = unsafe { entry.as_ref() };
    let is_newer = (found.major, found.minor) > (MAJOR, MINOR);
    if found.marker != MARKER || found.major < OLDEST_MAJOR || is_newer {
        return Err(BAD_VERSION);
    }
    // SAFETY: a string of the driver's.
    if found.name.is_null() || unsafe { CStr::from_ptr(found.name) }.to_bytes() != name.as_bytes() {
        return Err(BAD_NAME);
    }
    // SAFETY: the driver's own function, called once.
    if found.init.is_some_and(|init| unsafe { init() } != 0) {
        return Err(INIT_FAILED);
    }
    machine::loaded(known_atom(name));
    Ok(Arc::new(Loaded { name, entry, waiting: Mutex::default(), _image: Some(image) }))
}

/// Makes a driver known that is part of another one's file.
#[unsafe(no_mangle)]
extern "C" fn add_driver_entry(entry: NonNull<Entry>) {
    enter_machine();
    // SAFETY: the driver gives an entry that it keeps, with a string and its own function.
    let name = unsafe {
        let found = entry.as_ref();
        if found.name.is_null() || found.init.is_some_and(|init| init() != 0) {
            return;
        }
        CStr::from_ptr(found.name).to_string_lossy().into_owned()
    };
    // The name of a driver lasts, as its functions may.
    let name: &'static str = Box::leak(name.into_boxed_str());
    external::add(name, Arc::new(Loaded { name, entry, waiting: Mutex::default(), _image: None }));
}

/// 1: it was added and is not any more; -1: it was not.
#[unsafe(no_mangle)]
extern "C" fn remove_driver_entry(entry: &Entry) -> c_int {
    enter_machine();
    if entry.name.is_null() {
        return -1;
    }
    // SAFETY: a string of the driver's.
    let name = unsafe { CStr::from_ptr(entry.name) }.to_string_lossy();
    if external::remove(&name) { 1 } else { -1 }
}
