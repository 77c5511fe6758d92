//! The rule that a window follows: that of one host's hop, or that of a hop that all hosts share.

use std::net::IpAddr;
use std::time::Duration;

use lasthop_packet::Instant;

use super::progress::Progress;
use super::round::Measured;
use super::shared::SharedWindow;
use super::targets::Targets;
use super::window::Window;

#[derive(Debug)]
pub(super) enum ControlLaw {
    /// [`super::window`].
    Own(Window),
    /// [`super::shared`].
    Shared(SharedWindow),
}

impl ControlLaw {
    /// Octets that may be on the hop now.
    pub(super) fn octets(&self) -> u64 {
        match self {
            Self::Own(window) => window.octets(),
            Self::Shared(window) => window.octets,
        }
    }

    /// Octets that may be on the hop when it is not being drained.
    pub(super) const fn usual(&self) -> u64 {
        match self {
            Self::Own(window) => window.usual(),
            Self::Shared(window) => window.octets,
        }
    }

    /// Octets of allocated memory.
    pub(super) fn memory(&self) -> usize {
        match self {
            Self::Own(_) => 0,
            Self::Shared(window) => window.memory(),
        }
    }

    /// Whether all hosts share it.
    pub(super) const fn is_shared(&self) -> bool {
        matches!(self, Self::Shared(_))
    }

    /// Whether no queue has shown yet, and the window does not limit.
    pub(super) const fn is_new(&self) -> bool {
        match self {
            Self::Own(window) => window.is_new(),
            Self::Shared(_) => false,
        }
    }

    /// The minimum round-trip time of the one host's hop.
    pub(super) const fn min_rtt(&self) -> Option<Duration> {
        match self {
            Self::Own(window) => window.min_rtt(),
            Self::Shared(_) => None,
        }
    }

    /// The round-trip time that the window of one host's hop aims at.
    pub(super) fn target(&self, targets: &Targets) -> Option<Duration> {
        match self {
            Self::Own(window) => window.min_rtt().map(|_| window.target(targets)),
            Self::Shared(_) => None,
        }
    }

    /// The minimum round-trip time of a host's hop.
    pub(super) fn min_rtt_of(&self, host: IpAddr) -> Option<Duration> {
        match self {
            Self::Own(window) => window.min_rtt(),
            Self::Shared(window) => window.min_rtt_of(host),
        }
    }

    /// Whether the queue is being drained or kept empty.
    pub(super) const fn is_draining(&self) -> bool {
        match self {
            Self::Own(window) => window.is_draining(),
            Self::Shared(_) => false,
        }
    }

    /// Sets the minimum window, in segments of this size.
    pub(super) fn set_floor(&mut self, segments: u32, segment: u32) {
        match self {
            Self::Own(window) => window.set_floor(u64::from(segments) * u64::from(segment)),
            Self::Shared(window) => window.set_floor(segments, segment),
        }
    }

    /// Records what an ACK showed, with or without a sample.
    pub(super) fn on_progress(&mut self, progress: &Progress) {
        if let Self::Own(window) = self {
            window.on_progress(progress);
        }
    }

    /// Records a sample: a host's round-trip time and when its segment left; and the results of the
    /// round that it ends, if it ends one.
    pub(super) fn on_sample(
        &mut self,
        host: IpAddr,
        sample: (Duration, Instant),
        round: Option<Measured>,
        in_flight: u64,
        now: Instant,
        targets: &Targets,
    ) {
        match self {
            Self::Own(window) => window.on_sample(sample, round, in_flight, now, targets),
            Self::Shared(window) => window.on_sample((host, sample.0), round, now, targets),
        }
    }
}
