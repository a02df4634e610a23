//! What waits to leave through a connection is given to its carrier.

use atoll_ports::channel;
use atoll_term::Term;
use atoll_term::atoms::known_atom;

use super::{Carrier, Node, Phase, resume, tell};

/// Bytes that are given to a port at once.
const BATCH: usize = 128 * 1024;
/// How often a thread does that in a row. A socket whose other end reads as fast as this end writes always has room;
/// the poller, which may be this very thread, has to see to other things between, not least to what comes through the
/// same connection.
const BATCHES: usize = 8;

impl Node {
    /// Gives the carrier what can be given now.
    pub fn flush(&self) {
        self.flush_by(channel::write);
    }

    /// As [`Node::flush`]; `write` is [`channel::write`].
    fn flush_by(&self, mut write: impl FnMut(Term, Vec<u8>, bool) -> Option<usize>) {
        for batch in 1.. {
            let mut inside = self.inside.lock();
            if inside.phase != Phase::Up || inside.is_flushing {
                return;
            }
            match inside.carrier {
                Carrier::None => return,
                Carrier::Process(pid) => {
                    let notify = inside.wants_notice && !inside.output.is_empty();
                    inside.wants_notice &= !notify;
                    drop(inside);
                    if notify {
                        tell(pid, |_| known_atom("dist_data"));
                    }
                    return;
                }
                Carrier::Port(port) => {
                    if inside.port_is_full {
                        return;
                    }
                    let (bytes, packets) = inside.output.take(BATCH);
                    if bytes.is_empty() {
                        return;
                    }
                    inside.packets_out += packets;
                    inside.is_flushing = true;
                    inside.port_is_full = true;
                    let (connection, freed) = (inside.connection, inside.freed());
                    drop(inside);
                    resume(freed);
                    let left = write(port, bytes, batch % BATCHES != 0);
                    let mut inside = self.inside.lock();
                    if inside.connection != connection || inside.phase != Phase::Up {
                        continue;
                    }
                    inside.is_flushing = false;
                    // The port says by `drained` when it has written the rest.
                    if left == Some(0) {
                        inside.port_is_full = false;
                    }
                    if left.is_none() {
                        return;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Item;

    #[test]
    fn a_thread_gives_a_port_so_much_in_a_row_and_the_poller_the_rest() {
        crate::enter(Box::leak(Box::new(crate::Part::new(crate::BUSY_LIMIT))));
        let node = Node::new(known_atom("other"));
        {
            let mut inside = node.inside.lock();
            (inside.phase, inside.carrier) = (Phase::Up, Carrier::Port(Term::small(1)));
            for sender in 0..3 * BATCHES as u64 {
                let bytes = vec![0; BATCH].into();
                inside.output.push(Item { sender, bytes, control: BATCH, atoms: Some(Vec::new()) });
            }
        }
        let mut given = Vec::new();
        // A port whose other end reads whatever is written at once.
        let mut flush = || {
            let before = given.len();
            node.flush_by(|_, bytes, now| {
                given.push(now);
                Some(if now { 0 } else { bytes.len() })
            });
            given.len() - before
        };
        assert_eq!(flush(), BATCHES);
        assert_eq!(flush(), 0, "the port has not written what it was given");
        node.inside.lock().port_is_full = false;
        assert_eq!(flush(), BATCHES);
        let later = given.iter().enumerate().filter(|(_, now)| !**now).map(|(place, _)| place);
        assert_eq!(later.collect::<Vec<_>>(), [BATCHES - 1, 2 * BATCHES - 1]);
        assert_eq!(node.counts().2, BATCHES * BATCH);
    }
}
