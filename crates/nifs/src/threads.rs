//! Threads of libraries, and what threads share: those of the C library, with names.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI32, Ordering};

use parking_lot::Mutex;

/// Kilowords of a thread's stack where the library does not say how many; a word has 8 bytes.
const STACK_KILOWORDS: c_int = 128;

type Start = extern "C" fn(*mut c_void) -> *mut c_void;

/// How a thread is made.
#[repr(C)]
struct ThreadOptions {
    /// Kilowords, or negative.
    stack: c_int,
}

fn named(name: *const c_char) -> Option<CString> {
    // SAFETY: the library gives a string or null.
    if name.is_null() { None } else { Some(unsafe { CStr::from_ptr(name) }.to_owned()) }
}

fn shown(name: &Option<CString>) -> *const c_char {
    name.as_ref().map_or(std::ptr::null(), |name| name.as_ptr())
}

/// A lock of the C library.
struct Named<T> {
    lock: T,
    name: Option<CString>,
}

macro_rules! primitive {
    ($kind:ident = $type:ty, $initial:expr, $create:ident, $destroy:ident, $free:path, $name:ident;
     $($operation:ident = $function:path;)*) => {
        type $kind = Named<$type>;

        #[unsafe(no_mangle)]
        extern "C" fn $create(name: *const c_char) -> *mut $kind {
            Box::into_raw(Box::new(Named { lock: $initial, name: named(name) }))
        }

        #[unsafe(no_mangle)]
        extern "C" fn $destroy(lock: *mut $kind) {
            if !lock.is_null() {
                // SAFETY: the library gives up what it has made.
                unsafe {
                    $free(&raw mut (*lock).lock);
                    drop(Box::from_raw(lock));
                }
            }
        }

        #[unsafe(no_mangle)]
        extern "C" fn $name(lock: *mut $kind) -> *const c_char {
            // SAFETY: the library has made it, and not given it up.
            unsafe { shown(&(*lock).name) }
        }

        $(
            #[unsafe(no_mangle)]
            extern "C" fn $operation(lock: *mut $kind) -> c_int {
                // SAFETY: the library has made it, and not given it up.
                unsafe { $function(&raw mut (*lock).lock) }
            }
        )*
    };
}

primitive! {
    Lock = libc::pthread_mutex_t, libc::PTHREAD_MUTEX_INITIALIZER,
    enif_mutex_create, enif_mutex_destroy, libc::pthread_mutex_destroy, enif_mutex_name;
    enif_mutex_lock = libc::pthread_mutex_lock;
    enif_mutex_trylock = libc::pthread_mutex_trylock;
    enif_mutex_unlock = libc::pthread_mutex_unlock;
}

primitive! {
    ReadWriteLock = libc::pthread_rwlock_t, libc::PTHREAD_RWLOCK_INITIALIZER,
    enif_rwlock_create, enif_rwlock_destroy, libc::pthread_rwlock_destroy, enif_rwlock_name;
    enif_rwlock_rlock = libc::pthread_rwlock_rdlock;
    enif_rwlock_tryrlock = libc::pthread_rwlock_tryrdlock;
    enif_rwlock_runlock = libc::pthread_rwlock_unlock;
    enif_rwlock_rwlock = libc::pthread_rwlock_wrlock;
    enif_rwlock_tryrwlock = libc::pthread_rwlock_trywrlock;
    enif_rwlock_rwunlock = libc::pthread_rwlock_unlock;
}

primitive! {
    Condition = libc::pthread_cond_t, libc::PTHREAD_COND_INITIALIZER,
    enif_cond_create, enif_cond_destroy, libc::pthread_cond_destroy, enif_cond_name;
    enif_cond_signal = libc::pthread_cond_signal;
    enif_cond_broadcast = libc::pthread_cond_broadcast;
}

#[unsafe(no_mangle)]
extern "C" fn enif_cond_wait(condition: *mut Condition, lock: *mut Lock) {
    // SAFETY: the library has made both, and not given them up.
    unsafe { libc::pthread_cond_wait(&raw mut (*condition).lock, &raw mut (*lock).lock) };
}

/// Keys that were made; none is given twice. The C library has fewer than libraries may ask for.
static KEYS: AtomicI32 = AtomicI32::new(0);

thread_local! {
    /// What this thread has under the keys.
    static SPECIFIC: RefCell<HashMap<c_int, *mut c_void>> = RefCell::default();
}

#[unsafe(no_mangle)]
extern "C" fn enif_tsd_key_create(_name: *const c_char, key: &mut c_int) -> c_int {
    *key = KEYS.fetch_add(1, Ordering::Relaxed);
    0
}

#[unsafe(no_mangle)]
extern "C" fn enif_tsd_key_destroy(key: c_int) {
    enif_tsd_set(key, null_mut());
}

#[unsafe(no_mangle)]
extern "C" fn enif_tsd_set(key: c_int, data: *mut c_void) {
    // At a thread's end its variables are gone, and nobody reads them any more.
    let _ = SPECIFIC.try_with(|specific| {
        let mut specific = specific.borrow_mut();
        if data.is_null() {
            specific.remove(&key);
        } else {
            specific.insert(key, data);
        }
    });
}

#[unsafe(no_mangle)]
extern "C" fn enif_tsd_get(key: c_int) -> *mut c_void {
    let found = SPECIFIC.try_with(|specific| specific.borrow().get(&key).copied());
    found.ok().flatten().unwrap_or(null_mut())
}

#[unsafe(no_mangle)]
extern "C" fn enif_thread_opts_create(_name: *const c_char) -> *mut ThreadOptions {
    Box::into_raw(Box::new(ThreadOptions { stack: -1 }))
}

#[unsafe(no_mangle)]
extern "C" fn enif_thread_opts_destroy(options: *mut ThreadOptions) {
    if !options.is_null() {
        // SAFETY: the library gives up what it has made.
        drop(unsafe { Box::from_raw(options) });
    }
}

/// Names of the threads that libraries have made, by the C library's numbers.
static NAMES: Mutex<Option<HashMap<usize, CString>>> = Mutex::new(None);

#[unsafe(no_mangle)]
extern "C" fn enif_thread_create(
    name: *const c_char,
    thread: &mut usize,
    start: Start,
    data: *mut c_void,
    options: Option<&ThreadOptions>,
) -> c_int {
    let kilowords = options.map_or(STACK_KILOWORDS, |options| options.stack);
    let kilowords = if kilowords < 0 { STACK_KILOWORDS } else { kilowords.max(16) };
    let mut made: libc::pthread_t = 0;
    let mut attributes = std::mem::MaybeUninit::<libc::pthread_attr_t>::uninit();
    // The thread begins in the library's function, with nothing of this machine below it: it may end anywhere.
    // SAFETY: the attributes are made first; the function gets the data that the library gives it.
    let status = unsafe {
        libc::pthread_attr_init(attributes.as_mut_ptr());
        libc::pthread_attr_setstacksize(attributes.as_mut_ptr(), kilowords as usize * 1024 * 8);
        let status = libc::pthread_create(&raw mut made, attributes.as_ptr(), start, data);
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        status
    };
    if status == 0 {
        *thread = made as usize;
        if let Some(name) = named(name) {
            NAMES.lock().get_or_insert_default().insert(made as usize, name);
        }
    }
    status
}

#[unsafe(no_mangle)]
extern "C" fn enif_thread_join(thread: usize, result: *mut *mut c_void) -> c_int {
    let mut value = null_mut();
    // SAFETY: the library has made the thread, and joins it once.
    let status = unsafe { libc::pthread_join(thread as libc::pthread_t, &raw mut value) };
    if status == 0 {
        if !result.is_null() {
            // SAFETY: the library has a place for the result.
            unsafe { *result = value };
        }
        if let Some(names) = NAMES.lock().as_mut() {
            names.remove(&thread);
        }
    }
    status
}

#[unsafe(no_mangle)]
extern "C-unwind" fn enif_thread_exit(result: *mut c_void) {
    // SAFETY: the library's thread ends itself; no frame of this machine holds anything.
    unsafe { libc::pthread_exit(result) }
}

#[unsafe(no_mangle)]
extern "C" fn enif_thread_self() -> usize {
    // SAFETY: touches nothing.
    unsafe { libc::pthread_self() as usize }
}

#[unsafe(no_mangle)]
extern "C" fn enif_equal_tids(one: usize, other: usize) -> c_int {
    (one == other).into()
}

/// The name is there until the thread is joined.
#[unsafe(no_mangle)]
extern "C" fn enif_thread_name(thread: usize) -> *const c_char {
    NAMES.lock().as_ref().and_then(|names| names.get(&thread)).map_or(std::ptr::null(), |name| name.as_ptr())
}
