//! Snoop for current TCP, with SACK, timestamps and segmentation offload.
//!
//! | file | contents |
//! |---|---|
//! | [`scoreboard`] | delivered and lost data, by SACK |
//! | `acknowledgments` | the processing of ACKs |
//! | `repairs` | local retransmissions |
//! | `rewriting` | what the sender learns about the receiver's state |
//! | `account` | queries by other schemes |
//!
//! *Withheld losses are under repair*, or will be within a quarter of the hop's minimum round trip:
//! a segment that at most `reordering` others have overtaken is repaired after that time
//! ([`scoreboard`]). To pass those SACK blocks would be simpler, and the sender could continue to
//! send (RFC 3042); but it would learn of nearly every loss, and RACK would act on some.
//!
//! *An ACK may be late.* While a single segment is outstanding the timer also waits for a delayed
//! ACK. Data that follows elicits that ACK, so the wait restarts. It becomes longer, up to 200 ms,
//! if the receiver reports many needless copies ([`super::rtt`]).
//!
//! *ACKs that queue* on a narrow return path make the round trip long, but data does not wait
//! longer. While the hop loses no data, the window excludes that time, by the timestamps of the
//! ACKs ([`WayBack`]). With losses, repairs take that time, too.
//!
//! *A silent receiver.* Its first ACK may show that it was only late: if that ACK echoes a TSval
//! older than that of the first copy (RFC 3522, section 3.2), no loss is inferred from it, nor from
//! the sender's time-out.
//!
//! *A receiver without SACK* reports only that there is a hole: more duplicate ACKs than
//! `reordering`, or one and then no more, start a repair of one segment; an ACK of the copy that
//! stops short starts the next (RFC 6582); a lost copy is left to the timer.

mod account;
mod acknowledgments;
mod repairs;
mod rewriting;
pub mod scoreboard;

use lasthop_agent::report::Cause;
use lasthop_agent::{Context, Room};
use lasthop_hop::last_hop::WayBack;
use lasthop_packet::{Instant, Packet, Seq};

use super::effects::{AckEffect, DataEffect, TimerAction, TimerEffect};
use super::flow::{Notes, Passing, Recovery, SnoopFlow};
use super::saved::{Duplicates, SavedRecovery};
use super::segmentation::{is_repairable, send_copy};
use super::settings::Settings;
use scoreboard::{Departure, Scoreboard};

/// The loss state by SACK.
#[derive(Debug)]
pub struct Today {
    /// Delivered and lost data.
    pub(super) scoreboard: Scoreboard,
    /// The lateness of ACKs.
    way_back: WayBack,
    /// The TSval of the first copy that the timer has sent since the last ACK; `None` if copies
    /// keep the TSval of the original.
    copied: Option<Seq>,
    /// The first segment that the sender retransmitted since the receiver became silent.
    overdue: Option<Overdue>,
}

/// A segment that the sender retransmitted while its ACK was overdue.
#[derive(Clone, Copy, Debug)]
struct Overdue {
    seq: Seq,
    /// The TSval of the retransmission.
    tsval: Option<Seq>,
}

impl Recovery for Today {
    const HEADERS_SUFFICE: bool = true;

    fn new(settings: &Settings, _seq: Seq) -> Self {
        Self {
            scoreboard: Scoreboard::new(settings.reordering),
            way_back: WayBack::default(),
            copied: None,
            overdue: None,
        }
    }

    fn restarted(&self, settings: &Settings, seq: Seq) -> Self {
        let mut restarted = Self { way_back: self.way_back, ..Self::new(settings, seq) };
        restarted.scoreboard.sack_seen = self.scoreboard.sack_seen;
        restarted
    }

    fn on_data(
        flow: &mut SnoopFlow<Self>,
        packet: &Packet,
        settings: &Settings,
        room: Room,
        now: Instant,
    ) -> DataEffect {
        let Some(tcp) = packet.tcp() else { return DataEffect::default() };
        let Passing { seq, end, is_late, is_acknowledged } = flow.record_passing(packet, tcp, now);
        if is_acknowledged {
            flow.recovery.scoreboard.forget_copies(seq, end);
            return DataEffect::default();
        }
        let is_overdue = flow.expiries > 0;
        if is_late && flow.mark_retransmitted_by_sender(seq, end, now) {
            if is_overdue {
                let tsval = tcp.options.timestamps.map(|timestamps| Seq(timestamps.value));
                flow.recovery.overdue.get_or_insert(Overdue { seq, tsval });
            }
            return DataEffect { restart_timer: true, at_bound: None };
        }
        if !is_repairable(tcp) {
            return DataEffect::default();
        }
        let is_again = if is_late { Departure::Again } else { Departure::New };
        let scoreboard = &mut flow.recovery.scoreboard;
        if packet.payload().is_unseen() {
            if room.lacks(scoreboard.cost_of_one()).is_none() {
                let what = if is_late { Departure::Again } else { Departure::NotKept };
                scoreboard.record_segment(packet.segment_payload());
                scoreboard.transmit(seq, end, now, what);
            }
            return DataEffect { restart_timer: is_late, at_bound: None };
        }
        let sizes = packet.sizes();
        let at_bound = flow.bound_on(sizes, settings, room);
        if at_bound.is_some() {
            return DataEffect { at_bound, restart_timer: false };
        }
        let notes = Notes { sent: now, local: 0, by_sender: false, ambiguous: is_late };
        flow.cache.insert(packet, sizes, notes);
        let scoreboard = &mut flow.recovery.scoreboard;
        // A segment that follows one with a delayed ACK elicits that ACK.
        let ends_delay = scoreboard.unsacked() > 0 && scoreboard.is_single();
        scoreboard.record_segment(packet.segment_payload());
        scoreboard.transmit(seq, end, now, is_again);
        DataEffect { restart_timer: is_late || ends_delay, at_bound: None }
    }

    fn on_ack(
        flow: &mut SnoopFlow<Self>,
        packet: &mut Packet,
        settings: &Settings,
        cx: &mut Context<'_>,
    ) -> AckEffect {
        let summary = flow.process_ack(packet, settings, cx.now());
        flow.repair_losses(settings, Cause::DuplicateAck, cx);
        let verdict = flow.rewrite_ack(packet, &summary, settings, cx);
        AckEffect { verdict, timer: TimerAction::Follow, progress: Some(summary.progress) }
    }

    fn on_timer(flow: &mut SnoopFlow<Self>, settings: &Settings, cx: &mut Context<'_>) -> TimerEffect {
        let now = cx.now();
        // Timers are lazy: progress only changes their due time.
        if flow.due(settings) > now {
            return TimerEffect::NotDue;
        }
        if Self::loss_due(flow).is_some_and(|at| at <= now) {
            flow.end_reordering_window(now);
            flow.repair_losses(settings, Cause::Timer, cx);
            return TimerEffect::WindowEnded;
        }
        for copy in flow.probe(settings, now).into_iter().flatten() {
            send_copy(copy, Cause::Timer, cx);
        }
        let has_given_up = flow.expiries > settings.local_retransmissions;
        let timer = if has_given_up { TimerAction::Keep } else { TimerAction::Follow };
        TimerEffect::Expired { has_given_up, timer }
    }

    /// The end of the reordering window, if few segments have overtaken one.
    fn loss_due(flow: &SnoopFlow<Self>) -> Option<Instant> {
        let scoreboard = &flow.recovery.scoreboard;
        Some(scoreboard.overtaken_since()? + flow.rtt.reordering_window(scoreboard.tolerated()))
    }

    fn is_single(flow: &SnoopFlow<Self>) -> bool {
        flow.recovery.scoreboard.is_single()
    }

    fn waits_for_ack(flow: &SnoopFlow<Self>) -> bool {
        flow.recovery.scoreboard.unsacked() > 0
    }

    fn outstanding(flow: &SnoopFlow<Self>) -> u64 {
        flow.recovery.scoreboard.in_flight()
    }

    fn is_complete(&self) -> bool {
        self.scoreboard.in_flight() == self.scoreboard.unsacked() && self.scoreboard.duplicates == 0
    }

    fn has_seen_sack(&self) -> bool {
        self.scoreboard.sack_seen
    }

    fn is_resegmented(flow: &SnoopFlow<Self>, packet: &Packet) -> bool {
        flow.is_resegmented_by(packet)
    }

    fn mark_times_ambiguous(&mut self) {
        self.scoreboard.mark_times_ambiguous();
    }

    fn allocated(&self) -> usize {
        self.scoreboard.allocated()
    }

    fn prefetch(&self) {
        self.scoreboard.prefetch();
    }

    fn save(flow: &SnoopFlow<Self>) -> SavedRecovery {
        SavedRecovery {
            duplicates: Duplicates::default(),
            count_from: flow.cache.first().map_or(flow.highest, |first| first.seq),
            sack_seen: flow.recovery.scoreboard.sack_seen,
        }
    }

    fn departure(&self, seq: Seq) -> Option<(Instant, bool)> {
        self.scoreboard.last_departure(seq)
    }

    fn restore(&mut self, saved: &SavedRecovery) {
        self.scoreboard.sack_seen = saved.sack_seen;
    }

    fn cost_of_one(&self) -> usize {
        self.scoreboard.cost_of_one()
    }

    fn on_restored(&mut self, packet: &Packet, notes: &Notes) {
        let Some(tcp) = packet.tcp() else { return };
        let what = if notes.ambiguous { Departure::Again } else { Departure::New };
        self.scoreboard.record_segment(packet.segment_payload());
        self.scoreboard.transmit(tcp.seq, tcp.seq + packet.segment_len(), notes.sent, what);
    }
}

impl SnoopFlow<Today> {
    /// Marks `[seq, end)` as retransmitted by the sender. Returns whether any of it was there.
    fn mark_retransmitted_by_sender(&mut self, seq: Seq, end: Seq, now: Instant) -> bool {
        let max_ranges = self.ranges_allowed();
        self.expiries = 0;
        self.recovery.scoreboard.retransmitted_by_sender(seq, end, now, max_ranges)
    }

    /// The maximum number of ranges in the scoreboard: in proportion to the data in flight, since
    /// otherwise a receiver that acknowledges single octets could make the state larger than the
    /// data; and limited by the memory.
    fn ranges_allowed(&self) -> usize {
        let scoreboard = &self.recovery.scoreboard;
        let not_kept = (scoreboard.unsacked() as usize).saturating_sub(self.cache.octets());
        let not_kept = not_kept / scoreboard.segment().max(1) as usize;
        let allowed = 2 * self.cache.len() + self.cache.octets() / 512 + not_kept + 16;
        // One packet may cause several splits, and so several growths.
        let is_short = self.spare < 4 * scoreboard.cost_of_growth();
        if is_short { allowed.min(scoreboard.spare_ranges()) } else { allowed }
    }
}
