//! A rule with its agent, and what happens when the agent breaks.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use lasthop_agent::counter::{DEADLINES_STUCK, DROPPED_HELD};
use lasthop_agent::{Agent, Budget, Context, LinkSenses, Obligation, Outbox, Owed, Progress};
use lasthop_packet::{FlowKey, Instant, Rng};
use tracing::{error, warn};

use super::counters::RuleCounters;
use super::plan::{AgentMaker, RulePlan};
use super::selector::Selector;

/// The number of panics within [`PANIC_WINDOW`] after which a rule has no agent, and its traffic
/// passes unchanged, until the next reload.
const MAX_PANICS: usize = 5;
const PANIC_WINDOW: Duration = Duration::from_secs(60);

/// A rule with its agent.
pub(super) struct Rule {
    pub(super) name: String,
    pub(super) traffic: Selector,
    pub(super) schemes: String,
    pub(super) spec: String,
    maker: Option<AgentMaker>,
    agent: Option<Box<dyn Agent>>,
    needs: LinkSenses,
    /// Whether its agent has a use for datagrams.
    pub(super) takes_datagrams: bool,
    rng: Rng,
    outbox: Outbox,
    deadline: Option<Instant>,
    progress: Progress,
    panics: VecDeque<Instant>,
    /// Obligations of agents that panicked, not yet counted by the engine.
    broken: Owed,
    /// Octets of memory that its agent uses.
    octets: usize,
    pub(super) counters: RuleCounters,
}

impl Rule {
    pub(super) fn new(plan: &RulePlan, seed: u64) -> Self {
        let mut rule = Self {
            name: plan.name.clone(),
            traffic: plan.traffic.clone(),
            schemes: plan.schemes.clone(),
            spec: plan.spec.clone(),
            maker: plan.agent.clone(),
            agent: None,
            needs: LinkSenses::empty(),
            takes_datagrams: false,
            rng: Rng::named(seed, &plan.name),
            outbox: Outbox::default(),
            deadline: None,
            progress: Progress::default(),
            panics: VecDeque::new(),
            broken: Owed::default(),
            octets: 0,
            counters: RuleCounters::default(),
        };
        rule.make_agent();
        rule
    }

    /// Adopts the name and the traffic of a plan with the same spec, and restores an agent that was
    /// given up.
    pub(super) fn follow(&mut self, plan: &RulePlan) {
        self.name.clone_from(&plan.name);
        self.traffic = plan.traffic.clone();
        if self.agent.is_none() {
            self.panics.clear();
            self.make_agent();
        }
    }

    /// Whether the rule has no agent by configuration, so that its traffic is left alone.
    pub(super) const fn leaves_alone(&self) -> bool {
        self.maker.is_none()
    }

    /// Whether its agent has panicked too often.
    pub(super) const fn is_given_up(&self) -> bool {
        self.maker.is_some() && self.agent.is_none()
    }

    pub(super) fn needs(&self) -> LinkSenses {
        self.needs
    }

    pub(super) const fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Packets that the agent holds.
    pub(super) fn held(&self) -> u64 {
        let held = || self.agent.as_ref().map_or(0, |agent| agent.held());
        catch_unwind(AssertUnwindSafe(held)).unwrap_or(0)
    }

    /// The agent's obligation for a connection.
    pub(super) fn obligation(&self, connection: FlowKey) -> Obligation {
        let of_agent = || self.agent.as_ref().map_or(Obligation::Free, |agent| agent.obligation(connection));
        catch_unwind(AssertUnwindSafe(of_agent)).unwrap_or(Obligation::Free)
    }

    /// The obligations of agents that panicked since the previous call.
    pub(super) fn take_broken(&mut self) -> Owed {
        std::mem::take(&mut self.broken)
    }

    /// The sum of the agent's obligations.
    pub(super) fn owed(&self) -> Owed {
        let of_agent = || self.agent.as_ref().map_or(Owed::default(), |agent| agent.owed());
        catch_unwind(AssertUnwindSafe(of_agent)).unwrap_or_default()
    }

    /// Octets of memory that the agent uses.
    pub(super) const fn octets(&self) -> usize {
        self.octets
    }

    /// Has the agent prefetch the state of the connections whose packets come next. A panic is
    /// ignored here; the agent will panic again in a call that counts panics.
    pub(super) fn prefetch(&self, connections: &[FlowKey]) {
        if let Some(agent) = &self.agent {
            let _ = catch_unwind(AssertUnwindSafe(|| agent.prefetch(connections)));
        }
    }

    /// Calls the agent within the budget. The packets that it sends are in `outbox` afterwards.
    /// `None` if the rule has no agent, or the agent panicked: then its packets are discarded and a
    /// new agent replaces it.
    pub(super) fn call<R>(
        &mut self,
        now: Instant,
        budget: Budget,
        may_owe: bool,
        outbox: &mut Outbox,
        f: impl FnOnce(&mut dyn Agent, &mut Context<'_>) -> R,
    ) -> Option<R> {
        let agent = self.agent.as_mut()?;
        let (rng, own) = (&mut self.rng, &mut self.outbox);
        // Agent and outbox are discarded after a panic, so no state that the closure changed is
        // read again.
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let cx = Context::new(now, rng, own).within(budget);
            let result = f(agent.as_mut(), &mut cx.with_obligations(may_owe).among_real_hosts());
            (result, agent.deadline(), agent.octets())
        }));
        let Ok((result, deadline, octets)) = outcome else {
            self.after_panic(now);
            return None;
        };
        self.deadline = deadline.map(|deadline| deadline.at);
        self.octets = octets;
        for report in self.outbox.reports.drain(..) {
            self.counters.reported.count(report.counter, report.amount);
        }
        // A gateway has no other attachment points to send messages to.
        self.outbox.messages.clear();
        self.counters.packets.sent += self.outbox.packets.len() as u64;
        outbox.packets.append(&mut self.outbox.packets);
        outbox.bypasses.append(&mut self.outbox.bypasses);
        outbox.left_alone.append(&mut self.outbox.left_alone);
        Some(result)
    }

    /// Whether the agent's deadline has passed.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.deadline.is_some_and(|deadline| deadline <= now)
    }

    /// Calls the agent, whose deadline has passed.
    pub(super) fn call_due(&mut self, now: Instant, budget: Budget, outbox: &mut Outbox) {
        let called = self.call(now, budget, false, outbox, |agent, cx| {
            agent.on_deadline(cx);
            agent.deadline()
        });
        let Some(deadline) = self.progress.hold_back(called.flatten(), now) else { return };
        self.deadline = Some(deadline.at);
        if self.progress.is_newly_stuck() {
            self.counters.reported.count(&DEADLINES_STUCK, 1);
            warn!(
                rule = self.name,
                deadline = deadline.reason,
                "an agent's deadline does not move; it is called once a millisecond"
            );
        }
    }

    fn after_panic(&mut self, now: Instant) {
        self.counters.packets.panics += 1;
        self.panics.push_back(now);
        while self.panics.front().is_some_and(|first| now.since(*first) > PANIC_WINDOW) {
            self.panics.pop_front();
        }
        self.outbox = Outbox::default();
        self.deadline = None;
        self.progress = Progress::default();
        self.octets = 0;
        // The packets that it held are lost. Its state may be inconsistent, so that reading or
        // dropping it may panic again.
        self.broken = self.broken.plus(self.owed());
        self.counters.reported.count(&DROPPED_HELD, self.held());
        let broken = self.agent.take();
        let _ = catch_unwind(AssertUnwindSafe(|| drop(broken)));
        if self.panics.len() >= MAX_PANICS {
            error!(
                rule = self.name,
                "the agent panicked {MAX_PANICS} times in a minute; its traffic passes untouched"
            );
            return;
        }
        warn!(rule = self.name, "the agent panicked and was restarted; the current packet passed untouched");
        self.make_agent();
    }

    fn make_agent(&mut self) {
        let Some(maker) = &self.maker else { return };
        let made = catch_unwind(AssertUnwindSafe(|| {
            let agent = maker();
            let needs = (agent.needs(), agent.takes_datagrams());
            (agent, needs)
        }));
        if let Ok((agent, needs)) = made {
            self.agent = Some(agent);
            (self.needs, self.takes_datagrams) = needs;
        } else {
            error!(rule = self.name, "cannot create an agent; its traffic passes untouched");
        }
    }
}

/// Whether a connection's agent, if it has one, has no obligation for it.
pub(super) fn is_free(rules: &[Rule], key: FlowKey, rule: Option<u16>) -> bool {
    rule.is_none_or(|rule| rules[usize::from(rule)].obligation(key).is_free())
}
