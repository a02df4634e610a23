//! A loaded library: the file, its private data, and its end.

use std::any::Any;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::sync::{Arc, OnceLock};

use atoll_process::{NativeFunction, System};
use atoll_term::Term;
use parking_lot::Mutex;

use crate::abi::{self, NifFn, UnloadFn};
use crate::callbacks::{self, Work};
use crate::env::{Env, Use};
use crate::halt::{AtHalt, OnHalt};
use crate::resource_types;

/// A function of a library in the place of one of its module.
#[repr(C)]
pub struct Function {
    /// First: whoever calls it knows this alone.
    pub native: NativeFunction,
    pub code: NifFn,
    /// 0: in the time slice of its process, 1 and 2: on a thread for dirty calls.
    pub kind: u32,
    /// A call is a call of `code` and nothing else: in the time slice, of a library that is loaded and that the
    /// machine's end does not wait for.
    pub is_direct: AtomicBool,
    /// Valid while `is_gone` is false.
    pub library: *const Library,
    /// The library has been unloaded.
    pub is_gone: AtomicBool,
}

// SAFETY: the pointer is that of an `Arc`, which may be used by all threads.
unsafe impl Send for Function {}
// SAFETY: as above.
unsafe impl Sync for Function {}

impl Function {
    /// The function that a machine's native function is.
    pub fn of(native: &'static NativeFunction) -> &'static Function {
        // SAFETY: all native functions of the machine are the first parts of these.
        unsafe { &*std::ptr::from_ref(native).cast::<Function>() }
    }

    /// The library, kept while work for it waits.
    pub fn hold(&self) -> Option<Arc<Library>> {
        if self.is_gone.load(Ordering::Acquire) {
            return None;
        }
        // SAFETY: the library is not gone, so the module's code has a count of it.
        unsafe {
            Arc::increment_strong_count(self.library);
            Some(Arc::from_raw(self.library))
        }
    }
}

/// A file that the system's linker has opened.
pub struct Image(NonNull<c_void>);

// SAFETY: the linker's functions may be called by all threads.
unsafe impl Send for Image {}
// SAFETY: as above.
unsafe impl Sync for Image {}

/// The system's libraries that OTP's machine is linked with, beside that of C.
const OF_OTP: [&CStr; 4] = [c"libz.so.1", c"libtinfo.so.6", c"libstdc++.so.6", c"libm.so.6"];

/// What the linker said last on this thread.
fn complaint() -> String {
    // SAFETY: the text lasts until the linker's next function is called on this thread.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return "unknown error".to_owned();
    }
    // SAFETY: as above.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

impl Image {
    /// Opens a file; all that it lacks must be there.
    ///
    /// # Errors
    /// What the linker says.
    pub fn open(path: &CStr) -> Result<Image, String> {
        // SAFETY: the path is a string. What the file does when it is opened is its own business.
        let open = || NonNull::new(unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) }).map(Image);
        if let Some(image) = open() {
            return Ok(image);
        }
        let first = complaint();
        if !first.contains("undefined symbol") {
            return Err(first);
        }
        // Some libraries do not name those that OTP's machine is linked with, and find them in it.
        for library in OF_OTP {
            // SAFETY: as above.
            unsafe { libc::dlopen(library.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
        }
        open().ok_or_else(complaint)
    }

    /// The address of a name.
    ///
    /// # Errors
    /// What the linker says.
    pub fn find(&self, name: &CStr) -> Result<NonNull<c_void>, String> {
        // SAFETY: the file is open.
        NonNull::new(unsafe { libc::dlsym(self.0.as_ptr(), name.as_ptr()) }).ok_or_else(complaint)
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        // SAFETY: nothing of the library is used any more.
        unsafe { libc::dlclose(self.0.as_ptr()) };
    }
}

/// A library of one version of a module.
pub struct Library {
    /// The module (atom).
    pub module: Term,
    /// The file.
    pub path: String,
    /// `priv_data`
    pub private: AtomicPtr<c_void>,
    pub functions: Mutex<Vec<&'static Function>>,
    pub at_halt: AtHalt,
    /// Called by each thread that may have called the library, before `unload` (`ERL_NIF_OPT_ON_UNLOAD_THREAD`).
    pub at_unload: OnceLock<OnHalt>,
    unload: Option<UnloadFn>,
    /// Whether `load` or `upgrade` has succeeded: then `unload` is called at the end.
    pub is_loaded: AtomicBool,
    image: Option<Image>,
}

impl Library {
    pub fn new(module: Term, path: String, unload: Option<UnloadFn>, image: Image) -> Library {
        Library {
            module,
            path,
            private: AtomicPtr::new(null_mut()),
            functions: Mutex::default(),
            at_halt: AtHalt::default(),
            at_unload: OnceLock::new(),
            unload,
            is_loaded: AtomicBool::new(false),
            image: Some(image),
        }
    }

    /// Ends the library; the thread may be made to wait. If the library wants other threads to be told, it ends when
    /// they have been.
    pub fn end(mut self) {
        match self.at_unload.take() {
            Some(told) if self.is_loaded.load(Ordering::Acquire) => self.end_after(told),
            _ => self.end_here(),
        }
    }

    fn end_after(self, told: OnHalt) {
        // Nothing changes it any more.
        let private = AtomicPtr::new(self.private.load(Ordering::Acquire));
        let tell = move || {
            // SAFETY: the library is kept until all have been told, and its own function gets what it expects.
            unsafe { told(private.load(Ordering::Relaxed)) };
        };
        // Not on a scheduler, which the library's end might keep waiting.
        System::get().rounds.begin(tell, move || callbacks::later(Work::End(self)));
    }

    fn end_here(&mut self) {
        let Some(image) = self.image.take() else { return };
        if self.is_loaded.swap(false, Ordering::AcqRel)
            && let Some(unload) = self.unload
        {
            let mut env = Env::with_memory(Use::Callback, Term::NONE, std::ptr::from_ref(self));
            // SAFETY: the library's own function gets what it expects. Nothing of the library is used any more.
            unsafe { unload(&raw mut env, self.private.load(Ordering::Acquire)) };
        }
        drop(image);
    }
}

impl atoll_code::Library for Library {
    fn purged(self: Arc<Self>) {
        for function in self.functions.lock().iter() {
            function.is_gone.store(true, Ordering::Release);
            function.is_direct.store(false, Ordering::Release);
        }
        resource_types::forget(&self);
        if let Some(library) = Arc::into_inner(self) {
            library.end();
        }
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // This may be a collector's thread: another one ends the library.
        if let Some(image) = self.image.take() {
            let rest = Library {
                module: self.module,
                path: std::mem::take(&mut self.path),
                private: AtomicPtr::new(self.private.load(Ordering::Acquire)),
                functions: Mutex::default(),
                at_halt: AtHalt::default(),
                at_unload: std::mem::take(&mut self.at_unload),
                unload: self.unload,
                is_loaded: AtomicBool::new(self.is_loaded.load(Ordering::Acquire)),
                image: Some(image),
            };
            callbacks::later(Work::End(rest));
        }
    }
}

/// What a library's first function says of it.
pub struct Described {
    entry: NonNull<abi::Entry>,
}

/// One function that a library offers.
pub struct Offered {
    pub name: String,
    pub arity: u32,
    pub code: NifFn,
    pub flags: u32,
}

/// The text at an address; nothing for null.
fn text(address: *const c_char) -> Option<String> {
    if address.is_null() {
        return None;
    }
    // SAFETY: the library's texts are strings that last as long as the library.
    Some(unsafe { CStr::from_ptr(address) }.to_string_lossy().into_owned())
}

impl Described {
    /// Asks a library.
    ///
    /// # Errors
    /// The text for `bad_lib`.
    pub fn of(image: &Image) -> Result<Described, String> {
        let init = image.find(c"nif_init").or_else(|_| image.find(c"_nif_init"));
        let init = init.map_err(|error| format!("Failed to find library init function: '{error}'"))?;
        // SAFETY: a symbol of this name is a function of this type.
        let entry = unsafe {
            let init = std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> *mut abi::Entry>(init.as_ptr());
            init()
        };
        NonNull::new(entry).map(|entry| Described { entry }).ok_or_else(|| "Library init-call unsuccessful".to_owned())
    }

    /// Major and minor version of the interface.
    pub fn version(&self) -> (c_int, c_int) {
        // SAFETY: every entry has these fields.
        unsafe { ((*self.entry.as_ptr()).major, (*self.entry.as_ptr()).minor) }
    }

    /// The module.
    pub fn module(&self) -> String {
        // SAFETY: every entry of a version that is accepted has this field.
        text(unsafe { (*self.entry.as_ptr()).name }).unwrap_or_default()
    }

    /// The machine that it is made for; nothing before 2.1.
    pub fn variant(&self) -> Option<String> {
        // SAFETY: the entry has this field since then.
        if self.version().1 >= 1 { text(unsafe { (*self.entry.as_ptr()).variant }) } else { None }
    }

    /// The runtime that it asks for, since 2.14.
    pub fn least_runtime(&self) -> Option<String> {
        // SAFETY: the entry has this field since then.
        if self.version() >= (2, 14) { text(unsafe { (*self.entry.as_ptr()).least_runtime }) } else { None }
    }

    /// Its functions.
    pub fn functions(&self) -> Vec<Offered> {
        let has_flags = self.version().1 >= abi::FLAGS_SINCE;
        let stride = if has_flags { size_of::<abi::Function>() } else { abi::OLD_FUNCTION_BYTES };
        // SAFETY: every entry has these fields; the table has as many functions as it says, of the size of its version.
        unsafe {
            let (first, count) = ((*self.entry.as_ptr()).functions, (*self.entry.as_ptr()).count);
            let at = |index: usize| first.byte_add(index * stride).cast::<abi::Function>();
            (0..usize::try_from(count).unwrap_or(0))
                .map(|index| Offered {
                    name: text((*at(index)).name).unwrap_or_default(),
                    arity: (*at(index)).arity,
                    code: (*at(index)).code,
                    flags: if has_flags { (*at(index)).flags } else { 0 },
                })
                .collect()
        }
    }

    /// `load`, `upgrade`, `unload`.
    pub fn callbacks(&self) -> (Option<abi::LoadFn>, Option<abi::UpgradeFn>, Option<UnloadFn>) {
        // SAFETY: every entry has these fields.
        unsafe { ((*self.entry.as_ptr()).load, (*self.entry.as_ptr()).upgrade, (*self.entry.as_ptr()).unload) }
    }
}

/// The path of a library as the linker gets it.
pub fn file_of(path: &[u8]) -> Option<CString> {
    CString::new([path, b".so"].concat()).ok()
}

/// The library that code has, if it is one of these.
pub fn library_of(library: &dyn atoll_code::Library) -> Option<&Library> {
    let any: &dyn Any = library;
    any.downcast_ref()
}
