//! Values of the machine that can be found again by the numbers of their reference: a reference that is read from the
//! external format, as from a file or from compiled code, then stands for its value again while that lives.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::MagicValue;

/// The values of one machine by the numbers of their references, and the size at which those that are gone are taken
/// out.
#[derive(Default)]
struct Values {
    values: HashMap<[u32; 3], Weak<MagicValue>>,
    limit: usize,
}

/// The values that one machine remembers.
#[derive(Default)]
pub struct Known(Mutex<Values>);

impl Known {
    /// The value stands for the reference with these numbers from now on.
    pub fn remember(&self, numbers: [u32; 3], value: &Arc<MagicValue>) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.values.len() >= known.limit {
            known.values.retain(|_, value| value.strong_count() > 0);
            known.limit = (2 * known.values.len()).max(64);
        }
        known.values.insert(numbers, Arc::downgrade(value));
    }

    /// The value that the reference with these numbers stands for, if it was remembered and is still there.
    pub fn find(&self, numbers: [u32; 3]) -> Option<Arc<MagicValue>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).values.get(&numbers)?.upgrade()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_found_while_it_lives() {
        let known = Known::default();
        let value = Arc::new(MagicValue(Box::new(7_u8)));
        known.remember([1, 2, 3], &value);
        for number in 0..200 {
            known.remember([number, 0, 0], &Arc::new(MagicValue(Box::new(()))));
        }
        assert!(known.find([1, 2, 3]).is_some_and(|found| Arc::ptr_eq(&found, &value)));
        assert!(known.find([5, 0, 0]).is_none());
        drop(value);
        assert!(known.find([1, 2, 3]).is_none());
    }
}
