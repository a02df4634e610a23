//! What the tests of this crate share.

use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32};

use atoll_etf::{DecodeError, DecodeOptions, Resolve, decode};
use atoll_term::{Export, FunEntry, ScratchHeap, Term, atoms};

/// A machine of functions that are made when they are mentioned, none of them defined.
pub struct Machine;

/// This node's name and creation, as stock Erlang has them without distribution.
pub const NODE: (Term, u32) = (atoms::NONODE_NOHOST, 0);

impl Resolve for Machine {
    fn export(&mut self, module: Term, name: Term, arity: u8) -> &'static Export {
        Box::leak(Box::new(Export {
            address: AtomicPtr::default(),
            module,
            name,
            arity,
            defined: AtomicBool::new(false),
            built_in: AtomicU32::new(Export::NOT_BUILT_IN),
            undefined: Default::default(),
        }))
    }

    fn fun(
        &mut self,
        module: Term,
        old_unique: u32,
        unique: [u8; 16],
        index: u32,
        arity: u8,
        free: u32,
    ) -> &'static FunEntry {
        let address = AtomicPtr::default();
        Box::leak(Box::new(FunEntry {
            address,
            module,
            name: atoms::UNDEFINED,
            arity,
            free,
            index,
            old_unique,
            unique,
            undefined: Default::default(),
        }))
    }

    fn this_node(&self) -> (Term, u32) {
        NODE
    }
}

/// Decodes without restrictions.
pub fn read(bytes: &[u8], heap: &mut ScratchHeap) -> Result<(Term, usize), DecodeError> {
    decode(bytes, DecodeOptions::default(), &mut Machine, heap)
}
