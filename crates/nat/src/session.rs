//! Sessions: what both ends of one have sent, and how long it lasts when idle.

use std::time::Duration;

use bitflags::bitflags;
use lasthop_packet::{Instant, TcpFlags};

use crate::endpoint::Protocol;

/// How long sessions last when idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// UDP, while one end only has sent; at least 2 minutes (RFC 4787, REQ-5).
    pub udp: Duration,
    /// UDP, when both have; 5 minutes or more are recommended.
    pub udp_both: Duration,
    /// TCP, established; at least 2 hours 4 minutes (RFC 5382, REQ-5).
    pub tcp_established: Duration,
    /// TCP, opening, closing or reset; at least 4 minutes.
    pub tcp_transitory: Duration,
    /// ICMP queries; at least 60 seconds (RFC 5508, REQ-2).
    pub icmp: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
        Self {
            udp: minutes(2),
            udp_both: minutes(5),
            tcp_established: minutes(124),
            tcp_transitory: minutes(4),
            icmp: minutes(1),
        }
    }
}

/// Where a packet comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum From {
    Inside,
    Outside,
}

bitflags! {
    /// What the ends of a session have sent. "Opened" is a SYN of TCP, and any packet of another protocol.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) struct Seen: u8 {
        /// The inside end has opened it.
        const OPENED_INSIDE = 1;
        /// The outside end has.
        const OPENED_OUTSIDE = 1 << 1;
        /// The inside end has sent a FIN.
        const FIN_INSIDE = 1 << 2;
        /// The outside end has.
        const FIN_OUTSIDE = 1 << 3;
        /// One has sent a reset, and since then nothing else was sent.
        const RESET = 1 << 4;
    }
}

const OPENED: Seen = Seen::OPENED_INSIDE.union(Seen::OPENED_OUTSIDE);
const CLOSED: Seen = Seen::FIN_INSIDE.union(Seen::FIN_OUTSIDE);

/// A session of an inside endpoint with one remote end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Session {
    seen: Seen,
    expires: Instant,
}

impl Session {
    /// One that the next packet opens.
    pub(crate) const fn new(now: Instant) -> Self {
        Self { seen: Seen::empty(), expires: now }
    }

    /// One of a connection that began elsewhere.
    pub(crate) const fn picked_up(now: Instant) -> Self {
        Self { seen: OPENED, expires: now }
    }

    /// One that was in this state elsewhere and expires after this time, at most that of its state.
    pub(crate) fn restored(
        (protocol, seen): (Protocol, Seen),
        left: Duration,
        timeouts: &Timeouts,
        now: Instant,
    ) -> Self {
        Self { seen, expires: now + left.min(timeout(protocol, seen, timeouts)) }
    }

    pub(crate) const fn seen(self) -> Seen {
        self.seen
    }

    pub(crate) const fn expires(self) -> Instant {
        self.expires
    }

    /// A packet of the session passes.
    pub(crate) fn on_packet(
        &mut self,
        from: From,
        (protocol, flags): (Protocol, TcpFlags),
        refreshes: bool,
        (timeouts, now): (&Timeouts, Instant),
    ) {
        let (opened, fin) = match from {
            From::Inside => (Seen::OPENED_INSIDE, Seen::FIN_INSIDE),
            From::Outside => (Seen::OPENED_OUTSIDE, Seen::FIN_OUTSIDE),
        };
        if protocol != Protocol::Tcp {
            self.seen |= opened;
        } else if flags.has(TcpFlags::RST) {
            self.seen |= Seen::RESET;
        } else {
            let is_over = self.seen.contains(Seen::RESET) || self.seen.contains(CLOSED);
            if is_opening(flags) && is_over {
                // The ports are used again.
                self.seen = Seen::empty();
            }
            self.seen -= Seen::RESET;
            if flags.has(TcpFlags::SYN) {
                self.seen |= opened;
            }
            if flags.has(TcpFlags::FIN) {
                self.seen |= fin;
            }
        }
        let expires = now + timeout(protocol, self.seen, timeouts);
        self.expires = if refreshes { expires } else { self.expires.min(expires) };
    }
}

/// Whether a segment opens a connection.
pub(crate) const fn is_opening(flags: TcpFlags) -> bool {
    flags.has(TcpFlags::SYN) && !flags.has(TcpFlags::ACK) && !flags.has(TcpFlags::RST)
}

/// How long a session in this state lasts when idle.
fn timeout(protocol: Protocol, seen: Seen, timeouts: &Timeouts) -> Duration {
    match protocol {
        Protocol::Icmp => timeouts.icmp,
        Protocol::Udp if seen.contains(OPENED) => timeouts.udp_both,
        Protocol::Udp => timeouts.udp,
        //= RFC 7857, section 2.3: after a reset, state stays for 4 minutes: the reset may be forged.
        Protocol::Tcp if seen.contains(Seen::RESET) || seen.contains(CLOSED) => timeouts.tcp_transitory,
        Protocol::Tcp if seen.contains(OPENED) => timeouts.tcp_established,
        Protocol::Tcp => timeouts.tcp_transitory,
    }
}
