//! What has come through the connections to one node, and who acts on it.
//!
//! **Invariant D4:** one thread at a time acts on what has come, in the order in which it came; the end is the last of
//! it. So a process hears of the end behind everything that came through the connection.

use std::collections::VecDeque;

use atoll_process::remote::Connection;
use parking_lot::Mutex;

use crate::input::Input;
use crate::kept::Kept;

/// Something that has come through a connection.
pub(crate) enum Arrival {
    /// Packets with their lengths in front.
    Packets(Vec<u8>),
    /// The end, with its reason.
    End(Kept),
}

/// The node, which acts on what has come.
pub(crate) trait Receives {
    /// Whether this is its connection now. What came through another one is dropped.
    fn is_present(&self, connection: Connection) -> bool;

    /// Packets with their lengths in front.
    fn received(&self, connection: Connection, input: &mut Input, packets: &[u8]);

    /// Nothing follows.
    fn ended(&self, connection: Connection, reason: &Kept);
}

/// What has come and was not acted on.
#[derive(Default)]
pub(crate) struct Arrivals {
    waiting: Mutex<VecDeque<(Connection, Arrival)>>,
    /// The receiving side, of the connection with this number. Held by the thread that acts.
    input: Mutex<(Connection, Input)>,
}

impl Arrivals {
    /// Adds what has come; [`Arrivals::work`] is to follow.
    pub fn push(&self, connection: Connection, arrival: Arrival) {
        self.waiting.lock().push_back((connection, arrival));
    }

    /// Acts on all, unless another thread does.
    pub fn work(&self, node: &impl Receives) {
        loop {
            // The thread that has it looks again when it has given it back.
            let Some(mut input) = self.input.try_lock() else { return };
            self.act(node, &mut input);
            drop(input);
            if self.waiting.lock().is_empty() {
                return;
            }
        }
    }

    /// Acts on all that had come, or waits until another thread has done so.
    pub fn settle(&self, node: &impl Receives) {
        self.act(node, &mut self.input.lock());
    }

    fn act(&self, node: &impl Receives, input: &mut (Connection, Input)) {
        loop {
            let Some((connection, arrival)) = self.waiting.lock().pop_front() else { return };
            if !node.is_present(connection) {
                continue;
            }
            if input.0 != connection {
                *input = (connection, Input::default());
            }
            match arrival {
                Arrival::Packets(packets) => node.received(connection, &mut input.1, &packets),
                Arrival::End(reason) => {
                    node.ended(connection, &reason);
                    *input = (0, Input::default());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use atoll_term::atoms;

    use super::*;

    /// A node whose connection has number 2 until it ends.
    #[derive(Default)]
    struct Records {
        said: Mutex<Vec<String>>,
        is_over: Mutex<bool>,
    }

    impl Receives for Records {
        fn is_present(&self, connection: Connection) -> bool {
            connection == 2 && !*self.is_over.lock()
        }

        fn received(&self, connection: Connection, _: &mut Input, packets: &[u8]) {
            self.said.lock().push(format!("{connection}: {packets:?}"));
        }

        fn ended(&self, connection: Connection, _: &Kept) {
            self.said.lock().push(format!("{connection} ended"));
            *self.is_over.lock() = true;
        }
    }

    #[test]
    fn the_end_is_the_last_of_a_connection() {
        let (arrivals, node) = (Arrivals::default(), Records::default());
        arrivals.push(1, Arrival::Packets(vec![1]));
        arrivals.push(2, Arrival::Packets(vec![2]));
        arrivals.work(&node);
        arrivals.push(2, Arrival::Packets(vec![3]));
        arrivals.push(2, Arrival::End(Kept::of(atoms::NORMAL)));
        arrivals.push(2, Arrival::Packets(vec![4]));
        arrivals.settle(&node);
        assert_eq!(*node.said.lock(), ["2: [2]", "2: [3]", "2 ended"]);
        assert!(arrivals.waiting.lock().is_empty());
    }
}
