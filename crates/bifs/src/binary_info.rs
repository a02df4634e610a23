//! What `process_info` and `ets:info` tell of binaries outside of heaps.

use atoll_heap::Mutator;
use atoll_term::{Build, OffHeapBinary, Term};

/// One binary.
pub struct BinaryInfo {
    address: i64,
    bytes: i64,
    owners: i64,
}

impl BinaryInfo {
    /// Of this one.
    pub fn new(binary: &OffHeapBinary) -> BinaryInfo {
        let address = std::ptr::from_ref(binary) as i64;
        BinaryInfo { address, bytes: binary.used() as i64, owners: binary.owners() as i64 }
    }

    /// `[{Address, Size, References}]`
    pub fn list(heap: &mut Mutator, binaries: &[BinaryInfo]) -> Term {
        let mut terms = Vec::with_capacity(binaries.len());
        for binary in binaries {
            let address = heap.integer(binary.address);
            terms.push(heap.tuple(&[address, Term::small(binary.bytes), Term::small(binary.owners)]));
        }
        heap.list(terms)
    }
}
