//! The event loop, and the way to drive it from outside.

use lasthop_packet::{Instant, Packet};

use super::World;
use crate::id::{AgentId, NodeId};
use crate::schedule::Event;
use lasthop_apps::session::dialogue::DialogueEvent;

impl World {
    /// Runs until `end`; with `stop_when_done`, until every flow with a size or a stop and every
    /// session with a stop is done, if that is earlier. Without any of these it runs until `end`.
    pub fn run(&mut self, end: Instant, stop_when_done: bool) {
        self.run_events(end, stop_when_done, u64::MAX);
    }

    /// As [`Self::run`], but pauses after this many events, so that the caller can inspect the world.
    /// Returns whether the run is over; if not, call it again.
    pub fn run_events(&mut self, end: Instant, stop_when_done: bool, events: u64) -> bool {
        self.stops_when_done = stop_when_done;
        let pause = self.transit.telemetry().events().saturating_add(events);
        while !self.is_over() {
            if self.transit.telemetry().events() >= pause {
                return false;
            }
            let Some(event) = self.transit.next_event(end) else { break };
            // In place, because it is most events; all others are apart, so that they cost it nothing.
            if let Event::PipeArrival(pipe) = event {
                self.on_pipe_arrival(pipe);
            } else {
                self.handle(event);
            }
        }
        true
    }

    /// Whether a run ends before its end because all is done.
    #[inline]
    pub(super) fn is_over(&self) -> bool {
        self.stops_when_done && self.is_done()
    }

    /// Whether all that ends is done. False if there is traffic and nothing of it ends.
    fn is_done(&self) -> bool {
        match (self.flows.is_waited_for(), self.sessions.is_waited_for()) {
            (None, None) => self.flows.all().is_empty() && self.sessions.count() == 0,
            (flows, sessions) => !flows.unwrap_or(false) && !sessions.unwrap_or(false),
        }
    }

    /// Does everything that is due up to `at`, and sets the clock to it.
    pub fn advance_to(&mut self, at: Instant) {
        self.run(at, false);
    }

    /// When something is due next.
    pub fn next_event_at(&self) -> Option<Instant> {
        self.transit.next_event_at()
    }

    /// Injects a packet at an external node now, as if it had come from the network behind the node.
    pub fn inject(&mut self, node: NodeId, packet: Packet) {
        self.send(node, packet);
    }

    /// As [`Self::inject`], for a packet that goes to `destination` whatever address it carries, by
    /// the shortest way: real hosts' addresses are not the model's. While there are agents, or links whose
    /// connections are followed, the world remembers which end an address is behind: what an agent sends carries such addresses,
    /// too. Where packets to it have passed the agent, what it sends goes where they went.
    pub fn inject_to(&mut self, node: NodeId, destination: NodeId, packet: Packet) {
        if !self.seats.are_empty() || self.cuts.are_any() {
            self.network.learn_address(node, packet.ip().source);
        }
        let key = self.transit.packets_mut().insert(packet);
        self.originate_to(destination, key);
        self.route(node, key, AgentId::NONE);
    }

    /// Takes out what has arrived at an external node, with the times of arrival, in order.
    pub fn collect(&mut self, node: NodeId) -> Vec<(Instant, Packet)> {
        self.nodes.take_arrived(node)
    }

    #[inline(never)]
    fn handle(&mut self, event: Event) {
        match event {
            Event::PipeArrival(pipe) => self.on_pipe_arrival(pipe),
            Event::TransmitterFree(_) | Event::ManagedArrival(_) => self.on_managed_event(event),
            Event::Processed(node) => self.on_processed(node),
            Event::FrameArrival(_) | Event::ExchangeOver(_) | Event::TransmissionKnown(_) => {
                self.on_wireless_event(event);
            }
            Event::Radio(_) | Event::RadioArrival(_) => self.on_cell_event(event),
            Event::ConnectionDeadline(connection) => self.on_connection_deadline(connection),
            Event::AgentDeadline(agent) => self.on_agent_deadline(agent),
            Event::Routing(node) => self.on_routing(node),
            Event::ManagementDue(member) => self.on_management_due(member),
            Event::SteeringDue(set) => self.on_steering_due(set),
            Event::HandOffDue(id) => self.on_hand_off_due(id),
            Event::TunnelDeadline(end) => self.on_tunnel_deadline(end),
            Event::Movement(cell) => self.on_movement(cell),
            Event::ConnectionsDue(link) => self.on_connections_due(link),
            Event::PlannedChange => self.on_planned_change(),
            Event::FlowStart(flow) => self.on_flow_start(flow),
            Event::FlowWrite(flow) => self.on_flow_write(flow),
            Event::FlowStop(flow) => self.on_flow_stop(flow),
            Event::SessionStop(session) => self.on_session_stop(session),
            Event::DialogueStart(dialogue) => self.on_dialogue_event(dialogue, DialogueEvent::Start),
            Event::DialogueDue(dialogue) => self.on_dialogue_event(dialogue, DialogueEvent::Due),
            Event::DialogueRefused(dialogue) => self.fail_dialogue(dialogue),
            Event::ChannelDeadline(end) => self.on_channel_deadline(end),
            Event::MediaDue(party) => self.on_media_due(party),
            Event::ReportDue(party) => self.on_report_due(party),
        }
    }
}
