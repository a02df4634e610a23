//! The ports of one machine.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

use parking_lot::{Mutex, RwLock};

use crate::external::{External, Load};
use crate::library::Libraries;
use crate::poller::Polling;
use crate::port::Port;

/// What a machine knows of ports.
#[derive(Default)]
pub struct Part {
    /// Those that are open, by their numbers.
    pub(crate) open: RwLock<BTreeMap<u64, Arc<Port>>>,
    /// How many there may be.
    pub(crate) limit: OnceLock<usize>,
    /// The number of the next one.
    pub(crate) next: AtomicU64,
    pub(crate) libraries: Libraries,
    pub(crate) loader: OnceLock<Load>,
    /// Drivers that another driver has brought, by name.
    pub(crate) added: Mutex<Vec<(&'static str, Arc<dyn External>)>>,
    /// What the system's linker has said of drivers.
    pub(crate) load_errors: Mutex<Vec<String>>,
    pub(crate) polling: Polling,
    pub(crate) reporter: OnceLock<fn(&str)>,
    /// Bytes that ports have received, and sent.
    pub(crate) carried: [AtomicU64; 2],
    /// TCP ports that trace drivers listen to.
    pub(crate) trace_ports: Mutex<Vec<u16>>,
}

atoll_platform::part_of_machine!(Part);
