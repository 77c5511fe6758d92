//! The translator of the site: it gives access points, and so their clients, addresses outside of the site.

use std::collections::BTreeMap;
use std::io;
use std::net::Ipv4Addr;

use lasthop_linux::conntrack::{Conntrack, Entry};
use tracing::warn;

use super::guard::Guard;
use super::mapping::Moved;
use crate::frame::MacAddress;

/// The translator of the site.
#[derive(Debug)]
pub struct Central {
    conntrack: Conntrack,
    guard: Guard,
    epochs: Epochs,
}

impl Central {
    pub(super) const fn new(conntrack: Conntrack, guard: Guard, max_clients: usize) -> Self {
        Self { conntrack, guard, epochs: Epochs { last: BTreeMap::new(), max_clients } }
    }

    /// Redirects the entries of a client's connections to the access point with this address, which serves the client
    /// at this epoch. What peers outside see stays. Returns the number of entries, or `None` if another access point
    /// has served the client since.
    pub fn redirect(&mut self, client: MacAddress, epoch: u64, moved: &[Moved], to: Ipv4Addr) -> Option<u64> {
        if !self.epochs.note(client, epoch) {
            return None;
        }
        let mut entries = Vec::new();
        for it in moved {
            let [before, after] = it.tuples(to);
            match self.conntrack.with_original(&before) {
                Ok(entry) => {
                    let translated = entry.filter(|entry| entry.outside().is_some());
                    entries.extend(translated.map(|entry| (entry, after)));
                }
                Err(error) => warn!(%client, %error, "a connection is not redirected"),
            }
        }
        // The kernel cannot change the tuples of an entry, so it is removed and created again. In between, this host would
        // answer packets of the connection with a reset.
        let ports: Vec<u16> = entries.iter().map(|(entry, _)| entry.reply.destination.port()).collect();
        self.guard.shield(&ports);
        let mut redirected = 0;
        for (entry, after) in entries {
            match self.replace(&entry, &Entry { original: after, ..entry }) {
                Ok(()) => redirected += 1,
                Err(error) => warn!(%client, %error, "a connection is not redirected"),
            }
        }
        Some(redirected)
    }

    fn replace(&mut self, old: &Entry, new: &Entry) -> io::Result<()> {
        self.conntrack.delete(&new.original)?;
        self.conntrack.delete(&old.original)?;
        let outcome = match self.conntrack.create(new) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                // A packet has come in between, and got a translation of its own.
                self.conntrack.delete(&new.original)?;
                self.conntrack.delete_by_reply(&new.reply)?;
                self.conntrack.create(new)
            }
            outcome => outcome,
        };
        if outcome.is_err() {
            self.conntrack.create(old)?;
        }
        outcome
    }
}

/// The epoch of the last redirection of each client.
#[derive(Debug)]
struct Epochs {
    last: BTreeMap<MacAddress, u64>,
    max_clients: usize,
}

impl Epochs {
    /// Notes an epoch of a client. `false` if it is older than the last one.
    fn note(&mut self, client: MacAddress, epoch: u64) -> bool {
        if self.last.len() >= self.max_clients && !self.last.contains_key(&client) {
            // Each claim raises a client's epoch: this one has moved least.
            let least = self.last.iter().min_by_key(|(_, epoch)| **epoch).map(|(client, _)| *client);
            least.map(|client| self.last.remove(&client));
        }
        let last = self.last.entry(client).or_insert(epoch);
        let is_new = *last <= epoch;
        *last = epoch.max(*last);
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirection_from_an_older_epoch_is_refused_and_the_table_is_bounded() {
        let client = |last| MacAddress([2, 0, 0, 0, 0, last]);
        let mut epochs = Epochs { last: BTreeMap::new(), max_clients: 2 };
        assert!(epochs.note(client(1), 7) && epochs.note(client(1), 7), "a request may be repeated");
        assert!(!epochs.note(client(1), 6) && !epochs.note(client(1), 6));
        assert!(epochs.note(client(2), 1) && epochs.note(client(3), 1));
        assert_eq!(epochs.last.keys().copied().collect::<Vec<_>>(), [client(1), client(3)]);
    }
}
