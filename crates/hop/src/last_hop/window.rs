//! How much may be on the hop.
//!
//! # The rule
//!
//! After each round (`round`) in which packets waited here, the window moves half of the way to
//! where the queue would be as long as it is meant to be:
//!
//! > window <- (window + window (least + delay) / rtt) / 2
//!
//! That is FAST TCP (Jin, Wei, Low, INFOCOM 2004, equation 3, with gamma = 1/2), its alpha being
//! rate times delay. It needs no estimate of the rate, and is stable where a rule that went all the
//! way would swing, since the round-trip time answers a round trip late.
//!
//! `rtt` is the mean of a round, and `least` the least of such means, not the least sample: on a
//! hop whose delay varies the difference between a sample and the least of all is no queue.
//!
//! `delay` is the longest of three: the setting `local-delay`; a quarter of `least`, since a long
//! hop answers late; and two standard deviations of the round-trip time, `least` at most, since
//! with a shorter queue a hop idles whenever ACKs are late. In the simulator, over steady hops of 1
//! to 200 Mbit/s and 1 to 30 ms, the default of 3 ms delivers as much as 5 or 8 ms would, and keeps
//! the queue of a fast hop shorter.
//!
//! # A new hop
//!
//! A new hop's window is four times what was on the hop in the last round. A round is about two
//! round trips, and slow start doubles in each; so the window does not limit the sender until a
//! queue or losses show.
//!
//! # Where the sender limits
//!
//! Where no packets wait, the sender or its application limits, and the window stays as it is. If
//! there is a queue all the same, the hop has become slower: the window comes down to what is on
//! the hop, and follows the rule from there.
//!
//! # Trials
//!
//! A round-trip time does not show how much of it is queueing. A larger window tells: where the hop
//! was not full, more gets through; where it was, only the round trip gets longer. So the window is
//! made half as large again for a round. The larger window is kept if throughput grew by more than
//! half the factor by which the octets on the hop grew. Two things call for a trial:
//!
//! - *A window that has shrunk* by a quarter. If a larger window pays again, what made the round
//!   trip long is not our queue but an upload that delays the ACKs, another sender's packets behind
//!   us, or the hop itself. Then `least` becomes the round-trip time of the smaller window;
//!   otherwise the window would shrink to its floor beside another sender that fills the queue.
//! - *A new least round-trip time.* Some hops have a shorter round trip when they are nearly idle;
//!   the window for that would be too small under load.
//!
//! # The least round-trip time
//!
//! It is sought again after 10 s without one as small (`drain`): for about a round trip the window
//! is half of what the hop holds without a queue (as in BBR's `ProbeRTT`). So it follows a path
//! that has become longer, and what a trial has added is taken back when it has gone. Then the
//! window is at most what the hop holds at the throughput before the search, with the queue that is
//! aimed at. If the new value is less than three quarters of the old one, even the halved window
//! may have queued; the search is then repeated with a window for the new value.
//!
//! # Losses
//!
//! A queue that is too short for the window never shows in the round-trip time: it loses what it
//! has no room for. So losses take away from the window, unless the hop loses as much when it is
//! drained. That is measured in the search for the least round-trip time, which is made earlier and
//! longer where much is lost although there is little of a queue.

use std::time::Duration;

use lasthop_packet::Instant;

use super::drain::Drain;
use super::progress::Progress;
use super::round::{Measured, share};
use super::targets::Targets;

/// The least round-trip time is sought again after this time (BBR, `ProbeRTTInterval`; Linux
/// `tcp_bbr.c`, `bbr_min_rtt_win_sec`).
const LEAST_RTT_LASTS: Duration = Duration::from_secs(10);

/// One octet lost for each 16 delivered counts as the hop's own loss, even if a drained hop loses
/// nothing.
const LOSSES_BORNE: u64 = 16;

/// If more than one octet is lost for each 6 delivered, it matters whether a queue loses them.
/// Fewer losses do not keep the window from growing, since it aims at a quarter more than the hop
/// holds.
const HEAVY_LOSSES: u64 = 6;

/// Segments, lost and delivered, by which a drained hop's own losses are measured in that case.
const LOSS_SEGMENTS: u64 = 48;

/// Larger than any hop's content; keeps arithmetic in bounds.
pub(super) const LARGEST_WINDOW: u64 = 1 << 40;

/// The window, and what it follows from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// Octets of payload that may be on the hop.
    octets: u64,
    /// It is never smaller.
    floor: u64,
    /// Where it was before it began to shrink.
    peak: u64,
    least: Option<Duration>,
    /// When it was last seen to be as small; `None`: it is to be sought at once.
    least_since: Option<Instant>,
    /// The standard deviation of the round-trip time, smoothed.
    deviation: Duration,
    /// Octets that a drained hop loses for each 256 that it delivers: no queue's losses.
    own_losses: u64,
    /// When that was measured.
    own_losses_since: Option<Instant>,
    /// No queue has shown yet.
    is_new: bool,
    /// Why a trial is to start, after the next round in which packets waited.
    wanted: Option<Reason>,
    trial: Option<Trial>,
    drain: Option<Drain>,
}

/// A larger window than in the round before.
#[derive(Clone, Copy, Debug)]
struct Trial {
    reason: Reason,
    /// The round before: octets on the hop, round-trip time, and throughput in octets per second.
    in_flight: u64,
    rtt: Duration,
    throughput: u64,
}

/// Why a larger window is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    Shrunk,
    NewLeast,
}

impl Window {
    /// Of a hop that nothing is known of.
    pub const fn new() -> Self {
        Self {
            octets: 0,
            floor: 0,
            peak: 0,
            least: None,
            least_since: None,
            deviation: Duration::ZERO,
            own_losses: 0,
            own_losses_since: None,
            is_new: true,
            wanted: None,
            trial: None,
            drain: None,
        }
    }

    /// Of a hop that had this window elsewhere. Its round-trip time is sought at once.
    pub fn known(octets: u64) -> Self {
        Self { octets: octets.min(LARGEST_WINDOW), is_new: false, ..Self::new() }
    }

    /// Octets that may be on the hop; while it is being drained, half of what it holds without a
    /// queue.
    pub fn octets(&self) -> u64 {
        let (Some(drain), Some(least)) = (&self.drain, self.least) else { return self.octets };
        (scaled(drain.throughput, least, Duration::from_secs(1)) / 2).clamp(self.floor / 2, self.octets)
    }

    /// Octets that may be on the hop when it is not being drained.
    pub const fn usual(&self) -> u64 {
        self.octets
    }

    /// Whether no queue has shown yet.
    pub const fn is_new(&self) -> bool {
        self.is_new
    }

    /// The least round-trip time.
    pub const fn least(&self) -> Option<Duration> {
        self.least
    }

    /// Whether the queue is being drained, or is kept empty.
    pub const fn is_draining(&self) -> bool {
        self.drain.is_some()
    }

    /// Takes note of what an ACK showed, sample or not.
    pub fn on_progress(&mut self, progress: &Progress) {
        if let Some(drain) = &mut self.drain {
            drain.on_progress(progress);
        }
    }

    /// The window is never smaller than this. Raising the floor raises the window to twice the new
    /// floor.
    pub fn set_floor(&mut self, floor: u64) {
        if floor > self.floor {
            self.octets = self.octets.max(2 * floor);
        }
        self.floor = floor;
    }

    /// Takes in a sample of the round-trip time, which left then, and what the round showed that it
    /// ends, if it does.
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
        if self.least.is_none_or(|least| rtt <= least) {
            // Half of the way: the least of many means would be too small by chance.
            self.least = Some(self.least.map_or(rtt, |least| (least + rtt) / 2));
            self.least_since = self.least_since.map(|_| now);
        }
        if self.is_new {
            self.begin(round, now, targets);
        } else if let Some(trial) = self.trial {
            self.judge(trial, round, now);
        } else if round.is_limited {
            match self.wanted.take() {
                Some(reason) => self.try_more(reason, round),
                None => self.follow(round, targets),
            }
        } else if rtt > self.target(targets) {
            // The sender limits, and still there is a queue: the hop has slowed down.
            self.octets = self.octets.min(round.in_flight);
            self.follow(round, targets);
        }
        if round.is_limited && self.trial.is_none() && !self.is_new && self.is_drain_due(round, now, targets)
        {
            self.begin_drain(round, now, targets);
        }
    }

    /// Whether the least round-trip time is to be sought, or whose the losses are.
    fn is_drain_due(&self, round: Measured, now: Instant, targets: &Targets) -> bool {
        let is_old = |since: Option<Instant>| since.is_none_or(|since| now.since(since) > LEAST_RTT_LASTS);
        is_old(self.least_since) || (self.is_lossy(round, targets) && is_old(self.own_losses_since))
    }

    /// Whether much is lost although there is little of a queue, more than the hop is known to
    /// lose.
    fn is_lossy(&self, round: Measured, targets: &Targets) -> bool {
        let least = self.least.unwrap_or_default();
        round.lost > round.delivered / HEAVY_LOSSES
            && 2 * round.rtt < least + self.target(targets)
            && self.excess_losses(round) > 0
    }

    /// Octets lost beyond what the hop loses without a queue, and a quarter more, as that is a
    /// sample.
    fn excess_losses(&self, round: Measured) -> u64 {
        let own = round.delivered / LOSSES_BORNE;
        round.lost.saturating_sub(own.max(round.delivered / 256 * self.own_losses / 4 * 5))
    }

    /// Long enough for the queue of now to go, and for samples behind it.
    fn begin_drain(&mut self, round: Measured, now: Instant, targets: &Targets) {
        let segment = self.floor / u64::from(targets.least_window.max(2));
        let (enough, longest) =
            if self.is_lossy(round, targets) { (LOSS_SEGMENTS * segment, 16) } else { (0, 4) };
        let until = now + longest * self.target(targets).max(round.rtt) + Duration::from_millis(100);
        self.drain = Some(Drain::new(round.throughput, until, enough));
    }

    /// A round over a new hop: the window is four times what was on it, until a queue shows.
    fn begin(&mut self, round: Measured, now: Instant, targets: &Targets) {
        if round.rtt <= self.target(targets) && round.lost <= round.delivered / LOSSES_BORNE {
            self.octets = self.octets.max(4 * round.in_flight).min(LARGEST_WINDOW);
        } else {
            (self.is_new, self.least_since) = (false, Some(now));
            self.octets = scaled(round.in_flight, self.target(targets), round.rtt).max(self.floor);
            self.peak = self.octets;
            self.wanted = Some(Reason::NewLeast);
        }
    }

    /// Moves half of the way to where the round-trip time would be the target; losses take away
    /// from the queue, not from what the hop holds without one.
    fn follow(&mut self, round: Measured, targets: &Targets) {
        let times = (self.least.unwrap_or_default(), self.target(targets));
        self.octets = moved(self.octets, times, &round, self.excess_losses(round)).max(self.floor);
        self.peak = self.peak.max(self.octets);
        if self.octets <= self.peak / 4 * 3 {
            self.peak = self.octets;
            self.wanted = Some(Reason::Shrunk);
        }
    }

    fn try_more(&mut self, reason: Reason, before: Measured) {
        let Measured { in_flight, rtt, throughput, .. } = before;
        self.trial = Some(Trial { reason, in_flight, rtt, throughput });
        self.octets = (in_flight / 2 * 3).clamp(self.floor, LARGEST_WINDOW);
    }

    /// Ends a trial, or goes on with it while the sender has not made use of the larger window.
    fn judge(&mut self, before: Trial, round: Measured, now: Instant) {
        let is_used = round.in_flight >= before.in_flight / 4 * 5;
        if !is_used && round.lost == 0 && !round.is_limited {
            return;
        }
        self.trial = None;
        if !is_used || !pays(before, round) {
            self.octets = before.in_flight.max(self.floor);
            self.peak = self.octets;
            self.wanted = (!is_used && !round.is_limited).then_some(before.reason);
            return;
        }
        // The smaller window did not fill the hop, so its round-trip time had no queue in it; unless the
        // hop has become faster by itself, which makes the later one shorter.
        (self.least, self.least_since) = (Some(before.rtt.min(round.rtt)), Some(now));
        if before.reason == Reason::Shrunk {
            self.peak = self.octets;
        } else {
            self.try_more(before.reason, round);
        }
    }

    fn end_drain(&mut self, now: Instant, targets: &Targets) {
        let Some((drain, least)) = self.drain.take().and_then(|drain| Some((drain, drain.round_trip()?)))
        else {
            return;
        };
        let has_fallen = self.least.is_some_and(|before| least < before / 4 * 3);
        (self.least, self.least_since) = (Some(least), Some(now));
        if drain.measures_losses() {
            (self.own_losses, self.own_losses_since) = (drain.losses(), Some(now));
        } else {
            self.own_losses = u64::midpoint(self.own_losses, drain.losses());
        }
        // With what the hop itself loses of it.
        let holds = scaled(drain.throughput, self.target(targets), Duration::from_secs(1));
        let holds = holds + holds / 256 * self.own_losses;
        self.octets = self.octets.min(holds).max(self.floor);
        self.peak = self.octets;
        self.drain = has_fallen.then(|| drain.again());
        self.wanted = Some(Reason::NewLeast);
    }

    /// The round-trip time that is aimed at.
    pub fn target(&self, targets: &Targets) -> Duration {
        let least = self.least.unwrap_or_default();
        // A queue makes the round-trip time vary, too.
        let varies = least.min(2 * self.deviation);
        least.saturating_add(targets.local_delay.max(least / 4).max(varies))
    }
}

/// Whether a larger window gave more than half of what it would have given on a hop that was not
/// full.
fn pays(before: Trial, after: Measured) -> bool {
    let octets = u128::from(before.in_flight) + u128::from(after.in_flight);
    2 * u128::from(after.throughput) * u128::from(before.in_flight) > u128::from(before.throughput) * octets
}

/// A window half of the way to where the round-trip time would be the target, of which this was lost in
/// a round.
pub(super) fn moved(octets: u64, (least, target): (Duration, Duration), round: &Measured, lost: u64) -> u64 {
    let arrives = share(octets, round.delivered, lost);
    let without_queue = scaled(octets, least, round.rtt);
    let wanted = scaled(arrives, target, round.rtt).max(without_queue).min(4 * octets);
    u64::midpoint(octets, wanted)
}

/// `octets` times `to` over `from`.
fn scaled(octets: u64, to: Duration, from: Duration) -> u64 {
    let scaled = u128::from(octets) * to.as_nanos() / from.as_nanos().max(1);
    u64::try_from(scaled).unwrap_or(u64::MAX).min(LARGEST_WINDOW)
}
