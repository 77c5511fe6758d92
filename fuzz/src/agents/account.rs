//! What came, what left, and what an agent still owes.

use lasthop_agent::Side;
use lasthop_packet::{FlowKey, Packet, Seq, TcpFlags};

/// Where an agent stands with its world.
#[derive(Default)]
pub struct Account {
    packets: usize,
    octets: usize,
    /// Packets that it sent.
    pub sent: usize,
    /// What it absorbed and has not sent on.
    owed: Vec<Owed>,
}

/// A run of data on its way to a side.
#[derive(Clone, Copy, Debug)]
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

    /// A packet that is bound for this side is given to the agent: until it has an answer, all of
    /// it is owed.
    pub fn given(&mut self, packet: &Packet, to: Side) {
        self.shown(packet);
        let (Some(tcp), Some(key)) = (packet.tcp(), packet.flow_key()) else { return };
        let from = tcp.seq + u32::from(tcp.flags.has(TcpFlags::SYN));
        let until = from + packet.payload().len() as u32;
        self.owed.push(Owed { packet: self.packets, to, key, from, until });
    }

    /// What was absorbed is nobody's any more.
    pub fn forget(&mut self) {
        self.owed.clear();
    }

    /// The packet that was given last was not absorbed.
    pub fn given_back(&mut self) {
        self.owed.retain(|owed| owed.packet != self.packets);
    }

    /// The most packets that an agent may send at once: what it holds, and pieces of all that it
    /// may have cached, as small as its account of them is divided at the most. In a stack each of
    /// them may be an input to the next.
    pub fn most_in_one_call(&self, held: u64, layers: usize) -> usize {
        let one = 16 + held as usize + 3 * self.packets + self.octets / 256;
        one * layers.max(1).pow(2)
    }

    /// A packet left to this side.
    pub fn left(&mut self, packet: &Packet, to: Side) {
        let (Some(tcp), Some(key)) = (packet.tcp(), packet.flow_key()) else { return };
        let first = tcp.seq + u32::from(tcp.flags.has(TcpFlags::SYN));
        self.settle(first, packet.payload().len() as u32, |owed| (owed.to, owed.key) == (to, key));
    }

    /// The agent says that it dropped so much data. It does not say whose.
    pub fn dropped(&mut self, first: Seq, octets: u32) {
        self.settle(first, octets, |_| true);
    }

    fn settle(&mut self, first: Seq, octets: u32, is_meant: impl Fn(&Owed) -> bool) {
        let end = first + octets;
        let mut rest = Vec::new();
        for owed in self.owed.drain(..) {
            if !is_meant(&owed) || !first.before(owed.until) || !end.after(owed.from) {
                rest.push(owed);
                continue;
            }
            if first.after(owed.from) {
                rest.push(Owed { until: first, ..owed });
            }
            if end.before(owed.until) {
                rest.push(Owed { from: end, ..owed });
            }
        }
        self.owed = rest;
    }

    /// All that was absorbed has left, or was reported as dropped.
    pub fn assert_all_has_left(&self) {
        let owed = self.owed.iter().find(|owed| owed.from != owed.until);
        assert!(owed.is_none(), "it absorbed this, and never sent it: {owed:?}");
    }
}
