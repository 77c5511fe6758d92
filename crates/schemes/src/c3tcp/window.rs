//! The congestion control module at a sender: the window of its ACKs (section 4.4.4).

use std::time::Duration;

use lasthop_packet::Instant;

use super::options::Backward;
use super::settings::Settings;

/// The estimate of one connection's path.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PathWindow {
    pub(super) measured: Option<Measured>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Measured {
    /// Octets per second.
    pub(super) bandwidth: u64,
    /// Forward plus backward delay, in microseconds.
    pub(super) delay: u64,
    pub(super) at: Instant,
}

impl PathWindow {
    /// Adds a measurement from an ACK, with a weight of one divided by `smoothing`, if the last one
    /// still counts.
    pub(super) fn add(&mut self, backward: Backward, settings: &Settings, now: Instant) {
        let bandwidth = u64::from(backward.echo.bandwidth);
        let delay = u64::from(backward.echo.delay) + u64::from(backward.delay);
        let weight = u64::from(settings.smoothing.max(1));
        let mean = |known: u64, new: u64| ((weight - 1) * known + new) / weight;
        self.measured = Some(match self.recent(settings.lifetime, now) {
            Some(known) => Measured {
                bandwidth: mean(known.bandwidth, bandwidth),
                delay: mean(known.delay, delay),
                at: now,
            },
            None => Measured { bandwidth, delay, at: now },
        });
    }

    /// The measurement, if it is within `lifetime`.
    fn recent(&self, lifetime: Duration, now: Instant) -> Option<Measured> {
        self.measured.filter(|measured| now.since(measured.at) <= lifetime)
    }

    /// Bandwidth times delay, in octets, if it was measured within `lifetime`.
    pub(super) fn octets(&self, lifetime: Duration, now: Instant) -> Option<u64> {
        let measured = self.recent(lifetime, now)?;
        let product = u128::from(measured.bandwidth) * u128::from(measured.delay) / 1_000_000;
        Some(u64::try_from(product).unwrap_or(u64::MAX))
    }
}

/// The window field of an ACK: this number of octets, but at most the previous value. It is rounded
/// up, so that it has room for complete segments.
pub(super) fn window_field(octets: u64, shift: u8, field: u16) -> u16 {
    let scaled = octets.div_ceil(1 << shift);
    u16::try_from(scaled).unwrap_or(u16::MAX).min(field)
}
