//! An agent between the legs over the hop and the hop: it notifies mobile hosts that send of their
//! losses on the hop.

use lasthop_agent::{Agent, Context, Side};
use lasthop_packet::{FlowKey, Packet};

/// The agent, and its share of the pairs' memory. It drops no packet.
pub(super) struct Notifier {
    agent: Box<dyn Agent>,
    /// Octets of the same memory that everything else has taken.
    others: usize,
}

impl Notifier {
    pub(super) fn new(agent: Box<dyn Agent>) -> Self {
        Self { agent, others: 0 }
    }

    /// Octets of allocated memory.
    pub(super) fn octets(&self) -> usize {
        self.agent.octets()
    }

    /// Leaves room for the octets that everything else has taken.
    pub(super) const fn leave_room(&mut self, others: usize) {
        self.others = others;
    }

    /// Passes a packet over the hop to the agent.
    pub(super) fn pass(&mut self, packet: &mut Packet, from: Side, cx: &mut Context<'_>) {
        let _ = self.agent.on_packet(packet, from, &mut cx.beside(self.others));
    }

    /// Removes a connection from the agent.
    pub(super) fn release(&mut self, connection: FlowKey, cx: &mut Context<'_>) {
        self.agent.release(connection, cx);
    }
}
