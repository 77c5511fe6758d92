//! Where the data of flows over TCP begins: losses of chosen packets count from there.

use std::collections::BTreeMap;

use lasthop_packet::{Packet, Seq};
use lasthop_tcp::connection::Endpoint;

/// The sequence number of the first octet of each flow's data, by its sender and receiver.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    first_octets: BTreeMap<(Endpoint, Endpoint), Seq>,
}

impl Streams {
    pub(crate) fn add(&mut self, from: Endpoint, to: Endpoint, first_octet: Seq) {
        self.first_octets.insert((from, to), first_octet);
    }

    /// Where the data begins of the flow whose data a packet would carry.
    pub(crate) fn first_octet(&self, packet: &Packet) -> Option<Seq> {
        let (ip, tcp) = (packet.ip(), packet.tcp()?);
        let (from, to) = ((ip.source, tcp.source_port), (ip.destination, tcp.destination_port));
        self.first_octets.get(&(from, to)).copied()
    }
}
