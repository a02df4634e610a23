//! The environment as programs see and change it: a copy, since changing the process's own is not safe while other
//! threads read it. Programs that the machine starts get this one.

use std::ffi::OsString;
use std::sync::{PoisonError, RwLock};

/// Names and values.
pub type Variables = Vec<(OsString, OsString)>;

static CHANGED: RwLock<Option<Variables>> = RwLock::new(None);

/// The environment as programs have left it.
pub fn all() -> Variables {
    if let Some(changed) = &*CHANGED.read().unwrap_or_else(PoisonError::into_inner) {
        return changed.clone();
    }
    std::env::vars_os().collect()
}

/// A variable as programs have left it, for a machine that crashes: without waiting for a thread that changes the
/// environment.
pub fn get(name: &str) -> Option<OsString> {
    if let Ok(changed) = CHANGED.try_read()
        && let Some(variables) = &*changed
    {
        return variables.iter().find(|(own, _)| own == name).map(|(_, value)| value.clone());
    }
    std::env::var_os(name)
}

/// Changes it for all programs.
pub fn change(change: impl FnOnce(&mut Variables)) {
    let mut changed = CHANGED.write().unwrap_or_else(PoisonError::into_inner);
    change(changed.get_or_insert_with(|| std::env::vars_os().collect()));
}

/// Sets a variable for all programs.
pub fn set(name: OsString, value: OsString) {
    change(|environment| match environment.iter_mut().find(|(own, _)| *own == name) {
        Some((_, old)) => *old = value,
        None => environment.push((name, value)),
    });
}
