//! The end of the machine, by whatever way it comes.

use std::sync::OnceLock;

/// What is done at the end.
#[derive(Clone, Copy)]
pub struct Hooks {
    /// Puts right what others will use afterwards, such as the terminal. May be called at any point, more than once.
    pub restore: fn(),
    /// Writes down what the machine was doing, for an end that nobody wanted: gets the reason, and whether processes can be read
    /// for certain: no collection is in the middle of its work, and none will begin.
    pub dump: fn(&str, bool),
}

static HOOKS: OnceLock<Hooks> = OnceLock::new();

/// Sets the hooks; the first call counts.
pub fn install(hooks: Hooks) {
    let _ = HOOKS.set(hooks);
}

/// Puts right what has to be, and goes on.
pub fn restore() {
    if let Some(hooks) = HOOKS.get() {
        (hooks.restore)();
    }
}

/// Ends the machine at once.
pub fn leave(status: i32) -> ! {
    restore();
    std::process::exit(status)
}

/// Ends the machine at once by the signal `SIGABRT`.
pub fn abort() -> ! {
    restore();
    std::process::abort()
}

/// Says why the machine cannot go on, writes a dump and ends.
pub fn crash(slogan: &str) -> ! {
    restore();
    eprintln!("{slogan}");
    dump(slogan, false);
    leave(1)
}

/// Writes a dump, and goes on. `readable` says that the caller is a process, or keeps collectors away otherwise.
pub fn dump(slogan: &str, readable: bool) {
    if let Some(hooks) = HOOKS.get() {
        (hooks.dump)(slogan, readable);
    }
}
