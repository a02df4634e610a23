//! Drivers in files of their own: what another room, which can load such files, gives to this one.

use std::fmt::Debug;
use std::sync::Arc;

use crate::driver::{Failure, Opened};
use crate::library;
use crate::open::Settings;
use crate::part::part;

/// A driver that was loaded from a file; given up with its last owner.
pub trait External: Debug + Send + Sync {
    /// Opens a port: gets the command behind `spawn` or `spawn_driver`.
    ///
    /// # Errors
    /// It refuses.
    fn open(self: Arc<Self>, command: &str, settings: &Settings) -> Result<Opened, Failure>;
}

/// Why a file was not loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadError {
    /// One of the reasons that have a number: see [`library::load_error`].
    Number(i64),
    /// What the system's linker says.
    Text(String),
}

/// Loads a driver: gets folder and name, and the name again, which lasts.
pub type Load = fn(folder: &str, name: &'static str) -> Result<Arc<dyn External>, LoadError>;

/// Has drivers be loaded by this function.
pub fn load_by(load: Load) {
    let _ = part().loader.set(load);
}

/// Loads a driver.
///
/// # Errors
/// The number by which `erl_ddll:format_error/1` knows why.
pub fn load(folder: &str, name: &'static str) -> Result<Arc<dyn External>, i64> {
    let Some(load) = part().loader.get() else { return Err(library::NOT_OPENED) };
    load(folder, name).map_err(|error| match error {
        LoadError::Number(number) => number,
        LoadError::Text(text) => {
            let mut texts = part().load_errors.lock();
            let place = texts.iter().position(|known| *known == text).unwrap_or_else(|| {
                texts.push(text);
                texts.len() - 1
            });
            library::NOT_OPENED - place as i64
        }
    })
}

/// Makes a driver known that has no file of its own.
pub fn add(name: &'static str, driver: Arc<dyn External>) {
    part().added.lock().push((name, driver));
}

/// Takes back what was added by this name; whether there was such a driver.
pub fn remove(name: &str) -> bool {
    let mut added = part().added.lock();
    let before = added.len();
    let gone: Vec<_> = added.extract_if(.., |(own, _)| *own == name).collect();
    let found = added.len() < before;
    // Its own end is called here, without the lock.
    drop(added);
    drop(gone);
    found
}

/// The driver that was added by this name.
pub fn added(name: &str) -> Option<Arc<dyn External>> {
    part().added.lock().iter().find(|(own, _)| *own == name).map(|(_, driver)| driver.clone())
}

/// Keeps a driver for as long as the machine runs; whether it is loaded.
pub fn lock(name: &str) -> bool {
    library::lock(name)
}

/// What the linker had said, by the number of the failure.
pub fn said(number: i64) -> Option<String> {
    let place = usize::try_from(library::NOT_OPENED - number).ok()?;
    part().load_errors.lock().get(place).cloned()
}
