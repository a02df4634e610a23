//! Ports that carry the connection to another node. What such a port receives goes to its [`Channel`] instead of its
//! owner, in whole packets; what the channel sends goes out beside what the owner writes (the ticks).
//!
//! **Invariant D1:** a channel gets packets, and then the end, in the order in which the port did: they are handed over
//! under the port's lock. The channel acts on them in [`Channel::work`], when the thread has given the lock back, so it
//! may use any port.

use std::sync::Arc;

use atoll_term::Term;

use crate::port::Port;
use crate::table::find;

/// Bytes of the length in front of each packet.
pub const HEAD: usize = 4;

/// The other side of a port that carries a connection.
pub trait Channel: Send + Sync {
    /// Packets that have come, each with its length in front ([`HEAD`]). Called under the port's lock.
    fn received(&self, packets: Vec<u8>);

    /// The port has closed; `reason` is not there any more afterwards. Called under the port's lock.
    fn ended(&self, reason: Term);

    /// All that was given to the port is written. Called under the port's lock.
    fn drained(&self);

    /// Acts on what the others have noted. Called without any port's lock.
    fn work(self: Arc<Self>);
}

/// Makes a port carry a connection from now on. False: there is no such port, or it cannot.
pub fn attach(port: Term, channel: &Arc<dyn Channel>) -> bool {
    let Some(port) = find(port) else { return false };
    port.with(|_, state, driver| {
        let can = state.channel.is_none() && driver.carries();
        if can {
            state.channel = Some(channel.clone());
        }
        can
    })
    .unwrap_or(false)
}

/// Writes packets, each with its length in front: as much as can be written now, or all of it later, when the poller
/// finds that there is room. Returns the bytes that are not written yet; `None`: the port has closed.
pub fn write(port: Term, packets: Vec<u8>, now: bool) -> Option<usize> {
    let port: Arc<Port> = find(port)?;
    port.with(|port, state, driver| {
        state.sent(packets.len());
        if let Err(error) = driver.carry(port, state, packets, now) {
            port.end_with(state, driver, error);
        }
        driver.pending()
    })
}

/// Closes a port with this reason, an immediate term.
pub fn close(port: Term, reason: Term) {
    if let Some(port) = find(port) {
        port.end_now(reason);
    }
}
