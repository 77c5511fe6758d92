//! The limit of data on the hop.
//!
//! # The rule
//!
//! After each round (`round`) in which packets waited here, the window moves half of the way to
//! where the queue would have its target length:
//!
//! > window <- (window + window (min_rtt + delay) / rtt) / 2
//!
//! This is FAST TCP (Jin, Wei, Low, INFOCOM 2004, equation 3, with gamma = 1/2), with alpha being
//! rate times delay. It needs no estimate of the rate. It is stable where a rule that went all the
//! way would oscillate, because the round-trip time responds one round trip late.
//!
//! `rtt` is the mean of a round, and `min_rtt` the minimum of such means, not of the samples: on a
//! hop whose delay varies, the difference between a sample and the minimum of all is no queue.
//!
//! `delay` is the maximum of three: the setting `local-delay`; a quarter of `min_rtt`, because a
//! long hop responds late; and two standard deviations of the round-trip time, at most `min_rtt`,
//! because with a shorter queue a hop is idle whenever ACKs are late. In the simulator, over steady
//! hops of 1 to 200 Mbit/s and 1 to 30 ms, the default of 3 ms delivers as much as 5 or 8 ms would,
//! and keeps the queue of a fast hop shorter.
//!
//! # A new hop
//!
//! The window of a new hop is four times what was on the hop in the last round. A round is about
//! two round trips, and slow start doubles in each. So the window does not limit the sender until a
//! queue or losses show.
//!
//! # Where the sender limits
//!
//! Where no packets wait, the sender or its application is the limit, and the window stays as it
//! is. If there is still a queue, the hop has become slower: the window is reduced to what is on
//! the hop, and follows the rule from there.
//!
//! # Trials
//!
//! A round-trip time does not show how much of it is queueing. A larger window does: if the hop was
//! not full, throughput grows; if it was, only the round trip does. So the window is enlarged by
//! half for a round. The larger window is kept if throughput grew by more than half the factor by
//! which the octets on the hop grew. Two events start a trial:
//!
//! - *The window has shrunk* by a quarter. If a larger window pays again, the long round trip is
//!   not due to our queue but to an upload that delays the ACKs, to another sender's packets
//!   downstream, or to the hop itself. Then `min_rtt` becomes the round-trip time of the smaller
//!   window. Otherwise the window would shrink to its floor next to another sender that fills the
//!   queue.
//! - *A new minimum round-trip time.* Some hops have a shorter round trip when they are nearly
//!   idle; the window for that would be too small under load.
//!
//! # The minimum round-trip time
//!
//! It is measured again 10 s after it was last seen (`drain`): for about a round trip the window is
//! half of what the hop holds without a queue (as in BBR's `ProbeRTT`). So it follows a path that
//! has become longer, and what a trial has added is removed when its cause has gone. Then the
//! window is limited to what the hop holds at the throughput before the measurement, with the
//! target queue. If the new value is less than three quarters of the old one, even the halved
//! window may have queued; the measurement is then repeated with a window for the new value.
//!
//! # Losses
//!
//! A queue that is too short for the window never shows in the round-trip time: it drops what does
//! not fit. So losses reduce the window, unless the hop loses as much when it is drained. That is
//! measured during a drain, which begins earlier and lasts longer if much is lost although the
//! queue is short.

use std::time::Duration;

use lasthop_packet::Instant;

use super::drain::Drain;
use super::progress::Progress;
use super::round::{Measured, share};
use super::targets::Targets;

/// The minimum round-trip time is measured again after this time (BBR, `ProbeRTTInterval`; Linux
/// `tcp_bbr.c`, `bbr_min_rtt_win_sec`).
const MIN_RTT_LASTS: Duration = Duration::from_secs(10);

/// One octet lost for each 16 delivered counts as the hop's own loss, even if a drained hop loses
/// nothing.
const LOSSES_BORNE: u64 = 16;

/// If more than one octet is lost for each 6 delivered, it matters whether a queue drops them.
/// Fewer losses do not keep the window from growing, because its target is a quarter more than the
/// hop holds.
const HEAVY_LOSSES: u64 = 6;

/// Segments, lost and delivered, by which a drained hop's own losses are measured in that case.
const LOSS_SEGMENTS: u64 = 48;

/// Larger than any hop's content; keeps arithmetic in bounds.
pub(super) const LARGEST_WINDOW: u64 = 1 << 40;

/// The window, and the values that it follows from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// Octets of payload that may be on the hop.
    octets: u64,
    /// The minimum of the window.
    floor: u64,
    /// The window before it began to shrink.
    peak: u64,
    min_rtt: Option<Duration>,
    /// When the round-trip time was last that small; `None`: to be measured at once.
    min_rtt_since: Option<Instant>,
    /// The standard deviation of the round-trip time, smoothed.
    deviation: Duration,
    /// Octets that a drained hop loses for each 256 that it delivers. No queue causes these losses.
    own_losses: u64,
    /// When that was measured.
    own_losses_since: Option<Instant>,
    /// No queue has shown yet.
    is_new: bool,
    /// The reason of a trial that starts after the next round in which packets waited.
    next_trial: Option<Reason>,
    trial: Option<Trial>,
    drain: Option<Drain>,
}

/// A trial: a larger window than in the round before.
#[derive(Clone, Copy, Debug)]
struct Trial {
    reason: Reason,
    /// The round before: octets on the hop, round-trip time, and throughput in octets per second.
    in_flight: u64,
    rtt: Duration,
    throughput: u64,
}

/// The reason for a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    Shrunk,
    NewMinimum,
}

impl Window {
    /// The window of a hop about which nothing is known.
    pub const fn new() -> Self {
        Self {
            octets: 0,
            floor: 0,
            peak: 0,
            min_rtt: None,
            min_rtt_since: None,
            deviation: Duration::ZERO,
            own_losses: 0,
            own_losses_since: None,
            is_new: true,
            next_trial: None,
            trial: None,
            drain: None,
        }
    }

    /// The window that a hop had elsewhere. Its round-trip time is measured at once.
    pub fn known(octets: u64) -> Self {
        Self { octets: octets.min(LARGEST_WINDOW), is_new: false, ..Self::new() }
    }

    /// Octets that may be on the hop; during a drain, half of what it holds without a queue.
    pub fn octets(&self) -> u64 {
        let (Some(drain), Some(min_rtt)) = (&self.drain, self.min_rtt) else { return self.octets };
        (scaled(drain.throughput, min_rtt, Duration::from_secs(1)) / 2).clamp(self.floor / 2, self.octets)
    }

    /// Octets that may be on the hop without a drain.
    pub const fn usual(&self) -> u64 {
        self.octets
    }

    /// Whether no queue has shown yet.
    pub const fn is_new(&self) -> bool {
        self.is_new
    }

    /// The minimum round-trip time.
    pub const fn min_rtt(&self) -> Option<Duration> {
        self.min_rtt
    }

    /// Whether the queue is being drained or kept empty.
    pub const fn is_draining(&self) -> bool {
        self.drain.is_some()
    }

    /// Records what an ACK showed, with or without a sample.
    pub fn on_progress(&mut self, progress: &Progress) {
        if let Some(drain) = &mut self.drain {
            drain.on_progress(progress);
        }
    }

    /// Sets the minimum window. Raising the floor raises the window to twice the new floor.
    pub fn set_floor(&mut self, floor: u64) {
        if floor > self.floor {
            self.octets = self.octets.max(2 * floor);
        }
        self.floor = floor;
    }

    /// Records a sample: a round-trip time and when its segment left; and the results of the round
    /// that it ends, if it ends one.
    pub fn on_sample(
        &mut self,
        sample: (Duration, Instant),
        round: Option<Measured>,
        in_flight: u64,
        now: Instant,
        targets: &Targets,
    ) {
        let is_drained = in_flight <= self.octets();
        if let Some(drain) = &mut self.drain {
            if drain.on_sample(sample, is_drained, now) {
                self.end_drain(now, targets);
            }
        } else if let Some(round) = round {
            self.on_round(round, now, targets);
        }
    }

    fn on_round(&mut self, round: Measured, now: Instant, targets: &Targets) {
        let Measured { rtt, deviation, .. } = round;
        self.deviation =
            if self.deviation.is_zero() { deviation } else { (7 * self.deviation + deviation) / 8 };
        if self.min_rtt.is_none_or(|min_rtt| rtt <= min_rtt) {
            // Half of the way: the minimum of many means would be too small by chance.
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |min_rtt| (min_rtt + rtt) / 2));
            self.min_rtt_since = self.min_rtt_since.map(|_| now);
        }
        if self.is_new {
            self.begin(round, now, targets);
        } else if let Some(trial) = self.trial {
            self.judge(trial, round, now);
        } else if round.is_limited {
            match self.next_trial.take() {
                Some(reason) => self.try_more(reason, round),
                None => self.follow(round, targets),
            }
        } else if rtt > self.target(targets) {
            // The sender limits the rate, and there is still a queue: the hop has slowed down.
            self.octets = self.octets.min(round.in_flight);
            self.follow(round, targets);
        }
        if round.is_limited && self.trial.is_none() && !self.is_new && self.is_drain_due(round, now, targets)
        {
            self.begin_drain(round, now, targets);
        }
    }

    /// Whether a drain is due, to measure the minimum round-trip time or the hop's own losses.
    fn is_drain_due(&self, round: Measured, now: Instant, targets: &Targets) -> bool {
        let is_old = |since: Option<Instant>| since.is_none_or(|since| now.since(since) > MIN_RTT_LASTS);
        is_old(self.min_rtt_since) || (self.is_lossy(round, targets) && is_old(self.own_losses_since))
    }

    /// Whether much is lost although the queue is short, more than the known losses of the hop.
    fn is_lossy(&self, round: Measured, targets: &Targets) -> bool {
        let min_rtt = self.min_rtt.unwrap_or_default();
        round.lost > round.delivered / HEAVY_LOSSES
            && 2 * round.rtt < min_rtt + self.target(targets)
            && self.excess_losses(round) > 0
    }

    /// Octets lost above the hop's own losses, which are a sample and therefore count a quarter
    /// more.
    fn excess_losses(&self, round: Measured) -> u64 {
        let own = round.delivered / LOSSES_BORNE;
        round.lost.saturating_sub(own.max(round.delivered / 256 * self.own_losses / 4 * 5))
    }

    /// Begins a drain. It is long enough for the present queue to empty, and for samples after it.
    fn begin_drain(&mut self, round: Measured, now: Instant, targets: &Targets) {
        let segment = self.floor / u64::from(targets.min_window.max(2));
        let (enough, longest) =
            if self.is_lossy(round, targets) { (LOSS_SEGMENTS * segment, 16) } else { (0, 4) };
        let until = now + longest * self.target(targets).max(round.rtt) + Duration::from_millis(100);
        self.drain = Some(Drain::new(round.throughput, until, enough));
    }

    /// Ends a round over a new hop: the window is four times what was on it, until a queue shows.
    fn begin(&mut self, round: Measured, now: Instant, targets: &Targets) {
        if round.rtt <= self.target(targets) && round.lost <= round.delivered / LOSSES_BORNE {
            self.octets = self.octets.max(4 * round.in_flight).min(LARGEST_WINDOW);
        } else {
            (self.is_new, self.min_rtt_since) = (false, Some(now));
            self.octets = scaled(round.in_flight, self.target(targets), round.rtt).max(self.floor);
            self.peak = self.octets;
            self.next_trial = Some(Reason::NewMinimum);
        }
    }

    /// Moves half of the way to where the round-trip time would be the target. Losses reduce the
    /// queue, not what the hop holds without one.
    fn follow(&mut self, round: Measured, targets: &Targets) {
        let times = (self.min_rtt.unwrap_or_default(), self.target(targets));
        self.octets = moved(self.octets, times, &round, self.excess_losses(round)).max(self.floor);
        self.peak = self.peak.max(self.octets);
        if self.octets <= self.peak / 4 * 3 {
            self.peak = self.octets;
            self.next_trial = Some(Reason::Shrunk);
        }
    }

    fn try_more(&mut self, reason: Reason, before: Measured) {
        let Measured { in_flight, rtt, throughput, .. } = before;
        self.trial = Some(Trial { reason, in_flight, rtt, throughput });
        self.octets = (in_flight / 2 * 3).clamp(self.floor, LARGEST_WINDOW);
    }

    /// Ends a trial, or continues it while the sender has not used the larger window.
    fn judge(&mut self, before: Trial, round: Measured, now: Instant) {
        let is_used = round.in_flight >= before.in_flight / 4 * 5;
        if !is_used && round.lost == 0 && !round.is_limited {
            return;
        }
        self.trial = None;
        if !is_used || !pays(before, round) {
            self.octets = before.in_flight.max(self.floor);
            self.peak = self.octets;
            self.next_trial = (!is_used && !round.is_limited).then_some(before.reason);
            return;
        }
        // The smaller window did not fill the hop, so its round-trip time had no queue in it. If
        // the hop has become faster, the later round-trip time is shorter.
        (self.min_rtt, self.min_rtt_since) = (Some(before.rtt.min(round.rtt)), Some(now));
        if before.reason == Reason::Shrunk {
            self.peak = self.octets;
        } else {
            self.try_more(before.reason, round);
        }
    }

    fn end_drain(&mut self, now: Instant, targets: &Targets) {
        let Some((drain, min_rtt)) = self.drain.take().and_then(|drain| Some((drain, drain.round_trip()?)))
        else {
            return;
        };
        let has_fallen = self.min_rtt.is_some_and(|before| min_rtt < before / 4 * 3);
        (self.min_rtt, self.min_rtt_since) = (Some(min_rtt), Some(now));
        if drain.measures_losses() {
            (self.own_losses, self.own_losses_since) = (drain.losses(), Some(now));
        } else {
            self.own_losses = u64::midpoint(self.own_losses, drain.losses());
        }
        // The hop's own losses are added.
        let holds = scaled(drain.throughput, self.target(targets), Duration::from_secs(1));
        let holds = holds + holds / 256 * self.own_losses;
        self.octets = self.octets.min(holds).max(self.floor);
        self.peak = self.octets;
        self.drain = has_fallen.then(|| drain.again());
        self.next_trial = Some(Reason::NewMinimum);
    }

    /// The target of the round-trip time.
    pub fn target(&self, targets: &Targets) -> Duration {
        let min_rtt = self.min_rtt.unwrap_or_default();
        // A queue also makes the round-trip time vary.
        let varies = min_rtt.min(2 * self.deviation);
        min_rtt.saturating_add(targets.local_delay.max(min_rtt / 4).max(varies))
    }
}

/// Whether a larger window gave more than half of the gain that it would give on a hop that was not
/// full.
fn pays(before: Trial, after: Measured) -> bool {
    let octets = u128::from(before.in_flight) + u128::from(after.in_flight);
    2 * u128::from(after.throughput) * u128::from(before.in_flight) > u128::from(before.throughput) * octets
}

/// The window half of the way to where the round-trip time would be the target, after a round in
/// which `lost` octets were lost.
pub(super) fn moved(
    octets: u64,
    (min_rtt, target): (Duration, Duration),
    round: &Measured,
    lost: u64,
) -> u64 {
    let arrives = share(octets, round.delivered, lost);
    let without_queue = scaled(octets, min_rtt, round.rtt);
    let target_octets = scaled(arrives, target, round.rtt).max(without_queue).min(4 * octets);
    u64::midpoint(octets, target_octets)
}

/// `octets` times `to` over `from`.
fn scaled(octets: u64, to: Duration, from: Duration) -> u64 {
    let scaled = u128::from(octets) * to.as_nanos() / from.as_nanos().max(1);
    u64::try_from(scaled).unwrap_or(u64::MAX).min(LARGEST_WINDOW)
}
