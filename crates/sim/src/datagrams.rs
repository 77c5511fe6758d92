//! A flow over UDP: numbered datagrams, and what the receiver makes of them.

mod delay;
mod reception;
mod sending;

use lasthop_packet::{Instant, Ip, Packet, Payload, Transport, Udp};

pub use delay::DelayOutcome;

use reception::Reception;
use sending::SendingTimes;

/// What became of a flow's datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct UdpOutcome {
    /// Datagrams sent.
    pub sent: u64,
    /// Datagrams that arrived, each counted once.
    pub received: u64,
    /// Datagrams that did not arrive and are not on their way: lost on a link, dropped by a queue,
    /// or kept by an agent.
    pub lost: u64,
    /// Datagrams in queues and on links now.
    pub in_transit: u64,
    /// Arrivals of datagrams that had arrived before.
    pub duplicated: u64,
    /// Datagrams that arrived after one that was sent later (RFC 4737, section 3.3); duplicates not
    /// counted.
    pub out_of_order: u64,
    /// Their one-way delays; `None` if none arrived.
    pub delay: Option<DelayOutcome>,
}

/// Both ends of a flow over UDP. Datagram `n`, from 0, carries octets `n * size` to `(n + 1) *
/// size` of the flow's stream: the octets say which one it is, and when it was sent is written down
/// at the sender.
#[derive(Debug)]
pub(crate) struct Datagrams {
    ip: Ip,
    udp: Udp,
    stream: u32,
    /// Octets of payload in each.
    size: u32,
    sent: u64,
    times: SendingTimes,
    reception: Reception,
    /// Copies that agents sent, and copies that are out of the network, arrived ones included.
    added: u64,
    gone: u64,
    /// When the last one was sent.
    pub(crate) last_sent: Instant,
    /// When the last one arrived.
    pub(crate) last_arrived: Instant,
    /// Whether the source's next turn is in the schedule.
    pub(crate) is_due: bool,
}

impl Datagrams {
    pub(crate) fn new(ip: Ip, udp: Udp, stream: u32, size: u32) -> Self {
        Self {
            ip,
            udp,
            stream,
            size: size.max(1),
            sent: 0,
            times: SendingTimes::default(),
            reception: Reception::default(),
            added: 0,
            gone: 0,
            last_sent: Instant::ZERO,
            last_arrived: Instant::ZERO,
            is_due: false,
        }
    }

    /// The next datagram.
    pub(crate) fn send(&mut self, now: Instant) -> Packet {
        let offset = self.sent * u64::from(self.size);
        self.sent += 1;
        self.times.push(now);
        self.last_sent = now;
        let payload = Payload::Stream { stream: self.stream, offset, len: self.size };
        Packet::new(self.ip, Transport::Udp(self.udp), payload)
    }

    /// A datagram arrives; `false` if it is none that was sent.
    pub(crate) fn receive(&mut self, packet: &Packet, now: Instant) -> bool {
        self.gone += 1;
        self.last_arrived = now;
        let Some(number) = self.number(packet) else { return false };
        self.reception.receive(number, now, self.times.at(number));
        self.times.forget_before(self.reception.oldest_of_interest());
        true
    }

    /// Which datagram a packet is, if it is one that was sent.
    pub(crate) fn number(&self, packet: &Packet) -> Option<u64> {
        let Payload::Stream { stream, offset, len } = *packet.payload() else { return None };
        let (number, rest) = (offset / u64::from(self.size), offset % u64::from(self.size));
        (stream == self.stream && len == self.size && rest == 0 && number < self.sent).then_some(number)
    }

    /// Whether this is the one that was sent last.
    pub(crate) fn is_latest(&self, packet: &Packet) -> bool {
        self.number(packet).is_some_and(|number| number + 1 == self.sent)
    }

    /// Whether a packet's addresses and ports are this flow's.
    pub(crate) fn is_of(&self, ip: &Ip, udp: Udp) -> bool {
        (self.ip.source, self.ip.destination, self.udp) == (ip.source, ip.destination, udp)
    }

    /// A copy was dropped, or taken over by an agent.
    pub(crate) const fn note_gone(&mut self) {
        self.gone += 1;
    }

    /// An agent sent a copy.
    pub(crate) const fn note_added(&mut self) {
        self.added += 1;
    }

    /// Copies that have left the network for whatever reason.
    pub(crate) const fn gone(&self) -> u64 {
        self.gone
    }

    /// Copies in the network.
    pub(crate) const fn in_network(&self) -> u64 {
        (self.sent + self.added).saturating_sub(self.gone)
    }

    /// Octets that arrived, each counted once.
    pub(crate) const fn octets(&self) -> u64 {
        self.reception.received * self.size as u64
    }

    pub(crate) fn outcome(&self) -> UdpOutcome {
        let Reception { received, duplicated, out_of_order, .. } = self.reception;
        let missing = self.sent - received;
        // A second copy of what has arrived is in the network, too, and does not bring anything.
        let in_transit = self.in_network().min(missing);
        UdpOutcome {
            sent: self.sent,
            received,
            lost: missing - in_transit,
            in_transit,
            duplicated,
            out_of_order,
            delay: self.reception.delay.outcome(),
        }
    }
}
