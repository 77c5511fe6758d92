//! How much the path takes at most: what was in the network when too much of it was lost, and more
//! if that goes well (draft-ietf-ccwg-bbr, sections 5.3.3.6 and 5.5.10.2).

use lasthop_packet::Instant;

use super::short_term::beta;
use super::spurious::Return;
use super::state::State;
use super::{Bbr3, LOSS_THRESHOLD};
use crate::congestion::PathSample;
use crate::flight::Flight;
use crate::retransmission_queue::LostSegment;

/// The largest volume that has gone well.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LongTerm {
    /// `BBR.inflight_longterm`; None: infinite.
    volume: Option<u64>,
    /// `BBR.bw_probe_up_rounds`, `BBR.bw_probe_up_acked` and `BBR.probe_up_acked_per_inc`; None:
    /// infinite.
    up_rounds: u32,
    up_acked: u64,
    acked_a_step: Option<u64>,
}

impl LongTerm {
    pub(super) const fn volume(&self) -> Option<u64> {
        self.volume
    }

    pub(super) const fn set(&mut self, volume: u64) {
        self.volume = Some(volume);
    }

    /// It is at least this, or infinite.
    pub(super) fn raise_to(&mut self, volume: Option<u64>) {
        self.volume = self.volume.zip(volume).map(|(now, before)| now.max(before));
    }

    /// It does not grow for now.
    pub(super) const fn stop_growing(&mut self) {
        self.acked_a_step = None;
    }

    pub(super) const fn reset_growth(&mut self) {
        (self.up_rounds, self.up_acked) = (0, 0);
    }

    /// It grows by 1, 2, 4 ... segments a round trip (`RaiseInflightLongtermSlope ()`).
    pub(super) fn raise_slope(&mut self, flight: &Flight) {
        let steps = 1 << self.up_rounds;
        self.up_rounds = (self.up_rounds + 1).min(30);
        self.acked_a_step = Some((u64::from(flight.cwnd) / steps).max(u64::from(flight.mss)));
    }

    /// So many octets were acknowledged with a window that was used and that this volume limits.
    fn grow(&mut self, acked: u64, mss: u32) {
        let Some(step) = self.acked_a_step else { return };
        self.up_acked += acked;
        let steps = self.up_acked / step;
        self.up_acked -= steps * step;
        self.volume = self.volume.map(|volume| volume + steps * u64::from(mss));
    }

    /// `InflightWithHeadroom ()`: room for others, of 15% and a segment at least.
    pub(super) fn with_headroom(&self, mss: u32) -> Option<u64> {
        let volume = self.volume?;
        let headroom = (volume * 15 / 100).max(u64::from(mss));
        Some(volume.saturating_sub(headroom).max(super::window::least(mss)))
    }
}

impl Bbr3 {
    //= draft-ietf-ccwg-bbr, section 5.5.10.2: HandleLostPacket ().
    pub(super) fn handle_lost_segment(&mut self, lost: &LostSegment, now: Instant, flight: &Flight) {
        self.lost_ranges.note(lost);
        if self.short_term.note_loss(lost.delivered) {
            self.save_upon_loss(flight.cwnd);
        }
        if self.cycle.is_sampling && self.is_too_much(lost.lost, lost.in_network) {
            self.handle_too_much(inflight_at_loss(lost), lost, now, flight);
        }
    }

    //= draft-ietf-ccwg-bbr, section 5.5.10.2: HandleInflightTooHigh ().
    fn handle_too_much(&mut self, in_network: u64, lost: &LostSegment, now: Instant, flight: &Flight) {
        (self.cycle.was_too_high, self.cycle.is_sampling) = (true, false);
        if !lost.is_application_limited {
            self.long_term.set(in_network.max(beta(self.target_inflight(flight))));
        }
        if self.state == State::Up {
            self.undo.state = Some(Return::Up);
            self.start_down(lost.delivered, now);
        }
    }

    /// The volume is safe: lets it grow (the rest of `AdaptLongTermModel ()`).
    pub(super) fn raise_long_term(&mut self, path: &PathSample<'_>) {
        let (Some(volume), Some(rate)) = (self.long_term.volume, path.ack.rate) else { return };
        if self.is_too_much(rate.lost, rate.in_network) {
            return;
        }
        self.long_term.volume = Some(volume.max(u64::from(rate.in_network)));
        if self.state == State::Up {
            self.probe_upward(path);
        }
    }

    /// `ProbeInflightLongtermUpward ()`.
    fn probe_upward(&mut self, path: &PathSample<'_>) {
        if !self.is_limited_by_long_term(path.flight) {
            return;
        }
        self.long_term.grow(u64::from(path.ack.acked), path.flight.mss);
        if self.rounds.is_start {
            self.long_term.raise_slope(path.flight);
        }
    }

    /// Whether cwnd is used, and is no less than the volume.
    pub(super) fn is_limited_by_long_term(&self, flight: &Flight) -> bool {
        self.window.is_used() && self.long_term.volume.is_some_and(|volume| u64::from(flight.cwnd) >= volume)
    }
}

/// How much was in the network when losses passed the threshold, within this segment
/// (`InflightAtLoss ()`).
fn inflight_at_loss(lost: &LostSegment) -> u64 {
    let size = u64::from(lost.end - lost.seq);
    let before = u64::from(lost.in_network).saturating_sub(size);
    let lost_before = lost.lost.saturating_sub(size);
    let prefix = before.saturating_sub(lost_before * LOSS_THRESHOLD) / (LOSS_THRESHOLD - 1);
    before + prefix
}

#[cfg(test)]
mod tests {
    use lasthop_packet::Seq;

    use super::*;

    #[test]
    fn it_grows_by_twice_as_many_segments_each_round() {
        let flight = Flight {
            una: Seq(0),
            nxt: Seq(0),
            max: Seq(0),
            peer_window: 1 << 30,
            mss: 1000,
            cwnd: 64_000,
            ssthresh: 1 << 30,
        };
        let mut model = LongTerm::default();
        model.set(64_000);
        for grown in [1, 2, 4, 8] {
            model.raise_slope(&flight);
            let before = model.volume().expect("was set");
            for _ in 0..64 {
                model.grow(1000, 1000);
            }
            assert_eq!(model.volume(), Some(before + grown * 1000));
        }
        model.stop_growing();
        model.grow(64_000, 1000);
        assert_eq!(model.volume(), Some(79_000));
    }

    #[test]
    fn the_volume_at_a_loss_is_where_the_losses_became_too_many() {
        let lost = |in_network, lost| LostSegment {
            seq: Seq(0),
            end: Seq(1000),
            in_network,
            lost,
            delivered: 0,
            is_application_limited: false,
        };
        // The second loss of 1000 octets makes them 2% of what was in the network.
        assert_eq!(inflight_at_loss(&lost(100_000, 2000)), 99_000 + (99_000 - 50_000) / 49);
        // They were too many before.
        assert_eq!(inflight_at_loss(&lost(50_000, 9000)), 49_000);
    }

    #[test]
    fn headroom_is_15_percent_and_a_segment_at_least() {
        let mut model = LongTerm::default();
        assert_eq!(model.with_headroom(1000), None);
        model.set(100_000);
        assert_eq!(model.with_headroom(1000), Some(85_000));
        model.set(5500);
        assert_eq!(model.with_headroom(1000), Some(4500));
        model.set(4500);
        assert_eq!(model.with_headroom(1000), Some(4000));
    }
}
