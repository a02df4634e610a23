//! Large binaries: bytes outside of every heap, counted by the handles that point to them.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error, realloc};
use std::any::Any;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::header::{Header, Kind};
use crate::word::{Term, Word};

/// Bytes of all binaries outside of heaps.
static TOTAL_BYTES: AtomicUsize = AtomicUsize::new(0);

/// Bytes with a count of owners. Bytes below `used` never change; those above belong to the thread that
/// claims them with [`OffHeapBinary::claim`], so one binary can be extended in place while older views of it stay
/// valid, on any number of threads.
#[repr(C)]
#[derive(Debug)]
pub struct OffHeapBinary {
    owners: AtomicUsize,
    /// Bytes, with [`LENT`] if they belong to a value.
    room: usize,
    used: AtomicU64,
    /// Right behind this head, or in memory of a value.
    data: NonNull<u8>,
}

// SAFETY: counts are atomic; used bytes never change, and others are claimed atomically.
unsafe impl Send for OffHeapBinary {}
// SAFETY: as above.
unsafe impl Sync for OffHeapBinary {}

/// The bytes belong to a value, of which a count lies behind the head.
const LENT: usize = 1 << (usize::BITS - 1);

/// Bytes in front of a binary's own data.
const HEAD: usize = size_of::<OffHeapBinary>();

/// Bytes behind each binary that nobody uses. Native libraries write zeros there, as `sprintf` does behind a text:
/// OTP's binaries have such bytes too.
const SLACK: usize = 8;

impl OffHeapBinary {
    /// Where the address of the first byte lies, in bytes from the start of the block.
    pub const DATA: usize = std::mem::offset_of!(OffHeapBinary, data);
    /// Where the number of bytes that may be in use lies; it is below zero, as an `i64`, where none may be claimed.
    pub const ROOM: usize = std::mem::offset_of!(OffHeapBinary, room);
    /// Where the number of bytes in use lies, which code claims more of by an atomic exchange: see
    /// [`OffHeapBinary::claim`].
    pub const USED: usize = std::mem::offset_of!(OffHeapBinary, used);

    fn layout(room: usize) -> Layout {
        let behind = if room & LENT == 0 { room + SLACK } else { size_of::<*const MagicValue>() };
        Layout::from_size_align(HEAD + behind, 16).expect("a binary smaller than the address space")
    }

    /// A binary whose bytes stay where they are, in memory that a value keeps; it owns the count of the value for as
    /// long as somebody owns the binary itself. One owner.
    ///
    /// # Safety
    /// The bytes are there while the value is counted, and nobody changes them.
    pub unsafe fn lent(bytes: *const [u8], value: Arc<MagicValue>) -> NonNull<OffHeapBinary> {
        let room = bytes.len() | LENT;
        let layout = OffHeapBinary::layout(room);
        // SAFETY: the layout is not empty.
        let block = unsafe { alloc(layout) }.cast::<OffHeapBinary>();
        let Some(block) = NonNull::new(block) else { handle_alloc_error(layout) };
        // SAFETY: the block has room for the head and the value; nobody else knows it.
        unsafe { OffHeapBinary::value_of(block.as_ptr()).write(Arc::into_raw(value)) };
        let data = NonNull::new(bytes.cast::<u8>().cast_mut()).unwrap_or(NonNull::dangling());
        OffHeapBinary::initialise(block, room, bytes.len(), data)
    }

    /// Where the value of a binary lies, if its bytes belong to one.
    fn value_of(block: *mut OffHeapBinary) -> *mut *const MagicValue {
        block.wrapping_add(1).cast()
    }

    /// The value that its bytes belong to.
    pub fn lender(&self) -> Option<&MagicValue> {
        if self.room & LENT == 0 {
            return None;
        }
        // The value lies outside of what the reference is for.
        let place = std::ptr::with_exposed_provenance::<*const MagicValue>(std::ptr::from_ref(self).addr() + HEAD);
        // SAFETY: the binary has a count of the value, whose address lies behind the head.
        unsafe { place.read().as_ref() }
    }

    /// A binary with `capacity` bytes of which `used` are about to be filled by the caller; one owner.
    /// The bytes are zero.
    pub fn new(capacity: usize, used: usize) -> NonNull<OffHeapBinary> {
        debug_assert!(used <= capacity);
        let layout = OffHeapBinary::layout(capacity);
        // SAFETY: the layout is not empty.
        let block = unsafe { std::alloc::alloc_zeroed(layout) }.cast::<OffHeapBinary>();
        let Some(block) = NonNull::new(block) else { handle_alloc_error(layout) };
        OffHeapBinary::own(block, capacity, used)
    }

    /// A binary of so many bytes, which are zero until `fill` has written them; one owner.
    pub fn of_length(length: usize, fill: impl FnOnce(&mut [u8])) -> NonNull<OffHeapBinary> {
        let filled = OffHeapBinary::filled(length, |bytes| {
            fill(bytes);
            Ok::<_, std::convert::Infallible>(length)
        });
        match filled {
            Some(Ok(binary)) => binary,
            _ => handle_alloc_error(OffHeapBinary::layout(length)),
        }
    }

    /// A binary that holds a copy of `bytes`; one owner.
    pub fn from_bytes(bytes: &[u8], capacity: usize) -> NonNull<OffHeapBinary> {
        let capacity = capacity.max(bytes.len());
        let layout = OffHeapBinary::layout(capacity);
        // SAFETY: the layout is not empty.
        let block = unsafe { alloc(layout) }.cast::<OffHeapBinary>();
        let Some(block) = NonNull::new(block) else { handle_alloc_error(layout) };
        // SAFETY: the block has HEAD + capacity bytes, capacity >= bytes.len(), and nobody else knows it.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), block.as_ptr().cast::<u8>().add(HEAD), bytes.len()) };
        OffHeapBinary::own(block, capacity, bytes.len())
    }

    /// A binary of at most `capacity` bytes, as many as `fill` says it has written, which gets that many zeros; one
    /// owner. `None`: no memory for that many bytes.
    ///
    /// # Errors
    /// Those of `fill`
    pub fn filled<E>(
        capacity: usize,
        fill: impl FnOnce(&mut [u8]) -> Result<usize, E>,
    ) -> Option<Result<NonNull<OffHeapBinary>, E>> {
        let layout = Layout::from_size_align(HEAD.checked_add(capacity)?.checked_add(SLACK)?, 16).ok()?;
        // SAFETY: the layout is not empty.
        let block = NonNull::new(unsafe { std::alloc::alloc_zeroed(layout) }.cast::<OffHeapBinary>())?;
        // SAFETY: HEAD + capacity zeroed bytes, which nobody else knows.
        let room = unsafe { std::slice::from_raw_parts_mut(block.as_ptr().cast::<u8>().add(HEAD), capacity) };
        match fill(room) {
            Ok(used) => Some(Ok(OffHeapBinary::own(block, capacity, used.min(capacity)))),
            Err(error) => {
                // SAFETY: the block came from the allocator with this layout.
                unsafe { dealloc(block.as_ptr().cast(), layout) };
                Some(Err(error))
            }
        }
    }

    /// Gives a binary another number of bytes, where it lies if the allocator can; those that are new are zero. `None`:
    /// no memory for them, or others own the binary too, or its bytes are a value's; nothing has changed then.
    ///
    /// # Safety
    /// The caller owns a count of a live binary, and nobody uses what it knows of where the bytes lie.
    pub unsafe fn resize(binary: NonNull<OffHeapBinary>, length: usize) -> Option<NonNull<OffHeapBinary>> {
        // SAFETY: the caller's count keeps the binary alive.
        let head = unsafe { binary.as_ref() };
        let room = head.room;
        if room & LENT != 0 || head.owners.load(Ordering::Acquire) != 1 {
            return None;
        }
        let used = head.used().min(length);
        let size = Layout::from_size_align(HEAD.checked_add(length)?.checked_add(SLACK)?, 16).ok()?.size();
        // As in `release`.
        let block = std::ptr::with_exposed_provenance_mut::<u8>(binary.as_ptr().addr());
        // SAFETY: the block came from the allocator with this layout, and the only owner gives it up.
        let block = NonNull::new(unsafe { realloc(block, OffHeapBinary::layout(room), size) })?;
        // SAFETY: the block has HEAD + length + SLACK bytes, of which the first HEAD + used are those of before.
        unsafe { block.add(HEAD + used).write_bytes(0, length + SLACK - used) };
        TOTAL_BYTES.fetch_sub(bytes_of(room), Ordering::Relaxed);
        Some(OffHeapBinary::own(block.cast(), length, length))
    }

    /// Writes the head of a binary with bytes of its own.
    fn own(block: NonNull<OffHeapBinary>, room: usize, used: usize) -> NonNull<OffHeapBinary> {
        // SAFETY: the block goes on behind the head.
        let data = unsafe { block.add(1) }.cast();
        OffHeapBinary::initialise(block, room, used, data)
    }

    fn initialise(
        block: NonNull<OffHeapBinary>,
        room: usize,
        used: usize,
        data: NonNull<u8>,
    ) -> NonNull<OffHeapBinary> {
        TOTAL_BYTES.fetch_add(bytes_of(room), Ordering::Relaxed);
        let head = OffHeapBinary { owners: AtomicUsize::new(1), room, used: AtomicU64::new(used as u64), data };
        // SAFETY: the block is large enough, aligned, and exclusively owned here.
        unsafe { block.as_ptr().write(head) };
        // Native code has the address alone, and so have `lender` and `release`.
        block.as_ptr().expose_provenance();
        block
    }

    /// One more owner.
    pub fn retain(&self) {
        self.owners.fetch_add(1, Ordering::Relaxed);
    }

    /// How many owners there are.
    pub fn owners(&self) -> usize {
        self.owners.load(Ordering::Relaxed)
    }

    /// One owner less; the last one frees the bytes.
    ///
    /// # Safety
    /// The caller owns one count of a live binary and does not use it any more.
    pub unsafe fn release(binary: NonNull<OffHeapBinary>) {
        // SAFETY: the caller's count keeps the binary alive.
        let head = unsafe { binary.as_ref() };
        if head.owners.fetch_sub(1, Ordering::Release) == 1 {
            // In order with what the other owners did; not a fence, which ThreadSanitizer does not see.
            head.owners.load(Ordering::Acquire);
            let layout = OffHeapBinary::layout(head.room);
            TOTAL_BYTES.fetch_sub(bytes_of(head.room), Ordering::Relaxed);
            // The caller may have made its pointer of a reference, by which nothing may be freed.
            let block = std::ptr::with_exposed_provenance_mut::<OffHeapBinary>(binary.as_ptr().addr());
            // SAFETY: a binary with this mark has a count of the value, which is taken out once.
            let lender =
                (head.room & LENT != 0).then(|| unsafe { Arc::from_raw(OffHeapBinary::value_of(block).read()) });
            // SAFETY: that was the last count; the block came from the allocator with this layout.
            unsafe { dealloc(block.cast(), layout) };
            drop(lender);
        }
    }

    /// Room in bytes.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.room & !LENT
    }

    /// Bytes in use.
    #[inline]
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Acquire) as usize
    }

    /// Claims the bytes from `from` to `to` if `from` is where the used bytes end and there is room: then they
    /// belong to the caller, and nobody else can claim them.
    #[inline]
    pub fn claim(&self, from: usize, to: usize) -> bool {
        to <= self.capacity()
            && from <= to
            && self.used.compare_exchange(from as u64, to as u64, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// The first byte.
    #[inline]
    pub fn data(&self) -> *mut u8 {
        self.data.as_ptr()
    }

    /// Bytes of all binaries that live outside of heaps, with their heads, without bytes that belong to values.
    pub fn total_bytes() -> usize {
        TOTAL_BYTES.load(Ordering::Relaxed)
    }
}

/// What a binary with so much room counts for.
fn bytes_of(room: usize) -> usize {
    if room & LENT == 0 { HEAD + room } else { HEAD }
}

/// One count of a binary outside of heaps, before a heap has a handle of it. It may go to another thread.
#[derive(Debug)]
pub struct HeldBinary(NonNull<OffHeapBinary>);

// SAFETY: counts are atomic, used bytes never change, and others are claimed atomically.
unsafe impl Send for HeldBinary {}

impl HeldBinary {
    /// An empty binary with room for so many bytes; `None`: no memory for them.
    pub fn with_room(capacity: usize) -> Option<HeldBinary> {
        let layout = Layout::from_size_align(HEAD.checked_add(capacity)?.checked_add(SLACK)?, 16).ok()?;
        // SAFETY: the layout is not empty.
        let block = NonNull::new(unsafe { alloc(layout) }.cast::<OffHeapBinary>())?;
        Some(HeldBinary(OffHeapBinary::own(block, capacity, 0)))
    }

    /// Adds bytes at the end; false if there is no room, or another owner.
    pub fn append(&mut self, bytes: &[u8]) -> bool {
        // SAFETY: the count keeps the binary alive.
        let head = unsafe { self.0.as_ref() };
        let from = head.used();
        // The bytes are in use before they are written, so nobody else may look.
        if head.owners.load(Ordering::Acquire) != 1 || !head.claim(from, from + bytes.len()) {
            return false;
        }
        // SAFETY: the claimed bytes lie inside the block, and belong to this thread alone.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), head.data().add(from), bytes.len()) };
        true
    }

    /// Room in bytes.
    pub fn capacity(&self) -> usize {
        // SAFETY: the count keeps the binary alive.
        unsafe { self.0.as_ref() }.capacity()
    }

    /// One more count of the same binary.
    pub fn share(&self) -> HeldBinary {
        // SAFETY: the count keeps the binary alive.
        unsafe { self.0.as_ref() }.retain();
        HeldBinary(self.0)
    }

    /// A binary of at most `capacity` bytes, as [`OffHeapBinary::filled`] makes it.
    ///
    /// # Errors
    /// Those of `fill`
    pub fn filled<E>(
        capacity: usize,
        fill: impl FnOnce(&mut [u8]) -> Result<usize, E>,
    ) -> Option<Result<HeldBinary, E>> {
        Some(OffHeapBinary::filled(capacity, fill)?.map(HeldBinary))
    }

    /// The bytes in use.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the count keeps the binary alive.
        let head = unsafe { self.0.as_ref() };
        // SAFETY: used bytes are initialised and never change.
        unsafe { std::slice::from_raw_parts(head.data(), head.used()) }
    }

    /// The binary, for a handle that takes over the count.
    pub fn into_raw(self) -> NonNull<OffHeapBinary> {
        ManuallyDrop::new(self).0
    }
}

impl Drop for HeldBinary {
    fn drop(&mut self) {
        // SAFETY: one count is this value's own.
        unsafe { OffHeapBinary::release(self.0) };
    }
}

/// The bytes of a term that lie outside of heaps. They are held, so they stay what they are on any thread.
#[derive(Debug)]
pub struct HeldBytes {
    binary: HeldBinary,
    from: usize,
    length: usize,
}

impl HeldBytes {
    /// Those of a binary; `None` if it lies inside a heap, or does not begin and end with a whole byte.
    pub fn of(term: &Term) -> Option<HeldBytes> {
        let under = if term.boxed_kind() == Some(Kind::SubBits) { term.boxed_terms()[2] } else { *term };
        let (binary, bits) = (under.off_heap_binary()?, term.bits()?);
        let bytes = bits.aligned_bytes().filter(|_| bits.is_binary())?;
        let from = bytes.as_ptr().addr() - binary.data().addr();
        binary.retain();
        Some(HeldBytes { binary: HeldBinary(NonNull::from(binary)), from, length: bytes.len() })
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.binary.bytes()[self.from..self.from + self.length]
    }
}

/// A binary outside of heaps, or part of one, that is known to be UTF-8. It is held, so its bytes stay what they are.
#[derive(Debug)]
pub struct KnownText {
    binary: NonNull<OffHeapBinary>,
    text: NonNull<str>,
}

impl KnownText {
    /// Holds the bytes of a term, if they lie outside of heaps and are UTF-8.
    pub fn new(term: Term) -> Option<KnownText> {
        let under = if term.boxed_kind() == Some(Kind::SubBits) { term.boxed_terms()[2] } else { term };
        let (binary, bytes) = (under.off_heap_binary()?, term.bits()?.aligned_bytes()?);
        let text = NonNull::from(std::str::from_utf8(bytes).ok()?);
        binary.retain();
        Some(KnownText { binary: NonNull::from(binary), text })
    }

    /// The text, if it is made of these very bytes.
    pub fn of_bytes(&self, bytes: &[u8]) -> Option<&str> {
        // SAFETY: the binary that the text lies in is held, and used bytes never change.
        let text = unsafe { self.text.as_ref() };
        (std::ptr::eq(text.as_ptr(), bytes.as_ptr()) && text.len() == bytes.len()).then_some(text)
    }
}

impl Drop for KnownText {
    fn drop(&mut self) {
        // SAFETY: one count is this value's own.
        unsafe { OffHeapBinary::release(self.binary) };
    }
}

/// A value of the machine that a magic reference keeps alive (a table, an array of atomics, compiled code).
pub struct MagicValue(pub Box<dyn Any + Send + Sync>);

impl MagicValue {
    /// A value for a new magic reference.
    pub fn new(value: impl Any + Send + Sync) -> Arc<MagicValue> {
        Arc::new(MagicValue(Box::new(value)))
    }
}

/// One count of what an object with an off-heap part refers to. It may go to another thread.
pub struct HeldPart(#[expect(dead_code, reason = "owned to be dropped")] PartCount);

enum PartCount {
    Binary(#[expect(dead_code, reason = "owned to be dropped")] HeldBinary),
    Value(#[expect(dead_code, reason = "owned to be dropped")] Arc<MagicValue>),
}

impl HeldPart {
    /// That of a binary handle or a magic reference; `None` for any other term.
    pub fn of(term: Term) -> Option<HeldPart> {
        if let Some(binary) = term.off_heap_binary() {
            binary.retain();
            return Some(HeldPart(PartCount::Binary(HeldBinary(NonNull::from(binary)))));
        }
        Some(HeldPart(PartCount::Value(term.held_magic_value()?)))
    }
}

/// Gives back what an object with an off-heap part owns: a binary handle's or a magic reference's count.
///
/// # Safety
/// `object` is the header of a whole such object, which is not used any more.
pub unsafe fn release_off_heap_part(object: NonNull<Word>) {
    // SAFETY: the caller vouches for a whole object; the pointer read is the count that it owns.
    unsafe {
        match Header::from_word(*object.as_ptr()).kind() {
            Kind::BinaryHandle => {
                if let Some(binary) = NonNull::new(*object.as_ptr().add(1) as *mut OffHeapBinary) {
                    OffHeapBinary::release(binary);
                }
            }
            Kind::MagicReference => drop(Arc::from_raw(*object.as_ptr().add(3) as *const MagicValue)),
            _ => debug_assert!(false, "an object without an off-heap part on a list of such objects"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Build, ScratchHeap};

    #[test]
    fn a_held_binary_has_what_was_filled_in_and_gives_its_count_away() {
        let fill = |room: &mut [u8]| {
            room[..3].copy_from_slice(b"abc");
            Ok::<usize, ()>(3)
        };
        let held = HeldBinary::filled(10, fill).expect("there is memory").expect("filled");
        assert_eq!(held.bytes(), b"abc");
        let binary = held.into_raw();
        // SAFETY: the count that was given away is released once, and the binary is not used after that.
        unsafe {
            assert_eq!(binary.as_ref().owners(), 1);
            OffHeapBinary::release(binary);
        }
        assert_eq!(HeldBinary::filled(10, |_| Err(())).map(|held| held.is_err()), Some(true));
    }

    #[test]
    fn a_binary_that_nobody_else_has_gets_another_length() {
        let bytes = |binary: NonNull<OffHeapBinary>| {
            // SAFETY: the binary is live, and has that many bytes.
            unsafe { std::slice::from_raw_parts(binary.as_ref().data(), binary.as_ref().used()) }.to_vec()
        };
        let first = OffHeapBinary::from_bytes(b"abcdef", 100);
        // SAFETY: each binary is used until it is resized or released.
        unsafe {
            let longer = OffHeapBinary::resize(first, 1_000_000).expect("there is memory");
            assert_eq!(longer.as_ref().capacity(), 1_000_000);
            assert_eq!(bytes(longer)[..8], *b"abcdef\0\0");
            assert!(bytes(longer)[6..].iter().all(|byte| *byte == 0));
            let shorter = OffHeapBinary::resize(longer, 3).expect("there is memory");
            assert_eq!(bytes(shorter), b"abc");
            shorter.as_ref().retain();
            assert_eq!(OffHeapBinary::resize(shorter, 5), None, "another owner");
            assert_eq!(OffHeapBinary::resize(shorter, usize::MAX), None, "no such memory");
            OffHeapBinary::release(shorter);
            assert_eq!(OffHeapBinary::resize(shorter, usize::MAX / 2), None, "no such memory");
            assert_eq!(bytes(shorter), b"abc");
            OffHeapBinary::release(shorter);
        }
    }

    #[test]
    fn bytes_are_added_to_a_binary_that_nobody_else_has() {
        let mut held = HeldBinary::with_room(5).expect("there is memory");
        assert!(held.append(b"ab") && held.append(b"cd"));
        assert!(!held.append(b"ef"), "no room");
        let other = held.share();
        assert!(!held.append(b"e"), "another owner");
        drop(other);
        assert!(held.append(b"e"));
        assert_eq!((held.bytes(), held.capacity()), (&b"abcde"[..], 5));
    }

    #[test]
    fn held_bytes_outlive_the_heap_of_their_term() {
        let bytes: Vec<u8> = (0..100).collect();
        let mut heap = ScratchHeap::new();
        let whole = heap.binary(&bytes);
        let part = heap.part_of_bits(whole, 80, 400);
        let bits = heap.part_of_bits(whole, 81, 400);
        let small = heap.binary(b"abc");
        let held = [whole, part].map(|term| HeldBytes::of(&term).expect("outside of the heap"));
        assert!(HeldBytes::of(&bits).is_none() && HeldBytes::of(&small).is_none());
        drop(heap);
        assert_eq!(held.each_ref().map(HeldBytes::bytes), [&bytes[..], &bytes[10..60]]);
    }

    #[test]
    fn held_parts_outlive_the_heap_of_their_terms() {
        let value = MagicValue::new(7);
        let mut heap = ScratchHeap::new();
        let binary = heap.binary(&[1; 100]);
        let bytes = HeldBytes::of(&binary).expect("outside of the heap");
        let reference = heap.magic_reference([1, 2, 3], value.clone());
        let parts = [binary, reference].map(|term| HeldPart::of(term).expect("it has a part"));
        assert!(HeldPart::of(Term::NIL).is_none());
        drop(heap);
        // SAFETY: `bytes` holds the binary.
        let owners = || unsafe { bytes.binary.0.as_ref() }.owners();
        assert_eq!((owners(), Arc::strong_count(&value)), (2, 2));
        drop(parts);
        assert_eq!((owners(), Arc::strong_count(&value)), (1, 1));
    }

    #[test]
    fn lent_bytes_stay_where_they_are_and_keep_their_value() {
        let value = MagicValue::new(vec![b'a', b'b', b'c']);
        let bytes: *const [u8] = value.0.downcast_ref::<Vec<u8>>().expect("bytes").as_slice();
        // SAFETY: the value keeps the bytes, and nobody changes them.
        let binary = unsafe { OffHeapBinary::lent(bytes, value.clone()) };
        let mut heap = ScratchHeap::new();
        let whole = heap.binary_handle(binary);
        let part = heap.part_of_bits(whole, 8, 16);
        assert_eq!((whole.aligned_binary(), part.aligned_binary()), (Some(&b"abc"[..]), Some(&b"bc"[..])));
        assert_eq!(part.aligned_binary().map(<[u8]>::as_ptr), Some(bytes.cast::<u8>().wrapping_add(1)), "no copy");
        let lender = whole.off_heap_binary().and_then(OffHeapBinary::lender).expect("kept");
        assert!(std::ptr::eq(lender, &*value) && Arc::strong_count(&value) == 2);
        let claimed = whole.off_heap_binary().map(|binary| binary.claim(3, 4));
        assert_eq!(claimed, Some(false), "there is no room behind them");
        let held = HeldBytes::of(&part).expect("outside of the heap");
        drop(heap);
        assert_eq!((held.bytes(), Arc::strong_count(&value)), (&b"bc"[..], 2));
        drop(held);
        assert_eq!(Arc::strong_count(&value), 1);
    }

    #[test]
    fn the_end_can_be_claimed_once() {
        let binary = OffHeapBinary::from_bytes(b"abc", 10);
        // SAFETY: the one count is held until the release below.
        let head = unsafe { binary.as_ref() };
        assert!(head.claim(3, 5));
        assert!(!head.claim(3, 5), "those bytes are taken");
        assert!(!head.claim(5, 11), "over the capacity");
        assert_eq!(head.used(), 5);
        head.retain();
        assert_eq!(head.owners(), 2);
        // SAFETY: two counts were taken; the binary is not used after the second.
        unsafe {
            OffHeapBinary::release(binary);
            OffHeapBinary::release(binary);
        }
    }
}
