//! The edge: a node with an agent.

use lasthop_agent::{Agent, Budget, Context, Fate, LinkEvent, LinkSenses, Outbox, Side, Verdict};
use lasthop_packet::{Instant, Packet, Rng};
use lasthop_schemes::{Role, Seat, catalog};

use crate::counted::call_agent;
use crate::hosts::ACCESS_POINT;

/// A node with an agent, or without one.
pub struct Edge {
    agent: Option<Box<dyn Agent>>,
    budget: Budget,
    rng: Rng,
    outbox: Outbox,
    /// Whether callgrind counts calls.
    pub is_counted: bool,
}

impl Edge {
    pub fn new(scheme: &str, settings: &str, flows: u32) -> Self {
        let scheme = catalog::find(scheme).unwrap_or_else(|error| panic!("{error}"));
        let settings = toml::from_str(settings).unwrap_or_else(|error| panic!("{settings}: {error}"));
        let placement = scheme.configure(settings).unwrap_or_else(|error| panic!("{error}"));
        let agent = placement.agent(Seat { role: Role::Edge, address: ACCESS_POINT });
        Self {
            agent,
            budget: Budget { flows: flows as usize + 100, octets_in_all: 16 << 30, ..Budget::default() },
            rng: Rng::named(1, "edge"),
            outbox: Outbox::default(),
            is_counted: false,
        }
    }

    /// Receives a packet. The packets that the edge sends are appended to `sent`, in order.
    pub fn pass(&mut self, from: Side, mut packet: Packet, now: Instant, sent: &mut Vec<(Side, Packet)>) {
        let verdict =
            self.call(now, Verdict::Forward, |agent, cx| agent.on_packet(&mut packet, from, cx), sent);
        if verdict == Verdict::Forward {
            sent.push((from.opposite(), packet));
        }
    }

    /// Reports the fate of a packet on the hop to the agent, if the agent needs it.
    pub fn on_fate(&mut self, packet: &Packet, is_lost: bool, now: Instant, sent: &mut Vec<(Side, Packet)>) {
        let needs = self.agent.as_ref().map_or(LinkSenses::empty(), |agent| agent.needs());
        if !needs.contains(LinkSenses::FRAME_FATE) {
            return;
        }
        let fate = if is_lost { Fate::GivenUp } else { Fate::Delivered };
        let event = LinkEvent::Frame {
            packet,
            fate,
            transmissions: 1,
            queueing: std::time::Duration::ZERO,
            access: None,
            air_time: std::time::Duration::from_micros(100),
        };
        self.call(now, (), |agent, cx| agent.on_link(&event, cx), sent);
    }

    /// The agent's next deadline.
    pub fn deadline(&self) -> Option<Instant> {
        self.agent.as_ref()?.deadline().map(|deadline| deadline.at)
    }

    pub fn on_deadline(&mut self, now: Instant, sent: &mut Vec<(Side, Packet)>) {
        self.call(now, (), |agent, cx| agent.on_deadline(cx), sent);
    }

    /// Calls the agent, if there is one.
    fn call<R>(
        &mut self,
        now: Instant,
        without: R,
        call: impl FnOnce(&mut dyn Agent, &mut Context<'_>) -> R,
        sent: &mut Vec<(Side, Packet)>,
    ) -> R {
        let Some(agent) = self.agent.as_deref_mut() else { return without };
        self.outbox.reports.clear();
        self.outbox.bypasses.clear();
        self.outbox.left_alone.clear();
        let cx = &mut Context::new(now, &mut self.rng, &mut self.outbox).within(self.budget);
        let result = call_agent(self.is_counted, agent, cx, call);
        sent.append(&mut self.outbox.packets);
        result
    }
}
