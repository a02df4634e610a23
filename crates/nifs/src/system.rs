//! Memory, the environment of the operating system, other libraries, and what the machine is.

use std::ffi::{CStr, CString, OsString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::ptr::NonNull;
use std::sync::OnceLock;

use atoll_process::System;
use atoll_term::Term;

use crate::abi::{MAJOR, NifFn, SystemInfo};
use crate::build_terms::given;
use crate::check::check_all;
use crate::env::{Env, Scheduled, Use};
use crate::halt::OnHalt;
use crate::library::file_of;
use crate::{MINOR, here};

type Complain = unsafe extern "C" fn(*mut c_void, *const c_char);

#[unsafe(no_mangle)]
extern "C" fn enif_alloc(size: usize) -> *mut c_void {
    // SAFETY: the C library's own; never asked for nothing, for which it may give nothing.
    unsafe { libc::malloc(size.max(1)) }
}

#[unsafe(no_mangle)]
extern "C" fn enif_realloc(place: *mut c_void, size: usize) -> *mut c_void {
    // SAFETY: the library has the place from here.
    unsafe { libc::realloc(place, size.max(1)) }
}

#[unsafe(no_mangle)]
extern "C" fn enif_free(place: *mut c_void) {
    // SAFETY: as above; the library gives it up.
    unsafe { libc::free(place) }
}

/// What the linker says goes to the library's function.
fn complain(handler: Option<Complain>, data: *mut c_void) {
    // SAFETY: the text lasts until the linker's next function is called; the library's own function gets what it
    // expects.
    unsafe {
        let text = libc::dlerror();
        if let Some(handler) = handler {
            handler(data, if text.is_null() { c"unknown error".as_ptr() } else { text });
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn enif_dlopen(path: *const c_char, handler: Option<Complain>, data: *mut c_void) -> *mut c_void {
    let file = match path.is_null() {
        // The machine itself.
        true => None,
        // SAFETY: the library gives a string, without the ending of its kind of files.
        false => file_of(unsafe { CStr::from_ptr(path) }.to_bytes()),
    };
    // SAFETY: the path is a string or null.
    let handle = unsafe { libc::dlopen(file.as_ref().map_or(std::ptr::null(), |file| file.as_ptr()), libc::RTLD_NOW) };
    if handle.is_null() {
        complain(handler, data);
    }
    handle
}

#[unsafe(no_mangle)]
extern "C" fn enif_dlsym(
    handle: *mut c_void,
    name: *const c_char,
    handler: Option<Complain>,
    data: *mut c_void,
) -> *mut c_void {
    // SAFETY: the library gives a string, and a handle that it has from `enif_dlopen`.
    let found = unsafe { libc::dlsym(handle, name) };
    if found.is_null() {
        complain(handler, data);
    }
    found
}

/// 0: stored; 1: there is no room, and the size says how much is needed; -1: there is no such variable.
#[unsafe(no_mangle)]
extern "C" fn enif_getenv(key: *const c_char, value: *mut c_char, size: &mut usize) -> c_int {
    // SAFETY: the library gives a string.
    let key = unsafe { CStr::from_ptr(key) };
    let variables = atoll_platform::environment::all();
    let own = |(name, _): &&(OsString, OsString)| name.as_bytes() == key.to_bytes();
    let Some((_, found)) = variables.iter().find(own) else { return -1 };
    let bytes = found.as_bytes();
    if *size <= bytes.len() {
        *size = bytes.len() + 1;
        return 1;
    }
    // SAFETY: the library has so much room, which is more than the bytes.
    unsafe {
        std::ptr::copy_nonoverlapping(bytes.as_ptr().cast(), value, bytes.len());
        *value.add(bytes.len()) = 0;
    }
    *size = bytes.len();
    0
}

/// Version and release, as strings that last.
pub type Names = OnceLock<(CString, CString)>;

fn names() -> &'static (CString, CString) {
    here().names.get_or_init(|| {
        let release = atoll_process::release::release_number().to_string();
        let version = atoll_process::release::release().runtime.clone();
        (CString::new(version).unwrap_or_default(), CString::new(release).unwrap_or_default())
    })
}

#[unsafe(no_mangle)]
extern "C" fn enif_system_info(place: NonNull<c_void>, size: usize) {
    let (version, release) = names();
    let info = SystemInfo {
        driver_major: 3,
        driver_minor: 3,
        erts_version: version.as_ptr(),
        otp_release: release.as_ptr(),
        threads: 1,
        smp: 1,
        async_threads: 1,
        schedulers: System::get().schedulers as c_int,
        nif_major: MAJOR,
        nif_minor: MINOR,
        dirty: 1,
    };
    let size = size.min(size_of::<SystemInfo>());
    // SAFETY: the library has so much room.
    unsafe { std::ptr::copy_nonoverlapping((&raw const info).cast::<u8>(), place.as_ptr().cast(), size) };
}

/// Has the machine call a function in the place of this one, with these arguments.
#[unsafe(no_mangle)]
extern "C" fn enif_schedule_nif(
    env: &mut Env,
    _name: *const c_char,
    kind: c_int,
    code: NifFn,
    count: c_int,
    arguments: *const Term,
) -> Term {
    if !(0..=2).contains(&kind) || !matches!(env.usage, Use::Call | Use::Dirty) {
        return env.raise(atoll_term::atoms::BADARG);
    }
    let arguments = given(&arguments, count as usize).to_vec();
    check_all(env, &arguments, "scheduled a function with");
    env.rare().scheduled = Some(Scheduled { code, kind: kind as u32, arguments });
    Term::NONE
}

/// Options of a library, after its value was read: 1, the machine's end waits for its functions; 2, it is told of that
/// end; 3, each thread hears of the library's end. Each may be set once, in `load` or `upgrade`.
#[unsafe(no_mangle)]
extern "C" fn atoll_nif_set_option(env: &mut Env, option: c_int, value: *mut c_void) -> c_int {
    if env.usage != Use::Load {
        return 1;
    }
    // SAFETY: the library that is being loaded outlives its environment.
    let library = unsafe { &*env.library };
    // SAFETY: the value of an option that has one is a function of this type, or null.
    let told = || unsafe { std::mem::transmute::<*mut c_void, Option<OnHalt>>(value) };
    let is_done = match option {
        1 => library.at_halt.delay(),
        2 => told().is_some_and(|told| library.at_halt.tell(told)),
        3 => told().is_some_and(|told| library.at_unload.set(told).is_ok()),
        _ => false,
    };
    (!is_done).into()
}

/// No other node is connected, so there is no cache.
#[unsafe(no_mangle)]
extern "C" fn enif_get_atom_cache_index(_: *mut Env, _atom: Term, _index: *mut u32) -> c_int {
    0
}

#[unsafe(no_mangle)]
extern "C" fn enif_max_atom_cache_index() -> u32 {
    2047
}
