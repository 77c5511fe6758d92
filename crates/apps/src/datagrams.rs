//! A flow over UDP: numbered datagrams, and what the receiver makes of them.

mod delay;
mod outcome;
mod reception;
mod sending;

use lasthop_packet::{Instant, Ip, Packet, Payload, Transport, Udp};

pub use delay::DelayOutcome;
pub use outcome::UdpOutcome;

pub use reception::{Received, Reception};
pub use sending::SendingTimes;

/// Both ends of a flow over UDP. Datagram `n`, from 0, carries octets `n * size` to `(n + 1) *
/// size` of the flow's stream: the octets say which one it is, and when it was sent is written down
/// at the sender.
#[derive(Debug)]
pub struct Datagrams {
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
    pub last_sent: Instant,
    /// When the last one arrived.
    pub last_arrived: Instant,
    /// Whether the source's next turn is in the schedule.
    pub is_due: bool,
}

impl Datagrams {
    /// A flow between these addresses and ports that carries stream `stream`, `size` octets in each
    /// datagram, at least one.
    pub fn new(ip: Ip, udp: Udp, stream: u32, size: u32) -> Self {
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
    pub fn send(&mut self, now: Instant) -> Packet {
        let offset = self.sent * u64::from(self.size);
        self.sent += 1;
        self.times.push(now);
        self.last_sent = now;
        let payload = Payload::Stream { stream: self.stream, offset, len: self.size };
        Packet::new(self.ip, Transport::Udp(self.udp), payload)
    }

    /// A datagram arrives; `false` if it is none that was sent.
    pub fn receive(&mut self, packet: &Packet, now: Instant) -> bool {
        self.gone += 1;
        self.last_arrived = now;
        let Some(number) = self.number(packet) else { return false };
        self.reception.receive(number, now, self.times.at(number));
        self.times.forget_before(self.reception.oldest_of_interest());
        true
    }

    /// Which datagram a packet is, if it is one that was sent.
    pub fn number(&self, packet: &Packet) -> Option<u64> {
        let Payload::Stream { stream, offset, len } = *packet.payload() else { return None };
        let (number, rest) = (offset / u64::from(self.size), offset % u64::from(self.size));
        (stream == self.stream && len == self.size && rest == 0 && number < self.sent).then_some(number)
    }

    /// Whether this is the one that was sent last.
    pub fn is_latest(&self, packet: &Packet) -> bool {
        self.number(packet).is_some_and(|number| number + 1 == self.sent)
    }

    /// Whether a packet's addresses and ports are this flow's.
    pub fn is_of(&self, ip: &Ip, udp: Udp) -> bool {
        (self.ip.source, self.ip.destination, self.udp) == (ip.source, ip.destination, udp)
    }

    /// A copy was dropped, or taken over by an agent.
    pub const fn note_gone(&mut self) {
        self.gone += 1;
    }

    /// An agent sent a copy.
    pub const fn note_added(&mut self) {
        self.added += 1;
    }

    /// Copies that have left the network for whatever reason.
    pub const fn gone(&self) -> u64 {
        self.gone
    }

    /// Copies in the network.
    pub const fn in_network(&self) -> u64 {
        (self.sent + self.added).saturating_sub(self.gone)
    }

    /// Octets that arrived, each counted once.
    pub const fn octets(&self) -> u64 {
        self.reception.received * self.size as u64
    }

    /// What became of them since `earlier`.
    pub fn outcome(&self, earlier: &Received) -> UdpOutcome {
        self.reception.outcome(self.sent, self.in_network(), earlier)
    }

    /// What became of them so far.
    pub fn so_far(&self) -> Received {
        self.reception.so_far(self.sent, self.in_network())
    }
}
