//! What came, what left, and what an agent still owes.

use lasthop_agent::Side;
use lasthop_packet::{FlowKey, Packet, Seq};

/// Where an agent stands with its world.
#[derive(Default)]
pub struct Account {
    packets: usize,
    octets: usize,
    /// Packets that it sent.
    pub sent: usize,
    /// How often it said that there is no room.
    pub at_bound: usize,
    /// What it absorbed and has not sent on.
    owed: Vec<Owed>,
}

/// A run of sequence numbers on its way to a side.
struct Owed {
    /// The number of the packet that it came in.
    packet: usize,
    to: Side,
    key: FlowKey,
    from: Seq,
    until: Seq,
}

impl Account {
    /// A packet was shown to the agent.
    pub fn shown(&mut self, packet: &Packet) {
        self.packets += 1;
        self.octets += packet.payload().len();
    }

    /// A packet that is bound for this side is given to the agent: until it has an answer, all of it is owed.
    pub fn given(&mut self, packet: &Packet, to: Side) {
        self.shown(packet);
        let (Some(tcp), Some(key)) = (packet.tcp(), packet.flow_key()) else { return };
        if packet.segment_len() > 0 {
            let (from, until) = (tcp.seq, tcp.seq + packet.segment_len());
            self.owed.push(Owed { packet: self.packets, to, key, from, until });
        }
    }

    /// The packet that was given last was not absorbed.
    pub fn given_back(&mut self) {
        self.owed.retain(|owed| owed.packet != self.packets);
    }

    /// The most packets that an agent may send at once: what it holds, and pieces of all that it may have cached, as small as its account
    /// of them is divided at the most. In a stack each of them may be an input to the next.
    pub fn most_in_one_call(&self, held: u64, layers: usize) -> usize {
        let one = 16 + held as usize + 3 * self.packets + self.octets / 256;
        one * layers.max(1).pow(2)
    }

    /// A packet left to this side.
    pub fn left(&mut self, packet: &Packet, to: Side) {
        let (Some(tcp), Some(key)) = (packet.tcp(), packet.flow_key()) else { return };
        let (start, end) = (tcp.seq, tcp.seq + packet.segment_len());
        let mut rest = Vec::new();
        for owed in self.owed.drain(..) {
            if (owed.to, owed.key) != (to, key) || !start.before(owed.until) || !end.after(owed.from) {
                rest.push(owed);
                continue;
            }
            if start.after(owed.from) {
                rest.push(Owed { until: start, ..owed });
            }
            if end.before(owed.until) {
                rest.push(Owed { from: end, ..owed });
            }
        }
        self.owed = rest;
    }

    /// What was absorbed has left, but for what the agent reported.
    pub fn assert_all_has_left(&self) {
        let lost = self.owed.len();
        assert!(
            lost <= self.at_bound,
            "{lost} runs of what it absorbed never left, {} reports",
            self.at_bound
        );
    }
}
