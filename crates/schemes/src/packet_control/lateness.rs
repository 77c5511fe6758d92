//! How late overtaken segments are: what closed the first hole in what the mobile host has, and when.

use std::time::Duration;

use lasthop_hop::transfer::Away;
use lasthop_packet::{Instant, Seq};

use serde::{Deserialize, Serialize};

/// Of an overtaken segment that is less late, this part is taken off what was learned; and so it is
/// for each hole that was a loss.
const FORGETTING: u32 = 32;

/// What is learned of a hop on which segments overtake each other; a constant number of octets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Lateness {
    /// How late the latest of the lately overtaken segments were.
    lately: Duration,
    /// The first hole, while there is one.
    hole: Option<Hole>,
    /// The end of the highest data that the sender has sent again.
    repeated_until: Option<Seq>,
    /// The end of a segment that is timed, and when it passed.
    timed: Option<(Seq, Instant)>,
    /// The shortest round-trip time over the hop.
    least_rtt: Option<Duration>,
}

/// A segment that the mobile host waits for while it has later ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Hole {
    number: Seq,
    /// When the first ACK told of it.
    since: Instant,
    /// When the sender's first retransmission of it passed.
    repeated: Option<Instant>,
}

/// What is saved of it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct SavedLateness {
    lately: Away,
    least_rtt: Option<Away>,
}

impl Lateness {
    /// How long a hole may be expected to stay open if its segment was overtaken: twice as long as
    /// lately. Zero where none is overtaken.
    pub(super) fn expected(&self) -> Duration {
        self.lately * 2
    }

    /// Data goes on to the mobile host: new data, or what was sent before.
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

    /// An ACK says that the segment at `number` is missing.
    pub(super) fn on_hole(&mut self, number: Seq, now: Instant) {
        if self.hole.is_none_or(|hole| hole.number != number) {
            // In a recovery the sender has sent later holes again before they are the first.
            let was_repeated = self.repeated_until.is_some_and(|until| number.before(until));
            self.hole = Some(Hole { number, since: now, repeated: was_repeated.then_some(Instant::ZERO) });
        }
    }

    /// An ACK has a higher number than all before.
    pub(super) fn on_progress(&mut self, ack: Seq, now: Instant) {
        if let Some((_, at)) = self.timed.take_if(|(end, _)| !ack.before(*end)) {
            let rtt = now.since(at);
            self.least_rtt = Some(self.least_rtt.map_or(rtt, |least| least.min(rtt)));
        }
        let Some(hole) = self.hole.take() else { return };
        let late = now.since(hole.since);
        // What is acknowledged sooner than a round trip over the hop after the retransmission was
        // there without it.
        let was_overtaken = match (hole.repeated, self.least_rtt) {
            (None, _) => true,
            (Some(repeated), Some(least)) => now.since(repeated) < least,
            (Some(_), None) => false,
        };
        self.lately -= self.lately / FORGETTING;
        if was_overtaken {
            self.lately = self.lately.max(late);
        }
    }

    /// As a value. The first hole is left out: what follows tells of it again.
    pub(super) fn save(&self) -> SavedLateness {
        let nanos = |duration: Duration| Instant::from_nanos(duration.as_nanos() as u64);
        let away = |duration| Away::from(nanos(duration), Instant::ZERO);
        SavedLateness { lately: away(self.lately), least_rtt: self.least_rtt.map(away) }
    }
}

impl SavedLateness {
    pub(super) fn restore(self) -> Lateness {
        let duration = |away: Away| away.to(Instant::ZERO).since(Instant::ZERO);
        let lately = duration(self.lately);
        Lateness { lately, least_rtt: self.least_rtt.map(duration), ..Lateness::default() }
    }
}
