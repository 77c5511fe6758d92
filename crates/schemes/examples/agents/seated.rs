//! An agent in its seat, and the calls that are counted.

use std::hint::black_box;
use std::net::IpAddr;

use allocation_counter::measure;
use lasthop_agent::{Agent, Budget, Context, LinkSenses, Outbox};
use lasthop_packet::{Instant, Rng};

/// A place for an agent, with one or without.
pub struct Seated {
    agent: Option<Box<dyn Agent>>,
    neighbour: Option<IpAddr>,
    budget: Budget,
    rng: Rng,
    pub outbox: Outbox,
    pub is_counted: bool,
}

impl Seated {
    pub fn new(agent: Option<Box<dyn Agent>>, neighbour: Option<IpAddr>, flows: u32) -> Self {
        let budget = Budget { flows: flows as usize + 100, octets_in_all: 16 << 30, ..Budget::default() };
        let rng = Rng::named(1, "agents");
        Self { agent, neighbour, budget, rng, outbox: Outbox::default(), is_counted: false }
    }

    pub fn needs(&self) -> LinkSenses {
        self.agent.as_ref().map_or(LinkSenses::empty(), |agent| agent.needs())
    }

    pub fn is_due(&self, now: Instant) -> bool {
        self.agent.as_ref().and_then(|agent| agent.deadline()).is_some_and(|due| due.at <= now)
    }

    /// As worlds do, with a look at its deadline after the call.
    pub fn ask<R>(
        &mut self,
        now: Instant,
        without: R,
        call: impl FnOnce(&mut dyn Agent, &mut Context<'_>) -> R,
    ) -> R {
        let Some(agent) = self.agent.as_deref_mut() else { return without };
        self.outbox.reports.clear();
        self.outbox.bypasses.clear();
        let cx = Context::new(now, &mut self.rng, &mut self.outbox).within(self.budget);
        let cx = &mut cx.with_neighbour(self.neighbour);
        if self.is_counted { counted_call(agent, cx, call) } else { other_call(agent, cx, call) }
    }

    /// Octets that it has allocated: what is free once it is gone. And octets that it says it has.
    pub fn into_state(self) -> (i64, usize) {
        let said = self.agent.as_ref().map_or(0, |agent| agent.octets());
        let agent = self.agent;
        (-measure(|| drop(agent)).bytes_current, said)
    }
}

#[inline(never)]
fn counted_call<R>(
    agent: &mut dyn Agent,
    cx: &mut Context<'_>,
    call: impl FnOnce(&mut dyn Agent, &mut Context<'_>) -> R,
) -> R {
    let result = call(agent, cx);
    black_box(agent.deadline());
    result
}

/// The same, but for callgrind's eyes.
#[inline(never)]
fn other_call<R>(
    agent: &mut dyn Agent,
    cx: &mut Context<'_>,
    call: impl FnOnce(&mut dyn Agent, &mut Context<'_>) -> R,
) -> R {
    black_box(cx.now());
    let result = call(agent, cx);
    black_box(agent.deadline());
    result
}
