//! An agent in its place.

use std::net::IpAddr;

use allocation_counter::measure;
use lasthop_agent::{Agent, Budget, Context, LinkSenses, Outbox};
use lasthop_packet::{Instant, Rng};

use crate::counted::call_agent;

/// A place for an agent, which may be empty.
pub struct Seated {
    agent: Option<Box<dyn Agent>>,
    neighbor: Option<IpAddr>,
    budget: Budget,
    rng: Rng,
    pub outbox: Outbox,
    pub is_counted: bool,
}

impl Seated {
    pub fn new(agent: Option<Box<dyn Agent>>, neighbor: Option<IpAddr>, flows: u32) -> Self {
        let budget = Budget { flows: flows as usize + 100, octets_in_all: 16 << 30, ..Budget::default() };
        let rng = Rng::named(1, "agents");
        Self { agent, neighbor, budget, rng, outbox: Outbox::default(), is_counted: false }
    }

    pub fn needs(&self) -> LinkSenses {
        self.agent.as_ref().map_or(LinkSenses::empty(), |agent| agent.needs())
    }

    pub fn is_due(&self, now: Instant) -> bool {
        self.agent.as_ref().and_then(|agent| agent.deadline()).is_some_and(|due| due.at <= now)
    }

    /// Calls the agent, if there is one.
    pub fn ask<R>(
        &mut self,
        now: Instant,
        without: R,
        call: impl FnOnce(&mut dyn Agent, &mut Context<'_>) -> R,
    ) -> R {
        let Some(agent) = self.agent.as_deref_mut() else { return without };
        self.outbox.reports.clear();
        self.outbox.bypasses.clear();
        self.outbox.left_alone.clear();
        let cx = Context::new(now, &mut self.rng, &mut self.outbox).within(self.budget);
        let cx = &mut cx.with_neighbor(self.neighbor);
        call_agent(self.is_counted, agent, cx, call)
    }

    /// The octets that it has allocated, by what is free once it is dropped, and the octets that it
    /// reports.
    pub fn into_state(self) -> (i64, usize) {
        let reported = self.agent.as_ref().map_or(0, |agent| agent.octets());
        let agent = self.agent;
        (-measure(|| drop(agent)).bytes_current, reported)
    }
}
