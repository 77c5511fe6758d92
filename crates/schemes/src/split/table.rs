//! All pairs, their timers, and who may send over which hop.
//!
//! Connections to the same mobile host share its hop: one local window for all of them
//! ([`crate::last_hop`]), and where several have more to send than it has room for, they take turns.

use std::net::IpAddr;
use std::time::Duration;

use lasthop_agent::counter::{ACKNOWLEDGED_AND_LOST, AT_BOUND, FULL, LOCAL_RETRANSMITS};
use lasthop_agent::{Agent as _, Context, FlowTable, Obligation, Owed, Report, Side, Verdict, Whose};
use lasthop_packet::{FlowKey, Instant, Packet};

use super::pair::Pair;
use super::vcache::Bounds;
use crate::eln::{self, Eln};
use crate::last_hop::{Aims, HopEstimate, Hops, LastHop};

/// The pairs of one agent.
pub struct Splits {
    pairs: FlowTable<Box<Pair>>,
    hops: Hops,
    aims: Aims,
    /// Octets of one direction of a connection that may lie between its legs.
    bound: u64,
    idle_timeout: Duration,
    /// Tells mobile hosts which of their losses were the hop's.
    notifier: Option<Eln>,
    octets: usize,
    owed: Owed,
}

impl Splits {
    /// No pairs yet. Of one direction of a connection, `bound` octets may lie between its legs; what
    /// is idle for `idle_timeout` is forgotten, and what was used within `grace` does not make room
    /// for others.
    pub fn new(aims: Aims, bound: usize, idle_timeout: Duration, grace: Duration) -> Self {
        Self {
            pairs: FlowTable::new(grace),
            hops: Hops::new(),
            aims,
            bound: bound as u64,
            idle_timeout,
            notifier: None,
            octets: 0,
            owed: Owed::default(),
        }
    }

    /// Tells mobile hosts that send which of their losses were the hop's, so that they take a
    /// reduction of their window back: see [`crate::eln`].
    #[must_use]
    pub fn with_notifier(self) -> Self {
        Self { notifier: Some(Eln::new(eln::Settings::default())), ..self }
    }

    /// The pair of a connection.
    pub fn pair(&self, key: FlowKey) -> Option<&Pair> {
        self.pairs.peek(key).map(Box::as_ref)
    }

    /// Octets of memory that the pairs have taken for what they hold.
    pub const fn octets(&self) -> usize {
        self.octets
    }

    /// What is owed of all of them.
    pub const fn owed(&self) -> Owed {
        self.owed
    }

    /// What is owed of one.
    pub fn obligation(&self, key: FlowKey) -> Obligation {
        self.pairs.peek(key).map_or(Obligation::Free, |pair| pair.owed)
    }

    /// Adds a pair; `false` if there is no room for it.
    pub fn begin(&mut self, key: FlowKey, pair: Pair, cx: &mut Context<'_>) -> bool {
        let most = cx.budget().flows;
        if let Some(idlest) = self.pairs.next_to_go(most, cx.now(), |pair| pair.is_free()) {
            self.forget(idlest, cx);
        }
        let is_shared = pair.share.is_some();
        if self.pairs.insert(key, Box::new(pair), most, cx.now()).is_err() {
            cx.report(Report::of(&AT_BOUND).which("connections"));
            return false;
        }
        if is_shared {
            self.hops.get_or_insert_with(key.destination.0, || LastHop::new(cx.now())).flows += 1;
        }
        true
    }

    /// Takes in a packet of a pair's connection.
    pub fn on_packet(
        &mut self,
        key: FlowKey,
        packet: &mut Packet,
        from: Side,
        cx: &mut Context<'_>,
    ) -> Verdict {
        let Some(pair) = self.pairs.touch(key, cx.now()) else { return Verdict::Forward };
        // The end that is asked is to answer, and not this agent in its place.
        if pair.is_keep_alive(packet, from) {
            pair.probed_from = Some(from);
            return Verdict::Forward;
        }
        if pair.probed_from == Some(from.opposite()) && pair.is_bare_duplicate(packet, from) {
            pair.probed_from = None;
            return Verdict::Forward;
        }
        if !cx.may_owe() && pair.is_free() {
            self.forget(key, cx);
            return Verdict::Forward;
        }
        if !packet.payload().is_empty() {
            let room = cx.budget().room(pair.charged, self.octets);
            if let Some(bound) = room.lacks(packet.payload().len()) {
                cx.report(Report::of(&AT_BOUND).which(bound));
                return Verdict::Drop(&FULL);
            }
        }
        pair.on_segment(packet, from, cx.now());
        if from == Side::Radio
            && let Some(notifier) = &mut self.notifier
        {
            pass(notifier, packet, from, cx);
        }
        self.work(key, cx);
        Verdict::Absorb
    }

    /// When a timer is next due.
    pub fn next_timer(&self) -> Option<Instant> {
        let idle = self.pairs.idlest().map(|(last_used, _)| last_used + self.idle_timeout);
        self.pairs.next_timer().into_iter().chain(idle).min()
    }

    /// Does what is due.
    pub fn on_deadline(&mut self, cx: &mut Context<'_>) {
        while let Some(key) = self.pairs.pop_timer(cx.now()) {
            if let Some(pair) = self.pairs.peek_mut(key) {
                pair.on_deadline(cx.now());
            }
            self.work(key, cx);
        }
        while let Some((last_used, key)) = self.pairs.idlest()
            && last_used + self.idle_timeout <= cx.now()
        {
            if self.pairs.peek(key).is_some_and(|pair| pair.is_free()) {
                self.forget(key, cx);
            } else {
                self.pairs.touch(key, cx.now());
            }
        }
    }

    /// Forgets all pairs of which nothing is owed.
    pub fn forget_free(&mut self, cx: &mut Context<'_>) {
        let is_free = |key: &FlowKey| self.pairs.peek(*key).is_some_and(|pair| pair.is_free());
        let free: Vec<FlowKey> = self.pairs.keys().filter(is_free).collect();
        for key in free {
            self.forget(key, cx);
        }
    }

    /// Forgets a pair; what is owed of it is lost.
    pub fn forget(&mut self, key: FlowKey, cx: &mut Context<'_>) {
        let at_risk = self.take(key, cx).map_or(0, |pair| pair.octets_at_risk());
        if at_risk > 0 {
            cx.report(Report { amount: at_risk, ..Report::of(&ACKNOWLEDGED_AND_LOST) });
        }
    }

    /// Takes a pair out.
    pub(super) fn take(&mut self, key: FlowKey, cx: &mut Context<'_>) -> Option<Box<Pair>> {
        let mut pair = self.pairs.remove(key)?;
        if let Some(notifier) = &mut self.notifier {
            notifier.release(key, cx);
        }
        self.octets -= pair.charged;
        self.owed.change(pair.owed, Obligation::Free);
        let host = key.destination.0;
        let Some(hop) = self.hops.get_mut(&host) else { return Some(pair) };
        let Some(share) = &mut pair.share else { return Some(pair) };
        share.leave(hop);
        if share.is_waiting {
            hop.turns.retain(|waiting| *waiting != key);
        }
        hop.flows -= 1;
        if hop.flows == 0 {
            self.hops.remove(&host);
        } else {
            self.serve(host, cx);
        }
        Some(pair)
    }

    /// Those of these connections that there are pairs of.
    pub(super) fn keys(&self, whose: Whose) -> Vec<FlowKey> {
        whose.of(&self.pairs)
    }

    /// What is known of the hop of a connection.
    pub(super) fn hop_of(&self, key: FlowKey) -> Option<HopEstimate> {
        self.hops.get(&key.destination.0).map(LastHop::estimate)
    }

    /// Goes on with a pair that came from elsewhere, over a hop of which that much is known.
    pub fn go_on(&mut self, key: FlowKey, estimate: Option<HopEstimate>, cx: &mut Context<'_>) {
        if let (Some(hop), Some(estimate)) = (self.hops.get_mut(&key.destination.0), estimate)
            && hop.flows == 1
        {
            hop.go_on_from(estimate, cx.now());
        }
        self.work(key, cx);
    }

    /// Moves on what has come of a change on either leg.
    fn work(&mut self, key: FlowKey, cx: &mut Context<'_>) {
        let host = key.destination.0;
        let Some(pair) = self.pairs.peek_mut(key) else { return };
        let now = cx.now();
        let mut hop = pair.share.as_mut().zip(self.hops.get_mut(&host));
        if let Some((share, hop)) = &mut hop {
            let progress = share.settle(&pair.radio, hop);
            if progress.delivered + progress.lost > 0 {
                hop.on_progress(progress, now, &self.aims);
            }
            if !share.is_waiting {
                share.is_waiting = true;
                hop.turns.push_back(key);
            }
        }
        let bounds = Bounds {
            octets: self.bound.min(cx.budget().octets_per_flow as u64),
            hop: hop.map_or(u64::from(pair.radio.flight().cwnd), |(_, hop)| hop.estimate().octets()),
            may_grow: cx.may_owe(),
        };
        pair.pass_on(bounds, now);
        while let Some(packet) = pair.core.poll_transmit(now) {
            cx.send(Side::Core, packet);
        }
        if pair.share.is_some() {
            self.serve(host, cx);
        } else {
            pair.transmit_freely(self.notifier.as_mut(), cx);
        }
        self.settle(key, cx);
    }

    /// Has the connections to a host send, in turn, as long as there is room.
    fn serve(&mut self, host: IpAddr, cx: &mut Context<'_>) {
        let Some(hop) = self.hops.get_mut(&host) else { return };
        for _ in 0..hop.turns.len() {
            let Some(key) = hop.turns.pop_front() else { return };
            let Some(pair) = self.pairs.peek_mut(key) else { continue };
            let octets = hop.turn();
            if pair.transmit_over(hop, octets, &self.aims, self.notifier.as_mut(), cx) {
                hop.turns.push_back(key);
            }
            follow_timer(&mut self.pairs, key);
        }
    }

    /// Brings the accounts up to date, and forgets what is over.
    fn settle(&mut self, key: FlowKey, cx: &mut Context<'_>) {
        let Some(pair) = self.pairs.peek_mut(key) else { return };
        let octets = pair.octets();
        self.octets = self.octets - pair.charged + octets;
        pair.charged = octets;
        let owed = pair.obligation();
        self.owed.change(pair.owed, owed);
        pair.owed = owed;
        if pair.is_over() {
            self.forget(key, cx);
        } else {
            follow_timer(&mut self.pairs, key);
        }
    }
}

/// Has the timer of a pair run to when it is next due. One that runs and is due too early is left
/// alone.
fn follow_timer(pairs: &mut FlowTable<Box<Pair>>, key: FlowKey) {
    let Some(pair) = pairs.peek(key) else { return };
    match pair.deadline() {
        None => pairs.clear_timer(key),
        Some(due) if pairs.timer(key).is_none_or(|running| running > due.at) => pairs.set_timer(key, due.at),
        Some(_) => {}
    }
}

/// Shows a packet over the hop to the notifier, which drops none.
fn pass(notifier: &mut Eln, packet: &mut Packet, from: Side, cx: &mut Context<'_>) {
    let _ = notifier.on_packet(packet, from, cx);
}

impl Pair {
    /// Sends over the hop as long as there is room, about `octets` in all. Returns whether it has more
    /// than there was room for.
    fn transmit_over(
        &mut self,
        hop: &mut LastHop,
        octets: u64,
        aims: &Aims,
        mut notifier: Option<&mut Eln>,
        cx: &mut Context<'_>,
    ) -> bool {
        let mut left = octets;
        let retransmits = self.radio.stats().retransmits;
        loop {
            let room = hop.room().min(left);
            self.radio.allow(u32::try_from(room).unwrap_or(u32::MAX));
            let Some(mut packet) = self.radio.poll_transmit(cx.now()) else { break };
            if let Some(notifier) = &mut notifier {
                pass(notifier, &mut packet, Side::Core, cx);
            }
            hop.note_segment(packet.segment_payload(), aims);
            left = left.saturating_sub(packet.payload().len() as u64);
            if let Some(share) = &mut self.share {
                share.count(&self.radio, hop);
            }
            cx.send(Side::Radio, packet);
        }
        self.report_retransmits(retransmits, cx);
        let is_waiting = hop.room().min(left) < u64::from(self.radio.flight().mss) && self.radio.has_more();
        if let Some(share) = &mut self.share {
            share.is_waiting = is_waiting;
        }
        is_waiting
    }

    /// Sends over the hop what the leg's own congestion control allows.
    fn transmit_freely(&mut self, mut notifier: Option<&mut Eln>, cx: &mut Context<'_>) {
        let retransmits = self.radio.stats().retransmits;
        while let Some(mut packet) = self.radio.poll_transmit(cx.now()) {
            if let Some(notifier) = &mut notifier {
                pass(notifier, &mut packet, Side::Core, cx);
            }
            cx.send(Side::Radio, packet);
        }
        self.report_retransmits(retransmits, cx);
    }

    fn report_retransmits(&self, before: u64, cx: &mut Context<'_>) {
        let again = self.radio.stats().retransmits - before;
        if again > 0 {
            cx.report(Report { amount: again, ..Report::of(&LOCAL_RETRANSMITS) });
        }
    }
}
