//! How long the path beyond the agent is, to the sender.

use std::time::Duration;

use lasthop_packet::{Instant, Seq, Tcp};

/// The round-trip time from here to the sender, by timestamps (RFC 7323): from a TSval that goes up to
/// its echo. The sender may have been asked for nothing meanwhile, so that it is the least that
/// counts.
#[derive(Clone, Copy, Debug, Default)]
pub struct CorePath {
    /// A TSval, and when it first went up.
    timed: Option<(Seq, Instant)>,
    least: Option<Duration>,
}

impl CorePath {
    /// A packet goes up, to the sender.
    pub fn on_up(&mut self, tcp: &Tcp, now: Instant) {
        if let (None, Some(timestamps)) = (self.timed, tcp.options.timestamps) {
            self.timed = Some((Seq(timestamps.value), now));
        }
    }

    /// A packet comes down.
    pub fn on_down(&mut self, tcp: &Tcp, now: Instant) {
        let (Some((value, went_up)), Some(timestamps)) = (self.timed, tcp.options.timestamps) else { return };
        if !Seq(timestamps.echo_reply).before(value) {
            let sample = now.since(went_up);
            self.least = Some(self.least.map_or(sample, |least| least.min(sample)));
            self.timed = None;
        }
    }

    /// The least that was measured.
    pub const fn least(&self) -> Option<Duration> {
        self.least
    }
}
