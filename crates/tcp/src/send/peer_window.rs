//! The peer's window: the segment that reported it last, and the probes of a closed one (RFC 9293, section
//! 3.8.6.1).

use lasthop_packet::{Instant, Seq, Tcp};

/// The state of the peer's window apart from its size ([`crate::Flight::peer_window`]).
#[derive(Clone, Copy, Debug)]
pub(super) struct PeerWindow {
    /// Shift of the received window fields (RFC 7323, section 2).
    shift: u8,
    /// SND.WL1: the sequence number of the segment that last reported the window.
    reported_at: Seq,
    /// MAX.SND.WND: the largest window advertised (RFC 5961, section 5.2).
    largest: u32,
    probing: Probing,
}

/// The state of the persist timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Probing {
    /// It does not run.
    Off,
    /// It expires at this time.
    Until(Instant),
    /// It has expired, and the probe must be sent.
    Due,
}

impl PeerWindow {
    pub(super) const fn new() -> Self {
        Self { shift: 0, reported_at: Seq(0), largest: 0, probing: Probing::Off }
    }

    /// Restores a saved window. The largest window advertised is unknown: assumes the largest one that can
    /// be advertised.
    pub(super) const fn restored(shift: u8, reported_at: Seq) -> Self {
        Self { shift, reported_at, largest: (u16::MAX as u32) << shift, probing: Probing::Off }
    }

    pub(super) const fn set_shift(&mut self, shift: u8) {
        self.shift = shift;
    }

    pub(super) const fn reported_at(&self) -> Seq {
        self.reported_at
    }

    /// The window of a segment other than a SYN, in octets.
    #[inline]
    pub(super) const fn of(&self, tcp: &Tcp) -> u32 {
        (tcp.window as u32) << self.shift
    }

    /// The segment at `seq` reported a window of this number of octets.
    #[inline]
    pub(super) fn report(&mut self, window: u32, seq: Seq) {
        self.largest = self.largest.max(window);
        self.reported_at = seq;
    }

    /// Whether a segment at `seq` with the last ACK's number reports a newer window than `known`.
    ///
    /// Of two ACKs with the same number, that with the smaller window is the older one, as in 4.3BSD, because
    /// windows do not shrink. But a receiver that is out of memory drops data, and closes its window (Linux
    /// `tcp_may_update_window`).
    pub(super) fn is_news(&self, window: u32, seq: Seq, known: u32) -> bool {
        seq.after(self.reported_at) || (seq == self.reported_at && (window > known || window == 0))
    }

    /// Whether an acknowledgment this number of octets below SND.UNA can be the peer's.
    ///
    //= RFC 5961, section 5.2: not if it is further behind SND.UNA than the largest window that the peer has offered.
    pub(super) const fn may_be_below_by(&self, octets: u32) -> bool {
        octets <= self.largest
    }

    pub(super) fn is_probing(&self) -> bool {
        self.probing != Probing::Off
    }

    /// The time of the next probe, if the persist timer runs.
    #[inline]
    pub(super) const fn next_probe(&self) -> Option<Instant> {
        if let Probing::Until(at) = self.probing { Some(at) } else { None }
    }

    pub(super) const fn on_timer(&mut self) {
        self.probing = Probing::Due;
    }

    pub(super) const fn stop_probing(&mut self) {
        self.probing = Probing::Off;
    }

    /// The data to send does not fit into the window. Starts the persist timer with expiry at `next`, unless
    /// it runs. Returns whether a probe is sent now.
    pub(super) fn probe(&mut self, next: Instant) -> bool {
        if let Probing::Until(_) = self.probing {
            return false;
        }
        let is_due = self.probing == Probing::Due;
        self.probing = Probing::Until(next);
        is_due
    }
}
