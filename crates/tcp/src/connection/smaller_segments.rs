//! Smaller segments for the path: what a router's message, or time-outs without one, change.
//!
//! - A router states what its next link takes. Segments have that size from then on, and those that were
//!   larger go again at once, without a reduction of the window: nothing was lost to congestion.
//! - Time-outs in a row may have the same cause: each from the third on makes segments smaller.

use lasthop_packet::{Instant, PacketTooBig};

use super::Connection;
use super::path_mtu::LONGEST_PAUSE;
use crate::recovery::AfterTimeout;

/// Time-outs in a row after which segments may be too large for the path (Linux `tcp_retries1`).
const BLACK_HOLE_TIMEOUTS: u32 = 3;

/// Payloads, options included, that are tried then, one after the other: Linux's `tcp_base_mss`, and half
/// of it, which fits into the 576 octets that every IPv4 host takes.
const SMALLER_V4: [u32; 2] = [1024, 512];

/// What fits into the least MTU of IPv6 (RFC 8200, section 5).
const SMALLER_V6: [u32; 1] = [1280 - 40 - 20];

/// An IPv4 router that takes less may fragment what is sent: who can forge its message is to cost us no
/// more than this (Linux `min_pmtu`).
const LEAST_MTU_V4: u32 = 552;

impl Connection {
    /// A router could not send a segment on that is outstanding.
    pub(super) fn on_packet_too_big(&mut self, too_big: &PacketTooBig, now: Instant) {
        let options = self.fixed_options();
        let (headers, least) = if self.local.0.is_ipv4() { (40, LEAST_MTU_V4) } else { (60, 0) };
        let fragments = too_big.mtu < least && !self.path_mtu.may_fragment();
        let mss = too_big.mtu.max(least).saturating_sub(headers + options).max(1);
        // One message for each of many segments says the same (RFC 1191, section 6.5).
        let is_smaller = mss < self.flight.mss;
        if !self.path_mtu.lose_probe(now) && !is_smaller && !fragments {
            return;
        }
        self.stats.icmp_accepted += 1;
        if fragments {
            self.path_mtu.allow_fragments();
        }
        self.path_mtu.reduce(now + LONGEST_PAUSE);
        let before = self.flight.mss;
        self.flight.mss = mss.min(before);
        self.send_too_large_again(now);
        self.keep_window_in_segments(before);
    }

    /// Segments have so many octets from now on. The window is as many of them as before, as in Linux: there
    /// are congestion controls that count segments.
    pub(super) fn set_segments(&mut self, mss: u32) {
        let before = std::mem::replace(&mut self.flight.mss, mss);
        self.keep_window_in_segments(before);
    }

    /// The same for segments that had `before` octets.
    fn keep_window_in_segments(&mut self, before: u32) {
        let flight = &mut self.flight;
        let scaled = |octets: u32| {
            let octets = u64::from(octets) * u64::from(flight.mss) / u64::from(before);
            octets.min(1 << 30) as u32
        };
        let (cwnd, ssthresh) = (scaled(flight.cwnd), scaled(flight.ssthresh));
        (flight.cwnd, flight.ssthresh) = (cwnd.max(flight.mss), ssthresh.max(2 * flight.mss));
    }

    /// What is outstanding in larger segments goes again in smaller ones.
    fn send_too_large_again(&mut self, now: Instant) {
        if self.flight.una == self.flight.max {
            return;
        }
        self.rtt.stop_timing();
        self.duplicate_acks = 0;
        self.retransmit.clear();
        if self.ask_recovery(now, |recovery, sender| recovery.on_smaller_segments(sender))
            == AfterTimeout::GoBack
        {
            self.flight.nxt = self.flight.una;
        }
        self.timers.retransmit = Some(self.rtt.expiry(now));
    }

    /// A time-out: what is lost again and again may be too large for the path.
    pub(super) fn suspect_black_hole(&mut self, now: Instant) {
        let timeouts = self.path_mtu.note_timeout();
        if !self.config.mtu_probing || timeouts < BLACK_HOLE_TIMEOUTS || self.is_handshaking() {
            return;
        }
        let options = self.fixed_options();
        let smaller: &[u32] = if self.local.0.is_ipv4() { &SMALLER_V4 } else { &SMALLER_V6 };
        let oldest = self.flight.outstanding().min(self.flight.mss);
        if let Some(mss) = smaller.iter().map(|size| size - options).find(|mss| *mss < oldest) {
            self.set_segments(mss);
            self.path_mtu.reduce(now);
        }
    }

    /// Octets of the options that every segment has.
    const fn fixed_options(&self) -> u32 {
        if self.negotiated.timestamps { 12 } else { 0 }
    }
}
