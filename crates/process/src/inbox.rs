//! The inbox: where signals from any thread arrive. Senders push onto a stack with one compare-and-swap; the
//! receiver takes all of it at once and turns it round, so the order of arrival is kept and no lock is ever held.

use std::ptr::NonNull;

use atoll_heap::Fragment;
use atoll_platform::sync::{AtomicPtr, Ordering};

/// A many-producer, single-consumer queue of fragments that can be closed for good.
#[derive(Debug)]
pub struct Inbox {
    top: AtomicPtr<Fragment>,
}

/// Address that marks a closed inbox; no fragment lies there.
fn closed() -> *mut Fragment {
    std::ptr::without_provenance_mut(8)
}

impl Default for Inbox {
    fn default() -> Self {
        Inbox { top: AtomicPtr::new(std::ptr::null_mut()) }
    }
}

impl Inbox {
    /// Adds a fragment, or gives it back when the inbox is closed.
    #[inline]
    pub fn push(&self, fragment: NonNull<Fragment>) -> Result<(), NonNull<Fragment>> {
        let mut top = self.top.load(Ordering::Relaxed);
        loop {
            if top == closed() {
                return Err(fragment);
            }
            // SAFETY: the fragment is ours until the exchange succeeds.
            unsafe { (*fragment.as_ptr()).next = top };
            match self.top.compare_exchange_weak(top, fragment.as_ptr(), Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return Ok(()),
                Err(now) => top = now,
            }
        }
    }

    /// Whether nothing waits here.
    #[inline]
    pub fn is_empty(&self) -> bool {
        let top = self.top.load(Ordering::Acquire);
        top.is_null() || top == closed()
    }

    /// Takes everything: a chain through `next`, oldest first; null if there was nothing.
    #[inline]
    pub fn take(&self) -> *mut Fragment {
        if self.is_empty() {
            return std::ptr::null_mut();
        }
        turn_round(self.top.swap(std::ptr::null_mut(), Ordering::Acquire))
    }

    /// Takes everything and refuses whatever comes later.
    pub fn close(&self) -> *mut Fragment {
        let top = self.top.swap(closed(), Ordering::Acquire);
        if top == closed() { std::ptr::null_mut() } else { turn_round(top) }
    }

    /// Visits what waits here, newest first. Nobody may take anything meanwhile; what is pushed is not visited.
    pub fn each(&self, mut visit: impl FnMut(&mut Fragment)) {
        let mut at = self.top.load(Ordering::Acquire);
        while !at.is_null() && at != closed() {
            // SAFETY: fragments in the inbox are whole, and nobody but their taker touches them once they are pushed.
            let fragment = unsafe { &mut *at };
            visit(fragment);
            at = fragment.next;
        }
    }
}

fn turn_round(mut top: *mut Fragment) -> *mut Fragment {
    let mut chain = std::ptr::null_mut();
    while !top.is_null() {
        // SAFETY: the chain was taken out of the inbox and is ours alone.
        let fragment = unsafe { &mut *top };
        top = std::mem::replace(&mut fragment.next, chain);
        chain = fragment;
    }
    chain
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use atoll_term::Term;

    #[test]
    fn each_senders_order_is_kept_and_nothing_is_lost() {
        const MESSAGES: i64 = if cfg!(miri) { 50 } else { 10_000 };
        let inbox = Inbox::default();
        let mut next = [0i64; 3];
        std::thread::scope(|scope| {
            for sender in 0..3 {
                let inbox = &inbox;
                scope.spawn(move || {
                    for number in 0..MESSAGES {
                        let mut fragment = Fragment::new(0);
                        // SAFETY: the fragment is new.
                        unsafe { fragment.as_mut().term = Term::small(sender * 100_000 + number) };
                        inbox.push(fragment).unwrap();
                    }
                });
            }
            let mut received = 0;
            while received < 3 * MESSAGES {
                let mut chain = inbox.take();
                while let Some(fragment) = NonNull::new(chain) {
                    // SAFETY: taken fragments are ours.
                    unsafe {
                        chain = fragment.as_ref().next;
                        let value = fragment.as_ref().term.small_value();
                        let sender = (value / 100_000) as usize;
                        assert_eq!(value % 100_000, next[sender]);
                        next[sender] += 1;
                        Fragment::free(fragment);
                    }
                    received += 1;
                }
            }
        });
        assert!(inbox.close().is_null());
        let refused = inbox.push(Fragment::new(0)).unwrap_err();
        // SAFETY: it was given back.
        unsafe { Fragment::free(refused) };
    }
}

#[cfg(all(test, loom))]
mod loom_model {
    use super::*;
    use atoll_term::Term;
    use loom::sync::Arc;

    fn fragment(number: i64) -> NonNull<Fragment> {
        let mut fragment = Fragment::new(0);
        // SAFETY: the fragment is new.
        unsafe { fragment.as_mut().term = Term::small(number) };
        fragment
    }

    /// The numbers in a chain, which is freed.
    fn numbers(mut chain: *mut Fragment) -> Vec<i64> {
        let mut all = Vec::new();
        while let Some(fragment) = NonNull::new(chain) {
            // SAFETY: taken fragments are ours.
            unsafe {
                chain = fragment.as_ref().next;
                all.push(fragment.as_ref().term.small_value());
                Fragment::free(fragment);
            }
        }
        all
    }

    /// Whether each sender's numbers (tens: sender) come in order.
    fn in_order(numbers: &[i64]) -> bool {
        (0..3).all(|sender| numbers.iter().filter(|number| **number / 10 == sender).is_sorted())
    }

    #[test]
    fn nothing_is_lost_and_order_is_kept() {
        loom::model(|| {
            let inbox = Arc::new(Inbox::default());
            let senders = [1, 2].map(|sender| {
                let inbox = Arc::clone(&inbox);
                loom::thread::spawn(move || {
                    for number in 0..2 {
                        assert!(inbox.push(fragment(sender * 10 + number)).is_ok());
                    }
                })
            });
            let mut taken = numbers(inbox.take());
            taken.extend(numbers(inbox.take()));
            for sender in senders {
                sender.join().unwrap();
            }
            taken.extend(numbers(inbox.take()));
            assert!(in_order(&taken), "{taken:?}");
            taken.sort_unstable();
            assert_eq!(taken, [10, 11, 20, 21]);
        });
    }

    #[test]
    fn what_a_closed_inbox_does_not_return_it_refuses() {
        loom::model(|| {
            let inbox = Arc::new(Inbox::default());
            let senders = [1, 2].map(|sender| {
                let inbox = Arc::clone(&inbox);
                loom::thread::spawn(move || match inbox.push(fragment(sender)) {
                    Ok(()) => 0,
                    Err(refused) => {
                        // SAFETY: it was given back.
                        unsafe { Fragment::free(refused) };
                        1
                    }
                })
            });
            let kept = numbers(inbox.close()).len();
            let refused: usize = senders.into_iter().map(|sender| sender.join().unwrap()).sum();
            assert_eq!(kept + refused, 2);
            assert!(inbox.close().is_null() && inbox.take().is_null());
        });
    }
}
