//! What every architecture has.

use std::sync::Arc;

use crate::counters::Statistics;
use crate::immovable::{NoAddresses, Range};
use crate::settings::Settings;

/// The settings of an architecture, the addresses that it does not move, and its figures.
#[derive(Clone, Debug)]
pub struct Base {
    /// What it was made with.
    pub settings: Settings,
    /// The addresses whose objects it does not move.
    pub immovable: Arc<Range>,
    /// Its figures.
    pub statistics: Arc<Statistics>,
}

impl Base {
    /// That of an architecture with nothing but literals in its immovable range.
    ///
    /// # Errors
    /// The system gives no addresses.
    pub fn new(settings: &Settings) -> Result<Base, NoAddresses> {
        Ok(Base::with_range(settings, Range::new(settings)?))
    }

    /// That of an architecture with this immovable range.
    pub fn with_range(settings: &Settings, immovable: Arc<Range>) -> Base {
        Base { settings: settings.clone(), immovable, statistics: Arc::default() }
    }
}
