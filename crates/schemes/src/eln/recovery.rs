//! The meaning of an acknowledgment for the sender's recovery.

use std::time::Duration;

use lasthop_hop::transfer::Away;
use lasthop_hop::upload::holes::{Hole, Holes};
use lasthop_packet::{Instant, Seq};
use serde::{Deserialize, Serialize};

/// The maximum age of an echo from an earlier recovery: the sender measures a round-trip time by
/// it.
const MAX_AGE: Duration = Duration::from_secs(1);

/// The state of the sender's recovery, besides the holes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Recovery {
    /// The end of the data during which a loss occurred that was not on the hop for sure: nothing
    /// is reported before an acknowledgment of this number.
    lost_elsewhere: Option<Seq>,
    /// The last echo, if there have been holes since, and its time: Linux keeps the time of the
    /// first retransmission (`retrans_stamp`) from one recovery to the next while any is
    /// outstanding.
    echoed: Option<(Seq, Instant)>,
    /// The current recovery, if any.
    unfinished: Option<Unfinished>,
}

/// A recovery in progress.
///
/// A sender that undoes its reduction in the middle stops the repair: Linux no longer treats the
/// segments as lost that it has not retransmitted yet, and detects that only at its next time-out
/// (`tcp_try_undo_partial`, `tcp_try_undo_loss`, `tcp_rack_advance`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Unfinished {
    /// The end of the data sent before the first repair: the sender has recovered when all of it is
    /// acknowledged (`high_seq`; RFC 6675's `RecoveryPoint`), or none of it is missing.
    until: Seq,
    /// The oldest timestamp to echo, of the acknowledged repairs.
    echo: Option<Seq>,
    /// Whether any repair was acknowledged.
    covers_repairs: bool,
    /// Whether no repair justified a reduction of the window.
    is_needless: bool,
}

/// The repairs that an acknowledgment covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repairs {
    /// None.
    None,
    /// All repaired data had been lost on the hop, without a sign of congestion. The oldest
    /// timestamp from before a retransmission, if there are timestamps.
    Needless(Option<Seq>),
    /// Other data was, or may have been, lost elsewhere.
    Uncertain,
    /// Some, and the sender has not recovered yet.
    Unfinished,
}

impl Recovery {
    /// Records a loss elsewhere, or by congestion, of data up to this number.
    pub(super) fn on_loss_elsewhere(&mut self, end: Seq) {
        self.lost_elsewhere = Some(self.lost_elsewhere.map_or(end, |known| known.later(end)));
    }

    /// Records the arrival of missing data. `next` is the end of all data received.
    pub(super) fn on_repair(&mut self, next: Seq) {
        self.unfinished.get_or_insert(Unfinished::new(next));
    }

    /// The report for an acknowledgment, for which [`Self::judge`] returned `part`, if reports wait
    /// for the end of the recovery.
    pub(super) fn conclude(&mut self, part: Repairs, ack: Seq, holes: &Holes) -> Repairs {
        let Some(mut all) = self.unfinished else { return part };
        all.add(part);
        let is_outstanding = |hole: &Hole| hole.end.after(ack);
        if ack.before(all.until) && holes.as_slice().iter().any(is_outstanding) {
            self.unfinished = Some(all);
            return if part == Repairs::None { part } else { Repairs::Unfinished };
        }
        // Retransmissions of later data belong to another recovery.
        let continues = holes.as_slice().iter().any(|hole| hole.is_repaired && hole.end.after(ack));
        self.unfinished = continues.then(|| Unfinished::new(holes.next()));
        all.repairs()
    }

    /// The repairs that an acknowledgment covers; the holes below it end.
    pub(super) fn judge(&mut self, ack: Seq, holes: &Holes, now: Instant) -> Repairs {
        let covered = || holes.as_slice().iter().filter(|hole| hole.is_repaired && !hole.end.after(ack));
        let is_needless =
            self.lost_elsewhere.is_none() && holes.is_complete() && covered().all(|hole| hole.is_air);
        self.lost_elsewhere = self.lost_elsewhere.filter(|end| end.after(ack));
        let echoed = self.echoed.filter(|(_, since)| now.since(*since) <= MAX_AGE);
        let repairs = if covered().next().is_none() {
            Repairs::None
        } else if is_needless {
            let shown = covered().filter_map(|hole| hole.shown_by).reduce(Seq::earlier);
            let before = echoed.map(|(echo, _)| echo);
            Repairs::Needless(before.zip(shown).map_or(shown, |(before, shown)| Some(before.earlier(shown))))
        } else {
            Repairs::Uncertain
        };
        let continues = holes.as_slice().iter().any(|hole| hole.end.after(ack));
        self.echoed = match repairs {
            _ if !continues => None,
            Repairs::Needless(Some(echo)) => Some((echo, echoed.map_or(now, |(_, since)| since))),
            _ => echoed,
        };
        repairs
    }
}

impl Unfinished {
    const fn new(until: Seq) -> Self {
        Self { until, echo: None, covers_repairs: false, is_needless: true }
    }

    fn add(&mut self, part: Repairs) {
        self.covers_repairs |= part != Repairs::None;
        match part {
            Repairs::Needless(echo) => {
                self.echo = self.echo.zip(echo).map(|(one, other)| one.earlier(other)).or(self.echo).or(echo);
            }
            Repairs::Uncertain => self.is_needless = false,
            Repairs::None | Repairs::Unfinished => {}
        }
    }

    const fn repairs(self) -> Repairs {
        match self {
            Self { covers_repairs: false, .. } => Repairs::None,
            Self { is_needless: true, echo, .. } => Repairs::Needless(echo),
            _ => Repairs::Uncertain,
        }
    }
}

/// The exported state of a [`Recovery`].
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct SavedRecovery {
    lost_elsewhere: Option<Seq>,
    echoed: Option<(Seq, Away)>,
    unfinished: Option<Unfinished>,
}

impl SavedRecovery {
    pub(super) fn new(recovery: Recovery, now: Instant) -> Self {
        let Recovery { lost_elsewhere, echoed, unfinished } = recovery;
        Self {
            lost_elsewhere,
            echoed: echoed.map(|(echo, since)| (echo, Away::from(since, now))),
            unfinished,
        }
    }

    pub(super) fn restored(self, now: Instant) -> Recovery {
        let Self { lost_elsewhere, echoed, unfinished } = self;
        Recovery {
            lost_elsewhere,
            echoed: echoed.map(|(echo, since)| (echo, since.to(now).min(now))),
            unfinished,
        }
    }
}
