//! The agent where connections are split: the split, and between it and the hop the layer that
//! generates and suppresses ACKs.

use lasthop_agent::{
    Accounts, Agent, Context, Deadline, FlowState, ImportError, LinkEvent, LinkSenses, Obligation, Outbox,
    Owed, Scope, Side, Transfer, Verdict,
};
use lasthop_hop::split::Transparent;
use lasthop_packet::{FlowKey, Packet};

use super::saved::{Layer, unwrap, wrap};
use super::settings::{NAME, Settings};
use crate::lle::{Lle, Place};

/// The AS-TCP agent of an access point, or of the router before it.
///
/// ACKs are generated and suppressed only for split connections. The data of others has further to
/// go than the hop, which is all that MAC ACKs report on.
pub struct AsTcpEdge {
    split: Transparent,
    acks: Lle,
    /// Frames are refused while more octets than this wait to be forwarded; `None`: never.
    refuse_above: Option<u64>,
    /// The output of the split and of the ACK layer in the current call.
    sent: [Outbox; 2],
}

impl AsTcpEdge {
    /// An agent without connections, with its end of the hop at `place`. Only an access point can
    /// refuse frames.
    pub fn new(settings: &Settings, place: Place) -> Self {
        let can_refuse = place == Place::EndOfHop && settings.refuse_above > 0;
        Self {
            split: Transparent::new(NAME, settings.splits(), |input, output| input != output),
            acks: Lle::at(place, settings.at_split()),
            refuse_above: can_refuse.then_some(settings.refuse_above as u64),
            sent: Default::default(),
        }
    }

    /// Calls the split; its output over the hop passes through the ACK layer.
    fn call_split<R>(
        &mut self,
        cx: &mut Context<'_>,
        f: impl FnOnce(&mut Transparent, &mut Context<'_>) -> R,
    ) -> R {
        let mut sent = std::mem::take(&mut self.sent[0]);
        let result = f(&mut self.split, &mut cx.with_outbox(&mut sent, self.acks.octets()));
        self.send(&mut sent, Side::Radio, cx);
        self.sent[0] = sent;
        result
    }

    /// Calls the ACK layer; its ACKs go to the split.
    fn call_acks<R>(&mut self, cx: &mut Context<'_>, f: impl FnOnce(&mut Lle, &mut Context<'_>) -> R) -> R {
        let mut sent = std::mem::take(&mut self.sent[1]);
        let result = f(&mut self.acks, &mut cx.with_outbox(&mut sent, self.split.octets()));
        self.send(&mut sent, Side::Core, cx);
        self.sent[1] = sent;
        result
    }

    /// Sends a layer's output. Packets to the side of the other layer pass through that one.
    fn send(&mut self, sent: &mut Outbox, others_side: Side, cx: &mut Context<'_>) {
        cx.pass_on(sent, false, |message| message);
        for (to, mut packet) in sent.packets.drain(..) {
            if to != others_side {
                cx.send(to, packet);
                continue;
            }
            let (verdict, other) = match to {
                Side::Core => {
                    (self.call_split(cx, |split, cx| split.on_packet(&mut packet, Side::Radio, cx)), 0)
                }
                Side::Radio => {
                    (self.call_acks(cx, |acks, cx| acks.on_packet(&mut packet, Side::Core, cx)), 1)
                }
            };
            if let Some(options) = self.sent[other].attached.take() {
                packet.set_link_options(Some(options));
            }
            match verdict {
                Verdict::Forward => cx.send(to, packet),
                // The caller does not see this verdict.
                Verdict::Drop(reason) => cx.report_dropped(&packet, packet.payload().len(), reason),
                Verdict::Absorb => {}
            }
        }
    }

    /// Calls the split for an event from outside.
    fn run_split<R>(
        &mut self,
        cx: &mut Context<'_>,
        f: impl FnOnce(&mut Transparent, &mut Context<'_>) -> R,
    ) -> R {
        let result = self.call_split(cx, f);
        self.attach(0, cx);
        result
    }

    /// Calls the ACK layer for an event from outside.
    fn run_acks<R>(&mut self, cx: &mut Context<'_>, f: impl FnOnce(&mut Lle, &mut Context<'_>) -> R) -> R {
        let result = self.call_acks(cx, f);
        self.attach(1, cx);
        result
    }

    fn attach(&mut self, layer: usize, cx: &mut Context<'_>) {
        if let Some(options) = self.sent[layer].attached.take() {
            cx.attach(options);
        }
    }

    fn packet_to_split(&mut self, packet: &mut Packet, from: Side, cx: &mut Context<'_>) -> Verdict {
        self.run_split(cx, |split, cx| split.on_packet(packet, from, cx))
    }

    fn packet_to_acks(&mut self, packet: &mut Packet, from: Side, cx: &mut Context<'_>) -> Verdict {
        self.run_acks(cx, |acks, cx| acks.on_packet(packet, from, cx))
    }

    /// Makes the ACK layer leave a connection that is not split, unless that owes data.
    fn leave_alone(&mut self, connection: FlowKey, cx: &mut Context<'_>) {
        if !self.split.attends_to(connection) && self.acks.obligation(connection).is_free() {
            self.run_acks(cx, |acks, cx| acks.leave(connection, cx));
        }
    }
}

impl Agent for AsTcpEdge {
    fn on_packet(&mut self, packet: &mut Packet, from: Side, cx: &mut Context<'_>) -> Verdict {
        let Some(connection) = packet.flow_key().map(|key| from.connection(key)) else {
            return self.packet_to_split(packet, from, cx);
        };
        if from == Side::Radio {
            let verdict = self.packet_to_acks(packet, from, cx);
            if verdict != Verdict::Forward {
                self.run_split(cx, |split, cx| split.splits.on_passed(connection, packet, from, cx));
                return verdict;
            }
        }
        let verdict = self.packet_to_split(packet, from, cx);
        self.leave_alone(connection, cx);
        if from == Side::Radio || verdict != Verdict::Forward {
            return verdict;
        }
        self.packet_to_acks(packet, from, cx)
    }

    fn prefetch(&self, connections: &[FlowKey]) {
        self.acks.prefetch(connections);
    }

    fn on_link(&mut self, event: &LinkEvent<'_>, cx: &mut Context<'_>) {
        self.run_acks(cx, |acks, cx| acks.on_link(event, cx));
    }

    fn deadline(&self) -> Option<Deadline> {
        Deadline::earliest(self.split.deadline(), self.acks.deadline())
    }

    fn on_deadline(&mut self, cx: &mut Context<'_>) {
        self.run_split(cx, Agent::on_deadline);
        self.run_acks(cx, Agent::on_deadline);
    }

    fn needs(&self) -> LinkSenses {
        let refusal = if self.refuse_above.is_some() { LinkSenses::REFUSAL } else { LinkSenses::empty() };
        self.acks.needs() | refusal
    }

    fn refuses_frames(&self) -> bool {
        self.refuse_above.is_some_and(|max| self.split.splits.backlog() > max)
    }
}

impl Accounts for AsTcpEdge {
    fn held(&self) -> u64 {
        self.acks.held()
    }

    fn octets(&self) -> usize {
        self.split.octets() + self.acks.octets()
    }

    fn obligation(&self, connection: FlowKey) -> Obligation {
        self.split.obligation(connection).with(self.acks.obligation(connection))
    }

    fn owed(&self) -> Owed {
        self.split.owed().plus(self.acks.owed())
    }
}

impl Transfer for AsTcpEdge {
    /// The state of the ACK layer comes first: the split may send when it resumes.
    fn export(&mut self, scope: Scope, cx: &mut Context<'_>) -> Vec<FlowState> {
        let of_acks = self.run_acks(cx, |acks, cx| acks.export(scope, cx));
        let of_split = self.run_split(cx, |split, cx| split.export(scope, cx));
        let of_acks = of_acks.into_iter().filter_map(|state| wrap(Layer::Acks, state));
        of_acks.chain(of_split.into_iter().filter_map(|state| wrap(Layer::Split, state))).collect()
    }

    fn import(&mut self, state: &FlowState, cx: &mut Context<'_>) -> Result<(), ImportError> {
        match unwrap(state, cx)? {
            (Layer::Split, state) => self.run_split(cx, |split, cx| split.import(&state, cx)),
            (Layer::Acks, state) => self.run_acks(cx, |acks, cx| acks.import(&state, cx)),
        }
    }

    fn give_up(&mut self, state: &FlowState, cx: &mut Context<'_>) {
        if let Ok((Layer::Split, state)) = unwrap(state, cx) {
            self.run_split(cx, |split, cx| split.give_up(&state, cx));
        }
    }

    fn on_return(&mut self, cx: &mut Context<'_>) {
        self.run_split(cx, Transfer::on_return);
    }

    fn drain(&mut self, cx: &mut Context<'_>) {
        self.run_split(cx, Transfer::drain);
        self.run_acks(cx, Transfer::drain);
    }

    fn release(&mut self, connection: FlowKey, cx: &mut Context<'_>) {
        self.run_split(cx, |split, cx| split.release(connection, cx));
        self.run_acks(cx, |acks, cx| acks.release(connection, cx));
    }
}
