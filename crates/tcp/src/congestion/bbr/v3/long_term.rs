//! The long-term limit: the octets that were in the network when too many of them were lost, raised
//! again while losses are few (draft-ietf-ccwg-bbr, sections 5.3.3.6 and 5.5.10.2).

use super::window::min_pipe_cwnd;
use crate::flight::Flight;

/// The largest volume in the network without excessive loss.
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

    /// Raises the volume to at least this; None: to infinity.
    pub(super) fn raise_to(&mut self, volume: Option<u64>) {
        self.volume = self.volume.zip(volume).map(|(now, before)| now.max(before));
    }

    /// Stops the growth until the next [`Self::raise_slope`].
    pub(super) const fn stop_growing(&mut self) {
        self.acked_a_step = None;
    }

    pub(super) const fn reset_growth(&mut self) {
        (self.up_rounds, self.up_acked) = (0, 0);
    }

    /// Lets it grow by 1, 2, 4 ... segments a round trip (`RaiseInflightLongtermSlope ()`).
    pub(super) fn raise_slope(&mut self, flight: &Flight) {
        let steps = 1 << self.up_rounds;
        self.up_rounds = (self.up_rounds + 1).min(30);
        self.acked_a_step = Some((u64::from(flight.cwnd) / steps).max(u64::from(flight.mss)));
    }

    /// Grows by the octets acknowledged while cwnd was used and this volume limited it.
    pub(super) fn grow(&mut self, acked: u64, mss: u32) {
        let Some(step) = self.acked_a_step else { return };
        self.up_acked += acked;
        let steps = self.up_acked / step;
        self.up_acked -= steps * step;
        self.volume = self.volume.map(|volume| volume + steps * u64::from(mss));
    }

    /// `InflightWithHeadroom ()`: leaves room of 15%, at least one segment, for other flows.
    pub(super) fn with_headroom(&self, mss: u32) -> Option<u64> {
        let volume = self.volume?;
        let headroom = (volume * 15 / 100).max(u64::from(mss));
        Some(volume.saturating_sub(headroom).max(min_pipe_cwnd(mss)))
    }

    /// Whether the volume is finite, and `octets` reach it.
    pub(super) fn limits(&self, octets: u32) -> bool {
        self.volume.is_some_and(|volume| u64::from(octets) >= volume)
    }
}

#[cfg(test)]
mod tests {
    use lasthop_packet::Seq;

    use super::*;

    #[test]
    fn the_growth_doubles_each_round() {
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
    fn headroom_is_15_percent_and_at_least_a_segment() {
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
