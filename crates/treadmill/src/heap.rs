//! What the collectors and the two interfaces share: a heap's parts, and the context in which a collector works.

use crate::area::Area;
use crate::config::{Collector, Config};
use crate::copying::Copying;
use crate::error::HeapError;
use crate::lists::Lists;
use crate::paged::Paged;
use crate::roots::RootTable;
use crate::runtime::Runtime;
use crate::statistics::Log;
use crate::world::{Member, World};
use std::fmt;
use std::ops::Range;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

/// What a collector needs to know of the world it works in.
pub(crate) struct Context<'a> {
    pub(crate) runtime: &'a dyn Runtime,
    pub(crate) world: &'a World,
    /// The calling thread's standing, if it is a mutator.
    pub(crate) me: Option<&'a Member>,
    pub(crate) globals: &'a RootTable,
    pub(crate) marking: &'a AtomicBool,
    pub(crate) log: &'a Log,
}

/// The collector of a heap.
#[derive(Debug)]
pub(crate) enum Engine {
    Lists(Box<Mutex<Lists>>),
    Copying(Box<Mutex<Copying>>),
    Paged(Box<Paged>),
}

/// A heap.
pub(crate) struct Inner {
    pub(crate) engine: Engine,
    pub(crate) range: Range<usize>,
    pub(crate) base: *mut u64,
    pub(crate) world: World,
    pub(crate) runtime: Box<dyn Runtime>,
    pub(crate) globals: RootTable,
    /// Free slots of `globals`, and the first never used; locked while a slot is written.
    pub(crate) free_globals: Mutex<(Vec<u32>, u32)>,
    pub(crate) marking: AtomicBool,
    pub(crate) log: Log,
    pub(crate) limit: usize,
}

// SAFETY: `base` is an address of the area that the engine owns; everything else is `Send`.
unsafe impl Send for Inner {}
// SAFETY: as above, and everything else is `Sync`.
unsafe impl Sync for Inner {}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Heap").field("range", &self.range).field("limit", &self.limit).finish_non_exhaustive()
    }
}

impl Inner {
    pub(crate) fn new(
        config: &Config,
        runtime: Box<dyn Runtime>,
        place: Option<Area>,
    ) -> Result<Arc<Inner>, HeapError> {
        config.check()?;
        let (engine, range, base) = match &config.collector {
            Collector::Lists(settings) => {
                let lists = Lists::new(config, settings)?;
                let (range, base) = (lists.area().range(), lists.area().pointer(lists.area().base()));
                (Engine::Lists(Box::new(Mutex::new(lists))), range, base)
            }
            Collector::Copying => {
                let copying = Copying::new(config)?;
                let area = copying.area();
                let (range, base) = (area.range(), area.pointer(area.base()));
                (Engine::Copying(Box::new(Mutex::new(copying))), range, base)
            }
            Collector::Paged => {
                let paged = Paged::new(config, runtime.has_roots(), place)?;
                let area = paged.area();
                let (range, base) = (area.range(), area.pointer(area.base()));
                (Engine::Paged(Box::new(paged)), range, base)
            }
        };
        Ok(Arc::new(Inner {
            engine,
            range,
            base,
            world: World::new(),
            runtime,
            globals: RootTable::new(),
            free_globals: Mutex::new((Vec::new(), 0)),
            marking: AtomicBool::new(false),
            log: Log::new(config.pause_bound),
            limit: config.limit,
        }))
    }

    pub(crate) fn context<'a>(&'a self, me: Option<&'a Member>) -> Context<'a> {
        Context {
            runtime: &*self.runtime,
            world: &self.world,
            me,
            globals: &self.globals,
            marking: &self.marking,
            log: &self.log,
        }
    }

    /// Locks a collector; a member waits for it parked, so that a thread that stops the world does not wait for it.
    pub(crate) fn lock<'a, T>(&self, mutex: &'a Mutex<T>, me: Option<&Member>) -> MutexGuard<'a, T> {
        match mutex.try_lock() {
            Ok(guard) => return guard,
            Err(TryLockError::Poisoned(poisoned)) => return poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {}
        }
        if let Some(me) = me {
            self.world.park(me);
        }
        let guard = mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(me) = me {
            self.world.unpark(me);
        }
        guard
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let Inner { engine, runtime, world, globals, marking, log, .. } = self;
        let cx = Context { runtime: &**runtime, world, me: None, globals, marking, log };
        match engine {
            Engine::Lists(lists) => lists.get_mut().unwrap_or_else(|poisoned| poisoned.into_inner()).finalize_all(&cx),
            Engine::Copying(copying) => {
                copying.get_mut().unwrap_or_else(|poisoned| poisoned.into_inner()).finalize_all(&cx)
            }
            Engine::Paged(paged) => paged.finalize_all(&**runtime),
        }
    }
}
