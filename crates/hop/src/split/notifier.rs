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

    /// It takes no more memory than is left, when `taken` octets are taken in all.
    pub(super) fn leave_room(&mut self, taken: usize) {
        self.others = taken - self.octets();
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
