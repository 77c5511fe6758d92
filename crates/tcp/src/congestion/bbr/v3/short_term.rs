//! The short-term limits, between probes: after a round trip with losses, bandwidth and volume are
//! reduced by 30%, but not below those delivered in it (draft-ietf-ccwg-bbr, section 5.5.10.3).

use crate::retransmission_queue::RateSample;

/// `BBR.Beta`: seven tenths.
pub(super) const fn beta(value: u64) -> u64 {
    value - value * 3 / 10
}

/// The model of the current cycle.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ShortTerm {
    /// `BBR.bw_shortterm` and `BBR.inflight_shortterm`; None: infinite.
    bandwidth: Option<u64>,
    volume: Option<u64>,
    /// `BBR.bw_latest` and `BBR.inflight_latest`.
    bandwidth_latest: u64,
    volume_latest: u64,
    /// `BBR.loss_round_delivered`, `BBR.loss_round_start` and `BBR.is_loss_in_round`.
    round_delivered: u64,
    is_round_start: bool,
    has_loss: bool,
}

impl ShortTerm {
    /// The limits of bandwidth and volume; None: infinite.
    pub(super) const fn limits(&self) -> (Option<u64>, Option<u64>) {
        (self.bandwidth, self.volume)
    }

    /// Whether the last ACK ended a round trip of those that count losses.
    pub(super) const fn is_round_start(&self) -> bool {
        self.is_round_start
    }

    /// Octets delivered in the last round trip.
    pub(super) const fn volume_latest(&self) -> u64 {
        self.volume_latest
    }

    /// Raises the limits to at least these; None: to infinity.
    pub(super) fn raise_to(&mut self, (bandwidth, volume): (Option<u64>, Option<u64>)) {
        let larger = |now: Option<u64>, before: Option<u64>| now.zip(before).map(|(a, b)| a.max(b));
        self.bandwidth = larger(self.bandwidth, bandwidth);
        self.volume = larger(self.volume, volume);
    }

    /// Removes the limits (`ResetShortTermModel ()`).
    pub(super) const fn reset(&mut self) {
        (self.bandwidth, self.volume) = (None, None);
    }

    /// `ResetCongestionSignals ()`.
    pub(super) const fn reset_signals(&mut self) {
        (self.has_loss, self.bandwidth_latest, self.volume_latest) = (false, 0, 0);
    }

    pub(super) const fn forget_loss(&mut self) {
        self.has_loss = false;
    }

    /// `UpdateLatestDeliverySignals ()`.
    pub(super) fn update_delivery_signals(
        &mut self,
        rate: Option<&RateSample>,
        delivery_rate: u64,
        delivered: u64,
    ) {
        self.is_round_start = false;
        let Some(rate) = rate else { return };
        self.bandwidth_latest = self.bandwidth_latest.max(delivery_rate);
        self.volume_latest = self.volume_latest.max(rate.delivered);
        if rate.prior_delivered >= self.round_delivered {
            (self.round_delivered, self.is_round_start) = (delivered, true);
        }
    }

    /// `AdvanceLatestDeliverySignals ()`.
    pub(super) fn begin_round(&mut self, rate: Option<&RateSample>, delivery_rate: u64) {
        if let (true, Some(rate)) = (self.is_round_start, rate) {
            (self.bandwidth_latest, self.volume_latest) = (delivery_rate, rate.delivered);
        }
    }

    /// Processes a lost segment. Returns whether it is the first one in this round trip.
    pub(super) const fn on_loss(&mut self, delivered: u64) -> bool {
        let is_first = !self.has_loss;
        if is_first {
            self.round_delivered = delivered;
        }
        self.has_loss = true;
        is_first
    }

    /// `InitLowerBounds ()` and `LossLowerBounds ()`.
    fn reduce(&mut self, max_bandwidth: u64, cwnd: u32) {
        let bandwidth = self.bandwidth.unwrap_or(max_bandwidth);
        let volume = self.volume.unwrap_or(u64::from(cwnd));
        self.bandwidth = Some(self.bandwidth_latest.max(beta(bandwidth)));
        self.volume = Some(self.volume_latest.max(beta(volume)));
    }

    /// The rest of `UpdateCongestionSignals ()`.
    pub(super) fn adapt(&mut self, is_accelerating: bool, max_bandwidth: u64, cwnd: u32) {
        if !self.is_round_start {
            return;
        }
        if self.has_loss && !is_accelerating {
            self.reduce(max_bandwidth, cwnd);
        }
        self.has_loss = false;
    }

    /// `BoundBWForModel ()`.
    pub(super) fn bound(&self, max_bandwidth: u64) -> u64 {
        self.bandwidth.map_or(max_bandwidth, |bandwidth| bandwidth.min(max_bandwidth))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::bbr::tests::delivery as sample;

    fn delivery(model: &mut ShortTerm, prior: u64, delivered: u64, rate: u64) {
        model.update_delivery_signals(Some(&sample(prior, delivered)), rate, delivered);
    }

    #[test]
    fn a_round_with_losses_takes_three_tenths_but_not_below_the_delivered_volume() {
        let mut model = ShortTerm::default();
        delivery(&mut model, 0, 30_000, 900);
        assert!(model.on_loss(30_000) && !model.on_loss(30_000));
        model.reduce(1000, 100_000);
        assert_eq!((model.bandwidth, model.volume), (Some(900), Some(70_000)));
        model.reduce(1000, 100_000);
        assert_eq!((model.bandwidth, model.volume), (Some(900), Some(49_000)));
        assert_eq!((model.bound(1000), model.bound(800)), (900, 800));
        model.reset();
        assert_eq!(model.bound(1000), 1000);
    }

    #[test]
    fn a_loss_round_begins_with_its_first_loss() {
        let mut model = ShortTerm::default();
        delivery(&mut model, 0, 1000, 1);
        assert!(model.is_round_start());
        model.on_loss(5000);
        delivery(&mut model, 4999, 6000, 1);
        assert!(!model.is_round_start());
        delivery(&mut model, 5000, 7000, 1);
        assert!(model.is_round_start());
    }
}
