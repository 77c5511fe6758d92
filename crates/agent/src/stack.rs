//! Agents on top of each other are an agent.

use std::net::IpAddr;

use bytes::{BufMut as _, BytesMut};
use lasthop_packet::{FlowKey, Packet};

use crate::agent::{Agent, Deadline, Verdict};
use crate::context::{Context, Outbox};
use crate::counter::AT_BOUND;
use crate::link::{LinkEvent, LinkSenses};
use crate::obligation::{Obligation, Owed};
use crate::report::Report;
use crate::side::Side;
use crate::transfer::{FlowState, ImportError, Whose};

/// A stack of agents, the one nearest to the core side first. An empty stack forwards everything
/// untouched.
///
/// What an agent sends passes through the agents between it and the side that it sends to. Agents
/// that answer each other's packets could do so for ever; beyond a bound a packet leaves without
/// being shown to the agents on its way, and that is reported.
#[derive(Default)]
pub struct Stack {
    agents: Vec<Layer>,
    /// Whether messages say which layer they are from.
    names_layers: bool,
    /// What was sent and is still on its way through the stack; what leaves first lies on top.
    under_way: Vec<UnderWay>,
    /// What the agent called last has sent.
    sent: Outbox,
}

/// An agent of a stack.
struct Layer {
    agent: Box<dyn Agent>,
    /// Its number: the same as that of its peers in other seats.
    number: u8,
    /// What it said that it needs.
    needs: LinkSenses,
}

impl Layer {
    fn new(number: u8, agent: Box<dyn Agent>) -> Self {
        Self { needs: agent.needs(), number, agent }
    }
}

/// How often agents are asked in one call about packets that other agents of the stack sent:
/// `ANSWERS` times, and `ANSWERS` more for each packet that was sent by the agent which the world
/// called.
const ANSWERS: usize = 64;

/// A packet between two agents.
struct UnderWay {
    /// The agent that it comes from.
    from: usize,
    to: Side,
    packet: Packet,
}

impl Stack {
    /// A stack of these agents, the one nearest to the core side first. Other seats have agents of
    /// the same schemes; one agent is as if it were in no stack.
    pub fn new(agents: Vec<Box<dyn Agent>>) -> Self {
        let names_layers = agents.len() > 1;
        let layers = agents.into_iter().enumerate().map(|(index, agent)| Layer::new(index as u8, agent));
        Self { agents: layers.collect(), names_layers, ..Self::default() }
    }

    /// A stack of the agents of these layers, the one nearest to the core side first. Where layers
    /// have no agent in this seat and have one in others, messages and state still go from a layer
    /// to the same layer.
    pub fn of_layers(agents: Vec<(u8, Box<dyn Agent>)>) -> Self {
        let layers = agents.into_iter().map(|(number, agent)| Layer::new(number, agent));
        Self { agents: layers.collect(), names_layers: true, ..Self::default() }
    }

    /// Where the agent of a layer is.
    fn of_layer(&self, number: u8) -> Option<usize> {
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
        let result = self.ask(index, cx, f);
        let mut allowed = ANSWERS + ANSWERS * self.under_way.len();
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
                cx.report(Report::of(&AT_BOUND).which("answers within a stack"));
                cx.send(to, packet);
                continue;
            }
            allowed -= 1;
            let behind = self.under_way.len();
            let verdict = self.ask(next, cx, |agent, cx| agent.on_packet(&mut packet, to.opposite(), cx));
            match verdict {
                // It leaves behind what the agent sent in answer to it.
                Verdict::Forward => self.under_way.insert(behind, UnderWay { from: next, to, packet }),
                // The world does not see this verdict.
                Verdict::Drop(reason) => cx.report_dropped(&packet, packet.payload().len(), reason),
                Verdict::Absorb => {}
            }
        }
        result
    }

    /// Calls agent `index` and puts what it sends on its way.
    fn ask<R>(
        &mut self,
        index: usize,
        cx: &mut Context<'_>,
        f: impl FnOnce(&mut dyn Agent, &mut Context<'_>) -> R,
    ) -> R {
        let taken = self.octets_beside(index);
        let result = f(self.agents[index].agent.as_mut(), &mut cx.with_outbox(&mut self.sent, taken));
        for report in self.sent.reports.drain(..) {
            cx.report(report);
        }
        for (peer, message) in self.sent.messages.drain(..) {
            if !self.names_layers {
                cx.tell(peer, message);
                continue;
            }
            let mut octets = BytesMut::with_capacity(1 + message.len());
            octets.put_u8(self.agents[index].number);
            octets.extend_from_slice(&message);
            cx.tell(peer, octets.freeze());
        }
        let sent = self.sent.packets.drain(..).rev();
        self.under_way.extend(sent.map(|(to, packet)| UnderWay { from: index, to, packet }));
        // What one lets pass the others have not seen.
        let is_alone = self.agents.len() == 1;
        self.sent.bypasses.drain(..).filter(|_| is_alone).for_each(|bypass| cx.allow_bypass(bypass));
        result
    }

    /// Octets that the other agents have taken of the budget.
    fn octets_beside(&self, index: usize) -> usize {
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

    fn held(&self) -> u64 {
        self.agents.iter().map(|layer| layer.agent.held()).sum()
    }

    fn octets(&self) -> usize {
        self.agents.iter().map(|layer| layer.agent.octets()).sum()
    }

    /// Where there are several layers, the first octet of a message says which one it is for: the
    /// same as its sender's.
    fn on_message(&mut self, from: IpAddr, octets: &[u8], cx: &mut Context<'_>) {
        let (number, octets) = match octets.split_first() {
            Some((number, octets)) if self.names_layers => (*number, octets),
            None if self.names_layers => return,
            _ => (0, octets),
        };
        if let Some(index) = self.of_layer(number) {
            self.call(index, cx, |agent, cx| agent.on_message(from, octets, cx));
        }
    }

    fn obligation(&self, connection: FlowKey) -> Obligation {
        let obligations = self.agents.iter().map(|layer| layer.agent.obligation(connection));
        obligations.fold(Obligation::Free, Obligation::with)
    }

    fn owed(&self) -> Owed {
        self.agents.iter().map(|layer| layer.agent.owed()).fold(Owed::default(), Owed::plus)
    }

    /// The agent nearest to the radio side first. Where another imports in that order, what an
    /// agent sends on because it has no room for it meets agents on its way that know the
    /// connection already.
    fn export(&mut self, whose: Whose, cx: &mut Context<'_>) -> Vec<FlowState> {
        let mut states = Vec::new();
        for index in (0..self.agents.len()).rev() {
            let of_agent = self.call(index, cx, |agent, cx| agent.export(whose, cx));
            let layer = self.agents[index].number;
            states.extend(of_agent.into_iter().map(|state| FlowState { layer, ..state }));
        }
        states
    }

    fn import(&mut self, state: &FlowState, cx: &mut Context<'_>) -> Result<(), ImportError> {
        let index = self.of_layer(state.layer);
        let index = index.ok_or_else(|| ImportError::OtherScheme(state.scheme.to_string()))?;
        self.call(index, cx, |agent, cx| agent.import(state, cx))
    }

    fn release(&mut self, connection: FlowKey, cx: &mut Context<'_>) {
        // What an agent sends on passes through the others, so those nearer to its end come later.
        // As in `drain`, what goes the other way may be held once more.
        for index in (0..self.agents.len()).chain((0..self.agents.len()).rev()) {
            self.call(index, cx, |agent, cx| agent.release(connection, cx));
        }
    }

    /// What one agent lets go of passes through the others, which may take hold of it: so it goes
    /// on until all are empty. Each round carries what is held past at least one agent, towards
    /// either side; two rounds an agent are enough for agents that do not send a packet back to
    /// where it came from.
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
mod tests {
    use std::net::Ipv4Addr;
    use std::sync::{Arc, Mutex};

    use bytes::Bytes;
    use lasthop_packet::{Instant, Ip, Payload, Rng, Seq, Tcp};

    use super::*;
    use crate::counter::{DROPPED_HELD, DROPPED_HELD_OCTETS, FULL};

    /// Holds everything until it is drained.
    #[derive(Default)]
    struct Keeper {
        kept: Vec<(Side, Packet)>,
    }

    impl Agent for Keeper {
        fn on_packet(&mut self, packet: &mut Packet, from: Side, _cx: &mut Context<'_>) -> Verdict {
            self.kept.push((from.opposite(), packet.clone()));
            Verdict::Absorb
        }

        fn held(&self) -> u64 {
            self.kept.len() as u64
        }

        fn drain(&mut self, cx: &mut Context<'_>) {
            for (to, packet) in self.kept.drain(..) {
                cx.send(to, packet);
            }
        }
    }

    #[test]
    fn a_stack_is_drained_in_both_directions_and_in_order() {
        let keepers = (0..3).map(|_| Box::<Keeper>::default() as Box<dyn Agent>).collect();
        let mut stack = Stack::new(keepers);
        let (mut rng, mut outbox) = (Rng::named(1, "stack"), Outbox::default());
        let host = Ipv4Addr::LOCALHOST.into();
        for port in 0..4 {
            let from = if port % 2 == 0 { Side::Core } else { Side::Radio };
            let tcp = Tcp { source_port: port, ..Tcp::default() };
            let mut packet = Packet::tcp_segment(Ip::new(host, host), tcp, Payload::EMPTY);
            let mut cx = Context::new(Instant::ZERO, &mut rng, &mut outbox);
            assert_eq!(stack.on_packet(&mut packet, from, &mut cx), Verdict::Absorb);
        }
        assert_eq!(stack.held(), 4);
        stack.drain(&mut Context::new(Instant::ZERO, &mut rng, &mut outbox));
        assert_eq!(stack.held(), 0);
        let ports = |side: Side| -> Vec<u16> {
            let sent = outbox.packets.iter().filter(|(to, _)| *to == side);
            sent.filter_map(|(_, packet)| packet.tcp().map(|tcp| tcp.source_port)).collect()
        };
        assert_eq!((ports(Side::Radio), ports(Side::Core)), (vec![0, 2], vec![1, 3]));
    }

    /// Needs what it says, and writes down what it is told.
    #[derive(Clone)]
    struct Listener {
        needs: LinkSenses,
        told: Arc<Mutex<Vec<LinkSenses>>>,
    }

    impl Agent for Listener {
        fn on_packet(&mut self, _packet: &mut Packet, _from: Side, _cx: &mut Context<'_>) -> Verdict {
            Verdict::Forward
        }

        fn on_link(&mut self, event: &LinkEvent<'_>, _cx: &mut Context<'_>) {
            self.told.lock().expect("no panic").push(event.sense());
        }

        fn needs(&self) -> LinkSenses {
            self.needs
        }
    }

    #[test]
    fn each_agent_learns_of_the_link_layer_only_what_it_needs() {
        let (backlog, departures) = (LinkSenses::BACKLOG, LinkSenses::DEPARTURES);
        let listeners = [LinkSenses::empty(), backlog, backlog | departures]
            .map(|needs| Listener { needs, told: Arc::default() });
        let mut stack = Stack::new(
            listeners.iter().map(|listener| Box::new(listener.clone()) as Box<dyn Agent>).collect(),
        );
        assert_eq!(stack.needs(), backlog | departures);
        let (mut rng, mut outbox) = (Rng::named(1, "stack"), Outbox::default());
        let host = Ipv4Addr::LOCALHOST.into();
        let packet = Packet::tcp_segment(Ip::new(host, host), Tcp::default(), Payload::EMPTY);
        let mut cx = Context::new(Instant::ZERO, &mut rng, &mut outbox);
        stack.on_link(&LinkEvent::Backlog { packet: &packet, packets: 1, octets: 40 }, &mut cx);
        stack.on_link(&LinkEvent::Departure { packet: &packet }, &mut cx);
        let told = listeners.map(|listener| listener.told.lock().expect("no panic").clone());
        assert_eq!(told, [vec![], vec![backlog], vec![backlog, departures]]);
    }

    /// Tells the destination of each packet its name; writes down what it is told.
    struct Teller {
        name: &'static [u8],
        told: Arc<Mutex<Vec<Vec<u8>>>>,
    }

    impl Agent for Teller {
        fn on_packet(&mut self, packet: &mut Packet, _from: Side, cx: &mut Context<'_>) -> Verdict {
            cx.tell(packet.ip().destination, Bytes::from_static(self.name));
            Verdict::Forward
        }

        fn on_message(&mut self, _from: IpAddr, octets: &[u8], _cx: &mut Context<'_>) {
            self.told.lock().expect("no panic").push(octets.to_vec());
        }
    }

    /// What agents of these layers, the first of which has number 0, are told when a seat tells
    /// all that it has to tell.
    fn told_by(teller: &mut dyn Agent, make: impl Fn(Vec<Teller>) -> Box<dyn Agent>) -> [Vec<Vec<u8>>; 2] {
        let told: [Arc<Mutex<Vec<_>>>; 2] = Default::default();
        let mut listener =
            make(told.iter().map(|told| Teller { name: b"", told: Arc::clone(told) }).collect());
        let (mut rng, mut outbox) = (Rng::named(1, "stack"), Outbox::default());
        let host = Ipv4Addr::LOCALHOST.into();
        let mut packet = Packet::tcp_segment(Ip::new(host, host), Tcp::default(), Payload::EMPTY);
        let verdict = teller.on_packet(
            &mut packet,
            Side::Core,
            &mut Context::new(Instant::ZERO, &mut rng, &mut outbox),
        );
        assert_eq!(verdict, Verdict::Forward);
        for (_, message) in std::mem::take(&mut outbox.messages) {
            listener.on_message(host, &message, &mut Context::new(Instant::ZERO, &mut rng, &mut outbox));
        }
        told.map(|told| told.lock().expect("no panic").clone())
    }

    fn teller(name: &'static [u8]) -> Box<dyn Agent> {
        Box::new(Teller { name, told: Arc::default() })
    }

    fn both(tellers: Vec<Teller>) -> Box<dyn Agent> {
        Box::new(Stack::new(tellers.into_iter().map(|one| Box::new(one) as Box<dyn Agent>).collect()))
    }

    #[test]
    fn a_message_reaches_the_same_layer_whatever_other_layers_have_no_agent_there() {
        let mut second = Stack::of_layers(vec![(1, teller(b"second"))]);
        assert_eq!(told_by(&mut second, both), [vec![], vec![b"second".to_vec()]]);
        let second = |mut tellers: Vec<Teller>| -> Box<dyn Agent> {
            Box::new(Stack::of_layers(vec![(1, Box::new(tellers.remove(1)))]))
        };
        let mut stack = Stack::new(vec![teller(b"first"), teller(b"second")]);
        assert_eq!(told_by(&mut stack, second), [vec![], vec![b"second".to_vec()]]);
    }

    #[test]
    fn a_message_of_an_agent_alone_in_a_stack_is_as_it_is_without_one() {
        let alone = |mut tellers: Vec<Teller>| -> Box<dyn Agent> { Box::new(tellers.remove(0)) };
        let in_stack = |mut tellers: Vec<Teller>| both(vec![tellers.remove(0)]);
        let heard = [vec![b"hello".to_vec()], vec![]];
        assert_eq!(told_by(&mut Stack::new(vec![teller(b"hello")]), alone), heard);
        assert_eq!(told_by(teller(b"hello").as_mut(), in_stack), heard);
    }

    /// Answers each packet with two of its own, back to where it came from.
    struct Quarrelsome;

    impl Agent for Quarrelsome {
        fn on_packet(&mut self, packet: &mut Packet, from: Side, cx: &mut Context<'_>) -> Verdict {
            cx.send(from, packet.clone());
            cx.send(from, packet.clone());
            Verdict::Forward
        }
    }

    #[test]
    fn agents_that_answer_each_other_come_to_an_end_and_nothing_is_lost() {
        let mut stack = Stack::new(vec![Box::new(Quarrelsome), Box::new(Quarrelsome)]);
        let (mut rng, mut outbox) = (Rng::named(1, "stack"), Outbox::default());
        let host = Ipv4Addr::LOCALHOST.into();
        let mut packet = Packet::tcp_segment(Ip::new(host, host), Tcp::default(), Payload::EMPTY);
        let mut cx = Context::new(Instant::ZERO, &mut rng, &mut outbox);
        assert_eq!(stack.on_packet(&mut packet, Side::Core, &mut cx), Verdict::Forward);
        let at_bound = Report::of(&AT_BOUND).which("answers within a stack");
        assert!(outbox.reports.contains(&at_bound));
        // The first sends two packets that leave at once. The second is asked about the packet in
        // hand, and sends two; each answer leads to two more, and goes on.
        let asked = 2 + ANSWERS + 2 * ANSWERS;
        assert_eq!(outbox.packets.len(), 2 * asked);
        assert!(stack.under_way.is_empty());
    }

    /// Drops everything.
    struct Wall;

    impl Agent for Wall {
        fn on_packet(&mut self, _packet: &mut Packet, _from: Side, _cx: &mut Context<'_>) -> Verdict {
            Verdict::Drop(&FULL)
        }
    }

    #[test]
    fn what_one_agent_sends_and_another_drops_is_reported() {
        let mut stack = Stack::new(vec![Box::new(Wall), Box::new(Quarrelsome)]);
        let (mut rng, mut outbox) = (Rng::named(1, "stack"), Outbox::default());
        let host = Ipv4Addr::LOCALHOST.into();
        let payload = Payload::Stream { stream: 1, offset: 0, len: 100 };
        let tcp = Tcp { seq: Seq(7), ..Tcp::default() };
        let mut packet = Packet::tcp_segment(Ip::new(host, host), tcp, payload);
        let mut cx = Context::new(Instant::ZERO, &mut rng, &mut outbox);
        // From the radio side: the first agent asked answers back there, and the packet ends at the
        // second.
        assert_eq!(stack.on_packet(&mut packet, Side::Radio, &mut cx), Verdict::Drop(&FULL));
        assert_eq!((outbox.packets.len(), outbox.reports.len()), (2, 0));
        let mut stack = Stack::new(vec![Box::new(Wall), Box::<Keeper>::default()]);
        outbox = Outbox::default();
        let mut cx = Context::new(Instant::ZERO, &mut rng, &mut outbox);
        assert_eq!(stack.on_packet(&mut packet, Side::Radio, &mut cx), Verdict::Absorb);
        stack.drain(&mut cx);
        let dropped = Report::of(&DROPPED_HELD).at(Seq(7)).which(FULL.about);
        let octets = Report { counter: &DROPPED_HELD_OCTETS, amount: 100, ..dropped };
        assert_eq!((outbox.packets.len(), outbox.reports), (0, vec![dropped, octets]));
    }
}
