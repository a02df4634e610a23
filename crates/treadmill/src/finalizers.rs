//! The objects whose runtime wants to hear of their death.

/// Addresses of finalizable objects.
#[derive(Debug, Default)]
pub(crate) struct Finalizers {
    objects: Vec<usize>,
    cursor: usize,
    finalized: u64,
}

impl Finalizers {
    pub(crate) fn add(&mut self, object: usize) {
        self.objects.push(object);
    }

    pub(crate) fn finalized(&self) -> u64 {
        self.finalized
    }

    /// Starts over from the first object.
    pub(crate) fn rewind(&mut self) {
        self.cursor = 0;
    }

    /// Looks at up to `count` objects: `survivor` says where a live one is now, `None` for a dead one, after it has
    /// been told. Returns whether all have been looked at since [`Finalizers::rewind`].
    pub(crate) fn step(&mut self, count: usize, mut survivor: impl FnMut(usize) -> Option<usize>) -> bool {
        for _ in 0..count {
            let Some(object) = self.objects.get_mut(self.cursor) else {
                return true;
            };
            match survivor(*object) {
                Some(now) => {
                    *object = now;
                    self.cursor += 1;
                }
                None => {
                    self.objects.swap_remove(self.cursor);
                    self.finalized += 1;
                }
            }
        }
        self.cursor >= self.objects.len()
    }

    /// Empties the list: all die with their heap.
    pub(crate) fn take_all(&mut self) -> Vec<usize> {
        self.finalized += self.objects.len() as u64;
        std::mem::take(&mut self.objects)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_dead_are_told_once_and_survivors_may_move() {
        let mut finalizers = Finalizers::default();
        (1..=10).for_each(|object| finalizers.add(object));
        let mut told = Vec::new();
        let mut judge = |object: usize| {
            if object.is_multiple_of(2) {
                told.push(object);
                return None;
            }
            Some(object + 100)
        };
        finalizers.rewind();
        while !finalizers.step(3, &mut judge) {}
        told.sort_unstable();
        assert_eq!((told.as_slice(), finalizers.finalized()), (&[2, 4, 6, 8, 10][..], 5));
        assert!(finalizers.take_all().iter().all(|object| *object > 100));
    }
}
