//! The agent. It sits in the mobile host, where ACKs compete with the data that they
//! acknowledge for the air.

use std::time::Duration;

use lasthop_agent::{
    Accounts, Agent, Context, Counter, Deadline, DropReason, FlowTable, Side, Transfer, Verdict,
};
use lasthop_packet::{FlowKey, Packet, Seq, TcpFlags};

use super::settings::Settings;

/// A cumulative ACK says all that the one before it said (RFC 9293, section 3.4).
pub static OVERTAKEN: Counter = Counter::new("dropped_overtaken_ack", "a later ACK says more");
const REASON: DropReason = &OVERTAKEN;

/// The agent.
pub struct AckThinning {
    settings: Settings,
    /// The ACK that waits, of each connection. The table bounds them, and has a timer for each.
    waiting: FlowTable<Option<Packet>>,
    held: u64,
}

impl AckThinning {
    /// An agent that has seen nothing yet.
    pub fn new(settings: Settings) -> Self {
        Self { settings, waiting: FlowTable::new(Duration::from_secs(10)), held: 0 }
    }

    /// Sends the ACK that waits of a connection.
    fn send(&mut self, connection: FlowKey, cx: &mut Context<'_>) {
        if let Some(ack) = self.waiting.peek_mut(connection).and_then(Option::take) {
            self.held -= 1;
            cx.send(Side::Radio, ack);
        }
        self.waiting.clear_timer(connection);
    }
}

impl Agent for AckThinning {
    fn on_packet(&mut self, packet: &mut Packet, from: Side, cx: &mut Context<'_>) -> Verdict {
        // Whatever is not understood goes on untouched.
        let Some(connection) = packet.flow_key().filter(|_| from == Side::Core) else {
            return Verdict::Forward;
        };
        let Some(ack) = plain_ack(packet) else {
            // It may say that something is missing: nothing overtakes it.
            self.send(connection, cx);
            return Verdict::Forward;
        };
        // The table is all the memory that this agent takes.
        let flows = self.waiting.max_flows(cx.budget(), self.waiting.octets(), 0);
        if self.waiting.touch(connection, cx.now()).is_none() {
            if let Some(idlest) = self.waiting.eviction_candidate(flows, cx.now(), |_| true) {
                self.release(idlest, cx);
            }
            // Where there is no room for a connection, its ACKs pass.
            let _ = self.waiting.insert(connection, None, flows, cx.now());
            return Verdict::Forward;
        }
        let waiting = self.waiting.peek_mut(connection).and_then(Option::take);
        self.waiting.clear_timer(connection);
        match waiting.as_ref().and_then(plain_ack) {
            Some(earlier) if ack.after(earlier) => {
                self.held -= 1;
                cx.report_dropped(&waiting.expect("it was just looked at"), 0, REASON);
                Verdict::Forward
            }
            Some(_) => {
                // The same number twice is a duplicate ACK: the sender counts them.
                self.held -= 1;
                cx.send(Side::Radio, waiting.expect("it was just looked at"));
                Verdict::Forward
            }
            None => {
                if let Some(slot) = self.waiting.peek_mut(connection) {
                    *slot = Some(packet.clone());
                }
                self.held += 1;
                self.waiting.set_timer(connection, cx.now() + self.settings.patience);
                Verdict::Absorb
            }
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        self.waiting.next_timer().map(|at| Deadline { at, reason: "waiting ACK" })
    }

    fn on_deadline(&mut self, cx: &mut Context<'_>) {
        while let Some(connection) = self.waiting.pop_timer(cx.now()) {
            self.send(connection, cx);
        }
    }
}

impl Accounts for AckThinning {
    fn held(&self) -> u64 {
        self.held
    }

    fn octets(&self) -> usize {
        self.waiting.octets()
    }
}

impl Transfer for AckThinning {
    fn drain(&mut self, cx: &mut Context<'_>) {
        for connection in self.waiting.keys().collect::<Vec<_>>() {
            self.send(connection, cx);
        }
    }

    fn release(&mut self, connection: FlowKey, cx: &mut Context<'_>) {
        self.send(connection, cx);
        self.waiting.remove(connection);
    }
}

/// The number of an ACK that is nothing but that.
fn plain_ack(packet: &Packet) -> Option<Seq> {
    let tcp = packet.tcp().filter(|tcp| tcp.flags == TcpFlags::ACK && packet.payload().is_empty())?;
    (tcp.options.sack.is_empty() && tcp.options.unknown.is_none()).then_some(tcp.ack)
}
