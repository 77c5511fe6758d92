//! When Linux acknowledges data in order.
//!
//! As in Linux 6.18 (`tcp_event_data_recv`, `tcp_measure_rcv_mss`, `__tcp_ack_snd_check`,
//! `tcp_send_delayed_ack`, `tcp_cleanup_rbuf`): at the start, and if the sender seems to be in trouble, each
//! segment is acknowledged (quick ACKs); otherwise more than one full segment, or any data when the
//! delayed-ACK timer expires. The timer depends on the times between segments, from 40 to 200 ms.
//!
//! Differences: a FIN is acknowledged at once, whereas the kernel waits for our FIN to carry the ACK; timers
//! are not rounded to the kernel's ticks.

use std::time::Duration;

use lasthop_packet::{Instant, TcpFlags};

use super::arrival::Arrival;

/// Maximum number of quick ACKs (`TCP_MAX_QUICKACKS`).
const MAX_QUICK: u32 = 16;
/// The minimum of the delayed-ACK timer (`TCP_ATO_MIN`, `TCP_DELACK_MIN`), unless RTO is shorter.
const SHORTEST: Duration = Duration::from_millis(40);
/// Its maximum (`TCP_DELACK_MAX`).
const LONGEST: Duration = Duration::from_millis(200);
/// The minimum difference to the smallest RTO: a tick of the kernel.
const BELOW_RTO: Duration = Duration::from_millis(1);
/// The largest and the smallest estimate of the peer's segment size before the first segment
/// (`TCP_MSS_DEFAULT`, `TCP_MIN_MSS`).
const DEFAULT_SEGMENT: u32 = 536;
const SMALLEST_SEGMENT: u32 = 88;
/// The timestamps option with its padding.
const TIMESTAMPS_LEN: u32 = 12;

/// The state for acknowledgments as in Linux.
#[derive(Debug)]
pub(super) struct LinuxAcks {
    /// The largest payload of a segment of this connection.
    mss: u32,
    /// The estimated size of the peer's full segments.
    full_segment: u32,
    /// The length of the latest segment, if it was shorter but not very short.
    shorter_segment: u32,
    /// Remaining quick ACKs.
    quick: u32,
    /// We answer the data received: our own data carries the ACKs ("pingpong").
    is_interactive: bool,
    /// The delayed-ACK timer ("ATO"); None before the first data.
    timeout: Option<Duration>,
    longest: Duration,
    /// When data in order last arrived.
    latest: Instant,
    /// Something arrived since the last ACK.
    is_owed: bool,
    /// Segments since then that end a message of the peer, up to two.
    pushed: u32,
}

impl LinuxAcks {
    pub(super) fn new(smallest_rto: Duration) -> Self {
        Self {
            mss: 1,
            full_segment: SMALLEST_SEGMENT,
            shorter_segment: 0,
            quick: 0,
            is_interactive: false,
            timeout: None,
            longest: smallest_rto.saturating_sub(BELOW_RTO).clamp(BELOW_RTO, LONGEST),
            latest: Instant::ZERO,
            is_owed: false,
            pushed: 0,
        }
    }

    /// Begins the transfer with the negotiated segment size and the advertised window.
    pub(super) fn begin(&mut self, mss: u32, window: u32) {
        self.mss = mss;
        self.full_segment = mss.min(window / 2).clamp(SMALLEST_SEGMENT, DEFAULT_SEGMENT);
    }

    /// Data in order arrived while `window` octets were advertised.
    pub(super) fn on_data(&mut self, arrival: &Arrival<'_>, window: u32) {
        self.on_segment(arrival);
        let since = arrival.now.since(self.latest);
        let timeout = match self.timeout {
            None => {
                self.raise_quick(window);
                SHORTEST
            }
            Some(timeout) if since <= SHORTEST / 2 => timeout / 2 + SHORTEST / 2,
            Some(timeout) if since < timeout => (timeout / 2 + since).min(arrival.rtt.rto()),
            Some(timeout) => {
                // The sender was idle and begins with a small window again.
                if since > arrival.rtt.rto() {
                    self.raise_quick(window);
                }
                timeout
            }
        };
        self.timeout = Some(timeout);
        self.latest = arrival.now;
    }

    /// Data arrived, in order or not: estimates the size of full segments, and whether the peer has more to
    /// send.
    pub(super) fn on_segment(&mut self, arrival: &Arrival<'_>) {
        self.is_owed = true;
        let (flags, options) = (arrival.tcp.flags, &arrival.tcp.options);
        let len = arrival.len();
        let is_pushed = flags.has(TcpFlags::PSH);
        let shorter = std::mem::take(&mut self.shorter_segment);
        if len >= self.full_segment {
            self.full_segment = len.min(self.mss).max(1);
            self.pushed += u32::from(is_pushed && self.pushed == 0);
            return;
        }
        // Options reduce the payload of a full segment.
        let with_options = len + options.len() as u32;
        let seems_full = with_options >= DEFAULT_SEGMENT
            || (with_options >= SMALLEST_SEGMENT && !is_pushed && !flags.has(TcpFlags::FIN));
        if seems_full {
            let timestamps = if options.timestamps.is_some() { TIMESTAMPS_LEN } else { 0 };
            self.shorter_segment = with_options.saturating_sub(timestamps);
            if self.shorter_segment == shorter {
                self.full_segment = shorter;
                return;
            }
        }
        self.pushed = 2.min(self.pushed + 1);
    }

    /// The peer sent duplicate data, or data above the window: our ACKs may be lost.
    pub(super) fn acknowledge_quickly(&mut self, window: u32) {
        self.is_owed = true;
        self.raise_quick(window);
        self.is_interactive = false;
        self.timeout = Some(SHORTEST);
    }

    /// The window opened, which must be advertised: makes the number of quick ACKs odd, as the kernel does.
    pub(super) const fn on_window_opened(&mut self) {
        self.quick |= 1;
    }

    /// Less than half of the buffer is free: ends quick ACKs, which would only fill it sooner.
    pub(super) const fn on_buffer_half_full(&mut self) {
        self.quick = 0;
    }

    fn raise_quick(&mut self, window: u32) {
        let segments = match window / (2 * self.full_segment) {
            0 => 2,
            segments => segments.min(MAX_QUICK),
        };
        self.quick = self.quick.max(segments);
    }

    /// Whether an ACK for `unacknowledged` octets is sent at once; `holds_window` if its window is not smaller
    /// than the last one.
    pub(super) const fn is_due(&self, unacknowledged: u32, holds_window: bool) -> bool {
        (unacknowledged > self.full_segment && holds_window) || (self.quick > 0 && !self.is_interactive)
    }

    /// The deadline of an ACK that is not due now; None if it is sent at once after all.
    pub(super) fn due(&self, arrival: &Arrival<'_>) -> Option<Instant> {
        let mut wait = self.timeout.unwrap_or(SHORTEST);
        if wait > SHORTEST {
            let by_round_trip = arrival.rtt.srtt().map_or(Duration::MAX, |srtt| srtt.max(SHORTEST));
            wait = wait.min(by_round_trip);
        }
        let wait = wait.min(self.longest);
        match arrival.ack_due {
            Some(due) if due <= arrival.now + wait / 4 => None,
            Some(due) => Some(due.min(arrival.now + wait)),
            None => Some(arrival.now + wait),
        }
    }

    /// Whether an ACK is sent when the application has read data. `is_empty` if nothing is left to read.
    pub(super) const fn is_due_on_read(&self, unacknowledged: u32, is_empty: bool) -> bool {
        let is_end = self.pushed > 1 || (self.pushed == 1 && !self.is_interactive);
        self.is_owed && (unacknowledged > self.full_segment || (is_end && is_empty))
    }

    /// The timer expired: `rto` is our retransmission time-out.
    pub(super) fn on_timer(&mut self, rto: Duration) {
        let Some(timeout) = self.timeout else { return };
        let longer = (timeout * 2).min(rto);
        self.timeout = Some(if self.is_interactive { SHORTEST } else { longer });
        self.is_interactive = false;
    }

    /// Our own data is sent: if it answers data that has just arrived, the connection is interactive.
    pub(super) fn on_data_sent(&mut self, now: Instant) {
        let answers = self.timeout.is_some_and(|timeout| now.since(self.latest) < timeout);
        self.is_interactive = self.is_interactive || answers;
    }

    pub(super) const fn on_ack_sent(&mut self) {
        if self.quick > 0 && self.is_owed {
            self.quick -= 1;
            if self.quick == 0 {
                self.timeout = Some(SHORTEST);
            }
        }
        self.is_owed = false;
        self.pushed = 0;
    }
}
