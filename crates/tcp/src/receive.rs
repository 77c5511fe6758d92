//! The receiving half: the receive variables, reassembly, and acknowledgments.
//!
//! | module | what is in it |
//! |---|---|
//! | `arrival` | a segment with data |
//! | `window` | the advertised window |
//! | `acknowledging` | when ACKs are sent, and their SACK blocks |
//! | `timestamps` | the peer's timestamps |
//! | `linux`, `compression` | when Linux acknowledges data in order, and above a gap |
//! | `saved` | its state in a snapshot |
//! | `tuning`, `round_trip` | a buffer that grows with the data of a round trip |

mod acknowledging;
mod arrival;
mod compression;
mod linux;
mod round_trip;
mod saved;
mod timestamps;
mod tuning;
mod window;

use std::collections::VecDeque;

use lasthop_packet::{Instant, Payload, Seq, Tcp, TcpFlags};

use crate::config::{AckPolicy, Config};
use crate::reassembly::Reassembly;
use crate::rtt::RttEstimator;
use crate::send_buffer::memory_of;
use compression::Compression;
use linux::LinuxAcks;
use round_trip::RoundTrip;
use tuning::Tuning;

use arrival::Arrival;
pub(crate) use arrival::Echo;
pub(crate) use saved::Saved;
pub(crate) use window::{expressible, window_shift};

/// The receiver of a connection: the receive variables of RFC 9293, section 3.3.1, and unread data.
#[derive(Debug)]
pub(crate) struct ReceiveSide {
    next: Seq,
    /// Receive buffer in octets; a window field can express it exactly.
    buffer: u32,
    /// The largest window to advertise: the buffer, or a scheme's limit.
    largest_window: u32,
    /// The limit set by a scheme.
    window_limit: u32,
    /// The largest segment of this connection, for silly window avoidance.
    mss: u32,
    reassembly: Reassembly,
    delivered: VecDeque<Payload>,
    unread: u32,
    /// Octets received in order.
    octets: u64,
    /// The latest data in order carried PSH, or that is unknown.
    has_push: bool,
    /// The end of the advertised window; it never moves back (RFC 9293, section 3.8.6).
    advertised: Seq,
    policy: AckPolicy,
    unacknowledged_segments: u32,
    /// Segments received in order, or since the last sign of a loss if the policy depends on that.
    segments: u32,
    ack_now: bool,
    /// The deadline of a delayed ACK.
    ack_timer: Option<Instant>,
    /// Nothing after [`Self::last_ack_sent`] is acknowledged.
    withholds_acks: bool,
    /// RCV.UP: the end of urgent data, unless it was read.
    urgent: Option<Seq>,
    fin: Option<Seq>,
    fin_received: bool,
    /// FIN is not acknowledged before the owner accepts it.
    holds_fin: bool,
    /// TS.Recent (RFC 7323, section 4.3).
    ts_recent: Option<u32>,
    /// When TS.Recent was received; `None` if unknown.
    ts_recent_at: Option<Instant>,
    /// Last.ACK.sent (RFC 7323, section 4.3).
    last_ack_sent: Seq,
    /// SACK blocks are sent (RFC 2018).
    reports_gaps: bool,
    /// Duplicates are reported (RFC 2883).
    reports_duplicates: bool,
    /// The duplicate to report with the next ACK.
    duplicate: Option<(Seq, Seq)>,
    /// Duplicates are reported, or any of the following is in use: saves checks for each of them.
    is_adaptive: bool,
    linux: Option<Box<LinuxAcks>>,
    compression: Option<Box<Compression>>,
    tuning: Option<Box<Tuning>>,
    /// Used by compression and tuning.
    round_trip: Option<Box<RoundTrip>>,
}

impl ReceiveSide {
    /// A receiver with a buffer of `buffer` octets, which a window field can express.
    pub(crate) fn new(buffer: u32, config: &Config) -> Self {
        let linux = config.ack_policy == AckPolicy::Linux;
        let is_compressing = config.ack_compression;
        let tuning = config.window_max.map(|most| Box::new(Tuning::new(buffer, most.max(buffer))));
        Self {
            next: Seq(0),
            buffer: tuning.as_ref().map_or(buffer, |tuning| tuning.buffer()),
            largest_window: buffer,
            window_limit: u32::MAX,
            mss: 1,
            reassembly: Reassembly::default(),
            delivered: VecDeque::new(),
            unread: 0,
            octets: 0,
            has_push: true,
            advertised: Seq(0),
            policy: config.ack_policy,
            unacknowledged_segments: 0,
            segments: 0,
            ack_now: false,
            ack_timer: None,
            withholds_acks: false,
            urgent: None,
            fin: None,
            fin_received: false,
            holds_fin: false,
            ts_recent: None,
            ts_recent_at: None,
            last_ack_sent: Seq(0),
            reports_gaps: config.sack,
            reports_duplicates: config.dsack,
            duplicate: None,
            is_adaptive: linux || is_compressing || config.dsack || tuning.is_some(),
            linux: linux.then(|| Box::new(LinuxAcks::new(config.rto.minimum))),
            compression: is_compressing.then(|| Box::new(Compression::new())),
            round_trip: (is_compressing || tuning.is_some()).then(Box::default),
            tuning,
        }
    }

    /// Sets the peer's initial sequence number, and the window advertised to it.
    pub(crate) fn synchronize(&mut self, irs: Seq, window: u32) {
        self.next = irs + 1;
        self.advertised = self.next + window;
        self.last_ack_sent = self.next;
    }

    /// Begins the transfer with the negotiated segment size; `sack` if SACK blocks are sent.
    pub(crate) fn begin(&mut self, mss: u32, sack: bool) {
        self.mss = mss;
        self.reports_gaps = sack;
        self.reports_duplicates &= sack;
        if !sack {
            self.compression = None;
        }
        if let Some(linux) = &mut self.linux {
            linux.begin(mss, self.largest_window);
        }
        if let Some(tuning) = &mut self.tuning {
            tuning.begin(mss);
        }
    }

    pub(crate) const fn next(&self) -> Seq {
        self.next
    }

    /// Treats everything before `ack` as received: another endpoint has acknowledged it in this one's
    /// place.
    pub(crate) fn skip_to(&mut self, ack: Seq) {
        if ack.after(self.next) {
            self.next = ack;
            self.advertised = self.advertised.later(ack);
            self.last_ack_sent = ack;
            if !self.fin_received {
                // A FIN that was held is acknowledged with it.
                self.fin = self.fin.filter(|fin| !ack.after(*fin));
            }
            self.discard_after_gap();
        }
    }

    pub(crate) fn discard_after_gap(&mut self) {
        self.reassembly = Reassembly::default();
    }

    /// Octets of memory for the data held, at most.
    pub(crate) fn memory(&self) -> usize {
        memory_of(self.delivered.len(), self.unread as usize)
            + self.delivered.capacity() * size_of::<Payload>()
            + self.reassembly.memory()
    }

    /// Octets of memory allocated for its own state.
    pub(crate) fn overhead(&self) -> usize {
        self.linux.as_deref().map_or(0, size_of_val)
            + self.compression.as_deref().map_or(0, size_of_val)
            + self.tuning.as_deref().map_or(0, size_of_val)
            + self.round_trip.as_deref().map_or(0, size_of_val)
    }

    /// Octets held: unread, or above a gap.
    pub(crate) fn held(&self) -> usize {
        self.unread as usize + self.reassembly.octets()
    }

    pub(crate) const fn unread(&self) -> u32 {
        self.unread
    }

    pub(crate) const fn octets(&self) -> u64 {
        self.octets
    }

    /// Whether the latest data in order carried PSH, or that is unknown.
    pub(crate) const fn has_push(&self) -> bool {
        self.has_push
    }

    /// Records an end of urgent data. One before the known end is ignored (RFC 9293, section 3.10.7.4).
    #[cold]
    pub(crate) fn record_urgent(&mut self, end: Seq) {
        if self.urgent_ahead().is_none_or(|known| end.after(self.first_unread() + known)) {
            self.urgent = Some(end);
        }
    }

    /// Octets from the first unread one to the end of urgent data.
    #[inline]
    pub(crate) fn urgent_ahead(&mut self) -> Option<u32> {
        let first = self.first_unread();
        self.urgent = self.urgent.filter(|end| end.after(first));
        self.urgent.map(|end| end - first)
    }

    fn first_unread(&self) -> Seq {
        self.next + self.unread.wrapping_neg()
    }

    /// Whether there is data above a gap, and so SACK blocks to report.
    #[inline]
    pub(crate) fn has_gap(&self) -> bool {
        !self.reassembly.is_empty()
    }

    /// Whether `seq` lies in the window, right edge excluded.
    pub(crate) fn is_in_window(&self, seq: Seq) -> bool {
        seq == self.next || seq.within(self.next, self.advertised)
    }

    /// Whether a segment at `seq` lies above the window.
    pub(crate) const fn is_above_window(&self, seq: Seq) -> bool {
        seq.after(self.advertised)
    }

    /// Whether `seq` lies in the window, or less than a window below RCV.NXT. Without the bound, an attacker
    /// who does not see the connection could use half of all numbers.
    pub(crate) const fn is_near_window(&self, seq: Seq) -> bool {
        let most = if self.buffer > 65_535 { self.buffer } else { 65_535 };
        !self.is_above_window(seq)
            && (!seq.before(self.next) || seq.offset_from(self.next).unsigned_abs() <= most)
    }

    /// Whether any octet of a segment, or an empty one itself, lies in the window (RFC 9293,
    /// section 3.4).
    ///
    /// Segments without data are accepted up to one octet after the window's end: ACKs of a peer that has
    /// filled the window, or probed a closed one, have this number.
    #[inline]
    pub(crate) const fn accepts(&self, seq: Seq, payload_len: u32, segment_len: u32) -> bool {
        if payload_len > 0 {
            return seq.before(self.advertised)
                && self.next.offset_from(seq) < segment_len.cast_signed()
                && self.advertised.0 != self.next.0;
        }
        // A FIN has a sequence number, an empty segment none: neither may lie before RCV.NXT.
        !seq.before(self.next) && seq.offset_from(self.advertised) <= 1 - segment_len.cast_signed()
    }

    /// Processes the data and the FIN of an acceptable segment. Returns whether this completes the reception
    /// of everything up to the peer's FIN. `echo` is called only if the echo is used.
    #[inline]
    pub(crate) fn on_data(
        &mut self,
        (tcp, payload): (&Tcp, &Payload),
        echo: impl FnOnce() -> Option<Echo>,
        rtt: &RttEstimator,
        now: Instant,
    ) -> bool {
        if self.is_plain(tcp, payload) {
            self.octets += payload.len() as u64;
            self.has_push = tcp.flags.has(TcpFlags::PSH);
            let due = self.take_plain(payload, now);
            self.acknowledge_by(due);
            return false;
        }
        let arrival = Arrival { tcp, payload, now, echo: echo(), ack_due: self.ack_timer, rtt };
        self.take_more(&arrival)
    }

    /// Processes a segment that is not plain data in order, or must be measured.
    #[inline(never)]
    fn take_more(&mut self, arrival: &Arrival<'_>) -> bool {
        let (before, had_fin) = (self.next, self.fin_received);
        let due = self.take(arrival);
        self.acknowledge_by(due);
        if self.next != before {
            // The flags of data above a gap are not kept.
            let is_known = self.next == arrival.seq() + arrival.len() + u32::from(arrival.is_fin());
            self.has_push = !is_known || arrival.tcp.flags.has(TcpFlags::PSH) || arrival.is_fin();
        }
        let is_fin_new = self.fin_received && !had_fin;
        self.octets += u64::from(self.next - before) - u64::from(is_fin_new);
        is_fin_new
    }

    /// Sets the deadline of a delayed ACK, if it may wait.
    #[inline]
    fn acknowledge_by(&mut self, due: Option<Instant>) {
        if let Some(due) = due {
            self.ack_timer = Some(self.ack_timer.map_or(due, |before| before.min(due)));
        }
    }

    /// Whether this is plain data in order that need not be measured.
    #[inline]
    fn is_plain(&self, tcp: &Tcp, payload: &Payload) -> bool {
        !self.is_adaptive && self.is_next(tcp.seq, payload, tcp.flags.has(TcpFlags::FIN))
    }

    /// Processes plain data in order. Returns the deadline of the ACK, if it may wait.
    #[inline]
    fn take_plain(&mut self, payload: &Payload, now: Instant) -> Option<Instant> {
        self.deliver(payload.clone());
        self.owe_ack(now)
    }

    /// Processes data and FIN. Returns the deadline of the ACK, if it may wait.
    fn take(&mut self, arrival: &Arrival<'_>) -> Option<Instant> {
        if self.is_next(arrival.seq(), arrival.payload, arrival.is_fin()) {
            self.deliver(arrival.payload.clone());
            return self.owe_ack_adaptively(arrival);
        }
        self.take_out_of_order(arrival)
    }

    #[inline]
    fn is_next(&self, seq: Seq, payload: &Payload, is_fin: bool) -> bool {
        seq == self.next
            && !is_fin
            && self.fin.is_none()
            && self.reassembly.is_empty()
            && payload.len() as u32 <= self.window()
    }

    /// Everything but plain data in order is acknowledged at once (RFC 5681, section 4.2), or by a compressed
    /// ACK.
    #[cold]
    fn take_out_of_order(&mut self, arrival: &Arrival<'_>) -> Option<Instant> {
        if self.fin_received {
            self.ack_now = true;
            return None;
        }
        let (before, seq) = (self.next, arrival.seq());
        let fin_at = seq + arrival.len();
        if arrival.is_fin() && !fin_at.after(self.advertised) {
            self.fin.get_or_insert(fin_at);
        }
        // Cut to the window on both sides.
        let start = seq.later(self.next);
        let end = fin_at.earlier(self.advertised);
        self.record_duplicate(seq, fin_at);
        let is_urgent = self.would_hide_report(start, end);
        if end.after(start) {
            self.reassembly
                .insert(start, arrival.payload.copy_of((start - seq) as usize, (end - seq) as usize));
        }
        while self.fin != Some(self.next)
            && let Some(piece) = self.reassembly.take_next(self.next)
        {
            // Data after a FIN is cut off.
            let end = self.fin.map_or(piece.len(), |fin| (fin - self.next) as usize);
            self.deliver(piece.slice(0, end));
        }
        if self.fin == Some(self.next) {
            self.reassembly.clear();
            if !self.holds_fin {
                self.take_fin();
            }
        }
        if self.fin.is_none() {
            self.record_loss();
        }
        if self.is_adaptive {
            return self.owe_ack_for_gap(arrival, self.next != before, is_urgent);
        }
        self.ack_now = true;
        None
    }

    fn take_fin(&mut self) {
        self.fin_received = true;
        self.next += 1;
        self.advertised = self.advertised.later(self.next);
    }

    /// The peer's FIN was received before.
    pub(crate) const fn record_fin(&mut self) {
        self.fin_received = true;
    }

    pub(crate) const fn hold_fin(&mut self) {
        self.holds_fin = true;
    }

    /// Accepts a held FIN, and owes an ACK for it. Returns whether there was one.
    pub(crate) fn accept_fin(&mut self) -> bool {
        let is_held = self.fin == Some(self.next) && !self.fin_received;
        if is_held {
            self.take_fin();
            self.ack_now = true;
        }
        is_held
    }

    /// Whether the peer's FIN arrived, and everything before it.
    pub(crate) fn has_fin(&self) -> bool {
        self.fin_received || self.fin == Some(self.next)
    }

    #[inline]
    fn deliver(&mut self, payload: Payload) {
        let len = payload.len() as u32;
        self.next += len;
        self.segments = self.segments.saturating_add(1);
        self.unread += len;
        self.delivered.push_back(payload);
    }
}

#[cfg(test)]
mod tests;
