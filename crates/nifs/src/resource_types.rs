//! Types of resources: who destroys them, and what takes them over when a module is loaded anew.

use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int};
use std::sync::{Arc, Weak};

use atoll_term::Term;
use parking_lot::Mutex;

use crate::abi::{DestroyFn, DownFn, DynamicFn, ResourceInit, StopFn};
use crate::env::{Env, Use};
use crate::here;
use crate::library::Library;

/// The type does not exist yet.
const CREATE: c_int = 1;
/// A library of an older version of the module has made it.
const TAKEOVER: c_int = 2;

/// What a library does about its resources. If it does anything, the library is kept while there are any.
#[derive(Clone, Copy)]
pub struct Callbacks {
    pub destroy: Option<DestroyFn>,
    pub stop: Option<StopFn>,
    pub down: Option<DownFn>,
    pub dynamic: Option<DynamicFn>,
    pub library: *const Library,
}

impl Callbacks {
    fn are_any(&self) -> bool {
        self.destroy.is_some() || self.stop.is_some() || self.down.is_some() || self.dynamic.is_some()
    }
}

// SAFETY: the pointer is followed while the type keeps the library.
unsafe impl Send for Callbacks {}

struct State {
    callbacks: Callbacks,
    /// The library whose functions these are; kept while there are resources of the type and functions for them.
    library: Weak<Library>,
    kept: Option<Arc<Library>>,
    resources: usize,
}

/// A type of resources.
pub struct ResourceType {
    module: Term,
    name: String,
    state: Mutex<State>,
}

impl ResourceType {
    pub fn callbacks(&self) -> Callbacks {
        self.state.lock().callbacks
    }

    /// A resource of this type is made.
    pub fn add_resource(&self) {
        let mut state = self.state.lock();
        state.resources += 1;
        if state.resources == 1 && state.callbacks.are_any() {
            state.kept = state.library.upgrade();
        }
    }

    /// One is gone, with its destructor done.
    pub fn remove_resource(&self) {
        let mut state = self.state.lock();
        state.resources -= 1;
        let kept = if state.resources == 0 { state.kept.take() } else { None };
        drop(state);
        // This may end the library.
        drop(kept);
    }

    fn take_over(&self, callbacks: Callbacks, library: &Arc<Library>) {
        let mut state = self.state.lock();
        state.callbacks = callbacks;
        state.library = Arc::downgrade(library);
        let wanted = (state.resources > 0 && callbacks.are_any()).then(|| library.clone());
        let kept = std::mem::replace(&mut state.kept, wanted);
        drop(state);
        drop(kept);
    }
}

/// A type that `load` or `upgrade` has opened; it counts once that has succeeded.
pub struct Opening {
    kind: Arc<ResourceType>,
    callbacks: Callbacks,
}

/// Types by module and name.
pub type Types = Mutex<HashMap<(Term, String), Arc<ResourceType>>>;

/// Makes types count that were opened by a library that is loaded now.
pub fn commit(opened: Vec<Opening>, library: &Arc<Library>) {
    let mut types = here().types.lock();
    for Opening { kind, callbacks } in opened {
        kind.take_over(callbacks, library);
        types.insert((kind.module, kind.name.clone()), kind);
    }
}

/// The types of a library that is given up are no more, unless another has taken them over.
pub fn forget(library: &Arc<Library>) {
    let is_other = |kind: &ResourceType| !std::ptr::eq(kind.state.lock().library.as_ptr(), Arc::as_ptr(library));
    here().types.lock().retain(|_, kind| is_other(kind));
}

/// The type of this name.
pub fn find(module: Term, name: &str) -> Option<Arc<ResourceType>> {
    here().types.lock().get(&(module, name.to_owned())).cloned()
}

/// Opens a type; what C gets is valid as long as the machine.
fn open(
    env: &mut Env,
    name: *const c_char,
    callbacks: Callbacks,
    flags: c_int,
    tried: Option<&mut c_int>,
) -> *const ResourceType {
    if env.usage != Use::Load || name.is_null() || env.library.is_null() {
        return std::ptr::null();
    }
    // SAFETY: the library gives a string, and it is kept while it is loaded.
    let (name, module) = unsafe { (CStr::from_ptr(name).to_string_lossy().into_owned(), (*env.library).module) };
    let known = find(module, &name);
    let way = match known {
        Some(_) if flags & TAKEOVER != 0 => TAKEOVER,
        None if flags & CREATE != 0 => CREATE,
        _ => 0,
    };
    if let Some(tried) = tried {
        *tried = if way == 0 { flags } else { way };
    }
    if way == 0 {
        return std::ptr::null();
    }
    let opened = env.rare().opening.iter().find(|one| one.kind.name == name).map(|one| one.kind.clone());
    let kind = opened.or(known).unwrap_or_else(|| {
        let state = State { callbacks, library: Weak::new(), kept: None, resources: 0 };
        Arc::new(ResourceType { module, name, state: Mutex::new(state) })
    });
    // Libraries keep the address in variables of their own for as long as they like.
    let address = Arc::into_raw(kind.clone());
    env.rare().opening.push(Opening { kind, callbacks });
    address
}

#[unsafe(no_mangle)]
extern "C" fn enif_open_resource_type(
    env: &mut Env,
    _module: *const c_char,
    name: *const c_char,
    destroy: Option<DestroyFn>,
    flags: c_int,
    tried: Option<&mut c_int>,
) -> *const ResourceType {
    let callbacks = Callbacks { destroy, stop: None, down: None, dynamic: None, library: env.library };
    open(env, name, callbacks, flags, tried)
}

#[unsafe(no_mangle)]
extern "C" fn enif_open_resource_type_x(
    env: &mut Env,
    name: *const c_char,
    init: *const ResourceInit,
    flags: c_int,
    tried: Option<&mut c_int>,
) -> *const ResourceType {
    // SAFETY: the library gives at least the first three fields.
    let (destroy, stop, down) = unsafe { ((*init).destroy, (*init).stop, (*init).down) };
    let callbacks = Callbacks { destroy, stop, down, dynamic: None, library: env.library };
    open(env, name, callbacks, flags, tried)
}

#[unsafe(no_mangle)]
extern "C" fn enif_init_resource_type(
    env: &mut Env,
    name: *const c_char,
    init: &ResourceInit,
    flags: c_int,
    tried: Option<&mut c_int>,
) -> *const ResourceType {
    let has = |place: c_int| init.members >= place;
    let callbacks = Callbacks {
        destroy: init.destroy.filter(|_| has(1)),
        stop: init.stop.filter(|_| has(2)),
        down: init.down.filter(|_| has(3)),
        dynamic: init.dynamic.filter(|_| has(4)),
        library: env.library,
    };
    open(env, name, callbacks, flags, tried)
}
