//! A flow over UDP: numbered datagrams, and the receiver's statistics.

mod delay;
mod outcome;
mod reception;
mod sending;

use std::net::IpAddr;

use lasthop_packet::{Instant, Ip, Packet, Payload, Transport, Udp};

pub use delay::DelayOutcome;
pub use outcome::UdpOutcome;

pub use reception::{Received, Reception};
pub use sending::SendingTimes;

/// Both ends of a flow over UDP. Datagram `n`, from 0, carries octets `n * size` to `(n + 1) *
/// size` of the flow's stream, which identify it. The sender stores the times at which datagrams
/// were sent.
#[derive(Debug)]
pub struct Datagrams {
    ip: Ip,
    udp: Udp,
    stream: u32,
    /// The octets of payload in each datagram.
    size: u32,
    sent: u64,
    times: SendingTimes,
    reception: Reception,
    /// Copies that agents sent.
    added: u64,
    /// Copies that have left the network, including those that arrived.
    gone: u64,
    /// The time at which the last datagram was sent.
    pub last_sent: Instant,
    /// The time at which the last datagram arrived.
    pub last_arrived: Instant,
    /// Whether the source's next write is scheduled.
    pub is_due: bool,
}

impl Datagrams {
    /// Creates a flow between these addresses and ports that carries stream `stream`, with `size`
    /// octets in each datagram, at least one.
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

    /// The datagrams go to this address and port from now on.
    pub const fn send_to(&mut self, (address, port): (IpAddr, u16)) {
        self.ip.destination = address;
        self.udp.destination_port = port;
    }

    /// Returns the next datagram.
    pub fn send(&mut self, now: Instant) -> Packet {
        let offset = self.sent * u64::from(self.size);
        self.sent += 1;
        self.times.push(now);
        self.last_sent = now;
        let payload = Payload::Stream { stream: self.stream, offset, len: self.size };
        Packet::new(self.ip, Transport::Udp(self.udp), payload)
    }

    /// Records the arrival of a datagram. Returns `false` if the flow did not send it.
    pub fn receive(&mut self, packet: &Packet, now: Instant) -> bool {
        self.gone += 1;
        self.last_arrived = now;
        let Some(number) = self.number(packet) else { return false };
        self.reception.receive(number, now, self.times.at(number));
        self.times.forget_before(self.reception.oldest_of_interest());
        true
    }

    /// The number of the datagram in a packet; `None` if the flow did not send it.
    pub fn number(&self, packet: &Packet) -> Option<u64> {
        let Payload::Stream { stream, offset, len } = *packet.payload() else { return None };
        let (number, rest) = (offset / u64::from(self.size), offset % u64::from(self.size));
        (stream == self.stream && len == self.size && rest == 0 && number < self.sent).then_some(number)
    }

    /// Whether a packet is the last datagram sent.
    pub fn is_latest(&self, packet: &Packet) -> bool {
        self.number(packet).is_some_and(|number| number + 1 == self.sent)
    }

    /// Whether a packet's addresses and ports are those of this flow.
    pub fn is_of(&self, ip: &Ip, udp: Udp) -> bool {
        (self.ip.source, self.ip.destination, self.udp) == (ip.source, ip.destination, udp)
    }

    /// Records that a copy was dropped, or taken over by an agent.
    pub const fn record_gone(&mut self) {
        self.gone += 1;
    }

    /// Records that an agent sent a copy.
    pub const fn record_added(&mut self) {
        self.added += 1;
    }

    /// The number of copies that have left the network for any reason.
    pub const fn gone(&self) -> u64 {
        self.gone
    }

    /// The number of copies in the network.
    pub const fn in_network(&self) -> u64 {
        (self.sent + self.added).saturating_sub(self.gone)
    }

    /// The number of octets that arrived, each counted once.
    pub const fn octets(&self) -> u64 {
        self.reception.received * self.size as u64
    }

    /// The outcome since `earlier`.
    pub fn outcome(&self, earlier: &Received) -> UdpOutcome {
        self.reception.outcome(self.sent, self.in_network(), earlier)
    }

    /// The statistics so far.
    pub fn so_far(&self) -> Received {
        self.reception.so_far(self.sent, self.in_network())
    }
}
