//! Binaries of drivers: counted, and laid out as drivers read them. A term gets a copy of the bytes.

use std::alloc::{Layout, alloc, dealloc, realloc};
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicIsize, Ordering};

/// What a driver sees: the size, and the bytes behind it.
#[repr(C)]
pub struct Binary {
    pub size: isize,
}

/// What stands in front of that.
#[repr(C)]
struct Head {
    owners: AtomicIsize,
    seen: Binary,
}

/// Bytes in front of the data, from the start of the block.
const HEAD: usize = size_of::<Head>();
/// From the start of the block to what the driver sees.
const SEEN: usize = std::mem::offset_of!(Head, seen);

fn layout(size: usize) -> Option<Layout> {
    Layout::from_size_align(HEAD.checked_add(size)?, 16).ok()
}

fn head(binary: NonNull<Binary>) -> NonNull<Head> {
    // SAFETY: a driver's binary lies in a block that begins so far in front of it.
    unsafe { binary.byte_sub(SEEN).cast() }
}

/// The first byte.
pub fn data(binary: NonNull<Binary>) -> *mut u8 {
    // SAFETY: the bytes are behind the size.
    unsafe { binary.as_ptr().add(1).cast() }
}

/// One more owner.
pub fn retain(binary: NonNull<Binary>) -> isize {
    // SAFETY: the driver has a count of it.
    unsafe { head(binary).as_ref() }.owners.fetch_add(1, Ordering::Relaxed) + 1
}

#[unsafe(no_mangle)]
pub extern "C" fn driver_alloc_binary(size: usize) -> *mut Binary {
    let Some(layout) = layout(size) else { return null_mut() };
    // SAFETY: the layout is not empty; the block has room for the head.
    unsafe {
        let Some(block) = NonNull::new(alloc(layout).cast::<Head>()) else { return null_mut() };
        block.write(Head { owners: AtomicIsize::new(1), seen: Binary { size: size as isize } });
        block.byte_add(SEEN).cast().as_ptr()
    }
}

/// A binary with these bytes; nothing if there is no memory.
pub fn of(bytes: &[u8]) -> Option<NonNull<Binary>> {
    let binary = NonNull::new(driver_alloc_binary(bytes.len()))?;
    // SAFETY: the binary was just made, with room for these bytes.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), data(binary), bytes.len()) };
    Some(binary)
}

#[unsafe(no_mangle)]
extern "C" fn driver_realloc_binary(binary: Option<NonNull<Binary>>, size: usize) -> *mut Binary {
    let Some(binary) = binary else { return driver_alloc_binary(size) };
    // SAFETY: the driver has the only count of it.
    unsafe {
        let (Some(old), Some(_)) = (layout(binary.as_ref().size as usize), layout(size)) else { return null_mut() };
        let block = realloc(head(binary).as_ptr().cast(), old, HEAD + size).cast::<Head>();
        let Some(block) = NonNull::new(block) else { return null_mut() };
        (*block.as_ptr()).seen.size = size as isize;
        block.byte_add(SEEN).cast().as_ptr()
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn driver_free_binary(binary: Option<NonNull<Binary>>) {
    binary.into_iter().for_each(|binary| {
        release(binary);
    });
}

fn release(binary: NonNull<Binary>) -> isize {
    // SAFETY: the driver gives up a count that it has; with the last one the block is not used any more.
    unsafe {
        let left = head(binary).as_ref().owners.fetch_sub(1, Ordering::AcqRel) - 1;
        if left == 0
            && let Some(layout) = layout(binary.as_ref().size as usize)
        {
            dealloc(head(binary).as_ptr().cast(), layout);
        }
        left
    }
}

#[unsafe(no_mangle)]
extern "C" fn driver_binary_get_refc(binary: NonNull<Binary>) -> isize {
    // SAFETY: the driver has a count of it.
    unsafe { head(binary).as_ref() }.owners.load(Ordering::Acquire)
}

#[unsafe(no_mangle)]
extern "C" fn driver_binary_inc_refc(binary: NonNull<Binary>) -> isize {
    retain(binary)
}

#[unsafe(no_mangle)]
extern "C" fn driver_binary_dec_refc(binary: NonNull<Binary>) -> isize {
    release(binary)
}
