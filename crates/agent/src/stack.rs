//! Agents on top of each other are an agent.

use std::net::IpAddr;
use std::time::Duration;

use bytes::{BufMut as _, Bytes, BytesMut};
use lasthop_packet::{FlowKey, Packet};

use crate::accounts::{Accounts, Obligation, Owed};
use crate::agent::{Agent, Deadline, Verdict};
use crate::context::{Context, Outbox};
use crate::counter::AT_BOUND;
use crate::link::{LinkEvent, LinkSenses};

use crate::report::Report;
use crate::side::Side;
use crate::transfer::{FlowState, ImportError, Scope, Transfer};

/// A stack of agents, the one nearest to the core side first. An empty stack forwards everything
/// untouched.
///
/// A packet that an agent sends passes through the agents between it and the side that it sends to.
/// Agents that respond to each other's packets could do so forever. Above a bound a packet
/// therefore leaves without being shown to the remaining agents, and that is reported.
#[derive(Default)]
pub struct Stack {
    agents: Vec<Layer>,
    /// Whether messages carry the number of their layer.
    names_layers: bool,
    /// Packets that are still on their way through the stack; the next one to leave is the last.
    under_way: Vec<UnderWay>,
    /// The output of the last call of an agent.
    sent: Outbox,
}

/// An agent of a stack.
struct Layer {
    agent: Box<dyn Agent>,
    /// Its number, equal to that of its peers at other nodes.
    number: u8,
    /// The result of [`Agent::needs`].
    needs: LinkSenses,
}

impl Layer {
    fn new(number: u8, agent: Box<dyn Agent>) -> Self {
        Self { needs: agent.needs(), number, agent }
    }
}

/// Limit on calls for packets that other agents of the stack sent: `MAX_ANSWERS` calls, plus
/// `MAX_ANSWERS` for each packet from the agent that the world called.
const MAX_ANSWERS: usize = 64;

/// A packet between two agents.
struct UnderWay {
    /// The agent that sent it.
    from: usize,
    to: Side,
    packet: Packet,
}

impl Stack {
    /// A stack of these agents, the one nearest to the core side first. Other nodes have agents of
    /// the same schemes. A stack of one agent behaves like the agent itself.
    pub fn new(agents: Vec<Box<dyn Agent>>) -> Self {
        let names_layers = agents.len() > 1;
        let layers = agents.into_iter().enumerate().map(|(index, agent)| Layer::new(index as u8, agent));
        Self { agents: layers.collect(), names_layers, ..Self::default() }
    }

    /// A stack of the agents of these layers, the one nearest to the core side first. Some layers
    /// may have agents at other nodes only; messages and state still go from a layer to the same
    /// layer.
    pub fn from_layers(agents: Vec<(u8, Box<dyn Agent>)>) -> Self {
        let layers = agents.into_iter().map(|(number, agent)| Layer::new(number, agent));
        Self { agents: layers.collect(), names_layers: true, ..Self::default() }
    }

    /// The index of the agent of a layer.
    fn position(&self, number: u8) -> Option<usize> {
        self.agents.iter().position(|layer| layer.number == number)
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
        let result = self.call_one(index, cx, f);
        if let Some(options) = self.sent.attached.take() {
            cx.attach(options);
        }
        let mut allowed = MAX_ANSWERS + MAX_ANSWERS * self.under_way.len();
        while let Some(UnderWay { from, to, mut packet }) = self.under_way.pop() {
            let next = match to {
                Side::Core => from.checked_sub(1),
                Side::Radio => Some(from + 1).filter(|next| *next < self.agents.len()),
            };
            let Some(next) = next else {
                cx.send(to, packet);
                continue;
            };
            if allowed == 0 {
                cx.report(Report::new(&AT_BOUND).which("answers within a stack"));
                cx.send(to, packet);
                continue;
            }
            allowed -= 1;
            let first_answer = self.under_way.len();
            let verdict =
                self.call_one(next, cx, |agent, cx| agent.on_packet(&mut packet, to.opposite(), cx));
            if let Some(options) = self.sent.attached.take() {
                packet.set_link_options(Some(options));
            }
            match verdict {
                // It leaves after the packets that the agent sent in response to it.
                Verdict::Forward => self.under_way.insert(first_answer, UnderWay { from: next, to, packet }),
                // The world does not see this verdict.
                Verdict::Drop(reason) => cx.report_dropped(&packet, packet.payload().len(), reason),
                Verdict::Absorb => {}
            }
        }
        result
    }

    /// Calls agent `index` and queues what it sends.
    fn call_one<R>(
        &mut self,
        index: usize,
        cx: &mut Context<'_>,
        f: impl FnOnce(&mut dyn Agent, &mut Context<'_>) -> R,
    ) -> R {
        let taken = self.octets_of_others(index);
        let result = f(self.agents[index].agent.as_mut(), &mut cx.with_outbox(&mut self.sent, taken));
        let (number, names_layers) = (self.agents[index].number, self.names_layers);
        let addressed = |message: Bytes| {
            if !names_layers {
                return message;
            }
            let mut octets = BytesMut::with_capacity(1 + message.len());
            octets.put_u8(number);
            octets.extend_from_slice(&message);
            octets.freeze()
        };
        cx.pass_on(&mut self.sent, self.agents.len() == 1, addressed);
        let sent = self.sent.packets.drain(..).rev();
        self.under_way.extend(sent.map(|(to, packet)| UnderWay { from: index, to, packet }));
        result
    }

    /// Octets of the budget that the other agents have taken.
    fn octets_of_others(&self, index: usize) -> usize {
        let others = self.agents.iter().enumerate().filter(|(other, _)| *other != index);
        others.map(|(_, layer)| layer.agent.octets()).sum()
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

    fn on_bypass(&mut self, packet: &Packet, from: Side, cx: &mut Context<'_>) {
        for index in 0..self.agents.len() {
            self.call(index, cx, |agent, cx| agent.on_bypass(packet, from, cx));
        }
    }

    fn prefetch(&self, connections: &[FlowKey]) {
        self.agents.iter().for_each(|layer| layer.agent.prefetch(connections));
    }

    fn on_link(&mut self, event: &LinkEvent<'_>, cx: &mut Context<'_>) {
        for index in (0..self.agents.len()).rev() {
            if self.agents[index].needs.contains(event.sense()) {
                self.call(index, cx, |agent, cx| agent.on_link(event, cx));
            }
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        let deadlines = self.agents.iter().map(|layer| layer.agent.deadline());
        deadlines.fold(None, Deadline::earliest)
    }

    fn on_deadline(&mut self, cx: &mut Context<'_>) {
        for index in 0..self.agents.len() {
            self.call(index, cx, |agent, cx| agent.on_deadline(cx));
        }
    }

    fn needs(&self) -> LinkSenses {
        self.agents.iter().map(|layer| layer.needs).collect()
    }

    fn refuses_frames(&self) -> bool {
        self.agents.iter().any(|layer| layer.agent.refuses_frames())
    }

    fn takes_datagrams(&self) -> bool {
        self.agents.iter().any(|layer| layer.agent.takes_datagrams())
    }

    /// With several layers, the first octet of a message is the number of its layer, that of its
    /// sender.
    fn on_message(&mut self, from: IpAddr, octets: &[u8], cx: &mut Context<'_>) {
        let (number, octets) = match octets.split_first() {
            Some((number, octets)) if self.names_layers => (*number, octets),
            None if self.names_layers => return,
            _ => (0, octets),
        };
        if let Some(index) = self.position(number) {
            self.call(index, cx, |agent, cx| agent.on_message(from, octets, cx));
        }
    }
}

impl Accounts for Stack {
    fn held(&self) -> u64 {
        self.agents.iter().map(|layer| layer.agent.held()).sum()
    }

    fn octets(&self) -> usize {
        self.agents.iter().map(|layer| layer.agent.octets()).sum()
    }

    fn obligation(&self, connection: FlowKey) -> Obligation {
        let obligations = self.agents.iter().map(|layer| layer.agent.obligation(connection));
        obligations.fold(Obligation::Free, Obligation::with)
    }

    fn owed(&self) -> Owed {
        self.agents.iter().map(|layer| layer.agent.owed()).fold(Owed::default(), Owed::plus)
    }
}

impl Transfer for Stack {
    /// Begins with the agent nearest to the radio side. If another stack imports in that order,
    /// packets that an agent forwards for lack of room pass agents that already know the
    /// connection.
    fn export(&mut self, scope: Scope, cx: &mut Context<'_>) -> Vec<FlowState> {
        let mut states = Vec::new();
        for index in (0..self.agents.len()).rev() {
            let of_agent = self.call(index, cx, |agent, cx| agent.export(scope, cx));
            let layer = self.agents[index].number;
            states.extend(of_agent.into_iter().map(|state| FlowState { layer, ..state }));
        }
        states
    }

    fn prepare_export(&mut self, scope: Scope, cx: &mut Context<'_>) {
        for index in 0..self.agents.len() {
            self.call(index, cx, |agent, cx| agent.prepare_export(scope, cx));
        }
    }

    /// If one of the agents would send it.
    fn sends_after(&mut self, packet: &Packet, round_trip: Duration, cx: &mut Context<'_>) -> bool {
        let mut sends = false;
        for index in 0..self.agents.len() {
            sends |= self.call(index, cx, |agent, cx| agent.sends_after(packet, round_trip, cx));
        }
        sends
    }

    fn import(&mut self, state: &FlowState, cx: &mut Context<'_>) -> Result<(), ImportError> {
        let index = self.position(state.layer);
        let index = index.ok_or_else(|| ImportError::OtherScheme(state.scheme.to_string()))?;
        self.call(index, cx, |agent, cx| agent.import(state, cx))
    }

    fn give_up(&mut self, state: &FlowState, cx: &mut Context<'_>) {
        if let Some(index) = self.position(state.layer) {
            self.call(index, cx, |agent, cx| agent.give_up(state, cx));
        }
    }

    fn release(&mut self, connection: FlowKey, cx: &mut Context<'_>) {
        // Packets that an agent sends on pass through the others, so those nearer to their end come
        // later. As in `drain`, packets in the other direction may be held again.
        for index in (0..self.agents.len()).chain((0..self.agents.len()).rev()) {
            self.call(index, cx, |agent, cx| agent.release(connection, cx));
        }
    }

    fn on_return(&mut self, cx: &mut Context<'_>) {
        for index in 0..self.agents.len() {
            self.call(index, cx, |agent, cx| agent.on_return(cx));
        }
    }

    /// Packets that one agent releases pass through the others, which may hold them again, so this
    /// repeats until all are empty. Each round moves the held packets past at least one agent,
    /// towards either side. Two rounds per agent are enough for agents that do not send a packet
    /// back to where it came from.
    fn drain(&mut self, cx: &mut Context<'_>) {
        for _ in 0..2 * self.agents.len() {
            if self.held() == 0 {
                return;
            }
            for index in 0..self.agents.len() {
                self.call(index, cx, |agent, cx| agent.drain(cx));
            }
        }
    }
}

#[cfg(test)]
mod tests;
