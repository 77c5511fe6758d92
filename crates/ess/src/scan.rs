//! A scan: a client visits channels, and listens on each for access points (IEEE 802.11-2020, 11.1.4).

use std::time::Duration;

use lasthop_packet::Instant;

use crate::Channel;

/// How a client scans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanConfig {
    /// How it looks for access points.
    pub method: ScanMethod,
    /// How long a client that is associated stays on its own channel between two others. Default 125 ms.
    pub home_time: Duration,
}

/// How a client looks for access points on a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanMethod {
    /// It listens for beacons (11.1.4.2).
    Passive {
        /// How long.
        dwell: Duration,
    },
    /// It waits, sends a probe request, and listens for responses and beacons (11.1.4.3).
    Active {
        /// How long it waits before the probe request.
        probe_delay: Duration,
        /// How long it listens after the probe request.
        dwell: Duration,
    },
}

impl Default for ScanConfig {
    /// An active scan with the times of Linux's mac80211: a 33rd of a second before the probe request, and
    /// as long after it.
    fn default() -> Self {
        let time = Duration::from_nanos(1_000_000_000 / 33);
        Self {
            method: ScanMethod::Active { probe_delay: time, dwell: time },
            home_time: Duration::from_millis(125),
        }
    }
}

/// What a scan is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The client looks for an access point.
    Choice,
    /// Its access point has asked for a beacon report.
    Report,
}

/// A scan under way.
#[derive(Debug)]
pub(crate) struct Scan {
    config: ScanConfig,
    purpose: Purpose,
    began: Instant,
    /// The client's own channel, to which it returns between others.
    home: Option<Channel>,
    /// Channels still to be visited, the next one last.
    rest: Vec<Channel>,
    stage: Stage,
    /// When the next step is due; [`Instant::MAX`] while the radio changes its channel.
    at: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Leaves for the next channel.
    Leave,
    /// Waits on a channel before its probe request.
    Probe,
    /// Listens on a channel.
    Listen,
}

/// A step of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Changes to another channel.
    Leave(Channel),
    /// Sends a probe request.
    Probe,
    /// Returns to the client's own channel.
    Return(Channel),
    /// All channels have been visited. A client with a channel of its own has returned there.
    Done,
}

impl Scan {
    /// A scan of these channels. `home`: the channel of the client's access point. The client returns there
    /// between the others, and hears its access points without a visit.
    pub(crate) fn new(
        config: ScanConfig,
        purpose: Purpose,
        channels: &[Channel],
        home: Option<Channel>,
        now: Instant,
    ) -> Self {
        let rest = channels.iter().rev().copied().filter(|channel| Some(*channel) != home).collect();
        Self { config, purpose, began: now, home, rest, stage: Stage::Leave, at: now }
    }

    /// What it is for.
    pub(crate) const fn purpose(&self) -> Purpose {
        self.purpose
    }

    /// When it began.
    pub(crate) const fn began(&self) -> Instant {
        self.began
    }

    /// When [`Self::step`] is due.
    pub(crate) const fn at(&self) -> Instant {
        self.at
    }

    /// Whether it is on another channel than the client's own.
    pub(crate) const fn is_away(&self) -> bool {
        !matches!(self.stage, Stage::Leave)
    }

    /// The next step, which is due now.
    pub(crate) fn step(&mut self, now: Instant) -> Step {
        match self.stage {
            Stage::Leave => {
                let Some(channel) = self.rest.pop() else { return Step::Done };
                self.stage = match self.config.method {
                    ScanMethod::Passive { .. } => Stage::Listen,
                    ScanMethod::Active { .. } => Stage::Probe,
                };
                self.at = Instant::MAX;
                Step::Leave(channel)
            }
            Stage::Probe => {
                self.stage = Stage::Listen;
                self.at = now + self.dwell();
                Step::Probe
            }
            Stage::Listen => {
                self.stage = Stage::Leave;
                let Some(home) = self.home else { return self.step(now) };
                self.at = Instant::MAX;
                Step::Return(home)
            }
        }
    }

    /// The radio has changed to the channel of the last step.
    pub(crate) fn on_tuned(&mut self, now: Instant) {
        let wait = match (self.stage, self.config.method) {
            (Stage::Leave, _) if self.rest.is_empty() => Duration::ZERO,
            (Stage::Leave, _) => self.config.home_time,
            (Stage::Probe, ScanMethod::Active { probe_delay, .. }) => probe_delay,
            (Stage::Probe | Stage::Listen, _) => self.dwell(),
        };
        self.at = now + wait;
    }

    const fn dwell(&self) -> Duration {
        let (ScanMethod::Passive { dwell } | ScanMethod::Active { dwell, .. }) = self.config.method;
        dwell
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(config: ScanConfig, home: Option<Channel>) -> Vec<(u64, Step)> {
        let channels = [Channel(0), Channel(1), Channel(2)];
        let mut scan = Scan::new(config, Purpose::Choice, &channels, home, Instant::ZERO);
        let mut steps = Vec::new();
        loop {
            let at = scan.at();
            let step = scan.step(at);
            steps.push((at.as_millis(), step));
            match step {
                Step::Done => return steps,
                // A radio that takes 3 ms to change its channel.
                Step::Leave(_) | Step::Return(_) => scan.on_tuned(at + MS(3)),
                Step::Probe => {}
            }
        }
    }

    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn a_client_without_an_association_goes_from_channel_to_channel() {
        let method = ScanMethod::Active { probe_delay: MS(30), dwell: MS(20) };
        let config = ScanConfig { method, home_time: MS(100) };
        let visit = |at, channel| [(at, Step::Leave(Channel(channel))), (at + 33, Step::Probe)];
        let expected = [visit(0, 0), visit(53, 1), visit(106, 2)].concat();
        assert_eq!(steps(config, None), [expected, vec![(159, Step::Done)]].concat());
    }

    #[test]
    fn an_associated_client_returns_to_its_channel_between_others() {
        let config = ScanConfig { method: ScanMethod::Passive { dwell: MS(110) }, home_time: MS(100) };
        let home = Channel(1);
        let expected = [
            (0, Step::Leave(Channel(0))),
            (113, Step::Return(home)),
            (216, Step::Leave(Channel(2))),
            (329, Step::Return(home)),
            (332, Step::Done),
        ];
        assert_eq!(steps(config, Some(home)), expected);
    }
}
