//! Resources: memory of a library that terms refer to, and that is destroyed when no term and no library has it.
//!
//! A resource is counted by an `Arc`: each term of it is a magic reference that owns a count, and each `enif_keep` adds
//! one. The last count may be given up by a collector, so destructors run when [`crate::callbacks`] has them run.

use std::alloc::{Layout, alloc, dealloc};
use std::ffi::{c_int, c_uchar, c_void};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use atoll_heap::known;
use atoll_process::ReferenceId;
use atoll_term::{Build, MagicValue, OffHeapBinary, Term, atoms};

use crate::callbacks::{self, Work};
use crate::env::{Env, Use, enter_machine};
use crate::here;
use crate::monitors;
use crate::resource_types::{self, ResourceType};

/// What stands in front of the library's part.
#[repr(C, align(16))]
struct Head {
    /// A count of the type.
    kind: *const ResourceType,
    /// Without a count of its own.
    value: *const MagicValue,
    numbers: ReferenceId,
    /// Bytes of the library's part.
    bytes: usize,
    /// Whether the reference's numbers are known to readers of the external format.
    is_known: AtomicBool,
    /// Whether it has, or had, monitors.
    monitors: AtomicBool,
}

const HEAD: usize = size_of::<Head>();

/// A resource, for as long as somebody counts it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Block(NonNull<Head>);

// SAFETY: what is behind the pointer is constant, atomic, or the library's.
unsafe impl Send for Block {}
// SAFETY: as above.
unsafe impl Sync for Block {}

/// What a magic reference keeps: gives the resource up when nobody counts it any more.
struct Handle(Block);

impl Drop for Handle {
    fn drop(&mut self) {
        let block = self.0;
        if block.kind().callbacks().destroy.is_some() || block.head().monitors.load(Ordering::Acquire) {
            callbacks::later(Work::Destroy(block));
        } else {
            block.free();
        }
    }
}

/// With a few bytes behind the library's part, into which some libraries write.
fn layout(bytes: usize) -> Option<Layout> {
    Layout::from_size_align(HEAD.checked_add(bytes)?.checked_add(8)?, align_of::<Head>()).ok()
}

/// The resource that a magic value is.
pub fn block_of(value: &MagicValue) -> Option<Block> {
    value.0.downcast_ref::<Handle>().map(|handle| handle.0)
}

impl Block {
    fn head(&self) -> &Head {
        // SAFETY: the block is counted.
        unsafe { self.0.as_ref() }
    }

    /// Its type.
    pub fn kind(&self) -> &ResourceType {
        // SAFETY: the head has a count of its type.
        unsafe { &*self.head().kind }
    }

    /// The library's part.
    pub fn object(self) -> *mut c_void {
        self.0.as_ptr().wrapping_add(1).cast()
    }

    /// The resource that the library calls by the address of its part.
    pub fn at(object: *mut c_void) -> Option<Block> {
        NonNull::new(object.cast::<Head>().wrapping_sub(1)).filter(|_| !object.is_null()).map(Block)
    }

    /// A count of it.
    pub fn hold(self) -> Arc<MagicValue> {
        let value = self.head().value;
        // SAFETY: the block is counted, so the value is there.
        unsafe {
            Arc::increment_strong_count(value);
            Arc::from_raw(value)
        }
    }

    /// The numbers of references to it.
    pub fn numbers(self) -> ReferenceId {
        self.head().numbers
    }

    /// Its end has to end monitors.
    pub fn note_monitors(self) {
        self.head().monitors.store(true, Ordering::Release);
    }

    /// A reference to it.
    pub fn term(self, env: &mut Env) -> Term {
        let value = self.hold();
        if !self.head().is_known.swap(true, Ordering::AcqRel) {
            known().remember(self.head().numbers.0, &value);
        }
        env.magic_reference(self.head().numbers.0, value)
    }

    /// Calls the destructor; nobody counts the resource any more.
    pub fn destroy(self) {
        monitors::forget(self);
        let kind = self.kind().callbacks();
        if let Some(destroy) = kind.destroy {
            let mut env = Env::with_memory(Use::Callback, Term::NONE, kind.library);
            // SAFETY: the library's own function gets a resource of its type, for the last time.
            unsafe { destroy(&raw mut env, self.object()) };
        }
        self.free();
    }

    fn free(self) {
        // SAFETY: nobody counts the resource; the head's count of the type is given back after that.
        let kind = unsafe { Arc::from_raw(self.head().kind) };
        if let Some(layout) = layout(self.head().bytes) {
            // SAFETY: the block was allocated with this layout.
            unsafe { dealloc(self.0.as_ptr().cast(), layout) };
        }
        kind.remove_resource();
        here().search.resource_gone();
    }
}

/// The resource that a term refers to, or whose binary it is.
pub fn block_in(term: Term) -> Option<Block> {
    let value = term.magic_value().or_else(|| term.off_heap_binary()?.lender());
    block_of(value?)
}

#[unsafe(no_mangle)]
extern "C" fn enif_alloc_resource(kind: &ResourceType, bytes: usize) -> *mut c_void {
    enter_machine();
    let Some(layout) = layout(bytes) else { return std::ptr::null_mut() };
    // SAFETY: the layout is not empty.
    let Some(place) = NonNull::new(unsafe { alloc(layout) }.cast::<Head>()) else { return std::ptr::null_mut() };
    let block = Block(place);
    let kind = std::ptr::from_ref(kind);
    // SAFETY: the library has the type's address from `Arc::into_raw`; the head lies in the new block.
    unsafe {
        Arc::increment_strong_count(kind);
        place.write(Head {
            kind,
            value: std::ptr::null(),
            numbers: ReferenceId::fresh(),
            bytes,
            is_known: AtomicBool::new(false),
            monitors: AtomicBool::new(false),
        });
    }
    block.kind().add_resource();
    here().search.resource_made();
    let value = Arc::into_raw(Arc::new(MagicValue(Box::new(Handle(block)))));
    // SAFETY: nobody else knows the block yet. The library has the count that was made.
    unsafe { (*place.as_ptr()).value = value };
    block.object()
}

#[unsafe(no_mangle)]
extern "C" fn enif_keep_resource(object: *mut c_void) {
    if let Some(block) = Block::at(object) {
        let _ = Arc::into_raw(block.hold());
    }
}

#[unsafe(no_mangle)]
extern "C" fn enif_release_resource(object: *mut c_void) {
    enter_machine();
    if let Some(block) = Block::at(object) {
        // SAFETY: the library gives up a count that it has.
        callbacks::with_callbacks(|| unsafe { Arc::decrement_strong_count(block.head().value) });
    }
}

#[unsafe(no_mangle)]
extern "C" fn enif_sizeof_resource(object: *mut c_void) -> usize {
    Block::at(object).map_or(0, |block| block.head().bytes)
}

#[unsafe(no_mangle)]
extern "C" fn enif_make_resource(env: &mut Env, object: *mut c_void) -> Term {
    match Block::at(object) {
        Some(block) => block.term(env),
        None => env.raise(atoms::BADARG),
    }
}

/// The bytes stay where they are. Their binary keeps the resource for as long as it, or a part of it, is there; the
/// library does not change them meanwhile.
#[unsafe(no_mangle)]
extern "C" fn enif_make_resource_binary(env: &mut Env, object: *mut c_void, data: *const c_void, size: usize) -> Term {
    match Block::at(object) {
        Some(block) => {
            let bytes = std::ptr::slice_from_raw_parts(data.cast::<c_uchar>(), size);
            // SAFETY: the library gives bytes that are there as long as the resource.
            env.binary_handle(unsafe { OffHeapBinary::lent(bytes, block.hold()) })
        }
        None => env.raise(atoms::BADARG),
    }
}

#[unsafe(no_mangle)]
extern "C" fn enif_get_resource(
    _env: *mut Env,
    term: Term,
    kind: *const ResourceType,
    object: &mut *mut c_void,
) -> c_int {
    match block_in(term).filter(|block| std::ptr::eq(block.head().kind, kind)) {
        Some(block) => {
            *object = block.object();
            1
        }
        None => 0,
    }
}

#[unsafe(no_mangle)]
extern "C" fn enif_dynamic_resource_call(
    env: &mut Env,
    module: Term,
    name: Term,
    resource: Term,
    data: *mut c_void,
) -> c_int {
    let kind =
        if module.is_atom() && name.is_atom() { resource_types::find(module, atoms::atom_name(name)) } else { None };
    let block =
        block_in(resource).filter(|block| kind.is_some_and(|kind| std::ptr::eq(Arc::as_ptr(&kind), block.head().kind)));
    let Some((block, call)) = block.and_then(|block| Some((block, block.kind().callbacks().dynamic?))) else {
        return 1;
    };
    // SAFETY: the library's own function gets a resource of its type, which its term keeps.
    unsafe { call(std::ptr::from_mut(env), block.object(), data) };
    0
}
