//! The endpoints of flows: packets in and out, and deadlines.

use std::net::SocketAddr;

use lasthop_packet::{Rng, Seq, Transport};
use lasthop_tcp::Connection;
use lasthop_tcp::connection::Socket;

use crate::config::{Connect, Opening, TcpConfig};
use crate::endpoint::{AnyEndpoint, Endpoint};
use crate::endpoints::Endpoints;
use crate::flow::StreamWrite;
use crate::flows::Flows;
use crate::id::{ConnectionId, FlowId, NodeId};
use crate::observe::{End, Interest, LossCause, TraceEvent};
use crate::packets::PacketKey;
use crate::schedule::{Event, LazyTimer};
use crate::transit::Transit;

#[derive(Default)]
pub(crate) struct Connections {
    list: Vec<HostedConnection>,
    over_tcp: Endpoints<ConnectionId>,
    over_udp: Endpoints<ConnectionId>,
}

struct HostedConnection {
    endpoint: AnyEndpoint,
    node: NodeId,
    /// The destination of its packets; `None` until it has sent the first one.
    destination: Option<NodeId>,
    flow: FlowId,
    end: End,
    timer: LazyTimer,
}

/// A connection to be opened for a flow: the nodes of the sender and the receiver, their sockets, and that by
/// which the sender knows the receiver.
#[derive(Clone, Copy)]
pub(crate) struct Ends {
    pub(crate) flow: FlowId,
    pub(crate) nodes: [NodeId; 2],
    pub(crate) sockets: [Socket; 2],
    pub(crate) known_as: Socket,
}

/// Connections opened, written to, and closed by the applications of flows.
impl Connections {
    /// Adds the two endpoints of a flow over TCP. Returns the one that sends its data.
    pub(crate) fn connect_tcp(
        &mut self,
        ends: Ends,
        mut numbers: Rng,
        config: TcpConfig,
        transit: &mut Transit,
    ) -> ConnectionId {
        let TcpConfig { opening, sender, receiver, sender_extension, receiver_extension } = config;
        let ([local, own], remote) = (ends.sockets, ends.known_as);
        // Initial sequence numbers anywhere: wrapping is the rule, not the exception.
        let [iss, irs] = [(); 2].map(|()| Seq(numbers.next_u64() as u32));
        let (sender, receiver) = match opening {
            Opening::Handshake => {
                (Connection::connect(sender, local, remote, iss), Connection::listen(receiver, own, irs))
            }
            Opening::Established => (
                Connection::established(sender.clone(), &receiver, local, remote, iss, irs),
                Connection::established(receiver, &sender, own, local, irs, iss),
            ),
        };
        let sender = sender.with_sender_extension(sender_extension);
        let receiver = receiver.with_receiver_extension(receiver_extension);
        transit.add_stream(local, remote, iss + 1);
        self.add(ends, [sender, receiver].map(AnyEndpoint::Tcp))
    }

    /// As [`Self::connect_tcp`], for another transport.
    pub(crate) fn connect_other(&mut self, ends: Ends, numbers: Rng, connect: Connect) -> ConnectionId {
        self.add(ends, connect(ends.sockets.map(SocketAddr::from), numbers).map(AnyEndpoint::Other))
    }

    /// Adds the sender and the receiver. Returns the sender.
    fn add(&mut self, ends: Ends, endpoints: [AnyEndpoint; 2]) -> ConnectionId {
        let Ends { flow, nodes, sockets: [local, own], known_as } = ends;
        let sender = ConnectionId::from_index(self.list.len());
        let sides = [(End::Sender, (local, known_as)), (End::Receiver, (own, local))];
        for ((endpoint, node), (end, sockets)) in endpoints.into_iter().zip(nodes).zip(sides) {
            let id = ConnectionId::from_index(self.list.len());
            match endpoint {
                AnyEndpoint::Tcp(_) => self.over_tcp.add(node, sockets, id),
                AnyEndpoint::Other(_) => self.over_udp.add(node, sockets, id),
            }
            let timer = LazyTimer::default();
            self.list.push(HostedConnection { endpoint, node, destination: None, flow, end, timer });
        }
        sender
    }

    /// The sender of a flow over TCP that has sent nothing yet calls its peer at this address and port.
    pub(crate) fn call_at(&mut self, id: ConnectionId, known_as: Socket, transit: &mut Transit) {
        let HostedConnection { endpoint: AnyEndpoint::Tcp(tcp), node, .. } = &mut self.list[id.index()]
        else {
            return;
        };
        let (local, remote) = (tcp.local(), tcp.remote());
        tcp.set_remote(known_as);
        self.over_tcp.rename(*node, (local, remote), known_as);
        transit.add_stream(local, known_as, tcp.iss() + 1);
    }

    pub(crate) fn endpoint(&self, id: ConnectionId) -> &AnyEndpoint {
        &self.list[id.index()].endpoint
    }

    /// The application of a flow writes to its sender.
    pub(crate) fn write(&mut self, write: StreamWrite) {
        let StreamWrite { sender, stream, offset, octets, is_last } = write;
        let endpoint = &mut self.list[sender.index()].endpoint;
        endpoint.write_stream(stream, offset, octets);
        if is_last {
            endpoint.close();
        }
    }

    /// The application of a flow writes nothing more.
    pub(crate) fn close(&mut self, id: ConnectionId) {
        self.list[id.index()].endpoint.close();
    }

    /// See [`Endpoint::discard`].
    pub(crate) fn discard(&mut self, id: ConnectionId) -> u64 {
        self.list[id.index()].endpoint.discard()
    }
}

/// Endpoints: packets in and out, deadlines.
impl Connections {
    /// A segment or an ICMP message has reached a host. If it is for an endpoint there, that and its
    /// application take it; then that endpoint may have something to send.
    #[inline]
    pub(crate) fn deliver(
        &mut self,
        node: NodeId,
        key: PacketKey,
        flows: &mut Flows,
        transit: &mut Transit,
    ) -> Option<ConnectionId> {
        let Some(id) = self.over_tcp.of(node, transit.packet(key)) else {
            return self.deliver_over_udp(node, key, flows, transit);
        };
        let HostedConnection { endpoint, flow, end, .. } = &mut self.list[id.index()];
        if let AnyEndpoint::Tcp(tcp) = endpoint {
            take(tcp, (flow, end), key, flows, transit);
        }
        Some(id)
    }

    /// As [`Self::deliver`], for a datagram, or an ICMP message about one.
    #[cold]
    pub(crate) fn deliver_over_udp(
        &mut self,
        node: NodeId,
        key: PacketKey,
        flows: &mut Flows,
        transit: &mut Transit,
    ) -> Option<ConnectionId> {
        let id = self.over_udp.of_datagram(node, transit.packet(key))?;
        let HostedConnection { endpoint, flow, end, .. } = &mut self.list[id.index()];
        if let AnyEndpoint::Other(other) = endpoint {
            take(other.as_mut(), (flow, end), key, flows, transit);
        }
        Some(id)
    }

    /// The endpoint at a node that waits for a call from `caller`, and whom it will know by another address and
    /// port. Whether there is one.
    pub(crate) fn expect_as(
        &mut self,
        node: NodeId,
        local: Socket,
        caller: Socket,
        known_as: Socket,
    ) -> bool {
        let Some(id) = self.over_tcp.get(node, local.1, caller) else { return false };
        let waits = self.list[id.index()].endpoint.awaits_call();
        if waits {
            self.over_tcp.rename(node, (local, caller), known_as);
        }
        waits
    }

    /// The next packet that an endpoint sends.
    #[inline]
    pub(crate) fn transmit(&mut self, id: ConnectionId, transit: &mut Transit) -> Option<PacketKey> {
        let HostedConnection { endpoint, flow, end, .. } = &mut self.list[id.index()];
        match endpoint {
            AnyEndpoint::Tcp(tcp) => transmit(tcp, (flow, end), transit),
            AnyEndpoint::Other(other) => transmit_other(other.as_mut(), (flow, end), transit),
        }
    }

    /// The node that an endpoint is at, and where its packets go, if that is known.
    #[inline]
    pub(crate) fn way(&self, id: ConnectionId) -> (NodeId, Option<NodeId>) {
        let HostedConnection { node, destination, .. } = &self.list[id.index()];
        (*node, *destination)
    }

    /// The packets of an endpoint go to this node.
    pub(crate) fn set_destination(&mut self, id: ConnectionId, destination: NodeId) {
        self.list[id.index()].destination = Some(destination);
    }

    /// An endpoint has nothing more to send: follows its deadline. A sender that has failed ends its flow.
    #[inline]
    pub(crate) fn follow(&mut self, id: ConnectionId, flows: &mut Flows, transit: &mut Transit) {
        let hosted = &mut self.list[id.index()];
        if transit.is_interested(Interest::WINDOW)
            && hosted.end == End::Sender
            && let Some(sender) = hosted.endpoint.tcp()
        {
            transit.emit(&TraceEvent::Window { flow: hosted.flow, sender });
        }
        let deadline = hosted.endpoint.due().map(|due| due.max(transit.now()));
        transit.follow(&mut hosted.timer, deadline, Event::ConnectionDeadline(id));
        if deadline.is_none() && hosted.end == End::Sender && hosted.endpoint.has_failed() {
            flows.fail(hosted.flow, transit.now());
        }
    }

    /// An endpoint's timer has fired. `false` if its deadline has moved or is gone.
    pub(crate) fn on_deadline(&mut self, id: ConnectionId, transit: &mut Transit) -> bool {
        let hosted = &mut self.list[id.index()];
        if !hosted.timer.fired(transit.now()) {
            return false;
        }
        let before = hosted.endpoint.timeouts();
        if hosted.endpoint.due().is_some_and(|due| due <= transit.now()) {
            hosted.endpoint.on_deadline(transit.now());
            if hosted.endpoint.timeouts() > before {
                transit.emit(&TraceEvent::Loss { flow: hosted.flow, cause: LossCause::Timeout });
            }
        }
        true
    }
}

/// An endpoint, which is this end of a flow, takes a packet that is for it. The receiving application
/// reads what has arrived.
#[inline]
fn take<E: Endpoint + ?Sized>(
    endpoint: &mut E,
    (flow, end): (&FlowId, &End),
    key: PacketKey,
    flows: &mut Flows,
    transit: &mut Transit,
) {
    transit.accounts_mut().consumed += 1;
    transit.trace(Interest::SEGMENTS, key, |packet| match packet.transport() {
        Transport::Icmp(_) => TraceEvent::IcmpReceived { flow: *flow, packet },
        _ => TraceEvent::SegmentReceived { flow: *flow, end: *end, packet },
    });
    let fast_retransmits = endpoint.fast_retransmits();
    endpoint.on_packet(transit.packet(key), transit.now());
    transit.packets_mut().remove(key);
    if endpoint.fast_retransmits() > fast_retransmits {
        transit.emit(&TraceEvent::Loss { flow: *flow, cause: LossCause::FastRetransmit });
    }
    if *end == End::Receiver {
        flows.read(*flow, endpoint, transit);
    }
}

/// As [`transmit`], apart from what TCP does.
#[cold]
fn transmit_other(
    endpoint: &mut dyn Endpoint,
    end: (&FlowId, &End),
    transit: &mut Transit,
) -> Option<PacketKey> {
    transmit(endpoint, end, transit)
}

/// The next packet that an endpoint sends, which is this end of a flow.
#[inline]
fn transmit<E: Endpoint + ?Sized>(
    endpoint: &mut E,
    (flow, end): (&FlowId, &End),
    transit: &mut Transit,
) -> Option<PacketKey> {
    if endpoint.is_idle() {
        return None;
    }
    let (sent, now) = (endpoint.sent(), transit.now());
    let key = transit.packets_mut().insert_made(|place| endpoint.transmit(place, now))?;
    transit.trace(Interest::SEGMENTS, key, |packet| TraceEvent::SegmentSent {
        flow: *flow,
        end: *end,
        packet,
        again: endpoint.repeats(packet, sent),
    });
    Some(key)
}
