//! Names of architectures, and why one is not made.

use std::fmt;

use atoll_heap::immovable::NoAddresses;

/// Names for `--heap`, the default first.
pub const NAMES: [&str; 5] = ["private", "shared", "unified", "hybrid", "nogc"];

/// Why there is no architecture.
#[derive(Debug)]
pub enum NotMade {
    /// None has this name.
    Unknown(String),
    /// The system gives no addresses for what is not moved.
    NoAddresses(NoAddresses),
    /// There is no message area.
    NoArea(treadmill::HeapError),
}

impl fmt::Display for NotMade {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotMade::Unknown(name) => {
                write!(out, "--heap {name}: there is no such heap architecture; choose one of {}", NAMES.join(", "))
            }
            NotMade::NoAddresses(NoAddresses(bytes)) => {
                write!(out, "cannot reserve {bytes} bytes of addresses (ulimit -v)")
            }
            NotMade::NoArea(error) => write!(out, "no message area: {error}"),
        }
    }
}

impl std::error::Error for NotMade {}

impl From<NoAddresses> for NotMade {
    fn from(error: NoAddresses) -> NotMade {
        NotMade::NoAddresses(error)
    }
}
