//! The round-trip time of the path between the agent and the sender.

use std::time::Duration;

use lasthop_packet::{Instant, Seq, Tcp};

/// The minimum round-trip time between the agent and the sender, by timestamps (RFC 7323): from a
/// TSval sent to the sender until its echo. Only the minimum counts, since the sender may have had
/// no data to send for a while.
#[derive(Clone, Copy, Debug, Default)]
pub struct CorePath {
    /// A TSval, and when it was first sent to the sender.
    timed: Option<(Seq, Instant)>,
    min: Option<Duration>,
}

impl CorePath {
    /// Records a packet to the sender.
    pub fn on_up(&mut self, tcp: &Tcp, now: Instant) {
        if let (None, Some(timestamps)) = (self.timed, tcp.options.timestamps) {
            self.timed = Some((Seq(timestamps.value), now));
        }
    }

    /// Records a packet from the sender.
    pub fn on_down(&mut self, tcp: &Tcp, now: Instant) {
        let (Some((value, went_up)), Some(timestamps)) = (self.timed, tcp.options.timestamps) else { return };
        if !Seq(timestamps.echo_reply).before(value) {
            let sample = now.since(went_up);
            self.min = Some(self.min.map_or(sample, |min| min.min(sample)));
            self.timed = None;
        }
    }

    /// The minimum measured so far.
    pub const fn min(&self) -> Option<Duration> {
        self.min
    }
}
