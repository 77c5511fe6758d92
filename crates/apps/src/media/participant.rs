//! The RTCP reports of one end: RFC 3550, sections 6.2 and 6.4.

use std::time::Duration;

use lasthop_packet::rtp::{Compound, Control, ReportBlock, Reports, SenderInfo};
use lasthop_packet::{Instant, Rng};

use super::stream::Stream;

/// The minimum interval between reports. It applies to all calls: the interval for a call's
/// bandwidth is shorter (5% of 24 kbit/s carry two participants' reports in 1.5 s).
const INTERVAL: Duration = Duration::from_secs(5);
/// `e - 3/2`: compensates for the longer intervals of timer reconsideration (section 6.3.1).
const COMPENSATION: f64 = 1.218_28;

/// One end of a call, as a participant of RTCP.
#[derive(Debug)]
pub struct Participant {
    ssrc: u32,
    name: String,
    rng: Rng,
    /// Packets sent before its last report.
    sent_before: u64,
    /// Packets expected before its last report.
    expected_before: u64,
    /// Packets received before its last report.
    received_before: u64,
    /// The middle 32 bits of the NTP timestamp of the last sender report, and its time of arrival.
    last_sender_report: Option<(u32, Instant)>,
    /// Reports sent.
    pub(super) reports_sent: u64,
    /// Reports received.
    pub(super) reports_received: u64,
}

impl Participant {
    pub(super) fn new(ssrc: u32, name: String, rng: Rng) -> Self {
        Self {
            ssrc,
            name,
            rng,
            sent_before: 0,
            expected_before: 0,
            received_before: 0,
            last_sender_report: None,
            reports_sent: 0,
            reports_received: 0,
        }
    }

    /// Draws the interval to the next report, which is halved for the first one (section 6.2). When
    /// the timer expires, the interval is drawn again, and the report is delayed if that one is
    /// longer (section 6.3.6, "timer reconsideration").
    pub(super) fn interval(&mut self) -> Duration {
        let mut interval = self.draw();
        loop {
            let again = self.draw();
            if again <= interval {
                return interval;
            }
            interval = again;
        }
    }

    fn draw(&mut self) -> Duration {
        let half = if self.reports_sent == 0 { 0.5 } else { 1.0 };
        INTERVAL.mul_f64(half * (0.5 + self.rng.uniform()) / COMPENSATION)
    }

    /// Returns the octets of a report on the stream that it sends and the one that it receives.
    pub(super) fn report(
        &mut self,
        now: Instant,
        sends: Option<&Stream>,
        receives: Option<&Stream>,
    ) -> Vec<u8> {
        let sender = sends.and_then(|stream| {
            let (packets, octets) = stream.sent();
            let has_sent = packets > std::mem::replace(&mut self.sent_before, packets);
            has_sent.then(|| SenderInfo {
                ntp: ntp(now),
                rtp_timestamp: stream.timestamp(now),
                packets: packets as u32,
                octets: octets as u32,
            })
        });
        let block = receives.and_then(|stream| self.block(now, stream));
        let mut octets = Vec::with_capacity(100);
        let blocks = block.as_slice();
        Reports { ssrc: self.ssrc, sender, blocks, cname: self.name.as_bytes() }.write(&mut octets);
        self.reports_sent += 1;
        octets
    }

    /// The report block of a received stream (section 6.4.1, appendix A.3); `None` if no packet has
    /// arrived.
    fn block(&mut self, now: Instant, stream: &Stream) -> Option<ReportBlock> {
        let reception = stream.reception();
        let (expected, received) = (reception.expected(), reception.received + reception.duplicated);
        if expected == 0 {
            return None;
        }
        let newly_expected = expected - std::mem::replace(&mut self.expected_before, expected);
        let newly_received = received - std::mem::replace(&mut self.received_before, received);
        let newly_lost = newly_expected.saturating_sub(newly_received);
        let (last_report, since_last_report) = self.last_sender_report.map_or((0, 0), |(middle, at)| {
            (middle, (now.since(at).as_nanos() * 65_536 / 1_000_000_000) as u32)
        });
        Some(ReportBlock {
            ssrc: stream.ssrc(),
            // The field has 8 bits; a complete loss would be 256.
            fraction_lost: (newly_lost * 256).checked_div(newly_expected).unwrap_or(0).min(255) as u8,
            lost: expected.wrapping_sub(received).cast_signed().clamp(-(1 << 23), (1 << 23) - 1) as i32,
            highest: u32::from(stream.first_sequence()).wrapping_add((expected - 1) as u32),
            jitter: stream.jitter(),
            last_report,
            since_last_report,
        })
    }

    /// Receives a report. Returns `false` if it is not an RTCP packet.
    pub(super) fn receive_report(&mut self, octets: &[u8], now: Instant) -> bool {
        let Some(compound) = Compound::parse(octets) else { return false };
        self.reports_received += 1;
        for control in compound {
            if let Control::Sender { info, .. } = control {
                self.last_sender_report = Some(((info.ntp >> 16) as u32, now));
            }
        }
        true
    }
}

/// The time since the start in units of 2^-32 seconds.
fn ntp(now: Instant) -> u64 {
    ((u128::from(now.as_nanos()) << 32) / 1_000_000_000) as u64
}
