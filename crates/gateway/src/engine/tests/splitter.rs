//! A minimal scheme for tests that splits a connection: it receives the data from the core side,
//! and sends them with other sequence numbers to the radio side.

use std::borrow::Cow;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use lasthop_agent::counter::ACKNOWLEDGED;
use lasthop_agent::{
    Accounts, Agent, Context, Deadline, FlowState, ImportError, Obligation, Owed, Scope, Side, Transfer,
    Verdict,
};
use lasthop_packet::{FlowKey, Instant, Ip, Packet, PacketRecord, Payload, Seq, Tcp, TcpFlags};
use serde::{Deserialize, Serialize};

/// The difference between the sequence numbers of the radio side's leg and of the core side's leg.
pub(super) const SHIFT: u32 = 1_000_000;

/// The retransmission time-out.
const TIMEOUT: Duration = Duration::from_millis(200);

#[derive(Default)]
pub(super) struct Splitter {
    flows: BTreeMap<FlowKey, Leg>,
    /// The connections that it may split; `None`: all.
    opened: Option<BTreeSet<FlowKey>>,
    /// Whether it refuses all imports.
    refuses: bool,
}

/// The state of a connection.
#[derive(Serialize, Deserialize)]
struct Leg {
    /// The next expected sequence number from the core side.
    next: Seq,
    /// Segments that the radio side has not acknowledged, with its sequence numbers.
    unacknowledged: VecDeque<PacketRecord>,
    /// The deadline in nanoseconds, by the clock of a test.
    timer: u64,
}

impl Leg {
    fn obligation(&self) -> Obligation {
        let segments = self.segments();
        Obligation::Terminates(segments.map(|segment| segment.payload().len() as u64).sum())
    }

    fn segments(&self) -> impl Iterator<Item = Packet> {
        self.unacknowledged.iter().map(|record| record.clone().try_into().expect("we wrote it"))
    }

    /// The octets that count toward the budget: only payloads.
    fn octets(&self) -> usize {
        self.segments().map(|segment| segment.payload().len()).sum()
    }
}

impl Splitter {
    /// Creates a splitter that refuses all imports.
    pub(super) fn refusing() -> Self {
        Self { refuses: true, ..Self::default() }
    }

    /// Creates a splitter that leaves a connection alone if it has not seen the SYN.
    #[cfg(feature = "roaming")]
    pub(super) fn from_the_syn() -> Self {
        Self { opened: Some(BTreeSet::new()), ..Self::default() }
    }

    fn on_core(&mut self, packet: &Packet, key: FlowKey, cx: &mut Context<'_>) -> Verdict {
        let Some(tcp) = packet.tcp().filter(|_| !packet.payload().is_empty()) else {
            return Verdict::Forward;
        };
        let leg = match self.flows.entry(key) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(_) if !cx.may_owe() => return Verdict::Forward,
            Entry::Vacant(_) if self.opened.as_ref().is_some_and(|opened| !opened.contains(&key)) => {
                return Verdict::Forward;
            }
            Entry::Vacant(new) => {
                new.insert(Leg { next: tcp.seq, unacknowledged: VecDeque::new(), timer: 0 })
            }
        };
        if tcp.seq == leg.next {
            leg.next += packet.payload().len() as u32;
            let mut sent = packet.clone();
            sent.tcp_mut().expect("TCP").seq += SHIFT;
            if leg.unacknowledged.is_empty() {
                leg.timer = (cx.now() + TIMEOUT).as_nanos();
            }
            leg.unacknowledged.push_back(PacketRecord::from(&sent));
            cx.send(Side::Radio, sent);
        }
        // Acknowledged in the receiver's name, before the receiver has the data.
        let mut ack = packet.clone();
        let next = leg.next;
        let header = ack.tcp_mut().expect("TCP");
        std::mem::swap(&mut header.source_port, &mut header.destination_port);
        (header.seq, header.ack, header.flags) = (header.ack, next, TcpFlags::ACK);
        let ip = Ip::new(key.destination.0, key.source.0);
        cx.send(Side::Core, Packet::tcp_segment(ip, header.clone(), Payload::EMPTY));
        Verdict::Absorb
    }

    fn on_radio(&mut self, packet: &mut Packet, key: FlowKey) -> Verdict {
        let Some(leg) = self.flows.get_mut(&key) else { return Verdict::Forward };
        let ack = packet.tcp().expect("TCP").ack;
        let end = |segment: &Packet| segment.tcp().expect("TCP").seq + segment.segment_len();
        while leg.segments().next().is_some_and(|first| !end(&first).after(ack)) {
            leg.unacknowledged.pop_front();
        }
        if packet.tcp().expect("TCP").flags.has(TcpFlags::FIN) && leg.unacknowledged.is_empty() {
            // All data are delivered, and the client has sent its FIN.
            packet.tcp_mut().expect("TCP").ack = leg.next;
            self.flows.remove(&key);
            return Verdict::Forward;
        }
        Verdict::Drop(&ACKNOWLEDGED)
    }
}

impl Agent for Splitter {
    fn on_packet(&mut self, packet: &mut Packet, from: Side, cx: &mut Context<'_>) -> Verdict {
        let key = from.connection(packet.flow_key().expect("TCP"));
        if let Some(opened) = &mut self.opened
            && packet.tcp().expect("TCP").flags == TcpFlags::SYN
        {
            opened.insert(key);
        }
        match from {
            Side::Core => self.on_core(packet, key, cx),
            Side::Radio => self.on_radio(packet, key),
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        let waiting = self.flows.values().filter(|leg| !leg.unacknowledged.is_empty());
        let at = waiting.map(|leg| Instant::from_nanos(leg.timer)).min()?;
        Some(Deadline { at, reason: "retransmission" })
    }

    fn on_deadline(&mut self, cx: &mut Context<'_>) {
        let now = cx.now().as_nanos();
        for leg in self.flows.values_mut().filter(|leg| leg.timer <= now) {
            leg.segments().for_each(|segment| cx.send(Side::Radio, segment));
            leg.timer = (cx.now() + TIMEOUT).as_nanos();
        }
    }
}

impl Accounts for Splitter {
    fn obligation(&self, connection: FlowKey) -> Obligation {
        self.flows.get(&connection).map_or(Obligation::Free, Leg::obligation)
    }

    fn owed(&self) -> Owed {
        let mut owed = Owed::default();
        self.flows.values().for_each(|leg| owed.change(Obligation::Free, leg.obligation()));
        owed
    }

    fn octets(&self) -> usize {
        self.flows.values().map(Leg::octets).sum()
    }
}

impl Transfer for Splitter {
    fn export(&mut self, scope: Scope, _cx: &mut Context<'_>) -> Vec<FlowState> {
        let is_in_scope = |key: &FlowKey| match scope {
            Scope::All => true,
            Scope::Host(host) => key.destination.0 == host,
            Scope::Connection(one) => *key == one,
        };
        let flows = std::mem::take(&mut self.flows);
        let (exported, kept) = flows.into_iter().partition(|(key, _)| is_in_scope(key));
        self.flows = kept;
        if let Some(opened) = &mut self.opened {
            opened.retain(|key| !is_in_scope(key));
        }
        let state = |(connection, leg): (FlowKey, Leg)| {
            let octets = serde_json::to_vec(&leg).expect("plain values");
            FlowState::new(Cow::Borrowed("splitter"), connection, octets)
        };
        exported.into_iter().map(state).collect()
    }

    fn import(&mut self, state: &FlowState, cx: &mut Context<'_>) -> Result<(), ImportError> {
        let leg: Leg = serde_json::from_slice(&state.octets).map_err(|_| ImportError::Malformed("JSON"))?;
        if self.refuses {
            return Err(ImportError::NoRoom("it takes none over"));
        }
        if let Some(bound) = cx.budget().room(0, self.octets()).lacks(leg.octets()) {
            return Err(ImportError::NoRoom(bound));
        }
        self.flows.insert(state.connection, leg);
        Ok(())
    }

    /// Resets both ends.
    fn give_up(&mut self, state: &FlowState, cx: &mut Context<'_>) {
        for (side, flow) in [(Side::Radio, state.connection), (Side::Core, state.connection.reversed())] {
            let tcp = Tcp {
                source_port: flow.source.1,
                destination_port: flow.destination.1,
                flags: TcpFlags::RST,
                ..Tcp::default()
            };
            let ip = Ip::new(flow.source.0, flow.destination.0);
            cx.send(side, Packet::tcp_segment(ip, tcp, Payload::EMPTY));
        }
    }

    /// Drops the state, which breaks the connection. Engines must not call it while there is an
    /// obligation.
    fn release(&mut self, connection: FlowKey, _cx: &mut Context<'_>) {
        self.flows.remove(&connection);
        if let Some(opened) = &mut self.opened {
            opened.remove(&connection);
        }
    }
}
