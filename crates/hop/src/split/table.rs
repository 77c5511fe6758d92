//! All pairs of an agent, with their memory and obligations.

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
    /// The present targets of the windows over hops.
    pub(super) targets: Targets,
    /// Notifies mobile hosts of their losses on the hop.
    pub(super) notifier: Option<Notifier>,
    /// The memory and obligations of all pairs.
    pub(super) account: Account,
    /// Octets of memory of a pair without data.
    pub(super) min_pair: usize,
    /// Octets of the same memory that something else has taken.
    others: usize,
}

impl Splits {
    /// An empty table.
    pub fn new(settings: SplitSettings) -> Self {
        Self {
            pairs: FlowTable::new(settings.grace),
            windows: Windows::default(),
            notifier: None,
            targets: settings.targets,
            min_pair: min_pair(&settings.legs),
            settings,
            account: Account::default(),
            others: 0,
        }
    }

    /// Adds an agent between the legs over the hop and the hop, which drops no packet.
    #[must_use]
    pub fn with_notifier(self, agent: Box<dyn Agent>) -> Self {
        Self { notifier: Some(Notifier::new(agent)), ..self }
    }

    /// `Some`: connections leave room on the path, upstream of this agent and downstream, because
    /// delay-sensitive traffic shares it. All hosts share one window over the hop, with these
    /// targets. The ends that send towards a mobile host are offered a window of what the hop
    /// takes, and mobile hosts that send are offered one of the same size. `None`: connections need
    /// not leave room.
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
            // The old windows are dropped with all their shares.
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

    /// The queueing delay on the hop to a mobile host, if connections to it have measured it within
    /// this time; otherwise zero. `key` is a direction towards the host.
    pub fn queueing(&self, key: FlowKey, within: Duration, now: Instant) -> Duration {
        self.windows.of(key).map_or(Duration::ZERO, |hop| hop.queueing(within, now))
    }

    /// Whether the connection has a pair.
    pub fn has(&self, key: FlowKey) -> bool {
        self.pairs.peek(key).is_some()
    }

    /// Whether the end on this side has closed the connection and received the other end's FIN: it
    /// may open the next one between the same ports (RFC 9293, section 3.6.1), although a leg still
    /// waits for late packets.
    pub fn has_ended_for(&self, key: FlowKey, side: Side) -> bool {
        self.pairs.peek(key).and_then(Entry::awake).is_some_and(|pair| {
            let other = pair.leg(side.opposite()).state();
            pair.leg(side).state() == State::Closed && matches!(other, State::Closed | State::TimeWait)
        })
    }

    /// Whether data of this connection's ends is acknowledged here: the connection has a pair that
    /// does not only serve its obligations.
    pub(super) fn acknowledges_for(&self, key: FlowKey) -> bool {
        self.pairs.peek(key).is_some_and(|entry| entry.awake().is_none_or(|pair| !pair.is_passed_by()))
    }

    /// The endpoints of the legs, towards the core side and the radio side.
    pub fn legs(&self) -> (Config, Config) {
        self.settings.legs.clone()
    }

    /// The number of pairs.
    pub fn count(&self) -> usize {
        self.pairs.len()
    }

    /// Octets of memory of all pairs.
    pub fn octets(&self) -> usize {
        self.octets_of_pairs() + self.notifier.as_ref().map_or(0, Notifier::octets)
    }

    fn octets_of_pairs(&self) -> usize {
        self.account.octets() + self.pairs.octets() + self.windows.octets()
    }

    /// Octets of memory of all pairs, and of other use of the same memory.
    pub(super) fn taken(&self) -> usize {
        self.octets() + self.others
    }

    /// Limits the memory of the notifier to what is left.
    pub(super) fn limit_notifier(&mut self) {
        let others = self.octets_of_pairs() + self.others;
        if let Some(notifier) = &mut self.notifier {
            notifier.leave_room(others);
        }
    }

    /// Leaves room for octets that something else has taken of the same memory.
    pub const fn leave_room(&mut self, octets: usize) {
        self.others = octets;
    }

    /// Octets that have come off the hop and wait to be forwarded.
    pub const fn backlog(&self) -> u64 {
        self.account.backlog()
    }

    /// The obligations of all pairs.
    pub const fn owed(&self) -> Owed {
        self.account.owed()
    }

    /// The obligation of one pair.
    pub fn obligation(&self, key: FlowKey) -> Obligation {
        self.pairs.peek(key).map_or(Obligation::Free, Entry::obligation)
    }

    /// The connections in this scope that have pairs.
    pub(super) fn keys(&self, scope: Scope) -> Vec<FlowKey> {
        scope.connections(&self.pairs)
    }

    /// Adds a pair whose ends have just sent packets; `false` if there is no room for it.
    pub fn begin(&mut self, key: FlowKey, mut pair: Pair, cx: &mut Context<'_>) -> bool {
        pair.liveness = Liveness::new(cx.now());
        self.admit(key, pair, cx)
    }

    /// Adds a pair; `false` if there is no room for it.
    pub(super) fn admit(&mut self, key: FlowKey, pair: Pair, cx: &mut Context<'_>) -> bool {
        let limit = self.make_room(pair.footprint(), cx);
        let is_there = self.insert(key, pair, limit, cx);
        if !is_there {
            cx.report(Report::new(&AT_BOUND).which(cx.budget().bound_at(limit)));
        }
        is_there
    }

    /// Whether there is room for a pair without data, after the removal of one that may go.
    pub fn has_room(&mut self, cx: &mut Context<'_>) -> bool {
        let limit = self.make_room(self.min_pair, cx);
        let has_room = self.pairs.len() < limit;
        if !has_room {
            cx.report(Report::new(&AT_BOUND).which(cx.budget().bound_at(limit)));
        }
        has_room
    }

    /// Removes the pair that has been idle longest and may go, if there is no room for one of this
    /// many octets. Returns the resulting limit on pairs.
    fn make_room(&mut self, octets: usize, cx: &mut Context<'_>) -> usize {
        let may_be_evicted = |entry: &Entry| entry.obligation().is_free();
        if let Some(idlest) = self.pairs.eviction_candidate(self.limit(octets, cx), cx.now(), may_be_evicted)
        {
            self.forget(idlest, cx);
        }
        self.limit(octets, cx)
    }

    /// The limit on pairs, if the next one takes this many octets.
    fn limit(&self, octets: usize, cx: &Context<'_>) -> usize {
        let (taken, octets) = (self.taken(), octets + Windows::octets_of_one());
        let has_memory = cx.budget().room(0, taken).in_all >= octets;
        let of_memory = if has_memory { usize::MAX } else { self.pairs.len() };
        self.pairs.max_flows(cx.budget(), taken, octets).min(of_memory)
    }

    pub(super) fn insert(&mut self, key: FlowKey, mut pair: Pair, limit: usize, cx: &Context<'_>) -> bool {
        let is_shared = pair.share.is_some();
        pair.counted = Counted { octets: pair.footprint(), ..Counted::default() };
        let counted = pair.counted;
        if self.pairs.insert(key, Entry::Awake(Box::new(pair)), limit, cx.now()).is_err() {
            return false;
        }
        self.account.change(Counted::default(), counted);
        if is_shared {
            let room = cx.budget().room(0, self.taken()).in_all;
            self.windows.join(key, room, cx.now());
        }
        true
    }

    /// Resumes an imported or new pair over a hop with this estimate.
    pub fn resume(&mut self, key: FlowKey, estimate: Option<HopEstimate>, cx: &mut Context<'_>) {
        if let (Some(hop), Some(estimate)) = (self.windows.of_mut(key), estimate)
            && hop.flows() == 1
        {
            hop.resume_from(estimate, cx.now());
        }
        self.work(key, cx);
    }

    /// Removes all pairs that owe nothing.
    pub(super) fn forget_free(&mut self, cx: &mut Context<'_>) {
        let is_free = |key: &FlowKey| self.obligation(*key).is_free();
        let free: Vec<FlowKey> = self.pairs.keys().filter(is_free).collect();
        for key in free {
            self.forget(key, cx);
        }
    }

    /// Removes a pair that sees no more of its connection. If something is owed, the ends cannot
    /// continue without the pair, and receive a reset.
    pub fn release(&mut self, key: FlowKey, cx: &mut Context<'_>) {
        if !self.obligation(key).is_free() {
            self.wake(key, cx);
            if let Some(pair) = self.pairs.peek_mut(key).and_then(Entry::awake_mut) {
                pair.reset_both(cx);
            }
        }
        self.forget(key, cx);
    }

    /// Removes a pair; owed octets are lost.
    pub fn forget(&mut self, key: FlowKey, cx: &mut Context<'_>) {
        let at_risk = self.obligation(key).octets();
        self.take(key, cx);
        if at_risk > 0 {
            cx.report(Report { amount: at_risk, ..Report::new(&ACKNOWLEDGED_AND_LOST) });
        }
    }

    /// Removes a pair and returns it as a value.
    pub(super) fn save(&mut self, key: FlowKey, cx: &mut Context<'_>) -> Option<SavedPair> {
        let hop = self.windows.of(key).map(LastHop::estimate);
        match self.take(key, cx)? {
            Entry::Awake(mut pair) => Some(SavedPair::new(&mut pair, hop, cx.now())),
            Entry::Asleep(saved) => Some(*saved),
        }
    }

    /// Removes a pair.
    fn take(&mut self, key: FlowKey, cx: &mut Context<'_>) -> Option<Entry> {
        let mut entry = self.pairs.remove(key)?;
        self.leave(key, &mut entry, cx);
        Some(entry)
    }

    /// Subtracts an entry from the accounts of all pairs.
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

/// Octets of memory of a pair without data.
fn min_pair((core, radio): &(Config, Config)) -> usize {
    let overhead = |config: &Config| Connection::closed(config.clone(), NO_END, NO_END).overhead();
    size_of::<Pair>() + overhead(core) + overhead(radio)
}
