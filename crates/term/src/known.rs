//! Values of the machine that can be found again by the numbers of their reference: a reference that is read from the
//! external format, as from a file or from compiled code, then stands for its value again while that lives.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::MagicValue;

/// Values by the numbers of their references, and the size at which those that are gone are taken out.
#[derive(Default)]
struct Known {
    values: HashMap<[u32; 3], Weak<MagicValue>>,
    limit: usize,
}

static KNOWN: Mutex<Option<Known>> = Mutex::new(None);

/// The value stands for the reference with these numbers from now on.
pub fn remember(numbers: [u32; 3], value: &Arc<MagicValue>) {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let known = known.get_or_insert_default();
    if known.values.len() >= known.limit {
        known.values.retain(|_, value| value.strong_count() > 0);
        known.limit = (2 * known.values.len()).max(64);
    }
    known.values.insert(numbers, Arc::downgrade(value));
}

/// The value that the reference with these numbers stands for, if it was remembered and is still there.
pub fn find(numbers: [u32; 3]) -> Option<Arc<MagicValue>> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner).as_ref()?.values.get(&numbers)?.upgrade()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_found_while_it_lives() {
        let value = Arc::new(MagicValue(Box::new(7_u8)));
        remember([1, 2, 3], &value);
        for number in 0..200 {
            remember([number, 0, 0], &Arc::new(MagicValue(Box::new(()))));
        }
        assert!(find([1, 2, 3]).is_some_and(|found| Arc::ptr_eq(&found, &value)));
        assert!(find([5, 0, 0]).is_none());
        drop(value);
        assert!(find([1, 2, 3]).is_none());
    }
}
