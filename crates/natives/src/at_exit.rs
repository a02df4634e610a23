//! What the ends of processes concern.

use std::sync::OnceLock;

use atoll_process::{ExitWork, System};
use parking_lot::Mutex;

/// Something of a machine that the ends of its processes concern, from its first use on.
pub(crate) struct AtExit<T>(OnceLock<Mutex<T>>);

impl<T> Default for AtExit<T> {
    fn default() -> AtExit<T> {
        AtExit(OnceLock::new())
    }
}

impl<T: Default> AtExit<T> {
    /// It, with what is done at the end of each process that has [`atoll_process::AtEnd::has_work`].
    pub(crate) fn get(&self, work: ExitWork) -> &Mutex<T> {
        self.0.get_or_init(|| {
            System::get().on_exit(work);
            Mutex::default()
        })
    }
}
