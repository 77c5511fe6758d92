//! The border between a model and the real hosts at its ends: packets of hosts go in, packets that the model
//! delivers come out, and both are counted. Whoever has the devices of the hosts has the clock as well.

use lasthop_packet::{Instant, wire};
use lasthop_sim::{NodeId, World};

use super::end::Peer;
use super::framing::Received;
use super::measurements::Measurements;
use super::summary::Summary;

/// A model with real hosts at its ends.
pub(super) struct Border {
    world: World,
    /// The model's time at the start.
    start: Instant,
    /// The node of the host at each end, and where its packets go.
    ends: Vec<(NodeId, Peer)>,
    measured: Measurements,
}

impl Border {
    pub(super) fn new(world: World, ends: Vec<(NodeId, Peer)>) -> Self {
        Self {
            start: world.now(),
            world,
            measured: Measurements::new(ends.iter().map(|(node, _)| *node)),
            ends,
        }
    }

    /// The model.
    pub(super) const fn world(&mut self) -> &mut World {
        &mut self.world
    }

    /// What was measured so far.
    pub(super) const fn measured(&mut self) -> &mut Measurements {
        &mut self.measured
    }

    /// The time of the model's next event.
    pub(super) fn next_event(&self) -> Option<Instant> {
        self.world.next_event_at()
    }

    /// Takes a packet of the host at an end, at the model's present time.
    pub(super) fn take(&mut self, end: usize, received: Received) {
        let Received::Packet(octets) = received else {
            self.measured.packets.not_ip += 1;
            return;
        };
        let Ok(packet) = wire::parse(octets) else {
            self.measured.packets.malformed += 1;
            return;
        };
        self.measured.packets.taken += 1;
        let (node, peer) = self.ends[end];
        match peer {
            Peer::Node(peer) => self.world.inject_to(node, peer, packet),
            Peer::Addressed => self.world.inject(node, packet),
            Peer::Associated => self.world.inject_at_station(node, packet),
        }
    }

    /// Hands out what the model has delivered until `now`: `send` has the index of the end and the octets of
    /// the packet, and returns whether the host's device accepted it.
    pub(super) fn hand_out(&mut self, now: impl Fn() -> Instant, mut send: impl FnMut(usize, &[u8]) -> bool) {
        for (index, (node, _)) in self.ends.iter().enumerate() {
            for (at, packet) in self.world.collect(*node) {
                let late = now().since(at);
                let octets = wire::emit(&packet);
                if send(index, &octets) {
                    self.measured.lateness.record(late);
                    let delivered = &mut self.measured.delivered[index];
                    delivered.packets += 1;
                    delivered.octets += octets.len() as u64;
                } else {
                    self.measured.packets.refused += 1;
                }
            }
        }
    }

    /// The summary so far; `notes` list the requests that the kernel refused.
    pub(super) fn summary(&self, notes: Vec<String>) -> Summary {
        Summary::new(&self.world, self.start, &self.measured, notes)
    }
}
