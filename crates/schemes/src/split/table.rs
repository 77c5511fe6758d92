//! All pairs, and their timers.

use std::time::Duration;

use lasthop_agent::counter::{ACKNOWLEDGED_AND_LOST, AT_BOUND, FULL};
use lasthop_agent::{Agent as _, Context, FlowTable, Obligation, Owed, Report, Side, Verdict, Whose};
use lasthop_packet::{FlowKey, Instant, Packet};
use lasthop_tcp::Config;

use super::notifying::pass;
use super::pair::Pair;
use super::sleep::{Entry, SLEEPS_AFTER, SavedPair};
use super::vcache::Bounds;
use super::windows::Windows;
use crate::eln::{self, Eln};
use crate::last_hop::{Aims, HopEstimate, LastHop};

/// The pairs of one agent.
pub struct Splits {
    pub(super) pairs: FlowTable<Entry>,
    pub(super) windows: Windows,
    pub(super) settings: SplitSettings,
    /// What the windows over hops aim at now.
    pub(super) aims: Aims,
    /// Tells mobile hosts which of their losses were the hop's.
    pub(super) notifier: Option<Eln>,
    octets: usize,
    backlog: u64,
    owed: Owed,
}

/// What can be set about pairs.
#[derive(Clone, Debug)]
pub struct SplitSettings {
    /// The endpoints of the legs, towards the core side and the radio side.
    pub legs: (Config, Config),
    /// What the window over a hop aims at.
    pub aims: Aims,
    /// Octets of one direction of a connection that may lie between its legs.
    pub bound: usize,
    /// A connection that is idle for this time, and of which nothing is owed, is forgotten.
    pub idle_timeout: Duration,
    /// What was used within this time does not make room for others.
    pub grace: Duration,
    /// Mobile hosts that send are told which of their losses were the hop's, so that they take a
    /// reduction of their window back: see [`crate::eln`].
    pub notifies: bool,
}

/// Questions in vain until an end is taken to be gone.
const MOST_UNANSWERED: u8 = 3;

impl Splits {
    /// No pairs yet.
    pub fn new(settings: SplitSettings) -> Self {
        Self {
            pairs: FlowTable::new(settings.grace),
            windows: Windows::default(),
            notifier: settings.notifies.then(|| Eln::new(eln::Settings::default())),
            aims: settings.aims,
            settings,
            octets: 0,
            backlog: 0,
            owed: Owed::default(),
        }
    }

    /// `Some`: connections leave room on the way, before this agent and behind it, because something
    /// else goes there that must not wait. All hosts share one window over the hop, which aims at
    /// this; the ends that send towards a mobile host are offered what the hop takes, and mobile
    /// hosts that send a window of the same size. `None`: they need not.
    pub fn hold_back(&mut self, aims: Option<Aims>, cx: &mut Context<'_>) {
        self.aims = aims.unwrap_or(self.settings.aims);
        if self.windows.all_share() == aims.is_some() {
            return;
        }
        let mut windows = Windows::new(aims.is_some());
        let keys: Vec<FlowKey> = self.pairs.keys().collect();
        for key in &keys {
            let Some(pair) = self.pairs.peek_mut(*key).and_then(Entry::awake_mut) else { continue };
            let Some(share) = &mut pair.share else { continue };
            // The old windows go as a whole.
            share.forget();
            let hop = windows.join(*key, cx.now());
            share.count(&pair.radio, hop);
            if share.is_waiting {
                hop.turns.wait(*key);
            }
        }
        self.windows = windows;
        for key in keys {
            self.serve(self.windows.sharers(key), cx);
        }
    }

    /// Whether there is a pair of this connection.
    pub fn has(&self, key: FlowKey) -> bool {
        self.pairs.peek(key).is_some()
    }

    /// Whether what an end of this connection sends is acknowledged here: there is a pair of it, and
    /// not one that only serves what it owes.
    pub fn speaks_for(&self, key: FlowKey) -> bool {
        self.pairs.peek(key).is_some_and(|entry| entry.awake().is_none_or(|pair| !pair.is_passed_by()))
    }

    /// The endpoints of the legs, towards the core side and the radio side.
    pub fn legs(&self) -> (Config, Config) {
        self.settings.legs.clone()
    }

    /// Octets of memory that the pairs have taken for what they hold.
    pub const fn octets(&self) -> usize {
        self.octets
    }

    /// Octets that have come off the hop and wait to be sent on.
    pub const fn backlog(&self) -> u64 {
        self.backlog
    }

    /// What is owed of all of them.
    pub const fn owed(&self) -> Owed {
        self.owed
    }

    /// What is owed of one.
    pub fn obligation(&self, key: FlowKey) -> Obligation {
        self.pairs.peek(key).map_or(Obligation::Free, Entry::obligation)
    }

    /// Those of these connections that there are pairs of.
    pub(super) fn keys(&self, whose: Whose) -> Vec<FlowKey> {
        whose.of(&self.pairs)
    }

    /// Adds a pair; `false` if there is no room for it.
    pub fn begin(&mut self, key: FlowKey, pair: Pair, cx: &mut Context<'_>) -> bool {
        let most = cx.budget().flows;
        let may_go = |entry: &Entry| entry.obligation().is_free();
        if let Some(idlest) = self.pairs.next_to_go(most, cx.now(), may_go) {
            self.forget(idlest, cx);
        }
        let is_there = self.insert(key, pair, most, cx);
        if !is_there {
            cx.report(Report::of(&AT_BOUND).which("connections"));
        }
        is_there
    }

    fn insert(&mut self, key: FlowKey, pair: Pair, most: usize, cx: &Context<'_>) -> bool {
        let is_shared = pair.share.is_some();
        if self.pairs.insert(key, Entry::Awake(Box::new(pair)), most, cx.now()).is_err() {
            return false;
        }
        if is_shared {
            self.windows.join(key, cx.now());
        }
        true
    }

    /// Goes on with a pair that came from elsewhere, or has begun, over a hop of which that much is
    /// known.
    pub fn go_on(&mut self, key: FlowKey, estimate: Option<HopEstimate>, cx: &mut Context<'_>) {
        if let (Some(hop), Some(estimate)) = (self.windows.of_mut(key), estimate)
            && hop.flows == 1
        {
            hop.go_on_from(estimate, cx.now());
        }
        self.work(key, cx);
    }

    /// Takes in a packet of a pair's connection.
    pub fn on_packet(
        &mut self,
        key: FlowKey,
        packet: &mut Packet,
        from: Side,
        cx: &mut Context<'_>,
    ) -> Verdict {
        self.wake(key, cx);
        let Some(Entry::Awake(pair)) = self.pairs.touch(key, cx.now()) else { return Verdict::Forward };
        pair.compare(packet, from, cx.now());
        if pair.is_passed_by() {
            return self.overhear(key, packet, from, cx);
        }
        // The end that is asked is to answer, and not this agent in its place.
        if pair.is_keep_alive(packet, from) {
            pair.probed_from = Some(from);
            pair.on_passed(packet, from, cx.now());
            return Verdict::Forward;
        }
        if pair.probed_from == Some(from.opposite()) && pair.is_bare_duplicate(packet, from) {
            pair.probed_from = None;
            pair.on_passed(packet, from, cx.now());
            return Verdict::Forward;
        }
        if !cx.may_owe() && pair.is_free() {
            self.forget(key, cx);
            return Verdict::Forward;
        }
        let lacks = |pair: &Pair| cx.budget().room(pair.octets(), self.octets).lacks(packet.payload().len());
        if lacks(pair).is_some() {
            // What fills a gap is worth more than what lies behind it, which was never acknowledged.
            pair.make_room_for(packet, from);
        }
        if let Some(bound) = lacks(pair) {
            cx.report(Report::of(&AT_BOUND).which(bound));
            if pair.is_free() {
                self.forget(key, cx);
                return Verdict::Forward;
            }
            pair.on_header(packet, from, cx.now());
            self.work(key, cx);
            return Verdict::Drop(&FULL);
        }
        pair.on_segment(packet, from, cx.now());
        if from == Side::Radio {
            pass(self.notifier.as_mut(), packet, from, cx);
        }
        self.work(key, cx);
        Verdict::Absorb
    }

    /// A packet of an end's has come that says nothing new but the time.
    pub fn hear_of(&mut self, key: FlowKey, packet: &Packet, from: Side, cx: &mut Context<'_>) {
        self.wake(key, cx);
        if let Some(pair) = self.pairs.peek_mut(key).and_then(Entry::awake_mut) {
            pair.on_passed(packet, from, cx.now());
        }
    }

    /// The next packet from the other side that says nothing is the answer to one that came from this
    /// side, and passed.
    pub fn have_answered(&mut self, key: FlowKey, from: Side, cx: &mut Context<'_>) {
        self.wake(key, cx);
        if let Some(pair) = self.pairs.peek_mut(key).and_then(Entry::awake_mut) {
            pair.probed_from = Some(from);
        }
    }

    /// When a timer is next due.
    pub fn next_timer(&self) -> Option<Instant> {
        let idle = self.pairs.idlest().map(|(last_used, _)| last_used + self.settings.idle_timeout);
        self.pairs.next_timer().into_iter().chain(idle).min()
    }

    /// Does what is due.
    pub fn on_deadline(&mut self, cx: &mut Context<'_>) {
        while let Some(key) = self.pairs.pop_timer(cx.now()) {
            self.on_timer(key, cx);
        }
        while let Some((last_used, key)) = self.pairs.idlest()
            && last_used + self.settings.idle_timeout <= cx.now()
        {
            if self.obligation(key).is_free() {
                self.forget(key, cx);
            } else {
                self.pairs.touch(key, cx.now());
                self.ask_ends(key, cx);
            }
        }
    }

    /// The ends of a pair in its own numbers cannot do without it, so it stays for as long as they are
    /// there. They are asked, and reset if one of them does not answer.
    fn ask_ends(&mut self, key: FlowKey, cx: &mut Context<'_>) {
        self.wake(key, cx);
        let Some(pair) = self.pairs.peek_mut(key).and_then(Entry::awake_mut) else { return };
        if pair.keeps_numbers() {
            return;
        }
        if pair.unanswered.iter().any(|asked| *asked >= MOST_UNANSWERED) {
            pair.core.abort();
            pair.radio.abort();
        }
        for side in [Side::Core, Side::Radio] {
            if let Some(question) = pair.leg_mut(side).keep_alive(cx.now()) {
                pair.unanswered[side as usize] += 1;
                cx.send(side, question);
            }
        }
        self.work(key, cx);
    }

    fn on_timer(&mut self, key: FlowKey, cx: &mut Context<'_>) {
        let Some(pair) = self.pairs.peek_mut(key).and_then(Entry::awake_mut) else { return };
        if pair.is_quiet() {
            self.put_to_sleep(key, cx);
            return;
        }
        pair.on_deadline(cx.now());
        self.work(key, cx);
    }

    /// A pair that nothing has happened on for a while.
    fn put_to_sleep(&mut self, key: FlowKey, cx: &mut Context<'_>) {
        let Some(saved) = self.save(key, cx) else { return };
        let most = self.most_with_one_more(cx);
        if self.pairs.insert(key, Entry::Asleep(Box::new(saved)), most, cx.now()).is_ok() {
            self.owed.change(Obligation::Free, self.obligation(key));
        }
    }

    /// The end of that.
    fn wake(&mut self, key: FlowKey, cx: &mut Context<'_>) {
        if !matches!(self.pairs.peek(key), Some(Entry::Asleep(_))) {
            return;
        }
        let Some(saved) = self.save(key, cx) else { return };
        let hop = saved.hop;
        // It was a pair's own: it makes sense.
        let Ok(pair) = saved.wake(key, self.legs(), cx.now()) else { return };
        let most = self.most_with_one_more(cx);
        if self.insert(key, pair, most, cx) {
            self.go_on(key, hop, cx);
        }
    }

    /// The bound on connections for one that has just made room for itself, even if the budget has
    /// shrunk since.
    fn most_with_one_more(&self, cx: &Context<'_>) -> usize {
        cx.budget().flows.max(self.pairs.len() + 1)
    }

    /// Forgets all pairs of which nothing is owed.
    pub fn forget_free(&mut self, cx: &mut Context<'_>) {
        let is_free = |key: &FlowKey| self.obligation(*key).is_free();
        let free: Vec<FlowKey> = self.pairs.keys().filter(is_free).collect();
        for key in free {
            self.forget(key, cx);
        }
    }

    /// Forgets a pair; what is owed of it is lost.
    pub fn forget(&mut self, key: FlowKey, cx: &mut Context<'_>) {
        let at_risk = self.obligation(key).octets();
        self.take(key, cx);
        if at_risk > 0 {
            cx.report(Report { amount: at_risk, ..Report::of(&ACKNOWLEDGED_AND_LOST) });
        }
    }

    /// Takes a pair out, as a value.
    pub(super) fn save(&mut self, key: FlowKey, cx: &mut Context<'_>) -> Option<SavedPair> {
        let hop = self.windows.of(key).map(LastHop::estimate);
        match self.take(key, cx)? {
            Entry::Awake(mut pair) => Some(SavedPair::of(&mut pair, hop, cx.now())),
            Entry::Asleep(saved) => Some(*saved),
        }
    }

    /// Takes a pair out.
    fn take(&mut self, key: FlowKey, cx: &mut Context<'_>) -> Option<Entry> {
        let mut entry = self.pairs.remove(key)?;
        if let Some(notifier) = &mut self.notifier {
            notifier.release(key, cx);
        }
        self.owed.change(entry.obligation(), Obligation::Free);
        let Entry::Awake(pair) = &mut entry else { return Some(entry) };
        self.octets -= pair.charged;
        self.backlog -= pair.backlog;
        self.windows.leave(key, pair);
        self.serve(self.windows.sharers(key), cx);
        Some(entry)
    }

    /// Moves on what has come of a change on either leg.
    pub(super) fn work(&mut self, key: FlowKey, cx: &mut Context<'_>) {
        let aims = self.aims;
        let Some(pair) = self.pairs.peek_mut(key).and_then(Entry::awake_mut) else { return };
        let now = cx.now();
        let mut on_hop = u64::from(pair.radio.flight().cwnd);
        let (mut demand, mut from_hop) = (u64::MAX, u64::MAX);
        let is_held_back = self.windows.all_share();
        if let (Some(share), Some(hop)) = (&mut pair.share, self.windows.of_mut(key)) {
            let progress = share.settle(&pair.radio, hop);
            if progress.delivered + progress.lost > 0 {
                hop.on_progress(progress, key.destination.0, now, &aims);
            }
            on_hop = hop.octets();
            if is_held_back {
                from_hop = hop.octets().max(pair.least_upload());
                demand =
                    hop.demand(key.destination.0, pair.core.rtt().estimate().map(|(smoothed, _)| smoothed));
            }
        }
        if pair.is_passed_by() {
            pair.hand_over();
            while let Some(packet) = pair.core.poll_transmit(now) {
                if pair.may_say(&packet) {
                    cx.send(Side::Core, packet);
                }
            }
            self.transmit(key, cx);
            self.settle(key, cx);
            return;
        }
        let octets = (self.settings.bound as u64).min(cx.budget().octets_per_flow as u64);
        let memory = cx.budget().room(pair.octets(), self.octets - pair.charged + pair.octets());
        let bounds = Bounds {
            octets,
            towards_hop: octets.min(demand),
            from_hop,
            memory,
            hop: on_hop,
            // A pair in its own numbers is never free: a closed window would only stall it.
            may_grow: cx.may_owe() || !pair.keeps_numbers(),
        };
        pair.pass_on(bounds, now);
        while let Some(packet) = pair.core.poll_transmit(now) {
            cx.send(Side::Core, packet);
        }
        self.transmit(key, cx);
        self.settle(key, cx);
    }

    /// Brings the accounts up to date, and forgets what is over.
    fn settle(&mut self, key: FlowKey, cx: &mut Context<'_>) {
        let Some(pair) = self.pairs.peek_mut(key).and_then(Entry::awake_mut) else { return };
        let octets = pair.octets();
        self.octets = self.octets - pair.charged + octets;
        pair.charged = octets;
        let backlog = pair.waiting_for_wire();
        self.backlog = self.backlog - pair.backlog + backlog;
        pair.backlog = backlog;
        let owed = pair.obligation();
        self.owed.change(pair.owed, owed);
        pair.owed = owed;
        if pair.is_over() || (pair.is_passed_by() && pair.has_served()) {
            self.forget(key, cx);
            return;
        }
        let is_quiet = pair.is_quiet();
        follow_timer(&mut self.pairs, key);
        if is_quiet {
            self.pairs.set_timer(key, cx.now() + SLEEPS_AFTER);
        }
    }
}

/// Has the timer of a pair run to when it is next due. One that runs and is due too early is left
/// alone.
pub(super) fn follow_timer(pairs: &mut FlowTable<Entry>, key: FlowKey) {
    let Some(pair) = pairs.peek(key).and_then(Entry::awake) else { return };
    match pair.deadline() {
        None => pairs.clear_timer(key),
        Some(due) if pairs.timer(key).is_none_or(|running| running > due.at) => pairs.set_timer(key, due.at),
        Some(_) => {}
    }
}
