//! The trace of events (appendix B.4), with one line per event of the selected kinds.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, BufWriter, Write};
use std::time::Duration;

use lasthop_agent::counter::CONTROL_MESSAGES;
use lasthop_packet::{Instant, Packet, Quotation, Transport};
use lasthop_schemes::icmp::Message;
use lasthop_sim::observe::{End, LossCause};
use lasthop_sim::{FlowId, Interest, LinkId, NodeId, Observer, TraceEvent};
use lasthop_tcp::IcmpNotice;

use super::kinds::EventKinds;
use super::naming::{Millis, Names};
use super::periodic::Periodic;
use lasthop_scenario::build::Built;

/// Writes one line per event: the time in ms, the kind, and the description in the form of appendix
/// B.4. A frame is `<from, to, number, -1, DATA>`, where, as in the appendix, each transmission has
/// its own number; a link-layer acknowledgment `<from, to, -1, number, ACK>`; a packet `<source,
/// destination>`; a segment `<sequence number, acknowledgment number, octets, DATA or ACK>`. For
/// example
///
/// ```text
/// 945 corrupted frame <212, 213, 15, -1, DATA> packet <211, 213> segment <15360, -1, 1024, DATA>
/// ```
pub struct EventTrace {
    names: Names,
    periodic: Periodic,
    frames: FrameNumbers,
    out: Output,
}

impl EventTrace {
    /// A trace of these kinds of events, for a scenario that has just been built.
    pub fn new(
        built: &Built,
        kinds: EventKinds,
        print_interval: Duration,
        sink: Box<dyn Write + Send>,
    ) -> Self {
        let names = Names::new(built);
        Self {
            periodic: Periodic::new(&names, print_interval),
            names,
            frames: FrameNumbers::default(),
            out: Output { kinds, sink: BufWriter::new(sink), error: None },
        }
    }

    /// Writes a line about a packet at a node.
    fn packet_at(&mut self, now: Instant, kind: EventKinds, node: NodeId, packet: &Packet) {
        let (node, packet) = (self.names.node(node), self.names.describe(packet));
        self.out.write(now, kind, format_args!("at {node} {packet}"));
    }

    /// Writes a line about another event at a node.
    fn event_at(&mut self, now: Instant, kind: EventKinds, node: NodeId, what: &str) {
        self.out.write(now, kind, format_args!("at {}{what}", self.names.node(node)));
    }

    fn frame(&mut self, now: Instant, kind: EventKinds, (link, from): (LinkId, NodeId), packet: &Packet) {
        let (number, to) = self.frames.latest(link, from);
        let (from, to) = (self.names.node(from), self.names.node(to));
        let packet = self.names.describe(packet);
        self.out.write(now, kind, format_args!("frame <{from}, {to}, {number}, -1, DATA> {packet}"));
    }

    fn link_ack_lost(&mut self, now: Instant, link: LinkId, from: NodeId) {
        let (number, to) = self.frames.latest_to(link, from);
        let (from, to) = (self.names.node(from), self.names.node(to));
        let kind = EventKinds::LINK_ACK_LOST;
        self.out.write(now, kind, format_args!("frame <{from}, {to}, -1, {number}, ACK>"));
    }

    fn icmp_received(&mut self, now: Instant, node: NodeId, packet: &Packet) {
        let (Some(quotation), Transport::Icmp(icmp)) = (Quotation::from_message(packet), packet.transport())
        else {
            return;
        };
        let is_v6 = packet.ip().source.is_ipv6();
        let notice = IcmpNotice { kind: icmp.kind, code: icmp.code, is_v6, seq: quotation.seq };
        let name = Message::from_notice(&notice).map_or("ICMP", Message::name);
        let about = self.names.quoted_seq(&quotation).unwrap_or_default();
        let (node, packet) = (self.names.node(node), self.names.describe(packet));
        self.out.write(
            now,
            EventKinds::ICMP,
            format_args!("at {node} received {name} about {about} {packet}"),
        );
    }

    fn node_of(&self, flow: FlowId, end: End) -> NodeId {
        let flow = self.names.flow(flow);
        match end {
            End::Sender => flow.from,
            End::Receiver => flow.to,
        }
    }

    fn write_periodic(&mut self, now: Instant, event: &TraceEvent<'_>) {
        if !self.out.kinds.contains(EventKinds::PERIODIC) {
            return;
        }
        if let Some(clock) = self.periodic.due(now) {
            for line in self.periodic.lines(&self.names) {
                self.out.write(clock, EventKinds::PERIODIC, format_args!("{line}"));
            }
        }
        self.periodic.on_event(event, &self.names);
    }
}

impl Observer for EventTrace {
    fn interest(&self) -> Interest {
        self.out.kinds.interest()
    }

    fn on_event(&mut self, now: Instant, event: &TraceEvent<'_>) {
        self.write_periodic(now, event);
        match *event {
            TraceEvent::Frame { link, from, to, packet, lost, .. } => {
                self.frames.count(link, from, to);
                let kind = if lost { EventKinds::CORRUPTED } else { EventKinds::TRANSMITTED };
                self.frame(now, kind, (link, from), packet);
            }
            TraceEvent::FrameGivenUp { link, from, packet, .. } => {
                self.frame(now, EventKinds::GIVEN_UP, (link, from), packet);
            }
            TraceEvent::LinkAckLost { link, from, .. } => self.link_ack_lost(now, link, from),
            TraceEvent::SegmentSent { flow, end, packet, again } => {
                let kind = if again { EventKinds::RETRANSMITTED } else { EventKinds::SENT };
                self.packet_at(now, kind, self.node_of(flow, end), packet);
            }
            TraceEvent::SegmentReceived { flow, end, packet } => {
                self.packet_at(now, EventKinds::RECEIVED, self.node_of(flow, end), packet);
            }
            TraceEvent::IcmpReceived { flow, packet } => {
                self.icmp_received(now, self.node_of(flow, End::Sender), packet);
            }
            TraceEvent::AgentReport { node, report } if report.counter == &CONTROL_MESSAGES => {
                self.event_at(now, EventKinds::ICMP, node, &format!(" sent {}", report.detail));
            }
            TraceEvent::Loss { flow, cause } => {
                let kind = match cause {
                    LossCause::Timeout => EventKinds::TIMEOUT,
                    LossCause::FastRetransmit => EventKinds::FAST_RETRANSMIT,
                };
                self.event_at(now, kind, self.node_of(flow, End::Sender), "");
            }
            TraceEvent::InterfaceIn { node, packet, .. } if self.names.is_router(node) => {
                self.packet_at(now, EventKinds::ARRIVED, node, packet);
            }
            TraceEvent::Dropped { node, cause, packet, .. } => {
                let (node, packet) = (self.names.node(node), self.names.describe(packet));
                let what = format_args!("at {node} ({}) {packet}", cause.name());
                self.out.write(now, EventKinds::DROPPED, what);
            }
            TraceEvent::ChannelState { link, at, good } => {
                let (link, state) = (self.names.link(link), if good { "good" } else { "bad" });
                self.out.write(at, EventKinds::LINK_STATE, format_args!("link {link} {state}"));
            }
            TraceEvent::FlowStarted { flow } => {
                self.event_at(now, EventKinds::TRANSFER, self.node_of(flow, End::Sender), " starts");
            }
            TraceEvent::FlowCompleted { flow } => {
                self.event_at(now, EventKinds::TRANSFER, self.node_of(flow, End::Receiver), " complete");
            }
            TraceEvent::AgentReport { .. }
            | TraceEvent::Joined { .. }
            | TraceEvent::Left { .. }
            | TraceEvent::InterfaceIn { .. }
            | TraceEvent::InterfaceOut { .. }
            | TraceEvent::MadeByLink { .. }
            | TraceEvent::Queue { .. }
            | TraceEvent::FrameFate { .. }
            | TraceEvent::DatagramSent { .. }
            | TraceEvent::DatagramReceived { .. }
            | TraceEvent::Window { .. } => {}
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.out.error.take() {
            Some(error) => Err(error),
            None => self.out.sink.flush(),
        }
    }
}

/// The sink of lines, and the kinds that are written.
struct Output {
    kinds: EventKinds,
    sink: BufWriter<Box<dyn Write + Send>>,
    error: Option<io::Error>,
}

impl Output {
    fn write(&mut self, now: Instant, kind: EventKinds, what: fmt::Arguments<'_>) {
        if self.kinds.contains(kind) && self.error.is_none() {
            let name = kind.names().concat();
            self.error = writeln!(self.sink, "{} {name} {what}", Millis(now)).err();
        }
    }
}

/// The number of the latest transmission on each link and direction, from 0. The thesis numbers
/// transmissions, whereas the link layer here numbers frames.
#[derive(Debug, Default)]
struct FrameNumbers(BTreeMap<(LinkId, NodeId), (u64, NodeId)>);

impl FrameNumbers {
    fn count(&mut self, link: LinkId, from: NodeId, to: NodeId) {
        self.0.entry((link, from)).and_modify(|(number, _)| *number += 1).or_insert((0, to));
    }

    /// The number of the latest transmission on a link by a node, and its receiver.
    fn latest(&self, link: LinkId, from: NodeId) -> (u64, NodeId) {
        self.0.get(&(link, from)).copied().unwrap_or((0, from))
    }

    /// The number of the latest transmission on a link to a node, and its sender.
    fn latest_to(&self, link: LinkId, to: NodeId) -> (u64, NodeId) {
        let latest = self.0.iter().find(|((on, _), (_, end))| *on == link && *end == to);
        latest.map_or((0, to), |((_, from), (number, _))| (*number, *from))
    }
}
