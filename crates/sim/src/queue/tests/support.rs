//! A queue, and packets to put into it.

use std::net::Ipv4Addr;

use lasthop_packet::{Bitrate, Ecn, Instant, Ip, Packet, Payload, Rng, Transport, Udp};

use crate::accounts::DropCause;
use crate::capacity::Capacity;
use crate::packets::{PacketKey, Packets};
use crate::queue::{Discipline, Managed, Pushed, QueueConfig, QueueLimit};

fn packet(flow: u16, len: u32, ecn: Ecn) -> Packet {
    let mut ip = Ip::new(Ipv4Addr::new(10, 0, 0, 1).into(), Ipv4Addr::new(10, 0, 0, 2).into());
    ip.set_ecn(ecn);
    let udp = Transport::Udp(Udp { source_port: flow, destination_port: 1 });
    Packet::new(ip, udp, Payload::Stream { stream: 1, offset: 0, len: len - 28 })
}

/// A packet of 1000 octets of a flow.
pub(super) fn datagram(packets: &mut Packets, flow: u16) -> PacketKey {
    packets.insert(packet(flow, 1_000, Ecn::NotEct))
}

/// A queue behind which nothing is simulated.
pub(super) struct Site {
    pub(super) queue: Managed,
    pub(super) packets: Packets,
}

/// A packet that left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Left {
    pub(super) flow: u16,
    pub(super) len: u32,
    pub(super) since: Instant,
    pub(super) is_marked: bool,
}

pub(super) fn ms(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

impl Site {
    pub(super) fn new(discipline: Discipline, limit: QueueLimit) -> Self {
        let config = QueueConfig { limit, discipline };
        let capacity = Capacity::Fixed(Bitrate::mbps(8));
        let queue = Managed::new(&config, &capacity, Rng::named(1, "queue")).expect("no plain queue");
        Self { queue, packets: Packets::default() }
    }

    /// A packet of a flow arrives, which must wait.
    pub(super) fn push(&mut self, flow: u16, len: u32, ecn: Ecn, now: Instant) -> Pushed {
        let key = self.packets.insert(packet(flow, len, ecn));
        let pushed = self.queue.push(key, now, true, &mut self.packets);
        if let Pushed::Dropped(_) = pushed {
            self.packets.remove(key);
        }
        pushed
    }

    /// A packet leaves.
    pub(super) fn pop(&mut self, now: Instant) -> Option<Left> {
        let waiting = self.queue.pop(now, &mut self.packets)?;
        let left = self.look(waiting.key);
        self.packets.remove(waiting.key);
        Some(Left { since: waiting.since, ..left })
    }

    /// What was dropped since it was asked last: the flow of each, and why.
    pub(super) fn dropped(&mut self) -> Vec<(u16, DropCause)> {
        let mut dropped = Vec::new();
        while let Some((key, cause)) = self.queue.next_dropped() {
            dropped.push((self.look(key).flow, cause));
            self.packets.remove(key);
        }
        dropped
    }

    fn look(&self, key: PacketKey) -> Left {
        let packet = self.packets.packet(key);
        let Transport::Udp(udp) = packet.transport() else { panic!("ours are datagrams") };
        Left {
            flow: udp.source_port,
            len: packet.len() as u32,
            since: Instant::ZERO,
            is_marked: packet.ip().ecn() == Ecn::Ce,
        }
    }
}
