//! Tests of the rules of both schemes, and their bench: the sender's through a real TCP connection
//! and real packets, the notifier's with hand-made ones.

mod forged;
mod notifier;
mod refined;
mod simple;

use std::net::IpAddr;

use lasthop_packet::wire::{emit, parse};
use lasthop_packet::{Instant, Ip, Packet, Payload, Seq, Tcp, TcpFlags};
use lasthop_tcp::{Config, Connection, SenderExtension};

use super::*;

const MSS: u32 = 1000;
/// Segments of the first flight.
const FLIGHT: u32 = 8;
/// Half of it.
const SSTHRESH: u32 = 4 * MSS;
/// Wraps within the first flight.
const ISS: Seq = Seq(u32::MAX - 3500);

/// Two hosts and a node between them, in both versions of IP.
fn both_versions() -> [Hosts; 2] {
    let hosts = |server: &str, mobile: &str, node: &str| Hosts {
        server: address(server),
        mobile: address(mobile),
        node: address(node),
    };
    [hosts("192.0.2.1", "10.0.0.2", "10.0.0.1"), hosts("2001:db8::1", "2001:db8:1::2", "2001:db8:1::1")]
}

fn address(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

#[derive(Clone, Copy, Debug)]
struct Hosts {
    server: IpAddr,
    mobile: IpAddr,
    node: IpAddr,
}

impl Hosts {
    /// A segment of a full flight, by its index, as it arrives at the node.
    fn segment(self, index: u32) -> Packet {
        self.segment_at(first_octet() + index * MSS)
    }

    fn segment_at(self, seq: Seq) -> Packet {
        let tcp =
            Tcp { source_port: 80, destination_port: 5000, seq, flags: TcpFlags::ACK, ..Tcp::default() };
        Packet::tcp_segment(Ip::new(self.server, self.mobile), tcp, data(MSS))
    }
}

fn data(len: u32) -> Payload {
    Payload::Stream { stream: 1, offset: 0, len }
}

fn first_octet() -> Seq {
    ISS + 1
}

/// A sender with a full flight of segments 0 to 7 since time 0; the clock is in milliseconds.
struct Bench {
    tcp: Connection,
    hosts: Hosts,
    now: Instant,
}

impl Bench {
    fn new(hosts: Hosts, extension: Option<Box<dyn SenderExtension>>) -> Self {
        let config = Config {
            mss: MSS,
            window: 60_000,
            initial_window: FLIGHT,
            initial_ssthresh: SSTHRESH,
            ..Config::default()
        };
        let (local, remote) = ((hosts.server, 80), (hosts.mobile, 5000));
        let tcp = Connection::established(config.clone(), &config, local, remote, ISS, Seq(77));
        let mut bench = Self { tcp: tcp.with_sender_extension(extension), hosts, now: Instant::ZERO };
        bench.tcp.write_stream(1, 0, 1 << 30);
        assert_eq!(bench.sent(), (0..FLIGHT).collect::<Vec<_>>());
        assert_eq!(bench.timer(), 1000);
        bench
    }

    fn at(&mut self, millis: u64) -> &mut Self {
        self.now = Instant::from_millis(millis);
        self
    }

    /// The segments that it sends now, by their index in the stream.
    fn sent(&mut self) -> Vec<u32> {
        let mut sent = Vec::new();
        while let Some(packet) = self.tcp.poll_transmit(self.now) {
            let seq = packet.tcp().expect("it sends TCP").seq - first_octet();
            assert!(seq.is_multiple_of(MSS) && packet.payload().len() == MSS as usize);
            sent.push(seq / MSS);
        }
        sent
    }

    /// Delivers an ACK of all data before segment `index`. Returns the segments sent then.
    fn ack(&mut self, index: u32) -> Vec<u32> {
        let tcp = Tcp {
            source_port: 5000,
            destination_port: 80,
            seq: Seq(78),
            ack: first_octet() + index * MSS,
            flags: TcpFlags::ACK,
            window: 60_000,
            ..Tcp::default()
        };
        let ip = Ip::new(self.hosts.mobile, self.hosts.server);
        self.tcp.on_segment(&Packet::tcp_segment(ip, tcp, Payload::EMPTY), self.now);
        self.sent()
    }

    /// Delivers a message about segment `index`. Returns the segments sent then.
    fn message(&mut self, message: Message, index: u32) -> Vec<u32> {
        let packet = message.about(&self.hosts.segment(index), self.hosts.node).expect("a TCP segment");
        self.icmp(&parse(emit(&packet)).expect("what we write is a packet"))
    }

    fn icmp(&mut self, packet: &Packet) -> Vec<u32> {
        self.tcp.on_icmp(packet, self.now);
        self.sent()
    }

    /// Lets the timer expire at its time. Returns the segments sent then.
    fn expire(&mut self) -> Vec<u32> {
        let timer = self.timer();
        self.at(timer);
        self.tcp.on_deadline(self.now);
        self.sent()
    }

    /// When the retransmission timer expires, in ms.
    fn timer(&self) -> u64 {
        self.tcp.deadline().expect("something is outstanding").at.as_millis()
    }

    /// cwnd and ssthresh in segments.
    fn window(&self) -> (u32, u32) {
        let flight = self.tcp.flight();
        (flight.cwnd / MSS, flight.ssthresh / MSS)
    }
}
