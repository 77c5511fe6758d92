//! The thesis's terms in traces: node ids instead of addresses, and sequence numbers in octets from
//! 0.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

use lasthop_packet::{Instant, Packet, Quotation, Seq, Transport};
use lasthop_sim::{FlowId, LinkId, NodeId};

use lasthop_scenario::build::Built;

/// The names of a built scenario's nodes and links, and the first sequence numbers of its flows.
#[derive(Clone, Debug)]
pub(super) struct Names {
    nodes: Vec<String>,
    links: Vec<String>,
    addresses: BTreeMap<IpAddr, usize>,
    /// By [`FlowId`].
    flows: Vec<NamedFlow>,
    /// Flows by the source, destination and source port of their data.
    by_endpoints: BTreeMap<(IpAddr, IpAddr, u16), usize>,
}

#[derive(Clone, Debug)]
pub(super) struct NamedFlow {
    pub(super) from: NodeId,
    pub(super) to: NodeId,
    first_octet: Seq,
}

impl Names {
    pub(super) fn new(built: &Built) -> Self {
        let world = &built.world;
        let mut names = Self {
            nodes: built.nodes.iter().map(|node| world.node_name(*node).to_owned()).collect(),
            links: built.links.iter().map(|link| world.link_name(*link).to_owned()).collect(),
            addresses: built.nodes.iter().map(|node| (world.node_address(*node), node.index())).collect(),
            flows: Vec::new(),
            by_endpoints: BTreeMap::new(),
        };
        for (index, id) in built.flows.iter().enumerate() {
            // All flows of a data file use TCP.
            let (flow, Some(sender)) = (world.flow(*id), world.sender(*id)) else { continue };
            names.flows.push(NamedFlow { from: flow.from(), to: flow.to(), first_octet: sender.iss() + 1 });
            let ((local, port), (remote, _)) = (sender.local(), sender.remote());
            names.by_endpoints.insert((local, remote, port), index);
        }
        names
    }

    pub(super) fn flows(&self) -> &[NamedFlow] {
        &self.flows
    }

    pub(super) fn flow(&self, flow: FlowId) -> &NamedFlow {
        &self.flows[flow.index()]
    }

    pub(super) fn node(&self, node: NodeId) -> &str {
        &self.nodes[node.index()]
    }

    pub(super) fn nodes(&self) -> &[String] {
        &self.nodes
    }

    pub(super) fn link(&self, link: LinkId) -> &str {
        &self.links[link.index()]
    }

    /// Whether no flow starts or ends at a node.
    pub(super) fn is_router(&self, node: NodeId) -> bool {
        !self.flows.iter().any(|flow| flow.from == node || flow.to == node)
    }

    fn host(&self, address: IpAddr) -> &str {
        self.addresses.get(&address).map_or("?", |node| &self.nodes[*node])
    }

    /// The sequence number of a data segment, counted from the first octet of its flow.
    pub(super) fn seq(&self, packet: &Packet) -> Option<u32> {
        let tcp = packet.tcp().filter(|_| !packet.payload().is_empty())?;
        Some(tcp.seq - self.first_octet(packet.ip().source, packet.ip().destination, tcp.source_port)?)
    }

    /// The acknowledgment number of a segment to a flow's source, counted likewise.
    pub(super) fn ack(&self, packet: &Packet) -> Option<u32> {
        let tcp = packet.tcp()?;
        Some(tcp.ack - self.first_octet(packet.ip().destination, packet.ip().source, tcp.destination_port)?)
    }

    /// The sequence number in a message that quotes a segment, counted likewise.
    pub(super) fn quoted_seq(&self, Quotation { flow, seq, .. }: &Quotation) -> Option<u32> {
        Some(*seq - self.first_octet(flow.source.0, flow.destination.0, flow.source.1)?)
    }

    fn first_octet(&self, source: IpAddr, destination: IpAddr, port: u16) -> Option<Seq> {
        let flow = self.by_endpoints.get(&(source, destination, port))?;
        Some(self.flows[*flow].first_octet)
    }

    /// A sequence number of a flow's data, counted from its first octet.
    pub(super) fn seq_of_flow(&self, flow: FlowId, seq: Seq) -> u32 {
        seq - self.flow(flow).first_octet
    }

    /// The text for a packet in the event trace.
    pub(super) fn describe<'a>(&'a self, packet: &'a Packet) -> Described<'a> {
        Described { names: self, packet }
    }
}

/// The form of a packet in the event trace (appendix B.4): the ids of its two hosts, and the
/// sequence number, acknowledgment number, length and type of its segment. -1 stands for a number
/// that has no meaning in a one-way transfer.
pub(super) struct Described<'a> {
    names: &'a Names,
    packet: &'a Packet,
}

impl fmt::Display for Described<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { names, packet } = self;
        let ip = packet.ip();
        write!(f, "packet <{}, {}> ", names.host(ip.source), names.host(ip.destination))?;
        let len = packet.payload().len();
        if let Some(seq) = names.seq(packet) {
            return write!(f, "segment <{seq}, -1, {len}, DATA>");
        }
        match (packet.transport(), names.ack(packet)) {
            (_, Some(ack)) => write!(f, "segment <-1, {ack}, {len}, ACK>"),
            (Transport::Icmp(icmp), None) => write!(f, "icmp <{}, {}>", icmp.kind, icmp.code),
            _ => write!(f, "{len} octets"),
        }
    }
}

/// A time in milliseconds, with a fraction unless it is zero.
pub(super) struct Millis(pub(super) Instant);

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, fraction) = (self.0.as_nanos() / 1_000_000, self.0.as_nanos() % 1_000_000);
        if fraction == 0 {
            return write!(f, "{whole}");
        }
        let digits = format!("{fraction:06}");
        write!(f, "{whole}.{}", digits.trim_end_matches('0'))
    }
}
