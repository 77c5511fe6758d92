//! One end's reports: RFC 3550, sections 6.2 and 6.4.

use std::time::Duration;

use lasthop_packet::rtp::{Compound, Control, ReportBlock, Reports, SenderInfo};
use lasthop_packet::{Instant, Rng};

use super::stream::Stream;

/// The shortest interval between reports. That of a call's bandwidth is shorter: 5% of 24 kbit/s
/// carry two participants' reports in 1.5 s.
const INTERVAL: Duration = Duration::from_secs(5);
/// `e - 3/2`: by this factor timer reconsideration makes intervals longer (section 6.3.1).
const COMPENSATION: f64 = 1.218_28;

/// One end of a call, as it reports.
#[derive(Debug)]
pub struct Participant {
    ssrc: u32,
    name: String,
    rng: Rng,
    /// Packets sent when it reported last.
    sent_before: u64,
    /// Packets expected and received when it reported last.
    expected_before: u64,
    received_before: u64,
    /// The middle of the timestamp of the last sender report that came, and when.
    heard: Option<(u32, Instant)>,
    /// Reports sent, and those that came.
    pub(super) reports_sent: u64,
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
            heard: None,
            reports_sent: 0,
            reports_received: 0,
        }
    }

    /// How long it is to its next report: half as long to the first (section 6.2). When a timer
    /// fires, the interval is drawn again, and the report waits if that is longer (section 6.3.6,
    /// "timer reconsideration").
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

    /// The octets of its report on what it sends and what it receives.
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

    /// What it received (section 6.4.1, appendix A.3); `None` if nothing.
    fn block(&mut self, now: Instant, stream: &Stream) -> Option<ReportBlock> {
        let reception = stream.reception();
        let (expected, received) = (reception.expected(), reception.received + reception.duplicated);
        if expected == 0 {
            return None;
        }
        let newly_expected = expected - std::mem::replace(&mut self.expected_before, expected);
        let newly_received = received - std::mem::replace(&mut self.received_before, received);
        let newly_lost = newly_expected.saturating_sub(newly_received);
        let (last_report, since_last_report) = self.heard.map_or((0, 0), |(middle, at)| {
            (middle, (now.since(at).as_nanos() * 65_536 / 1_000_000_000) as u32)
        });
        Some(ReportBlock {
            ssrc: stream.ssrc(),
            // All lost would be 256.
            fraction_lost: (newly_lost * 256).checked_div(newly_expected).unwrap_or(0).min(255) as u8,
            lost: expected.wrapping_sub(received).cast_signed().clamp(-(1 << 23), (1 << 23) - 1) as i32,
            highest: u32::from(stream.first_sequence()).wrapping_add((expected - 1) as u32),
            jitter: stream.jitter(),
            last_report,
            since_last_report,
        })
    }

    /// A report comes in; `false` if it is none.
    pub(super) fn receive_report(&mut self, octets: &[u8], now: Instant) -> bool {
        let Some(compound) = Compound::parse(octets) else { return false };
        self.reports_received += 1;
        for control in compound {
            if let Control::Sender { info, .. } = control {
                self.heard = Some(((info.ntp >> 16) as u32, now));
            }
        }
        true
    }
}

/// The time since the start in 2^-32 seconds.
fn ntp(now: Instant) -> u64 {
    ((u128::from(now.as_nanos()) << 32) / 1_000_000_000) as u64
}
