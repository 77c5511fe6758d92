//! BBR's mode and its model of the path.

use lasthop_packet::Instant;

use super::extra_acked::ExtraAcked;
use super::gain::Gain;
use super::gain_cycle::GainCycle;
use super::long_term::LongTerm;
use super::min_rtt::MinRtt;
use super::window::Window;
use crate::congestion::bbr::dice::Dice;
use crate::congestion::bbr::full_pipe::FullPipe;
use crate::congestion::bbr::pacing_rate::PacingRate;
use crate::congestion::bbr::probe_rtt_hold::ProbeRttHold;
use crate::congestion::bbr::rounds::Rounds;
use crate::congestion::bbr::windowed_max::WindowedMax;

/// `bbr_mode`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Mode {
    /// Doubles the rate each round trip.
    #[default]
    Startup,
    /// Drains the queue of [`Self::Startup`].
    Drain,
    /// Sends at the bandwidth, and probes for more.
    ProbeBandwidth,
    /// Keeps a minimum in the network, to measure the round-trip time.
    ProbeRtt,
}

/// BBR version 1.
#[derive(Clone, Debug, Default)]
pub struct Bbr {
    pub(super) mode: Mode,
    pub(super) rounds: Rounds,
    pub(super) bandwidth: WindowedMax,
    pub(super) full_pipe: FullPipe,
    pub(super) min_rtt: MinRtt,
    pub(super) cycle: GainCycle,
    pub(super) long_term: LongTerm,
    pub(super) extra_acked: ExtraAcked,
    pub(super) hold: ProbeRttHold,
    pub(super) window: Window,
    pub(super) pacing: PacingRate,
    pub(super) pacing_gain: Gain,
    pub(super) cwnd_gain: Gain,
    /// It sends after a pause, and no data was delivered since.
    pub(super) is_restarting: bool,
    pub(super) dice: Dice,
}

impl Bbr {
    /// The bandwidth in use: the policer's rate, or else the maximum (`bbr_bw`).
    pub(super) fn bandwidth(&self) -> u64 {
        self.long_term.rate().unwrap_or_else(|| self.bandwidth.get())
    }

    /// `bbr_reset_probe_bw_mode`.
    pub(super) fn probe_bandwidth(&mut self, now: Instant) {
        self.mode = Mode::ProbeBandwidth;
        self.cycle.begin(&mut self.dice, now);
    }
}
