//! The round-trip times of both legs of a call, from RTCP.
//!
//! An end that has received a sender report states which, and how long ago (RFC 3550, section
//! 6.4.1). The time since the agent forwarded that report, less this delay, is the round trip to
//! that end.

use std::time::Duration;

use lasthop_agent::Side;
use lasthop_hop::windowed_min::WindowedMin;
use lasthop_packet::Instant;
use lasthop_packet::rtp::{Compound, Control, ReportBlocks};

/// The minimum round trip counts for this time, up to twice as long: reports come about every 5 s.
const WINDOW: Duration = Duration::from_secs(60);

/// The last round trip counts as current for this time: until the next report, or the one after it.
const CURRENT: Duration = Duration::from_secs(10);

/// The maximum of a plausible round trip.
const MAX_ROUND_TRIP: Duration = Duration::from_secs(10);

/// Both legs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Legs {
    core: Leg,
    radio: Leg,
}

/// One leg.
#[derive(Clone, Copy, Debug, Default)]
struct Leg {
    /// The last two sender reports to its end, the later one last: the middle bits of their NTP
    /// time, and when they passed.
    reports: [Option<(u32, Instant)>; 2],
    round_trips: WindowedMin<Duration>,
    /// The last round trip, and when it was measured.
    last: Option<(Duration, Instant)>,
}

impl Legs {
    /// Processes RTCP from a side.
    pub(super) fn on_control(&mut self, compound: Compound<'_>, from: Side, now: Instant) {
        for control in compound {
            match control {
                Control::Sender { info, blocks, .. } => {
                    self.leg(from.opposite()).reported((info.ntp >> 16) as u32, now);
                    self.leg(from).answered(blocks, now);
                }
                Control::Receiver { blocks, .. } => self.leg(from).answered(blocks, now),
                Control::Other { .. } => {}
            }
        }
    }

    /// The minimum one-way delay over both legs: half of their round trips, or of those that are
    /// known.
    pub(super) fn one_way(&self) -> Duration {
        [self.core, self.radio].iter().filter_map(|leg| leg.round_trips.min()).sum::<Duration>() / 2
    }

    /// The excess of the one-way delay to a side over its minimum, by the last round trip over that
    /// leg.
    pub(super) fn longer_to(&self, side: Side, now: Instant) -> Duration {
        let leg = match side {
            Side::Core => &self.core,
            Side::Radio => &self.radio,
        };
        let last = leg.last.filter(|(_, at)| now.since(*at) <= CURRENT).map(|(round_trip, _)| round_trip);
        last.zip(leg.round_trips.min()).map_or(Duration::ZERO, |(last, min)| last.saturating_sub(min) / 2)
    }

    const fn leg(&mut self, side: Side) -> &mut Leg {
        match side {
            Side::Core => &mut self.core,
            Side::Radio => &mut self.radio,
        }
    }
}

impl Leg {
    const fn reported(&mut self, middle: u32, now: Instant) {
        self.reports = [self.reports[1], Some((middle, now))];
    }

    fn answered(&mut self, blocks: ReportBlocks<'_>, now: Instant) {
        for block in blocks {
            // Zero means that no report was received (RFC 3550, section 6.4.1).
            let is_it = |(middle, _): &&(u32, Instant)| *middle == block.last_report && *middle != 0;
            let report = self.reports.iter().flatten().find(is_it);
            // In units of 1/65536 s.
            let held = Duration::from_micros((u64::from(block.since_last_report) * 1_000_000) >> 16);
            let round_trip = report.and_then(|(_, passed)| now.since(*passed).checked_sub(held));
            if let Some(round_trip) = round_trip.filter(|round_trip| *round_trip <= MAX_ROUND_TRIP) {
                self.round_trips.update(round_trip, WINDOW, now);
                self.last = Some((round_trip, now));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use lasthop_packet::rtp::{ReportBlock, Reports, SenderInfo};

    use super::*;

    fn report(middle: Option<u32>, answers: Option<(u32, u32)>) -> Vec<u8> {
        let sender =
            middle.map(|middle| SenderInfo { ntp: u64::from(middle) << 16, ..SenderInfo::default() });
        let block = |(last_report, since_last_report)| ReportBlock {
            last_report,
            since_last_report,
            ..ReportBlock::default()
        };
        let blocks: Vec<ReportBlock> = answers.into_iter().map(block).collect();
        let mut octets = Vec::new();
        Reports { ssrc: 1, sender, blocks: &blocks, cname: b"a" }.write(&mut octets);
        octets
    }

    fn receive(legs: &mut Legs, octets: &[u8], from: Side, ms: u64) {
        legs.on_control(Compound::parse(octets).expect("RTCP"), from, Instant::from_millis(ms));
    }

    #[test]
    fn a_legs_round_trip_excludes_the_ends_waiting_time() {
        let mut legs = Legs::default();
        receive(&mut legs, &report(Some(7), None), Side::Core, 1000);
        // The end waited for half a second: the round trip to the mobile host is 10 ms.
        receive(&mut legs, &report(Some(9), Some((7, 32_768))), Side::Radio, 1510);
        assert_eq!(legs.one_way(), Duration::from_millis(5));
        receive(&mut legs, &report(None, Some((9, 65_536))), Side::Core, 2550);
        assert_eq!(legs.one_way(), Duration::from_millis(25));
    }

    #[test]
    fn the_excess_of_a_leg_is_that_of_its_last_recent_round_trip() {
        let mut legs = Legs::default();
        for (middle, at, round_trip) in [(7, 1000, 10), (8, 6000, 90)] {
            receive(&mut legs, &report(Some(middle), None), Side::Core, at);
            receive(&mut legs, &report(None, Some((middle, 0))), Side::Radio, at + round_trip);
        }
        let longer = |side, ms| legs.longer_to(side, Instant::from_millis(ms));
        assert_eq!(longer(Side::Radio, 7000), Duration::from_millis(40));
        assert_eq!(longer(Side::Core, 7000), Duration::ZERO);
        assert_eq!(longer(Side::Radio, 17_000), Duration::ZERO);
    }

    #[test]
    fn reports_without_a_match_or_with_a_false_delay_are_ignored() {
        let mut legs = Legs::default();
        receive(&mut legs, &report(Some(7), None), Side::Core, 1000);
        receive(&mut legs, &report(None, Some((8, 0))), Side::Radio, 1100);
        receive(&mut legs, &report(Some(0), None), Side::Core, 1150);
        receive(&mut legs, &report(None, Some((0, 0))), Side::Radio, 1190);
        receive(&mut legs, &report(None, Some((7, 70_000))), Side::Radio, 1200);
        receive(&mut legs, &report(None, Some((7, 0))), Side::Radio, 20_000);
        assert_eq!(legs.one_way(), Duration::ZERO);
    }

    #[test]
    fn the_minimum_round_trip_expires() {
        let mut legs = Legs::default();
        for (at, round_trip) in [(1, 10), (30_000, 100), (61_000, 100), (130_000, 100)] {
            receive(&mut legs, &report(Some(at), None), Side::Core, u64::from(at));
            receive(&mut legs, &report(None, Some((at, 0))), Side::Radio, u64::from(at + round_trip));
            let expected = if at < 130_000 { 5 } else { 50 };
            assert_eq!(legs.one_way(), Duration::from_millis(expected), "at {at}");
        }
    }
}
