//! Everything measured comes from typed events; only events that an observer is interested in are collected.

use std::io;

use bitflags::bitflags;
use lasthop_agent::{LinkEvent, Report};
use lasthop_packet::{Instant, Packet, Payload};
use lasthop_tcp::Connection;

use crate::accounts::DropCause;
use crate::id::{FlowId, LinkId, NodeId};

/// A receiver of events. It moves with its world, to another thread, too.
pub trait Observer: Send {
    /// The events that it receives. Called once.
    fn interest(&self) -> Interest;

    /// Something happened.
    fn on_event(&mut self, now: Instant, event: &TraceEvent<'_>);

    /// Nothing more will happen: writes out what is still held back. The first error of all its
    /// writing is returned here; the caller that took the observer back calls this once
    /// ([`crate::World::take_observers`]).
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Gives its files their names: called once, after [`Observer::flush`] of all observers, so that
    /// a full disk leaves no file of a run beside those of an earlier one.
    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }
}

bitflags! {
    /// Kinds of events.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Interest: u16 {
        /// Segments that TCP endpoints send and receive.
        const SEGMENTS = 1;
        /// Congestion window and the like, after each change.
        const WINDOW = 1 << 1;
        /// Time-outs and fast retransmits.
        const LOSSES = 1 << 2;
        /// Packets at interfaces.
        const INTERFACES = 1 << 3;
        /// Frames on wireless links.
        const FRAMES = 1 << 4;
        /// The state of wireless channels.
        const CHANNEL = 1 << 5;
        /// Packets dropped.
        const DROPS = 1 << 6;
        /// Reports of agents.
        const REPORTS = 1 << 7;
        /// Starts and ends of flows.
        const FLOWS = 1 << 8;
        /// Lengths of interfaces' queues.
        const QUEUES = 1 << 9;
        /// What link layers learn of the fates of their frames, as agents receive it.
        const FATES = 1 << 10;
        /// Datagrams that flows over UDP send and receive.
        const DATAGRAMS = 1 << 11;
        /// Associations of clients with access points.
        const ASSOCIATIONS = 1 << 12;
    }
}

/// Which end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// The endpoint that sends data.
    Sender,
    /// The endpoint that receives it.
    Receiver,
}

/// Something that happened.
#[derive(Clone, Copy)]
pub enum TraceEvent<'a> {
    /// An endpoint sends a segment.
    SegmentSent {
        /// Of which flow.
        flow: FlowId,
        /// By which end.
        end: End,
        /// The segment.
        packet: &'a Packet,
        /// Whether its data was sent before.
        again: bool,
    },
    /// An endpoint receives a segment.
    SegmentReceived {
        /// Of which flow.
        flow: FlowId,
        /// At which end.
        end: End,
        /// The segment.
        packet: &'a Packet,
    },
    /// An endpoint that sends data receives an ICMP message.
    IcmpReceived {
        /// Of which flow.
        flow: FlowId,
        /// The message.
        packet: &'a Packet,
    },
    /// A flow's sender sends a datagram.
    DatagramSent {
        /// Of which flow.
        flow: FlowId,
        /// The datagram.
        packet: &'a Packet,
    },
    /// A flow's receiver receives a datagram.
    DatagramReceived {
        /// Of which flow.
        flow: FlowId,
        /// The datagram.
        packet: &'a Packet,
    },
    /// A sender's variables may have changed.
    Window {
        /// Of which flow.
        flow: FlowId,
        /// Its sender.
        sender: &'a Connection,
    },
    /// A sender takes a segment for lost.
    Loss {
        /// Of which flow.
        flow: FlowId,
        /// What made it think so.
        cause: LossCause,
    },
    /// A packet leaves through an interface: it goes into the link's queue.
    InterfaceOut {
        /// The sending node.
        node: NodeId,
        /// The link.
        link: LinkId,
        /// The packet.
        packet: &'a Packet,
    },
    /// A packet has come to an interface's queue, whether or not there was room: what waits there
    /// now.
    Queue {
        /// The sending node.
        node: NodeId,
        /// The link.
        link: LinkId,
        /// Packets that wait, the one in transmission not counted.
        packets: usize,
        /// Their octets.
        octets: u64,
    },
    /// A packet comes in through an interface.
    InterfaceIn {
        /// The receiving node.
        node: NodeId,
        /// The link.
        link: LinkId,
        /// The packet.
        packet: &'a Packet,
    },
    /// A link has made a packet, the reset of a connection that it has cut. It comes in through this
    /// interface at once, after this event.
    MadeByLink {
        /// The receiving node.
        node: NodeId,
        /// The link.
        link: LinkId,
        /// The packet.
        packet: &'a Packet,
    },
    /// A frame's transmission starts on a wireless link. In an 802.11 cell it is reported when
    /// the sender knows its result: when the acknowledgment has come, or after the ACK timeout.
    Frame {
        /// The link.
        link: LinkId,
        /// The transmitting node.
        from: NodeId,
        /// The receiving node.
        to: NodeId,
        /// The frame's number on this link and direction.
        number: u32,
        /// Which transmission of it, from 1.
        transmission: u32,
        /// The packet in it.
        packet: &'a Packet,
        /// Whether it is lost.
        lost: bool,
    },
    /// The link layer gives a frame up.
    FrameGivenUp {
        /// The link.
        link: LinkId,
        /// The transmitting node.
        from: NodeId,
        /// The receiving node.
        to: NodeId,
        /// The frame's number.
        number: u32,
        /// How often it was transmitted.
        transmissions: u32,
        /// The packet in it.
        packet: &'a Packet,
    },
    /// A link layer that reports fates learned that of a frame: what an agent at the sending
    /// interface receives as a [`lasthop_agent::LinkEvent`].
    FrameFate {
        /// The link.
        link: LinkId,
        /// The transmitting node.
        from: NodeId,
        /// What it learned.
        event: LinkEvent<'a>,
    },
    /// A link-layer acknowledgment is lost: the frame will be transmitted again, and dropped as a
    /// duplicate.
    LinkAckLost {
        /// The link.
        link: LinkId,
        /// The node that sent the acknowledgment.
        from: NodeId,
        /// The frame's number.
        number: u32,
    },
    /// A channel changed its state, at `at`, which is not after now: channels are looked at when
    /// they are used.
    ChannelState {
        /// The link.
        link: LinkId,
        /// Since when.
        at: Instant,
        /// Whether it is in the good state.
        good: bool,
    },
    /// A packet is dropped.
    Dropped {
        /// Where.
        node: NodeId,
        /// On its way out on which link; `None` for a packet that had not come so far.
        link: Option<LinkId>,
        /// Why.
        cause: DropCause,
        /// The packet.
        packet: &'a Packet,
    },
    /// An agent reports.
    AgentReport {
        /// Where it sits.
        node: NodeId,
        /// What it says.
        report: &'a Report,
    },
    /// A client has become associated with an access point.
    Joined {
        /// The client.
        client: NodeId,
        /// The access point.
        access_point: NodeId,
    },
    /// A client is no longer associated with an access point.
    Left {
        /// The client.
        client: NodeId,
        /// The access point.
        access_point: NodeId,
    },
    /// A flow starts.
    FlowStarted {
        /// Which.
        flow: FlowId,
    },
    /// A flow's last octet arrived.
    FlowCompleted {
        /// Which.
        flow: FlowId,
    },
}

/// What made a sender take a segment for lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LossCause {
    /// The retransmission timer.
    Timeout,
    /// The third duplicate ACK.
    FastRetransmit,
}

impl TraceEvent<'_> {
    /// The kind of this event.
    pub const fn kind(&self) -> Interest {
        match self {
            Self::SegmentSent { .. } | Self::SegmentReceived { .. } | Self::IcmpReceived { .. } => {
                Interest::SEGMENTS
            }
            Self::DatagramSent { .. } | Self::DatagramReceived { .. } => Interest::DATAGRAMS,
            Self::Window { .. } => Interest::WINDOW,
            Self::Loss { .. } => Interest::LOSSES,
            Self::InterfaceOut { .. } | Self::InterfaceIn { .. } | Self::MadeByLink { .. } => {
                Interest::INTERFACES
            }
            Self::Queue { .. } => Interest::QUEUES,
            Self::Frame { .. } | Self::FrameGivenUp { .. } | Self::LinkAckLost { .. } => Interest::FRAMES,
            Self::FrameFate { .. } => Interest::FATES,
            Self::ChannelState { .. } => Interest::CHANNEL,
            Self::Dropped { .. } => Interest::DROPS,
            Self::AgentReport { .. } => Interest::REPORTS,
            Self::Joined { .. } | Self::Left { .. } => Interest::ASSOCIATIONS,
            Self::FlowStarted { .. } | Self::FlowCompleted { .. } => Interest::FLOWS,
        }
    }
}

/// A hash over times, packets' headers and frames' fates: two runs that differ in any of them have,
/// but for chance, different hashes.
#[derive(Clone, Debug)]
pub struct TraceHash(u64);

impl TraceHash {
    /// The hash of nothing.
    pub const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    /// The hash so far.
    pub const fn value(&self) -> u64 {
        self.0
    }

    fn mix(&mut self, value: u64) {
        self.0 = (self.0 ^ value).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23);
    }

    fn mix_packet(&mut self, packet: &Packet) {
        self.mix(packet.len() as u64);
        if let Some(tcp) = packet.tcp() {
            self.mix(u64::from(tcp.seq.0) << 32 | u64::from(tcp.ack.0));
            self.mix(u64::from(tcp.window) << 8 | u64::from(tcp.flags.0));
        } else if let Payload::Stream { stream, offset, .. } = packet.payload() {
            self.mix(u64::from(*stream) << 40 ^ offset);
        }
    }
}

impl Default for TraceHash {
    fn default() -> Self {
        Self::new()
    }
}

impl Observer for TraceHash {
    fn interest(&self) -> Interest {
        Interest::all() - Interest::WINDOW - Interest::QUEUES - Interest::FATES
    }

    fn on_event(&mut self, now: Instant, event: &TraceEvent<'_>) {
        self.mix(now.as_nanos());
        self.mix(u64::from(event.kind().bits()));
        match event {
            TraceEvent::SegmentSent { flow, packet, .. }
            | TraceEvent::SegmentReceived { flow, packet, .. }
            | TraceEvent::DatagramSent { flow, packet }
            | TraceEvent::DatagramReceived { flow, packet }
            | TraceEvent::IcmpReceived { flow, packet } => {
                self.mix(flow.index() as u64);
                self.mix_packet(packet);
            }
            TraceEvent::InterfaceOut { node, link, packet }
            | TraceEvent::InterfaceIn { node, link, packet }
            | TraceEvent::MadeByLink { node, link, packet } => {
                self.mix((node.index() as u64) << 32 | link.index() as u64);
                self.mix_packet(packet);
            }
            TraceEvent::Frame { number, transmission, lost, .. } => {
                self.mix(u64::from(*number) << 32 | u64::from(*transmission) << 1 | u64::from(*lost));
            }
            TraceEvent::FrameGivenUp { number, .. } | TraceEvent::LinkAckLost { number, .. } => {
                self.mix(u64::from(*number));
            }
            TraceEvent::ChannelState { at, good, .. } => self.mix(at.as_nanos() << 1 | u64::from(*good)),
            TraceEvent::Joined { client, access_point } | TraceEvent::Left { client, access_point } => {
                self.mix((client.index() as u64) << 32 | access_point.index() as u64);
            }
            TraceEvent::Dropped { packet, .. } => self.mix_packet(packet),
            TraceEvent::FlowStarted { flow }
            | TraceEvent::FlowCompleted { flow }
            | TraceEvent::Loss { flow, .. } => {
                self.mix(flow.index() as u64);
            }
            TraceEvent::Window { .. }
            | TraceEvent::Queue { .. }
            | TraceEvent::FrameFate { .. }
            | TraceEvent::AgentReport { .. } => {}
        }
    }
}
