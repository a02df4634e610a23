//! Exports by their names. Every dynamic call looks one up, on all schedulers, so a look-up takes no lock and writes
//! nothing: the table uses open addressing, and its places are filled once and never emptied, because exports live for
//! ever. A thread that adds an export holds a lock. A table that becomes too full is replaced by one of twice its size.
//! A thread that still reads the old table may miss a newer export; it then looks again under the lock. Old tables are
//! kept: together they are smaller than the present one.

use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use atoll_term::{Export, Term};
use parking_lot::{Mutex, MutexGuard};

/// Places of the first table.
const LEAST_PLACES: usize = 1 << 12;

/// A power of two of places, at most three quarters of them filled.
type Places = [AtomicPtr<Export>];

/// All exports.
#[derive(Debug)]
pub(crate) struct ExportTable {
    /// The present table.
    present: AtomicPtr<&'static Places>,
    filled: AtomicUsize,
    adding: Mutex<()>,
}

fn hash(module: Term, name: Term, arity: u8) -> usize {
    const ODD: [u64; 3] = [0x9e37_79b9_7f4a_7c15, 0xc2b2_ae3d_27d4_eb4f, 0x1656_67b1_9e37_79f9];
    // Products carry upwards alone: what counts is their high half.
    let parts = [module.word(), name.word(), u64::from(arity) + 1];
    let mixed =
        parts.into_iter().zip(ODD).fold(0, |mixed: u64, (part, odd)| mixed.wrapping_add(part.wrapping_mul(odd)));
    ((mixed ^ mixed >> 32).wrapping_mul(ODD[0]) >> 32) as usize
}

fn table(places: usize) -> &'static &'static Places {
    let places: Vec<AtomicPtr<Export>> = (0..places).map(|_| AtomicPtr::default()).collect();
    let places: &'static Places = Box::leak(places.into_boxed_slice());
    Box::leak(Box::new(places))
}

impl Default for ExportTable {
    fn default() -> ExportTable {
        let first = std::ptr::from_ref(table(LEAST_PLACES)).cast_mut();
        ExportTable { present: AtomicPtr::new(first), filled: AtomicUsize::new(0), adding: Mutex::new(()) }
    }
}

/// The export of this name, or the place where it belongs.
#[inline]
fn find(places: &'static Places, module: Term, name: Term, arity: u8) -> Result<&'static Export, usize> {
    let mask = places.len() - 1;
    let mut at = hash(module, name, arity) & mask;
    loop {
        // SAFETY: a place holds null, or an export that lives for ever.
        match unsafe { places[at].load(Ordering::Acquire).as_ref() } {
            None => return Err(at),
            Some(export) if (export.module, export.name, export.arity) == (module, name, arity) => return Ok(export),
            Some(_) => at = (at + 1) & mask,
        }
    }
}

impl ExportTable {
    #[inline]
    fn present(&self) -> &'static Places {
        // SAFETY: tables live for ever.
        unsafe { *self.present.load(Ordering::Acquire) }
    }

    /// The export of this name.
    #[inline]
    pub(crate) fn get(&self, module: Term, name: Term, arity: u8) -> Option<&'static Export> {
        find(self.present(), module, name, arity).ok()
    }

    /// The export of this name, which `make` makes if there is none.
    pub(crate) fn get_or_add(
        &self,
        (module, name, arity): (Term, Term, u8),
        make: impl FnOnce() -> &'static Export,
    ) -> &'static Export {
        if let Some(export) = self.get(module, name, arity) {
            return export;
        }
        let adding = self.adding.lock();
        let place = match find(self.present(), module, name, arity) {
            Ok(export) => return export,
            Err(place) => place,
        };
        let export = make();
        self.present()[place].store(std::ptr::from_ref(export).cast_mut(), Ordering::Release);
        let filled = self.filled.load(Ordering::Relaxed) + 1;
        self.filled.store(filled, Ordering::Relaxed);
        if filled > self.present().len() / 4 * 3 {
            self.grow(&adding);
        }
        export
    }

    fn grow(&self, _adding: &MutexGuard<'_, ()>) {
        let larger = table(2 * self.present().len());
        self.each(|export| {
            if let Err(place) = find(larger, export.module, export.name, export.arity) {
                larger[place].store(std::ptr::from_ref(export).cast_mut(), Ordering::Relaxed);
            }
        });
        self.present.store(std::ptr::from_ref(larger).cast_mut(), Ordering::Release);
    }

    /// Visits all exports; those that are added meanwhile perhaps.
    pub(crate) fn each(&self, mut visit: impl FnMut(&'static Export)) {
        for place in self.present() {
            // SAFETY: as in `find`.
            if let Some(export) = unsafe { place.load(Ordering::Acquire).as_ref() } {
                visit(export);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    fn export(module: u32, name: u32, arity: u8) -> &'static Export {
        Box::leak(Box::new(Export {
            address: AtomicPtr::default(),
            module: Term::small(module.into()),
            name: Term::small(name.into()),
            arity,
            defined: AtomicBool::new(false),
            built_in: Default::default(),
            undefined: AtomicPtr::default(),
        }))
    }

    #[test]
    fn looks_are_short() {
        // As a system has them: many functions of a module, names that several modules have, all with neighbouring
        // numbers.
        let exports = ExportTable::default();
        let mut keys = Vec::new();
        for module in 0..300 {
            keys.extend((0..40).map(|name| (module, 300 + (module * 7 + name) % 2000, (name % 5) as u8)));
        }
        for &(module, name, arity) in &keys {
            let made = export(module, name, arity);
            exports.get_or_add((made.module, made.name, arity), || made);
        }
        let places = exports.present();
        let distance = |at: usize, export: &Export| {
            at.wrapping_sub(hash(export.module, export.name, export.arity)) & (places.len() - 1)
        };
        let distances = places.iter().enumerate().filter_map(|(at, place)| {
            // SAFETY: as in `find`.
            unsafe { place.load(Ordering::Relaxed).as_ref() }.map(|export| distance(at, export))
        });
        let all: usize = distances.sum();
        assert!(all < 2 * keys.len(), "{all} steps for {} exports", keys.len());
    }

    #[test]
    fn all_threads_get_the_same_export_of_a_name() {
        let exports = ExportTable::default();
        let all = || -> Vec<usize> {
            let add = |number| {
                let wanted = export(number % 7, number, (number % 3) as u8);
                let key = (wanted.module, wanted.name, wanted.arity);
                let found = exports.get_or_add(key, || wanted);
                assert_eq!((found.module, found.name, found.arity), key);
                assert!(std::ptr::eq(exports.get(key.0, key.1, key.2).expect("it was added"), found));
                std::ptr::from_ref(found) as usize
            };
            (0..20_000).map(add).collect()
        };
        let found: Vec<Vec<usize>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(all)).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        });
        assert!(found.iter().all(|one| *one == found[0]));
        let mut count = 0;
        exports.each(|_| count += 1);
        assert_eq!(count, 20_000);
        assert!(exports.get(Term::small(1), Term::small(20_001), 0).is_none());
    }
}
