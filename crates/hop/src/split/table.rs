//! All pairs of an agent, and what they have taken, and owe, together.

use std::time::Duration;

use lasthop_agent::counter::{ACKNOWLEDGED_AND_LOST, AT_BOUND};
use lasthop_agent::{Agent, Context, FlowTable, Obligation, Owed, Report, Scope, Side};
use lasthop_packet::{FlowKey, Instant};
use lasthop_tcp::{Config, Connection, State};

use super::account::{Account, Counted};
use super::legs::NO_END;
use super::liveness::Liveness;
use super::notifier::Notifier;
use super::pair::Pair;
use super::settings::SplitSettings;
use super::sleep::{Entry, SavedPair};
use super::windows::Windows;
use crate::last_hop::{HopEstimate, LastHop, Targets};

/// The pairs of one agent.
pub struct Splits {
    pub(super) pairs: FlowTable<Entry>,
    pub(super) windows: Windows,
    pub(super) settings: SplitSettings,
    /// What the windows over hops aim at now.
    pub(super) targets: Targets,
    /// Tells mobile hosts which of their losses were the hop's.
    pub(super) notifier: Option<Notifier>,
    /// What all pairs have taken, and owe.
    pub(super) account: Account,
    /// Octets of memory that a pair takes that holds nothing.
    pub(super) least_pair: usize,
    /// Octets that something else has taken of the same memory.
    others: usize,
}

impl Splits {
    /// No pairs yet.
    pub fn new(settings: SplitSettings) -> Self {
        Self {
            pairs: FlowTable::new(settings.grace),
            windows: Windows::default(),
            notifier: None,
            targets: settings.targets,
            least_pair: least_pair(&settings.legs),
            settings,
            account: Account::default(),
            others: 0,
        }
    }

    /// The same with an agent between the legs over the hop and the hop, which drops no packet.
    #[must_use]
    pub fn with_notifier(self, agent: Box<dyn Agent>) -> Self {
        Self { notifier: Some(Notifier::new(agent)), ..self }
    }

    /// `Some`: connections leave room on the way, before this agent and behind it, because something
    /// else goes there that must not wait. All hosts share one window over the hop, which aims at
    /// this; the ends that send towards a mobile host are offered what the hop takes, and mobile
    /// hosts that send a window of the same size. `None`: they need not.
    pub fn hold_back(&mut self, targets: Option<Targets>, cx: &mut Context<'_>) {
        self.targets = targets.unwrap_or(self.settings.targets);
        if self.windows.all_share() == targets.is_some() {
            return;
        }
        let mut windows = Windows::new(targets.is_some());
        let room = cx.budget().room(0, self.taken()).in_all;
        let keys: Vec<FlowKey> = self.pairs.keys().collect();
        for key in &keys {
            let Some(pair) = self.pairs.peek_mut(*key).and_then(Entry::awake_mut) else { continue };
            let Some(share) = &mut pair.share else { continue };
            // The old windows go as a whole.
            share.forget();
            let Some(hop) = windows.join(*key, room, cx.now()) else { continue };
            share.count(&pair.radio, hop);
            if share.is_waiting {
                hop.turns.wait(*key);
            }
            windows.charge(windows.sharers(*key));
        }
        self.windows = windows;
        for key in keys {
            self.serve(self.windows.sharers(key), cx);
        }
    }

    /// How long what goes to a mobile host waits on the hop, if connections to it have shown that within
    /// this time; else nothing. `key` is a direction towards the host.
    pub fn queueing(&self, key: FlowKey, within: Duration, now: Instant) -> Duration {
        self.windows.of(key).map_or(Duration::ZERO, |hop| hop.queueing(within, now))
    }

    /// Whether there is a pair of this connection.
    pub fn has(&self, key: FlowKey) -> bool {
        self.pairs.peek(key).is_some()
    }

    /// Whether the end on this side has closed the connection and heard that the other one has: it may open
    /// the next one between the same ports (RFC 9293, section 3.6.1), though a leg still waits for what may
    /// come late.
    pub fn has_ended_for(&self, key: FlowKey, side: Side) -> bool {
        self.pairs.peek(key).and_then(Entry::awake).is_some_and(|pair| {
            let other = pair.leg(side.opposite()).state();
            pair.leg(side).state() == State::Closed && matches!(other, State::Closed | State::TimeWait)
        })
    }

    /// Whether what an end of this connection sends is acknowledged here: there is a pair of it, and
    /// not one that only serves what it owes.
    pub(super) fn speaks_for(&self, key: FlowKey) -> bool {
        self.pairs.peek(key).is_some_and(|entry| entry.awake().is_none_or(|pair| !pair.is_passed_by()))
    }

    /// The endpoints of the legs, towards the core side and the radio side.
    pub fn legs(&self) -> (Config, Config) {
        self.settings.legs.clone()
    }

    /// How many pairs there are.
    pub fn count(&self) -> usize {
        self.pairs.len()
    }

    /// Octets of memory that all of it has taken.
    pub fn octets(&self) -> usize {
        self.octets_of_pairs() + self.notifier.as_ref().map_or(0, Notifier::octets)
    }

    fn octets_of_pairs(&self) -> usize {
        self.account.octets() + self.pairs.octets() + self.windows.octets()
    }

    /// The same, with what something else has taken of the same memory.
    pub(super) fn taken(&self) -> usize {
        self.octets() + self.others
    }

    /// Has the notifier take no more memory than is left.
    pub(super) fn leave_room_to_notifier(&mut self) {
        let others = self.octets_of_pairs() + self.others;
        if let Some(notifier) = &mut self.notifier {
            notifier.leave_room(others);
        }
    }

    /// Leaves room for octets that something else has taken of the same memory.
    pub const fn leave_room(&mut self, octets: usize) {
        self.others = octets;
    }

    /// Octets that have come off the hop and wait to be sent on.
    pub const fn backlog(&self) -> u64 {
        self.account.backlog()
    }

    /// What is owed of all of them.
    pub const fn owed(&self) -> Owed {
        self.account.owed()
    }

    /// What is owed of one.
    pub fn obligation(&self, key: FlowKey) -> Obligation {
        self.pairs.peek(key).map_or(Obligation::Free, Entry::obligation)
    }

    /// Those of these connections that there are pairs of.
    pub(super) fn keys(&self, scope: Scope) -> Vec<FlowKey> {
        scope.of(&self.pairs)
    }

    /// Adds a pair whose ends have just been heard from; `false` if there is no room for it.
    pub fn begin(&mut self, key: FlowKey, mut pair: Pair, cx: &mut Context<'_>) -> bool {
        pair.presence = Liveness::of_both(cx.now());
        self.admit(key, pair, cx)
    }

    /// Adds a pair; `false` if there is no room for it.
    pub(super) fn admit(&mut self, key: FlowKey, pair: Pair, cx: &mut Context<'_>) -> bool {
        let most = self.make_room(pair.footprint(), cx);
        let is_there = self.insert(key, pair, most, cx);
        if !is_there {
            cx.report(Report::of(&AT_BOUND).which(cx.budget().bound_at(most)));
        }
        is_there
    }

    /// Whether there is room for a pair that holds nothing, once one that may go has gone.
    pub fn has_room(&mut self, cx: &mut Context<'_>) -> bool {
        let most = self.make_room(self.least_pair, cx);
        let has_room = self.pairs.len() < most;
        if !has_room {
            cx.report(Report::of(&AT_BOUND).which(cx.budget().bound_at(most)));
        }
        has_room
    }

    /// Forgets the idlest that may go, if there is no room for one that takes so many octets. How many
    /// there may be then.
    fn make_room(&mut self, octets: usize, cx: &mut Context<'_>) -> usize {
        let may_go = |entry: &Entry| entry.obligation().is_free();
        if let Some(idlest) = self.pairs.next_to_go(self.most(octets, cx), cx.now(), may_go) {
            self.forget(idlest, cx);
        }
        self.most(octets, cx)
    }

    /// How many pairs there may be, if the next one takes so many octets.
    fn most(&self, octets: usize, cx: &Context<'_>) -> usize {
        let (taken, octets) = (self.taken(), octets + Windows::octets_of_one());
        let has_memory = cx.budget().room(0, taken).in_all >= octets;
        let of_memory = if has_memory { usize::MAX } else { self.pairs.len() };
        self.pairs.most(cx.budget(), taken, octets).min(of_memory)
    }

    pub(super) fn insert(&mut self, key: FlowKey, mut pair: Pair, most: usize, cx: &Context<'_>) -> bool {
        let is_shared = pair.share.is_some();
        pair.counted = Counted { octets: pair.footprint(), ..Counted::default() };
        let counted = pair.counted;
        if self.pairs.insert(key, Entry::Awake(Box::new(pair)), most, cx.now()).is_err() {
            return false;
        }
        self.account.change(Counted::default(), counted);
        if is_shared {
            let room = cx.budget().room(0, self.taken()).in_all;
            self.windows.join(key, room, cx.now());
        }
        true
    }

    /// Resumes a pair that came from elsewhere, or has begun, over a hop of which that much is
    /// known.
    pub fn resume(&mut self, key: FlowKey, estimate: Option<HopEstimate>, cx: &mut Context<'_>) {
        if let (Some(hop), Some(estimate)) = (self.windows.of_mut(key), estimate)
            && hop.flows() == 1
        {
            hop.resume_from(estimate, cx.now());
        }
        self.work(key, cx);
    }

    /// Forgets all pairs of which nothing is owed.
    pub(super) fn forget_free(&mut self, cx: &mut Context<'_>) {
        let is_free = |key: &FlowKey| self.obligation(*key).is_free();
        let free: Vec<FlowKey> = self.pairs.keys().filter(is_free).collect();
        for key in free {
            self.forget(key, cx);
        }
    }

    /// Forgets a pair that sees no more of its connection. Where something is owed, the ends cannot go
    /// on without it, and learn that by a reset.
    pub fn release(&mut self, key: FlowKey, cx: &mut Context<'_>) {
        if !self.obligation(key).is_free() {
            self.wake(key, cx);
            if let Some(pair) = self.pairs.peek_mut(key).and_then(Entry::awake_mut) {
                pair.reset_both(cx);
            }
        }
        self.forget(key, cx);
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
        self.leave(key, &mut entry, cx);
        Some(entry)
    }

    /// Takes what an entry has out of what all have together.
    pub(super) fn leave(&mut self, key: FlowKey, entry: &mut Entry, cx: &mut Context<'_>) {
        if let Some(notifier) = &mut self.notifier {
            notifier.release(key, cx);
        }
        self.account.change(entry.counted(), Counted::default());
        if let Some(pair) = entry.awake_mut() {
            self.windows.leave(key, pair);
            self.serve(self.windows.sharers(key), cx);
        }
    }
}

/// Octets of memory that a pair takes that holds nothing.
fn least_pair((core, radio): &(Config, Config)) -> usize {
    let overhead = |config: &Config| Connection::closed(config.clone(), NO_END, NO_END).overhead();
    size_of::<Pair>() + overhead(core) + overhead(radio)
}
