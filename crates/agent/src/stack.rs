//! Agents on top of each other are an agent.

use lasthop_packet::Packet;

use crate::agent::{Agent, Deadline, Side, Verdict};
use crate::context::{Context, Outbox};
use crate::link::{LinkEvent, LinkSenses};

/// A stack of agents, the one nearest to the core side first. An empty stack forwards everything untouched.
///
/// What an agent sends passes through the agents between it and the side that it sends to.
#[derive(Default)]
pub struct Stack {
    agents: Vec<Box<dyn Agent>>,
}

impl Stack {
    /// A stack of these agents, the one nearest to the core side first.
    pub fn new(agents: Vec<Box<dyn Agent>>) -> Self {
        Self { agents }
    }

    /// Whether there is no agent.
    pub fn is_empty(&self) -> bool {
        self.agents.is_empty()
    }

    /// Calls agent `index` and passes on what it sends.
    fn call<R>(
        &mut self,
        index: usize,
        cx: &mut Context<'_>,
        f: impl FnOnce(&mut dyn Agent, &mut Context<'_>) -> R,
    ) -> R {
        let mut outbox = Outbox::default();
        let result = f(self.agents[index].as_mut(), &mut cx.with_outbox(&mut outbox));
        for report in outbox.reports {
            cx.report(report);
        }
        for (to, packet) in outbox.packets {
            self.pass_on(index, to, packet, cx);
        }
        result
    }

    /// Carries a packet that agent `index` sent to `to` through the agents on its way, and out.
    fn pass_on(&mut self, index: usize, to: Side, mut packet: Packet, cx: &mut Context<'_>) {
        let next = match to {
            Side::Core => index.checked_sub(1),
            Side::Radio => Some(index + 1).filter(|next| *next < self.agents.len()),
        };
        let Some(next) = next else {
            cx.send(to, packet);
            return;
        };
        let verdict = self.call(next, cx, |agent, cx| agent.on_packet(&mut packet, to.opposite(), cx));
        if verdict == Verdict::Forward {
            self.pass_on(next, to, packet, cx);
        }
    }
}

impl Agent for Stack {
    fn on_packet(&mut self, packet: &mut Packet, from: Side, cx: &mut Context<'_>) -> Verdict {
        for step in 0..self.agents.len() {
            let index = match from {
                Side::Core => step,
                Side::Radio => self.agents.len() - 1 - step,
            };
            let verdict = self.call(index, cx, |agent, cx| agent.on_packet(packet, from, cx));
            if verdict != Verdict::Forward {
                return verdict;
            }
        }
        Verdict::Forward
    }

    fn on_link(&mut self, event: &LinkEvent<'_>, cx: &mut Context<'_>) {
        for index in (0..self.agents.len()).rev() {
            self.call(index, cx, |agent, cx| agent.on_link(event, cx));
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        self.agents.iter().fold(None, |earliest, agent| Deadline::earliest(earliest, agent.deadline()))
    }

    fn on_deadline(&mut self, cx: &mut Context<'_>) {
        for index in 0..self.agents.len() {
            self.call(index, cx, |agent, cx| agent.on_deadline(cx));
        }
    }

    fn needs(&self) -> LinkSenses {
        self.agents.iter().fold(LinkSenses::empty(), |needs, agent| needs | agent.needs())
    }

    fn held(&self) -> u64 {
        self.agents.iter().map(|agent| agent.held()).sum()
    }
}
