//! What a node, a link and a flow can be.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use lasthop_agent::LinkSenses;
use lasthop_apps::traffic::Application;
use lasthop_packet::{Bitrate, Instant, Rng};
use lasthop_tcp::{ReceiverExtension, SenderExtension};
use lasthop_wifi::ErrorConfig;

use crate::capacity::Capacity;
use crate::channel::ChannelConfig;
use crate::delay::Delay;
use crate::endpoint::Endpoint;
use crate::faults::Faults;
use crate::id::{MediumId, NodeId};
use crate::loss::Loss;
use crate::queue::{QueueConfig, QueueLimit};
use crate::wireless::LinkLayer;

/// A node.
#[derive(Clone, Debug)]
pub struct NodeConfig {
    /// Its name, for reports.
    pub name: String,
    /// What it does with packets.
    pub kind: NodeKind,
    /// Its address; by default one from 10.0.0.0/8 by the order of addition.
    pub address: Option<IpAddr>,
    /// Time that it takes to forward a packet; packets are worked on in parallel and stay in order.
    pub processing_delay: Duration,
    /// Octets that may wait in all its interfaces together; no limit if `None`.
    pub buffer: Option<u64>,
}

impl NodeConfig {
    /// A node of this name and kind with no processing delay and no limit to its buffer.
    pub fn new(name: impl Into<String>, kind: NodeKind) -> Self {
        Self { name: name.into(), kind, address: None, processing_delay: Duration::ZERO, buffer: None }
    }

    /// The address of a node that is given none, by its number in the order of addition: 10.0.0.1
    /// and on.
    pub fn default_address(index: usize) -> IpAddr {
        let number = (index as u32 + 1).to_be_bytes();
        Ipv4Addr::new(10, number[1], number[2], number[3]).into()
    }
}

/// What a node does with packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// It has TCP endpoints, and forwards what is for others, too.
    Host,
    /// It forwards.
    Router,
    /// Packets that reach it are handed out ([`crate::World::collect`]) and others can be put in
    /// ([`crate::World::inject`]).
    External,
}

/// One direction of a link.
#[derive(Clone, Debug)]
pub struct Direction {
    /// How fast it is.
    pub capacity: Capacity,
    /// How packets wait.
    pub queue: QueueConfig,
    /// Which packets (wired) or transmissions of frames (wireless) are lost.
    pub loss: Loss,
    /// Propagation delay.
    pub delay: Delay,
    /// Packets that arrive twice, or with a wrong bit.
    pub faults: Faults,
}

impl Direction {
    /// One that neither loses nor delays nor holds up anything: as fast as a scenario can have it, 1000
    /// Gbit/s, so that time passes.
    pub fn unimpaired() -> Self {
        Self {
            capacity: Capacity::Fixed(Bitrate::mbps(1_000_000)),
            queue: QueueLimit::Unlimited.into(),
            loss: Loss::NONE,
            delay: Delay::ZERO,
            faults: Faults::NONE,
        }
    }

    /// The same with this propagation delay.
    #[must_use]
    pub fn delayed(&self, delay: impl Into<Delay>) -> Self {
        Self { delay: delay.into(), ..self.clone() }
    }
}

/// A wired link: full duplex, each direction a FIFO queue, a rate and a propagation delay.
#[derive(Clone, Debug)]
pub struct WiredConfig {
    /// Its name: for reports, and for its stream of randomness.
    pub name: String,
    /// From its first node to its second. A wired link's capacity is a fixed rate.
    pub forward: Direction,
    /// From its second node to its first.
    pub backward: Direction,
    /// Transmission times are cut down to whole multiples of this; zero keeps them exact. The
    /// thesis's simulator counts milliseconds.
    pub clock: Duration,
    /// A seed of its own for its stream of randomness; the world's if `None`.
    pub seed: Option<u64>,
}

impl WiredConfig {
    /// What an agent at its ends can see of it.
    pub const SENSES: LinkSenses = LinkSenses::empty();
}

/// What a transmitter with a queue before the air shows to agents.
pub(crate) const QUEUED: LinkSenses = LinkSenses::DEPARTURES.union(LinkSenses::BACKLOG);
/// What a link layer shows in addition if it confirms delivery.
pub(crate) const CONFIRMED: LinkSenses =
    LinkSenses::FRAME_FATE.union(LinkSenses::RETRIES).union(LinkSenses::ATTEMPTS);
/// What agents see of a link whose frames have options.
pub(crate) const OPTIONS: LinkSenses = LinkSenses::TRANSMISSIONS.union(LinkSenses::LINK_OPTIONS);

/// A wireless link between two nodes.
#[derive(Clone, Debug)]
pub struct WirelessConfig {
    /// Its name: for reports, and for its streams of randomness.
    pub name: String,
    /// From its first node to its second.
    pub forward: Direction,
    /// From its second node to its first.
    pub backward: Direction,
    /// See [`WiredConfig::clock`].
    pub clock: Duration,
    /// The error process, one for both directions.
    pub channel: ChannelConfig,
    /// What happens to frames that are lost.
    pub link_layer: LinkLayer,
    /// The medium that it shares with other links; if `None`, it is full duplex and shares none.
    pub medium: Option<MediumId>,
    /// See [`WiredConfig::seed`].
    pub seed: Option<u64>,
}

impl WirelessConfig {
    /// What an agent at its ends can see of it.
    pub const fn senses(&self) -> LinkSenses {
        if self.link_layer.reports_fate() { QUEUED.union(CONFIRMED) } else { QUEUED }
    }
}

/// A link between two stations of an 802.11 cell.
#[derive(Clone, Debug, PartialEq)]
pub struct RadioLinkConfig {
    /// Its name: for reports, and for its streams of randomness.
    pub name: String,
    /// An error process that all frames between the two stations meet, in either direction, ACKs
    /// among them; besides the errors of the cell.
    pub channel: Option<ChannelConfig>,
    /// How long a packet that the receiver's MAC has taken is on its way to the receiver's node; default
    /// zero. It holds up neither the acknowledgment nor the medium.
    pub delay: Duration,
    /// See [`WiredConfig::seed`].
    pub seed: Option<u64>,
}

impl RadioLinkConfig {
    /// What an agent at its ends can see of it. Where stations aggregate, frames have no options.
    pub const fn senses(aggregates: bool) -> LinkSenses {
        let senses = QUEUED.union(CONFIRMED).union(LinkSenses::REFUSAL);
        if aggregates { senses } else { senses.union(OPTIONS) }
    }

    /// A link without a channel or a delay of its own.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), channel: None, delay: Duration::ZERO, seed: None }
    }
}

/// What loses the frames of one direction between two stations of an 802.11 cell, besides collisions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RadioErrors {
    /// Packet and bit errors.
    pub frames: ErrorConfig,
    /// Two states, by exponential sojourn times or by a trace. Forced losses mean nothing here. Control
    /// frames are lost by it, too, if `frames.control` is set.
    pub channel: Option<ChannelConfig>,
}

impl From<ErrorConfig> for RadioErrors {
    fn from(frames: ErrorConfig) -> Self {
        Self { frames, channel: None }
    }
}

/// How a flow begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// With a handshake; and it ends with FINs.
    Handshake,
    /// Established on both sides, as in the thesis; and it is never closed.
    Established,
}

/// A flow: an application and what carries it.
pub struct FlowConfig {
    /// Its name, for reports.
    pub name: String,
    /// Who sends the data, and over TCP opens the connection.
    pub from: NodeId,
    /// Who receives it.
    pub to: NodeId,
    /// When it starts.
    pub start: Instant,
    /// When the application stops writing; `None` for never.
    pub stop: Option<Instant>,
    /// What there is to send.
    pub application: Application,
    /// What carries it.
    pub transport: TransportConfig,
}

/// What carries a flow.
#[expect(clippy::large_enum_variant, reason = "one a flow, and most flows are TCP's")]
pub enum TransportConfig {
    /// A connection. What the application writes faster than TCP sends waits in a buffer without a
    /// limit.
    Tcp(TcpConfig),
    /// A connection of another transport than TCP, over UDP.
    Other(Connect),
    /// Datagrams, one for each message of the application.
    Udp,
}

/// Makes the two [endpoints](Endpoint) of a flow: the one that sends its data and the one that receives it. It is given
/// their addresses and UDP ports, and a stream of randomness. Both are closed by their applications at the end.
pub type Connect = Box<dyn FnOnce([SocketAddr; 2], Rng) -> [Box<dyn Endpoint>; 2] + Send>;

/// A flow's connection.
pub struct TcpConfig {
    /// How it begins.
    pub opening: Opening,
    /// The endpoint that sends data.
    pub sender: lasthop_tcp::Config,
    /// The endpoint that receives it.
    pub receiver: lasthop_tcp::Config,
    /// A scheme's part of the sender.
    pub sender_extension: Option<Box<dyn SenderExtension>>,
    /// A scheme's part of the receiver.
    pub receiver_extension: Option<Box<dyn ReceiverExtension>>,
}
