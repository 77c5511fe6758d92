//! The agent at the access point.

use std::time::Duration;

use lasthop_agent::{
    Accounts, Agent, Context, Deadline, FlowState, ImportError, Obligation, Owed, Scope, Side, Transfer,
    Verdict,
};
use lasthop_hop::last_hop::Targets;
use lasthop_hop::split::Transparent;
use lasthop_packet::{FlowKey, Packet, Protocol};

use super::interfaces::{Policy, medium, policy};
use super::settings::{NAME, Settings};
use super::streams::Streams;
use crate::eln::{self, Eln};

/// The CICADA agent, for an access point. It needs no link-layer information.
pub struct Cicada {
    connections: Transparent,
    streams: Streams,
    /// The targets of connections during calls, if they leave room for calls.
    beside_calls: Option<Targets>,
    /// Whether fixed hosts pause during a hand-off.
    pauses_senders: bool,
}

impl Cicada {
    /// An agent without connections.
    pub fn new(settings: &Settings) -> Self {
        let is_split = |input, output| policy(medium(input), medium(output)) == Policy::Split;
        let mut connections = Transparent::new(NAME, settings.splits(), is_split);
        if settings.notification {
            connections = connections.with_notifier(Box::new(Eln::new(eln::Settings::default())));
        }
        Self {
            connections,
            streams: Streams::new(settings.quality(), settings.sampling_interval),
            beside_calls: settings.calls_first.then(|| settings.targets_beside_calls()),
            pauses_senders: settings.pause_senders,
        }
    }
}

impl Agent for Cicada {
    fn on_packet(&mut self, packet: &mut Packet, from: Side, cx: &mut Context<'_>) -> Verdict {
        let Some(key) = packet.flow_key() else { return self.connections.on_packet(packet, from, cx) };
        let key = from.connection(key);
        if key.protocol == Protocol::Udp {
            let queue = match from {
                Side::Core => self.connections.splits.queueing(key, self.streams.interval(), cx.now()),
                // A mobile host's own queue is in that host.
                Side::Radio => Duration::ZERO,
            };
            let others = self.connections.octets();
            return self.streams.on_datagram(key, packet, from, queue, others, cx);
        }
        let targets = self.beside_calls.filter(|_| self.streams.has_calls(cx.now()));
        self.connections.leave_room(self.streams.octets());
        self.connections.splits.hold_back(targets, cx);
        self.connections.on_packet(packet, from, cx)
    }

    fn deadline(&self) -> Option<Deadline> {
        let idle = self.streams.next_timer().map(|at| Deadline { at, reason: "idle datagrams" });
        Deadline::earliest(self.connections.deadline(), idle)
    }

    fn takes_datagrams(&self) -> bool {
        true
    }

    fn on_deadline(&mut self, cx: &mut Context<'_>) {
        self.streams.on_deadline(cx.now());
        self.connections.on_deadline(cx);
    }
}

impl Accounts for Cicada {
    fn octets(&self) -> usize {
        self.connections.octets() + self.streams.octets()
    }

    fn obligation(&self, connection: FlowKey) -> Obligation {
        self.connections.obligation(connection)
    }

    fn owed(&self) -> Owed {
        self.connections.owed()
    }
}

impl Transfer for Cicada {
    fn prepare_export(&mut self, scope: Scope, cx: &mut Context<'_>) {
        if self.pauses_senders {
            self.connections.splits.pause_fixed_hosts(scope, cx);
        }
    }

    /// Datagrams, unless the end-to-end delay of a call would become longer than agreed. What the connections have
    /// under way is in their state.
    fn sends_after(&mut self, packet: &Packet, round_trip: Duration, cx: &mut Context<'_>) -> bool {
        let key = packet.flow_key().filter(|key| key.protocol == Protocol::Udp);
        key.is_some_and(|key| self.streams.is_in_time(key, packet, round_trip, cx))
    }

    fn export(&mut self, scope: Scope, cx: &mut Context<'_>) -> Vec<FlowState> {
        self.streams.leave(scope);
        self.connections.export(scope, cx)
    }

    fn import(&mut self, state: &FlowState, cx: &mut Context<'_>) -> Result<(), ImportError> {
        self.connections.import(state, cx)
    }

    fn give_up(&mut self, state: &FlowState, cx: &mut Context<'_>) {
        self.connections.give_up(state, cx);
    }

    fn on_return(&mut self, cx: &mut Context<'_>) {
        self.connections.on_return(cx);
    }

    fn drain(&mut self, cx: &mut Context<'_>) {
        self.connections.drain(cx);
    }

    fn release(&mut self, connection: FlowKey, cx: &mut Context<'_>) {
        match connection.protocol {
            Protocol::Udp => self.streams.forget(connection),
            Protocol::Tcp => self.connections.release(connection, cx),
        }
    }
}
