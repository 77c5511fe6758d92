//! Where clients go, and how long it takes.

use std::collections::BTreeMap;
use std::time::Duration;

use lasthop_packet::Instant;

use crate::id::NodeId;

/// A client that has gone to an access point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Roam {
    /// The client.
    pub client: NodeId,
    /// The access point that it came from, and when it left that; `None` if it had none.
    pub from: Option<(NodeId, Instant)>,
    /// The access point that it has gone to.
    pub to: NodeId,
    /// When that accepted it.
    pub accepted: Instant,
    /// When the client knew.
    pub joined: Option<Instant>,
    /// When the agent there had the state of the client's connections; `None` if it does not get it.
    pub served: Option<Instant>,
    /// Connections whose state it got.
    pub connections: usize,
    /// Octets of that state, with the packets in it.
    pub octets: u64,
}

impl Roam {
    /// Whether the client came from another access point.
    pub fn is_hand_off(&self) -> bool {
        self.from.is_some_and(|(from, _)| from != self.to)
    }

    /// How long the client had no access point; `None` if it had none before, or does not know of this one yet.
    pub fn radio_gap(&self) -> Option<Duration> {
        let (_, left) = self.from?;
        Some(self.joined?.since(left))
    }

    /// The time from the moment at which the client left its former access point until this one served it: with the state
    /// of its connections if agents hand over. `None` if that has not come, or the client had no access point before.
    pub fn interruption(&self, agents_hand_over: bool) -> Option<Duration> {
        let ((_, left), joined) = (self.from?, self.joined?);
        let served = if agents_hand_over { self.served? } else { joined };
        Some(served.max(joined).since(left))
    }
}

/// Where all clients have gone so far.
#[derive(Default)]
pub(crate) struct Roams {
    all: Vec<Roam>,
    /// By client, the last of them.
    last: BTreeMap<NodeId, usize>,
    /// By client, the access point that it left last.
    left: BTreeMap<NodeId, (NodeId, Instant)>,
    /// By client, the access point that it joined last: after a handshake it knows that before its access point.
    joined: BTreeMap<NodeId, (NodeId, Instant)>,
}

impl Roams {
    /// All so far, in order.
    pub(crate) fn all(&self) -> &[Roam] {
        &self.all
    }

    pub(crate) fn on_left(&mut self, client: NodeId, access_point: NodeId, now: Instant) {
        self.left.insert(client, (access_point, now));
        self.joined.remove(&client);
    }

    pub(crate) fn on_accepted(&mut self, client: NodeId, to: NodeId, now: Instant) {
        let from = self.left.get(&client).copied();
        self.last.insert(client, self.all.len());
        self.all.push(Roam {
            client,
            from,
            to,
            accepted: now,
            joined: self.joined.get(&client).filter(|(at, _)| *at == to).map(|(_, joined)| *joined),
            served: None,
            connections: 0,
            octets: 0,
        });
    }

    pub(crate) fn on_joined(&mut self, client: NodeId, to: NodeId, now: Instant) {
        self.joined.insert(client, (to, now));
        if let Some(roam) = self.last(client, to) {
            roam.joined.get_or_insert(now);
        }
    }

    pub(crate) fn on_served(
        &mut self,
        client: NodeId,
        to: NodeId,
        now: Instant,
        (connections, octets): (usize, u64),
    ) {
        if let Some(roam) = self.last(client, to)
            && roam.served.is_none()
        {
            roam.served = Some(now);
            (roam.connections, roam.octets) = (connections, octets);
        }
    }

    fn last(&mut self, client: NodeId, to: NodeId) -> Option<&mut Roam> {
        let last = self.last.get(&client)?;
        self.all.get_mut(*last).filter(|roam| roam.to == to)
    }
}
