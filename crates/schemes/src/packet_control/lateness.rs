//! How late overtaken segments are: what closed the mobile host's first hole, and when.

use std::time::Duration;

use lasthop_hop::transfer::Away;
use lasthop_packet::{Instant, Seq};

use serde::{Deserialize, Serialize};

/// The divisor by which the learned lateness decays with each overtaken segment that is less late,
/// and with each hole that was a loss.
const FORGETTING: u32 = 32;

/// The learned lateness on a hop on which segments overtake each other, of constant size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Lateness {
    /// The decaying maximum of the lateness of overtaken segments.
    recent: Duration,
    /// The first hole, if any.
    hole: Option<Hole>,
    /// The end of the highest data that the sender has retransmitted.
    repeated_until: Option<Seq>,
    /// The end of a timed segment, and when it passed.
    timed: Option<(Seq, Instant)>,
    /// The minimum round-trip time over the hop.
    min_rtt: Option<Duration>,
}

/// A missing segment, above which the mobile host has data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Hole {
    number: Seq,
    /// When the first ACK reported it.
    since: Instant,
    /// When the sender's first retransmission of it passed.
    repeated: Option<Instant>,
}

/// The exported part of a [`Lateness`].
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct SavedLateness {
    recent: Away,
    min_rtt: Option<Away>,
}

impl Lateness {
    /// How long a hole may be expected to stay open if its segment was overtaken: twice the recent
    /// lateness. Zero if no segments are overtaken.
    pub(super) fn expected(&self) -> Duration {
        self.recent * 2
    }

    /// Records data that passes to the mobile host, new or retransmitted.
    pub(super) fn on_data(&mut self, (seq, end): (Seq, Seq), is_new: bool, now: Instant) {
        if is_new {
            self.timed = self.timed.or(Some((end, now)));
            return;
        }
        self.repeated_until = Some(self.repeated_until.map_or(end, |until| until.later(end)));
        if let Some(hole) = self.hole.as_mut().filter(|hole| hole.number.within(seq, end)) {
            hole.repeated = hole.repeated.or(Some(now));
        }
    }

    /// Records an ACK that reports the segment at `number` as missing.
    pub(super) fn on_hole(&mut self, number: Seq, now: Instant) {
        if self.hole.is_none_or(|hole| hole.number != number) {
            // In a recovery the sender has retransmitted later holes before they are the first.
            let was_repeated = self.repeated_until.is_some_and(|until| number.before(until));
            self.hole = Some(Hole { number, since: now, repeated: was_repeated.then_some(Instant::ZERO) });
        }
    }

    /// Records an ACK with a higher number than all before.
    pub(super) fn on_progress(&mut self, ack: Seq, now: Instant) {
        if let Some((_, at)) = self.timed.take_if(|(end, _)| !ack.before(*end)) {
            let rtt = now.since(at);
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |min| min.min(rtt)));
        }
        let Some(hole) = self.hole.take() else { return };
        let late = now.since(hole.since);
        // A segment that is acknowledged sooner than a round trip over the hop after its
        // retransmission arrived without it.
        let was_overtaken = match (hole.repeated, self.min_rtt) {
            (None, _) => true,
            (Some(repeated), Some(min)) => now.since(repeated) < min,
            (Some(_), None) => false,
        };
        self.recent -= self.recent / FORGETTING;
        if was_overtaken {
            self.recent = self.recent.max(late);
        }
    }

    /// The state as a value. The first hole is left out: later ACKs report it again.
    pub(super) fn save(&self) -> SavedLateness {
        let nanos = |duration: Duration| Instant::from_nanos(duration.as_nanos() as u64);
        let away = |duration| Away::from(nanos(duration), Instant::ZERO);
        SavedLateness { recent: away(self.recent), min_rtt: self.min_rtt.map(away) }
    }
}

impl SavedLateness {
    pub(super) fn restore(self) -> Lateness {
        let duration = |away: Away| away.to(Instant::ZERO).since(Instant::ZERO);
        let recent = duration(self.recent);
        Lateness { recent, min_rtt: self.min_rtt.map(duration), ..Lateness::default() }
    }
}
