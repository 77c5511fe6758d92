//! What a run shows of itself: events for observers, and what is counted whether or not anybody
//! observes.

use lasthop_agent::counter::REPORTS;
use lasthop_agent::{Counter, Tally};
use lasthop_packet::{Instant, Packet};

use crate::accounts::{Accounts, DropCause};
use crate::id::{LinkId, NodeId};
use crate::observe::{Interest, Observer, TraceEvent};

pub(crate) struct Telemetry {
    observers: Vec<Box<dyn Observer>>,
    interest: Interest,
    /// Packets dropped, by cause: a run has few causes, and a map of them is slow to search.
    drops: Vec<(DropCause, u64)>,
    /// What became of the others.
    accounts: Accounts,
    /// Events handled.
    events: u64,
    /// What agents reported.
    reported: Tally,
}

impl Telemetry {
    pub(crate) fn new() -> Self {
        Self {
            observers: Vec::new(),
            interest: Interest::empty(),
            drops: Vec::new(),
            accounts: Accounts::default(),
            events: 0,
            reported: Tally::with_counters(REPORTS),
        }
    }

    pub(crate) fn add(&mut self, observer: Box<dyn Observer>) {
        self.interest |= observer.interest();
        self.observers.push(observer);
    }

    pub(crate) fn take_observers(&mut self) -> Vec<Box<dyn Observer>> {
        self.interest = Interest::empty();
        std::mem::take(&mut self.observers)
    }

    /// The interests of all observers together.
    pub(crate) const fn interests(&self) -> Interest {
        self.interest
    }

    /// Whether an observer wants events of one of these kinds.
    #[inline]
    pub(crate) const fn is_interested(&self, kinds: Interest) -> bool {
        self.interest.intersects(kinds)
    }

    #[inline]
    pub(crate) fn emit(&mut self, now: Instant, event: &TraceEvent<'_>) {
        if self.interest.intersects(event.kind()) {
            self.report(now, event);
        }
    }

    fn report(&mut self, now: Instant, event: &TraceEvent<'_>) {
        for observer in &mut self.observers {
            if observer.interest().intersects(event.kind()) {
                observer.on_event(now, event);
            }
        }
    }

    /// Counts a packet that is dropped at a node, on its way out on a link if it has come so far.
    pub(crate) fn count_drop(
        &mut self,
        now: Instant,
        (node, link): (NodeId, Option<LinkId>),
        cause: DropCause,
        packet: &Packet,
    ) {
        match self.drops.iter_mut().find(|(known, _)| *known == cause) {
            Some((_, count)) => *count += 1,
            None => self.drops.push((cause, 1)),
        }
        self.emit(now, &TraceEvent::Dropped { node, link, cause, packet });
    }

    pub(crate) fn count_report(&mut self, counter: &'static Counter, amount: u64) {
        self.reported.count(counter, amount);
    }

    /// What agents reported so far.
    pub(crate) const fn reported(&self) -> &Tally {
        &self.reported
    }

    #[inline]
    pub(crate) const fn count_events(&mut self, events: u64) {
        self.events += events;
    }

    /// Events handled so far.
    #[inline]
    pub(crate) const fn events(&self) -> u64 {
        self.events
    }

    #[inline]
    pub(crate) const fn accounts_mut(&mut self) -> &mut Accounts {
        &mut self.accounts
    }

    /// Where every packet went that is not in transit.
    pub(crate) fn accounts(&self) -> Accounts {
        Accounts { dropped: self.drops.iter().copied().collect(), ..self.accounts.clone() }
    }
}
