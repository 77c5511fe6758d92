//! The published scheme, as in snoop.cc: losses are detected by duplicate ACKs, counted in packets,
//! one hole at a time.
//!
//! # The rules
//!
//! Data from the core side, the paper's "Data transfer from a fixed host" and its flowchart of
//! `snoop_data`; [`Published::on_data`]:
//!
//! | packet | action |
//! |---|---|
//! | next in sequence, or further on | cached, forwarded |
//! | below the highest, cached | the sender retransmitted it: marked, its count of local retransmissions is reset, forwarded; the timer restarts |
//! | below the highest, not cached | cached, and marked as the sender's retransmission if it is then the first in the cache; the timer restarts |
//! | already acknowledged | forwarded |
//! | no room in the cache | forwarded, not cached |
//!
//! ACKs from the radio side, the same section and its flowchart of `snoop_ack`; [`Published::on_ack`]:
//!
//! | ACK | action |
//! |---|---|
//! | new | removes what it covers from the cache, measures the hop's round-trip time unless a covered packet was sent twice (Karn), restarts the timer, clears the expected duplicates |
//! | lower than the last | forwarded |
//! | duplicate, its packet not cached or marked | forwarded |
//! | the first duplicate | forwarded |
//! | the second | the packet is retransmitted, the ACK suppressed. Expected duplicates from now on: the number of packets cached from the missing one on, less two |
//! | expected | suppressed |
//! | more than expected | the count starts again: the first is forwarded, and the second if the packet was retransmitted already |
//! | after a count below zero | the packet is retransmitted while that happened less than twice; then forwarded |
//!
//! A timer of srtt + 4 rttvar, at least 100 ms, runs while the cache is not empty ([`super::rtt`]).
//! When it expires and the first cached packet is the one that the receiver waits for, that packet
//! is retransmitted, at most 10 times; [`Published::on_timer`].
//!
//! # Where snoop.cc differs from the paper
//!
//! - The paper retransmits at the first duplicate ACK; snoop.cc lets one pass, for reordering.
//!   [`Settings::duplicates_passed`].
//! - The paper drops an ACK lower than the last; snoop.cc and we forward it.
//! - The paper answers a retransmission of acknowledged data with an ACK in the receiver's name;
//!   snoop.cc and we forward the data: an agent that acknowledges for the receiver does not fail
//!   open.
//! - The paper has a second, "persist" timer for a silent connection; snoop.cc only declares it.
//!   The round-trip timer does its work here.
//! - In snoop.cc the weights of srtt are the reverse of Jacobson's (7/8 for the latest
//!   measurement). Kept.
//!
//! # Where we differ from snoop.cc
//!
//! - Its count of passed duplicates is one variable for all connections, and a new ACK does not
//!   reset it. Ours belongs to the connection and is reset by each new ACK.
//! - It measures the round-trip time with retransmitted packets too. The paper, and Karn, do not.
//! - It does not detect a sender's retransmission while the cache is full. We do; that needs no
//!   memory.
//! - Once the sender has retransmitted a packet, it still suppresses the duplicates that it
//!   expected before. We let them all pass, as the paper says: the sender counts them.
//! - Once a packet was retransmitted as often as allowed, it still suppresses the duplicates that
//!   it expected. We let them all pass: only the sender can repair the loss then.
//! - A count that falls short by two is treated as one that falls short by one.
//! - It caches nothing while the interface queue is nearly full, to leave congestion to the sender.
//!   Our agent does not see that queue; packets that it drops are repaired as if they were lost on
//!   the air.
//!
//! # Where it harms
//!
//! - Current senders (RACK, RFC 8985) may retransmit after one duplicate ACK with a SACK block: the
//!   first, which passes. And each new ACK over a second hole carries SACK blocks, so that several
//!   losses in one window reach the sender.
//! - While duplicates are suppressed the sender sends no new data (no limited transmit), so the hop
//!   may become idle.
//! - Packets that are forwarded after the count elicit duplicates that are not expected; three of
//!   them start fast retransmit.
//! - Congestion in the queue downstream of the agent is hidden from the sender. Loss upstream is
//!   not.
//! - On a hop whose delay rises quickly (a full queue, power saving), a timer without back-off
//!   retransmits packets that were not lost.
//! - With BBR, or another sender that does not slow down for loss, there is little to gain.
//! - A super-packet counts as one packet, so too few duplicates are expected of it.

use lasthop_agent::counter::{DUPLICATE_ACK, DUPLICATE_ACKS_SUPPRESSED};
use lasthop_agent::report::Cause;
use lasthop_agent::{Context, Report, Room, Verdict};
use lasthop_hop::last_hop::Progress;
use lasthop_packet::{Instant, Packet, Seq, Tcp, TcpFlags};

use super::effects::{AckEffect, DataEffect, TimerAction, TimerEffect};
use super::flow::{Notes, Passing, Receiver, Recovery, SnoopFlow};
use super::saved::{Duplicates, SavedRecovery};
use super::segmentation::{cut, is_repairable, send_copy};
use super::settings::Settings;

/// The loss state of the published scheme.
#[derive(Debug)]
pub struct Published {
    /// The action for the next duplicate ACK.
    pub(super) duplicates: Duplicates,
    /// The first cached packet to count among those that elicit duplicate ACKs (snoop.cc,
    /// `expNextAck_`).
    count_from: Seq,
}

/// The action on a sign of loss.
#[derive(Clone, Copy)]
enum Remedy {
    Pass,
    Suppress,
    Repair,
}

impl Recovery for Published {
    const HEADERS_SUFFICE: bool = false;

    fn new(_settings: &Settings, seq: Seq) -> Self {
        Self { duplicates: Duplicates::default(), count_from: seq }
    }

    fn restarted(&self, settings: &Settings, seq: Seq) -> Self {
        Self::new(settings, seq)
    }

    /// `snoop_data`.
    fn on_data(
        flow: &mut SnoopFlow<Self>,
        packet: &Packet,
        settings: &Settings,
        room: Room,
        now: Instant,
    ) -> DataEffect {
        let Some(tcp) = packet.tcp() else { return DataEffect::default() };
        let passing = flow.record_passing(packet, tcp, now);
        if passing.is_acknowledged {
            return DataEffect::default();
        }
        let is_late = passing.is_late;
        if is_late && flow.mark_retransmitted_by_sender(passing, now) {
            return DataEffect { restart_timer: true, at_bound: None };
        }
        if !is_repairable(tcp) {
            return DataEffect::default();
        }
        if packet.payload().is_unseen() {
            return DataEffect { restart_timer: is_late, at_bound: None };
        }
        let sizes = packet.sizes();
        let at_bound = flow.bound_on(sizes, settings, room);
        if at_bound.is_some() {
            return DataEffect { at_bound, restart_timer: false };
        }
        let notes = Notes { sent: now, local: 0, by_sender: false, ambiguous: is_late };
        flow.cache.insert(packet, sizes, notes);
        if is_late {
            flow.fill_in(passing.seq);
        }
        DataEffect { restart_timer: is_late, at_bound: None }
    }

    /// `snoop_ack`.
    fn on_ack(
        flow: &mut SnoopFlow<Self>,
        packet: &mut Packet,
        settings: &Settings,
        cx: &mut Context<'_>,
    ) -> AckEffect {
        let effect = |verdict, timer| AckEffect { verdict, timer, progress: None };
        let passes = effect(Verdict::Forward, TimerAction::Keep);
        let Some(tcp) = packet.tcp().filter(|tcp| tcp.flags.has(TcpFlags::ACK)) else { return passes };
        let old = flow.last_ack.is_some_and(|last| tcp.ack.before(last));
        // An ACK of data that never passed is not acceptable (RFC 9293, section 3.10.7.4), or the
        // data took another path.
        if old || tcp.ack.after(flow.highest) {
            return passes;
        }
        let window_changed = tcp.window != flow.window;
        flow.window = tcp.window;
        if flow.last_ack != Some(tcp.ack) {
            let progress = flow.advance(tcp.ack, settings, cx.now());
            flow.record_hole(tcp);
            return AckEffect { progress: Some(progress), ..effect(Verdict::Forward, TimerAction::Restart) };
        }
        flow.record_hole(tcp);
        let reports_loss = flow.hole_end.is_some() && !tcp.options.sack.is_empty();
        if !packet.payload().is_empty() || !may_be_duplicate(tcp) || (window_changed && !reports_loss) {
            return effect(Verdict::Forward, TimerAction::Start);
        }
        let timer = match flow.remedy(tcp.ack, settings) {
            Remedy::Pass => return passes,
            Remedy::Suppress => TimerAction::Keep,
            Remedy::Repair => {
                let Some(copy) = flow.repair(settings.local_retransmissions, cx.now()) else { return passes };
                send_copy(copy, Cause::DuplicateAck, cx);
                TimerAction::Restart
            }
        };
        if window_changed || !settings.withholding {
            return effect(Verdict::Forward, timer);
        }
        cx.report(Report::new(&DUPLICATE_ACKS_SUPPRESSED).at(tcp.ack));
        effect(Verdict::Drop(&DUPLICATE_ACK), timer)
    }

    /// Retransmits the packet that the receiver waits for, if it is cached and the window is open.
    fn on_timer(flow: &mut SnoopFlow<Self>, settings: &Settings, cx: &mut Context<'_>) -> TimerEffect {
        flow.expiries = flow.expiries.saturating_add(1);
        let is_awaited = |first: Seq| flow.last_ack.is_none_or(|ack| !first.after(ack) && flow.window != 0);
        let is_awaited = flow.cache.first().is_some_and(|first| is_awaited(first.seq));
        let copy = is_awaited.then(|| flow.repair(settings.local_retransmissions, cx.now())).flatten();
        let Some(copy) = copy else {
            return TimerEffect::Expired { has_given_up: true, timer: TimerAction::Keep };
        };
        send_copy(copy, Cause::Timer, cx);
        TimerEffect::Expired { has_given_up: false, timer: TimerAction::Restart }
    }

    fn is_single(flow: &SnoopFlow<Self>) -> bool {
        flow.cache.len() <= 1
    }

    fn waits_for_ack(flow: &SnoopFlow<Self>) -> bool {
        !flow.cache.is_empty()
    }

    fn outstanding(flow: &SnoopFlow<Self>) -> u64 {
        flow.cache.octets() as u64
    }

    fn is_complete(&self) -> bool {
        self.duplicates == Duplicates::Passed(0)
    }

    fn save(flow: &SnoopFlow<Self>) -> SavedRecovery {
        let Self { duplicates, count_from } = flow.recovery;
        SavedRecovery { duplicates, count_from, sack_seen: false }
    }

    fn restore(&mut self, saved: &SavedRecovery) {
        *self = Self { duplicates: saved.duplicates.bounded(), count_from: saved.count_from };
    }
}

impl SnoopFlow<Published> {
    /// Marks the cached part of a packet as retransmitted by the sender. Returns whether there was
    /// any.
    fn mark_retransmitted_by_sender(&mut self, Passing { seq, end, .. }: Passing, now: Instant) -> bool {
        let mut found = false;
        for cached in self.cache.iter_mut().filter(|cached| cached.seq.before(end) && cached.end.after(seq)) {
            cached.notes = Notes { sent: now, local: 0, by_sender: true, ambiguous: true };
            found = true;
        }
        found
    }

    /// Handles a packet that was not cached and is below the highest: the network reordered it, or
    /// lost it upstream and the sender repairs that. As the first in the cache it is treated as the
    /// sender's retransmission.
    fn fill_in(&mut self, seq: Seq) {
        let Some(first) = self.cache.first_mut() else { return };
        if first.seq == seq {
            first.notes.by_sender = true;
        }
        self.recovery.count_from = first.seq;
    }

    /// Processes a new ACK: removes what it covers, and measures the round-trip time if no covered
    /// packet was sent twice.
    fn advance(&mut self, ack: Seq, settings: &Settings, now: Instant) -> Progress {
        let before = self.octets();
        let (mut sent, mut ambiguous) = (None, false);
        for cached in self.cache.remove_acknowledged(ack) {
            sent = Some(cached.notes.sent);
            ambiguous |= cached.notes.ambiguous;
        }
        let sent = sent.filter(|_| !ambiguous);
        if let Some(sent) = sent {
            self.rtt.measure(now.since(sent), settings.timer);
        }
        self.expiries = 0;
        self.receiver = Receiver::Answers;
        if let Some(first) = self.cache.first_mut().filter(|first| first.seq.before(ack)) {
            // Partly acknowledged: the missing rest is another hole.
            first.notes.local = 0;
            first.notes.by_sender = false;
            first.notes.ambiguous = true;
        }
        self.last_ack = Some(ack);
        self.hole_end = None;
        self.recovery = Published {
            duplicates: Duplicates::default(),
            count_from: self.cache.first().map_or(ack, |first| first.seq),
        };
        Progress { delivered: (before - self.octets()) as u64, sent, ..Progress::default() }
    }

    /// Records where the first hole ends. Later ACKs contain only the latest blocks (RFC 2018,
    /// section 4), so the earliest left edge since the last new ACK counts.
    fn record_hole(&mut self, tcp: &Tcp) {
        for (left, _) in tcp.options.sack.as_slice() {
            if left.after(tcp.ack) && !left.after(self.highest) {
                self.hole_end = Some(self.hole_end.map_or(*left, |end| end.earlier(*left)));
            }
        }
    }

    /// The action on a sign that the packet at `ack` is lost.
    fn remedy(&mut self, ack: Seq, settings: &Settings) -> Remedy {
        let Some(first) = self.cache.first().filter(|first| !first.seq.after(ack)) else {
            // It never reached the agent: the sender has to repair it, and to slow down.
            return Remedy::Pass;
        };
        if first.notes.by_sender || first.notes.local >= settings.local_retransmissions {
            // The sender counts the duplicates of its own retransmission; and it has to learn of a
            // loss that the agent has given up.
            return Remedy::Pass;
        }
        let Published { duplicates, count_from } = &mut self.recovery;
        match *duplicates {
            Duplicates::Passed(passed) if passed < settings.duplicates_passed => {
                *duplicates = Duplicates::Passed(passed + 1);
                Remedy::Pass
            }
            Duplicates::Passed(_) => {
                let on_their_way = self.cache.count_from(*count_from) as u32;
                *count_from = first.end;
                *duplicates = match on_their_way.checked_sub(settings.duplicates_passed.saturating_add(1)) {
                    None => Duplicates::Miscounted,
                    Some(0) => Duplicates::default(),
                    Some(expected) => Duplicates::Expected(expected),
                };
                if first.notes.local > 0 { Remedy::Pass } else { Remedy::Repair }
            }
            Duplicates::Expected(expected) => {
                *duplicates = match expected.saturating_sub(1) {
                    0 => Duplicates::default(),
                    left => Duplicates::Expected(left),
                };
                Remedy::Suppress
            }
            Duplicates::Miscounted if first.notes.local < 2 => Remedy::Repair,
            Duplicates::Miscounted => Remedy::Pass,
        }
    }

    /// A copy of the missing part of the first cached packet; `None` if it was retransmitted
    /// `limit` times.
    fn repair(&mut self, limit: u32, now: Instant) -> Option<Packet> {
        let first = self.cache.first_mut()?;
        if first.notes.local >= limit {
            return None;
        }
        first.notes.local += 1;
        first.notes.ambiguous = true;
        first.notes.sent = now;
        self.recovery.count_from = first.end;

        let mut copy = first.packet.clone();
        let from = self.last_ack.map_or(first.seq, |ack| ack.later(first.seq));
        let to = self.hole_end.filter(|end| end.after(from)).map_or(first.end, |end| end.earlier(first.end));
        if from != first.seq || to != first.end {
            cut(&mut copy, from, to, first.end);
        }
        self.stamp(&mut copy);
        Some(copy)
    }
}

/// Whether a segment without data, with the same number as the last, may be a duplicate ACK: it
/// contains only an ACK, a nonzero window, and SACK blocks above it.
fn may_be_duplicate(tcp: &Tcp) -> bool {
    tcp.flags == TcpFlags::ACK
        && tcp.window != 0
        && tcp.options.unknown.is_none()
        && tcp.sack_reports().0.is_none()
}
