//! The stations of a cell, as their nodes see them: their ports, and the frames in their hands.

use lasthop_wifi::{MacFrame, Receiver, StationId};

use super::station::{Arrival, Hands, Port, Radio};
use crate::id::{At, NodeId, PortId};
use crate::observe::{Interest, TraceEvent};
use crate::packets::PacketKey;
use crate::technology::Output;
use crate::transit::Transit;

#[derive(Default)]
pub(super) struct Stations(Vec<Radio>);

impl Stations {
    pub(super) fn add(&mut self, node: NodeId, hands: Hands) {
        self.0.push(Radio::new(node, hands));
    }

    pub(super) fn all(&self) -> impl Iterator<Item = StationId> + use<> {
        (0..self.0.len()).map(StationId::from_index)
    }

    #[inline]
    pub(super) fn of(&self, station: StationId) -> &Radio {
        &self.0[station.index()]
    }

    /// As [`Self::of`].
    #[inline]
    pub(super) fn of_mut(&mut self, station: StationId) -> &mut Radio {
        &mut self.0[station.index()]
    }

    pub(super) fn node(&self, station: StationId) -> NodeId {
        self.of(station).node()
    }

    /// Packets that are among the packets twice.
    pub(super) fn copies(&self) -> usize {
        self.0.iter().map(Radio::copies).sum()
    }

    #[inline]
    pub(super) fn port(&self, from: StationId, to: StationId) -> Option<&Port> {
        self.of(from).port(to)
    }

    /// The port through which a frame went. A broadcast went through none.
    #[inline]
    pub(super) fn port_of(&self, from: StationId, frame: MacFrame) -> Option<&Port> {
        match frame.to {
            Receiver::Station(to) => self.port(from, to),
            Receiver::Broadcast => None,
        }
    }

    /// The first of a station's ports, which stands for its queue.
    pub(super) fn first_port(&self, station: StationId) -> Option<PortId> {
        self.of(station).first_port().map(|port| port.id)
    }

    /// The interface whose agent receives what becomes of a frame, and its packet if it is still there. A
    /// broadcast is on no link, and has no confirmation.
    pub(super) fn recipient(&self, from: StationId, frame: MacFrame) -> Option<(At, PacketKey)> {
        let port = self.port_of(from, frame)?;
        let is_here = self.of(from).hand(frame).arrival() != Arrival::Moved;
        is_here.then_some((port.at, PacketKey(frame.key)))
    }

    /// The sender has learned what became of a transmission.
    pub(super) fn trace_attempt(
        &self,
        (from, frame): (StationId, MacFrame),
        transmission: u32,
        (lost, acknowledged): (bool, bool),
        transit: &mut Transit,
    ) {
        let Receiver::Station(to) = frame.to else { return };
        let Some(Port { at: (node, _), link, .. }) = self.port(from, to).copied() else { return };
        let (to, number) = (self.node(to), self.of(from).hand(frame).number());
        if let Some((_, key)) = self.recipient(from, frame) {
            transit.trace(Interest::FRAMES, key, |packet| TraceEvent::Frame {
                link,
                from: node,
                to,
                number,
                transmission,
                packet,
                lost,
            });
        }
        if !lost && !acknowledged {
            transit.emit(&TraceEvent::LinkAckLost { link, from: to, number });
        }
    }

    /// A frame was given up after this many transmissions.
    pub(super) fn give_up(
        &self,
        (from, frame): (StationId, MacFrame),
        transmissions: u32,
        transit: &mut Transit,
    ) -> Option<Output> {
        let Receiver::Station(to) = frame.to else { return None };
        let Port { at: (node, _), link, .. } = *self.port(from, to)?;
        let to = self.node(to);
        let hand = self.of(from).hand(frame);
        if let Some((_, key)) = self.recipient(from, frame) {
            let number = hand.number();
            transit.trace(Interest::FRAMES, key, |packet| TraceEvent::FrameGivenUp {
                link,
                from: node,
                to,
                number,
                transmissions,
                packet,
            });
        }
        let key = (hand.arrival() == Arrival::NotYet).then_some(PacketKey(frame.key));
        Some(Output::NeighbourLost { node, neighbour: to, key })
    }
}
