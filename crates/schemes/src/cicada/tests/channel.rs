//! The fate of a packet between two nodes.

use std::time::Duration;

use lasthop_packet::{Ecn, Instant, Packet, Probability, Rng};

/// One direction of a hop.
#[derive(Clone, Debug, Default)]
pub struct Channel {
    pub loss: f64,
    pub doubling: f64,
    /// The share of ECN-capable packets that is marked (RFC 3168).
    pub marking: f64,
    /// The minimum delay of a packet; `jitter_ms` is added at random.
    pub delay_ms: u64,
    pub jitter_ms: u64,
    /// All packets are lost between these two times, in milliseconds.
    pub outage: Option<(u64, u64)>,
    pub mtu: Option<Mtu>,
}

/// The MTU of a hop.
#[derive(Clone, Copy, Debug)]
pub struct Mtu {
    pub octets: u32,
    /// Whether the sender of a larger packet is notified.
    pub is_reported: bool,
}

impl Channel {
    /// The MTU that a packet exceeds.
    pub fn refuses(&self, packet: &Packet) -> Option<Mtu> {
        let headers = packet.len() - packet.payload().len();
        self.mtu.filter(|mtu| headers as u32 + packet.segment_payload() > mtu.octets)
    }

    /// The arrival times of the copies of a packet that leaves now.
    pub fn carry(&self, packet: &mut Packet, now: Instant, rng: &mut Rng) -> Vec<Instant> {
        let mut happens = |odds: f64| rng.happens(Probability::new(odds).unwrap_or_default());
        if self.outage.is_some_and(|(from, to)| (from..to).contains(&now.as_millis())) {
            return Vec::new();
        }
        if packet.ip().ecn() == Ecn::Ect0 && happens(self.marking) {
            packet.set_ecn(Ecn::Ce);
        }
        let copies = if happens(self.doubling) { 2 } else { 1 };
        let arriving = (0..copies).filter(|_| !happens(self.loss)).count();
        (0..arriving)
            .map(|_| {
                let jitter = Duration::from_nanos(rng.below(self.jitter_ms * 1_000_000 + 1));
                now + Duration::from_millis(self.delay_ms) + jitter
            })
            .collect()
    }
}
