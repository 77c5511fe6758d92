//! What an acknowledgment says of the sender's recovery.

use std::time::Duration;

use lasthop_hop::transfer::Away;
use lasthop_hop::upload::holes::{Hole, Holes};
use lasthop_packet::{Instant, Seq};
use serde::{Deserialize, Serialize};

/// Recoveries that pass into each other echo no timestamp from before this: the sender measures a
/// round-trip time by it.
const LONGEST: Duration = Duration::from_secs(1);

/// What is known of the sender's recovery, beside the holes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Recovery {
    /// Something was lost of which it cannot be said that it was the hop's: nothing is told before
    /// an acknowledgment of this number.
    lost_elsewhere: Option<Seq>,
    /// What was echoed last while there were holes since, and since when: Linux keeps the time of
    /// the first retransmission (`retrans_stamp`) from one recovery to the next as long as any is
    /// outstanding.
    echoed: Option<(Seq, Instant)>,
    /// What has to be acknowledged before the sender has recovered, and what was acknowledged of it.
    unfinished: Option<Unfinished>,
}

/// A recovery that goes on.
///
/// A sender that takes its reduction back in the middle stops repairing: Linux no longer takes for lost
/// what it has not sent again yet, and finds that out by its next time-out (`tcp_try_undo_partial`,
/// `tcp_try_undo_loss`, `tcp_rack_advance`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Unfinished {
    /// What had been sent when the first repair came: the sender has recovered when all of it is
    /// acknowledged (`high_seq`; RFC 6675's `RecoveryPoint`), or nothing of it is missing.
    until: Seq,
    /// The oldest timestamp to echo, of the repairs that were acknowledged.
    echo: Option<Seq>,
    /// Whether any was.
    covers_repairs: bool,
    /// Whether all of them were needless to reduce a window for.
    is_needless: bool,
}

/// What an acknowledgment covers of what was sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repairs {
    /// It covers none.
    None,
    /// Everything that was repaired had been lost on the hop, without a sign of congestion. The
    /// oldest timestamp from before a retransmission, if there are timestamps.
    Needless(Option<Seq>),
    /// Something else was lost too, or may have been.
    Uncertain,
    /// It covers some, and the sender has not recovered yet.
    Unfinished,
}

impl Recovery {
    /// Something up to this number was lost elsewhere, or by congestion.
    pub(super) fn on_loss_elsewhere(&mut self, end: Seq) {
        self.lost_elsewhere = Some(self.lost_elsewhere.map_or(end, |doubt| doubt.later(end)));
    }

    /// Something came that was missing. `next` is the number behind all that has come.
    pub(super) fn on_repair(&mut self, next: Seq) {
        self.unfinished.get_or_insert(Unfinished::new(next));
    }

    /// What is to be told with an acknowledgment, of which [`Self::judge`] says this, where nothing is
    /// to be told before the sender has recovered.
    pub(super) fn conclude(&mut self, part: Repairs, ack: Seq, holes: &Holes) -> Repairs {
        let Some(mut all) = self.unfinished else { return part };
        all.add(part);
        let is_outstanding = |hole: &Hole| hole.end.after(ack);
        if ack.before(all.until) && holes.as_slice().iter().any(is_outstanding) {
            self.unfinished = Some(all);
            return if part == Repairs::None { part } else { Repairs::Unfinished };
        }
        // What was sent again of what came later is another recovery's.
        let goes_on = holes.as_slice().iter().any(|hole| hole.is_repaired && hole.end.after(ack));
        self.unfinished = goes_on.then(|| Unfinished::new(holes.next()));
        all.repairs()
    }

    /// What an acknowledgment covers; the holes below it are over.
    pub(super) fn judge(&mut self, ack: Seq, holes: &Holes, now: Instant) -> Repairs {
        let covered = || holes.as_slice().iter().filter(|hole| hole.is_repaired && !hole.end.after(ack));
        let is_needless =
            self.lost_elsewhere.is_none() && holes.is_whole() && covered().all(|hole| hole.is_air);
        self.lost_elsewhere = self.lost_elsewhere.filter(|doubt| doubt.after(ack));
        let echoed = self.echoed.filter(|(_, since)| now.since(*since) <= LONGEST);
        let repairs = if covered().next().is_none() {
            Repairs::None
        } else if is_needless {
            let shown = covered().filter_map(|hole| hole.shown_by).reduce(Seq::earlier);
            let before = echoed.map(|(echo, _)| echo);
            Repairs::Needless(before.zip(shown).map_or(shown, |(before, shown)| Some(before.earlier(shown))))
        } else {
            Repairs::Uncertain
        };
        let goes_on = holes.as_slice().iter().any(|hole| hole.end.after(ack));
        self.echoed = match repairs {
            _ if !goes_on => None,
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

/// What is exported of it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct SavedRecovery {
    lost_elsewhere: Option<Seq>,
    echoed: Option<(Seq, Away)>,
    unfinished: Option<Unfinished>,
}

impl SavedRecovery {
    pub(super) fn of(recovery: Recovery, now: Instant) -> Self {
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
