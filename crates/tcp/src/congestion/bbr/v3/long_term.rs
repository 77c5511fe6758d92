//! How much the path takes at most: what was in the network when too much of it was lost, and more
//! if that goes well (draft-ietf-ccwg-bbr, sections 5.3.3.6 and 5.5.10.2).

use super::window::least;
use crate::flight::Flight;

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
    pub(super) fn grow(&mut self, acked: u64, mss: u32) {
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
        Some(volume.saturating_sub(headroom).max(least(mss)))
    }

    /// Whether this is known, and `octets` reach it.
    pub(super) fn limits(&self, octets: u32) -> bool {
        self.volume.is_some_and(|volume| u64::from(octets) >= volume)
    }
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
