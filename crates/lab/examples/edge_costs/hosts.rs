//! The two ends of each connection: TCP endpoints as in Linux.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};

use lasthop_agent::Side;
use lasthop_packet::{Instant, Packet, Seq};
use lasthop_tcp::{Config, Connection};

pub const ACCESS_POINT: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 254));
const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

/// Octets of a segment's payload, with timestamps.
pub const SEGMENT: u64 = 1448;

/// The hosts of one side: an endpoint for each connection.
pub struct Hosts {
    side: Side,
    ends: Vec<End>,
    timers: BTreeSet<(Instant, u32)>,
}

struct End {
    connection: Connection,
    written: u64,
    received: u64,
    timer: Option<Instant>,
}

impl Hosts {
    /// The hosts of a side; the mobile hosts open the connections.
    pub fn new(side: Side, flows: u32) -> Self {
        let end = |flow| {
            let (server, client) = ((SERVER, 443), (mobile_host(flow), 50_000));
            let connection = match side {
                Side::Core => Connection::listen(Config::linux(), server, Seq(1000)),
                Side::Radio => Connection::connect(Config::linux(), client, server, Seq(2000)),
            };
            End { connection, written: 0, received: 0, timer: None }
        };
        Self { side, ends: (0..flows).map(end).collect(), timers: BTreeSet::new() }
    }

    /// A connection's application writes `segments` segments.
    pub fn write(&mut self, flow: u32, segments: u64) {
        let end = &mut self.ends[flow as usize];
        end.connection.write_stream(0, end.written, segments * SEGMENT);
        end.written += segments * SEGMENT;
    }

    pub fn receive(&mut self, packet: &Packet, now: Instant) -> u32 {
        let flow = flow_of(packet, self.side);
        self.ends[flow as usize].connection.on_segment(packet, now);
        flow
    }

    /// The first expiry of a timer.
    pub fn deadline(&self) -> Option<Instant> {
        self.timers.first().map(|(at, _)| *at)
    }

    /// Lets the first timer that is due expire; returns its connection.
    pub fn on_deadline(&mut self, now: Instant) -> Option<u32> {
        let (_, flow) = self.timers.pop_first()?;
        let end = &mut self.ends[flow as usize];
        end.timer = None;
        end.connection.on_deadline(now);
        Some(flow)
    }

    /// Sends a connection's segments, and reads the data that it has received.
    pub fn transmit(&mut self, flow: u32, now: Instant, mut send: impl FnMut(Packet)) {
        let end = &mut self.ends[flow as usize];
        while let Some(payload) = end.connection.read() {
            end.received += payload.len() as u64;
        }
        while let Some(packet) = end.connection.poll_transmit(now) {
            send(packet);
        }
        let timer = end.connection.deadline().map(|deadline| deadline.at);
        if timer != end.timer {
            if let Some(old) = end.timer {
                self.timers.remove(&(old, flow));
            }
            if let Some(new) = timer {
                self.timers.insert((new, flow));
            }
            end.timer = timer;
        }
    }

    pub fn received(&self) -> u64 {
        self.ends.iter().map(|end| end.received).sum()
    }
}

fn mobile_host(flow: u32) -> IpAddr {
    let [_, b, c, d] = (flow + 1).to_be_bytes();
    IpAddr::V4(Ipv4Addr::new(10, b, c, d))
}

/// The connection of a packet that has arrived at a side.
fn flow_of(packet: &Packet, side: Side) -> u32 {
    let key = packet.flow_key().expect("only TCP is sent through here");
    let client = if side == Side::Core { key.source.0 } else { key.destination.0 };
    let IpAddr::V4(client) = client else { return 0 };
    let [_, b, c, d] = client.octets();
    u32::from_be_bytes([0, b, c, d]) - 1
}
