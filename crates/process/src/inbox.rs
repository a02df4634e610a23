//! The inbox: where signals from any thread arrive. Senders push onto a stack with one compare-and-swap; the
//! receiver takes all of it at once and turns it round, so the order of arrival is kept and no lock is ever held.
//!
//! The sender that finds it empty wakes the receiver afterwards; others need not. Each slice of a process begins with
//! taking what is here, so a process that sleeps has taken what others added behind that message, or is about to be
//! woken for it.

use atoll_heap::{Fragment, Message};
use atoll_platform::sync::{AtomicPtr, Ordering};

use crate::chain::Chain;

/// A many-producer, single-consumer queue of fragments that can be closed for good.
#[derive(Debug)]
pub struct Inbox {
    /// The newest, with [`NOBODY_WAKES`] or not.
    top: AtomicPtr<Fragment>,
}

/// On the pointer to the newest: the receiver was not woken, and nobody is about to wake it, for what is here.
const NOBODY_WAKES: usize = 1;
const _: () = assert!(align_of::<Fragment>() > NOBODY_WAKES);

/// Whether somebody has to wake the receiver for what is added to this.
#[inline(always)]
fn wants_waker(top: *mut Fragment) -> bool {
    top.is_null() || top.addr() & NOBODY_WAKES != 0
}

#[inline(always)]
fn newest(top: *mut Fragment) -> *mut Fragment {
    top.map_addr(|address| address & !NOBODY_WAKES)
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
    /// Adds a message, or gives it back when the inbox is closed. Whether the caller has to wake the receiver.
    #[inline]
    pub fn push(&self, message: Message) -> Result<bool, Message> {
        self.add(message, |_| 0)
    }

    /// As [`Inbox::push`], for what the receiver need not be woken for.
    pub fn push_without_waking(&self, message: Message) -> Result<(), Message> {
        self.add(message, |top| if wants_waker(top) { NOBODY_WAKES } else { 0 }).map(drop)
    }

    /// Adds a message, with this mark for what is there already.
    #[inline(always)]
    fn add(&self, message: Message, mark: impl Fn(*mut Fragment) -> usize) -> Result<bool, Message> {
        let fragment = message.into_raw();
        let mut top = self.top.load(Ordering::Relaxed);
        loop {
            if top == closed() {
                // SAFETY: it was not pushed.
                return Err(unsafe { Message::from_raw(fragment) });
            }
            // SAFETY: the fragment is ours until the exchange succeeds.
            unsafe { fragment.as_ref().set_next(newest(top)) };
            let added = fragment.as_ptr().map_addr(|address| address | mark(top));
            match self.top.compare_exchange_weak(top, added, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return Ok(wants_waker(top)),
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

    /// Takes everything, oldest first.
    #[inline]
    pub fn take(&self) -> Chain {
        if self.is_empty() {
            return Chain::EMPTY;
        }
        // SAFETY: what is exchanged for nothing was pushed, and is ours alone.
        unsafe { turn_round(newest(self.top.swap(std::ptr::null_mut(), Ordering::Acquire))) }
    }

    /// Takes everything and refuses whatever comes later.
    pub fn close(&self) -> Chain {
        let top = self.top.swap(closed(), Ordering::Acquire);
        // SAFETY: as in `take`.
        if top == closed() { Chain::EMPTY } else { unsafe { turn_round(newest(top)) } }
    }

    /// Visits what waits here, newest first. Nobody may take anything meanwhile; what is pushed is not visited.
    pub fn each(&self, mut visit: impl FnMut(&Fragment)) {
        let mut at = newest(self.top.load(Ordering::Acquire));
        while !at.is_null() && at != closed() {
            // SAFETY: fragments in the inbox are whole, and nobody but their taker touches them once they are pushed.
            let fragment = unsafe { &*at };
            visit(fragment);
            at = fragment.next();
        }
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        drop(self.close());
    }
}

/// # Safety
/// The fragments of the chain were messages that are the caller's alone.
unsafe fn turn_round(mut top: *mut Fragment) -> Chain {
    let mut chain = std::ptr::null_mut();
    while !top.is_null() {
        // SAFETY: as the caller's.
        unsafe {
            let fragment = &*top;
            let next = fragment.next();
            fragment.set_next(chain);
            chain = top;
            top = next;
        }
    }
    // SAFETY: as the caller's.
    unsafe { Chain::from_raw(chain) }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use atoll_term::{Immediate, Term};

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
                        let number = Term::small(sender * 100_000 + number);
                        inbox.push(Message::immediate(Immediate::or_none(number))).unwrap();
                    }
                });
            }
            let mut received = 0;
            while received < 3 * MESSAGES {
                for message in inbox.take() {
                    let value = message.term().small_value();
                    let sender = (value / 100_000) as usize;
                    assert_eq!(value % 100_000, next[sender]);
                    next[sender] += 1;
                    received += 1;
                }
            }
        });
        assert_eq!(inbox.close().count(), 0);
        assert!(inbox.push(Message::new(0)).is_err());
    }

    #[test]
    fn the_first_wakes_and_so_does_one_behind_what_wakes_nobody() {
        let inbox = Inbox::default();
        for _ in 0..2 {
            assert!(inbox.push(Message::new(0)).unwrap());
            assert!(!inbox.push(Message::new(0)).unwrap());
            inbox.push_without_waking(Message::new(0)).unwrap();
            assert!(!inbox.push(Message::new(0)).unwrap(), "the first one has woken the receiver");
            assert_eq!(inbox.take().count(), 4);
            inbox.push_without_waking(Message::new(0)).unwrap();
            inbox.push_without_waking(Message::new(0)).unwrap();
            assert!(!inbox.is_empty());
            let mut visited = 0;
            inbox.each(|_| visited += 1);
            assert_eq!(visited, 2);
            assert!(inbox.push(Message::new(0)).unwrap(), "nobody has woken the receiver");
            assert!(!inbox.push(Message::new(0)).unwrap());
            assert_eq!(inbox.take().count(), 4);
        }
        inbox.push_without_waking(Message::new(0)).unwrap();
        assert_eq!(inbox.close().count(), 1);
        assert!(inbox.push_without_waking(Message::new(0)).is_err());
    }

    /// Each message holds a count of this value.
    #[test]
    fn what_is_not_taken_is_freed_once() {
        let counted = std::sync::Arc::new(());
        let message = || {
            let message = Message::new(0);
            message.attach(std::sync::Arc::clone(&counted));
            message
        };
        let inbox = Inbox::default();
        for _ in 0..5 {
            inbox.push(message()).unwrap();
        }
        let mut chain = inbox.take();
        drop(chain.next());
        assert_eq!(std::sync::Arc::strong_count(&counted), 5);
        drop(chain);
        assert_eq!(std::sync::Arc::strong_count(&counted), 1);
        inbox.push(message()).unwrap();
        drop(inbox);
        assert_eq!(std::sync::Arc::strong_count(&counted), 1);
    }
}

#[cfg(all(test, loom))]
mod loom_model {
    use super::*;
    use atoll_term::{Immediate, Term};
    use loom::sync::Arc;

    fn message(number: i64) -> Message {
        Message::immediate(Immediate::or_none(Term::small(number)))
    }

    /// The numbers in a chain, which is freed.
    fn numbers(chain: Chain) -> Vec<i64> {
        chain.map(|message| message.term().small_value()).collect()
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
                        assert!(inbox.push(message(sender * 10 + number)).is_ok());
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
                loom::thread::spawn(move || usize::from(inbox.push(message(sender)).is_err()))
            });
            let kept = numbers(inbox.close()).len();
            let refused: usize = senders.into_iter().map(|sender| sender.join().unwrap()).sum();
            assert_eq!(kept + refused, 2);
            assert_eq!(inbox.close().count() + inbox.take().count(), 0);
        });
    }
}
