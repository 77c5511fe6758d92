//! An agent between the legs over the hop and the hop: it tells mobile hosts that send which of their
//! losses were the hop's.

use lasthop_agent::{Agent, Context, Side};
use lasthop_packet::{FlowKey, Packet};

/// The agent, and what it may take of the pairs' memory. It drops no packet.
pub(super) struct Notifier {
    agent: Box<dyn Agent>,
    /// Octets that all else has taken of the same memory.
    others: usize,
}

impl Notifier {
    pub(super) fn new(agent: Box<dyn Agent>) -> Self {
        Self { agent, others: 0 }
    }

    /// Octets of memory that it has taken.
    pub(super) fn octets(&self) -> usize {
        self.agent.octets()
    }

    /// Leaves room for the octets that everything else has taken.
    pub(super) const fn leave_room(&mut self, others: usize) {
        self.others = others;
    }

    /// Shows it a packet over the hop.
    pub(super) fn pass(&mut self, packet: &mut Packet, from: Side, cx: &mut Context<'_>) {
        let _ = self.agent.on_packet(packet, from, &mut cx.beside(self.others));
    }

    /// Has it forget a connection.
    pub(super) fn release(&mut self, connection: FlowKey, cx: &mut Context<'_>) {
        self.agent.release(connection, cx);
    }
}
