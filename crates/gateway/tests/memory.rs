//! A test of the gateway's memory, as counted by the kernel. It has a process of its own, because
//! the memory of other tests would be counted as well.

use lasthop_agent::counter::AT_BOUND;
use std::fs;
use std::net::{IpAddr, Ipv4Addr};

use bytes::Bytes;
use lasthop_agent::{LinkSenses, Side};
use lasthop_gateway::buffer::Buffers;
use lasthop_gateway::config;
use lasthop_gateway::engine::{Engine, Outgoing};
use lasthop_gateway::frame::Frame;
use lasthop_gateway::io::{Port, PortId};
use lasthop_packet::wire::emit;
use lasthop_packet::{Instant, Ip, Packet, Payload, Seq, Tcp, TcpFlags};

const CONNECTIONS: u16 = 1_000;
const SEGMENTS: u32 = 100;
const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
/// The memory in addition to the budget that docs/src/gateway.md states for connections and frames.
const BESIDE: usize = 4 << 20;

/// A gateway whose frames are in buffers like those of devices.
struct Gateway {
    engine: Engine,
    buffers: Buffers,
    out: Outgoing,
    now: Instant,
}

impl Gateway {
    fn new(configuration: &str) -> Self {
        let config = config::parse(configuration, "gateway.toml", LinkSenses::all());
        let plan = config.unwrap_or_else(|error| panic!("{error}")).plan;
        let port = |name: &str, side| Port { name: name.into(), side, ethernet: false, copies_of: None };
        let ports = [port("eth0", Side::Core), port("wlan0", Side::Radio)];
        let engine = Engine::new(&ports, &plan);
        Self { engine, buffers: Buffers::new(), out: Outgoing::default(), now: Instant::from_secs(1) }
    }

    fn pass(&mut self, from: Side, tcp: Tcp, octets: usize) {
        let ends = if from == Side::Core { (SERVER, CLIENT) } else { (CLIENT, SERVER) };
        let payload = Payload::Bytes(Bytes::from(vec![7; octets]));
        let wire = emit(&Packet::tcp_segment(Ip::new(ends.0, ends.1), tcp, payload));
        let read = self.buffers.read_with(|[mut head, _]| {
            head[..wire.len()].copy_from_slice(&wire);
            Ok(wire.len())
        });
        let port = PortId(u16::from(from == Side::Radio));
        self.engine.on_frame(port, Frame::plain(read.expect("nothing fails")), self.now, &mut self.out);
        (self.out.frames, self.out.bypasses) = (Vec::new(), Vec::new());
    }
}

fn resident() -> usize {
    let status = fs::read_to_string("/proc/self/status").expect("Linux has it");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("Linux has it");
    let kib: usize = line.trim().trim_end_matches(" kB").parse().expect("a number");
    kib << 10
}

fn server(connection: u16) -> Tcp {
    Tcp { source_port: 80, destination_port: 1024 + connection, flags: TcpFlags::ACK, ..Tcp::default() }
}

fn client(connection: u16) -> Tcp {
    let tcp = server(connection);
    Tcp { source_port: tcp.destination_port, destination_port: tcp.source_port, window: 60_000, ..tcp }
}

#[test]
fn a_hundred_thousand_small_segments_stay_within_the_budget() {
    let mut gateway = Gateway::new("[bounds]\noctets-in-all = \"16 MiB\"");
    let before = resident();
    for connection in 0..CONNECTIONS {
        let syn_ack = TcpFlags::SYN.with(TcpFlags::ACK);
        gateway.pass(Side::Core, Tcp { flags: TcpFlags::SYN, ..server(connection) }, 0);
        gateway.pass(Side::Radio, Tcp { ack: Seq(1), flags: syn_ack, ..client(connection) }, 0);
        gateway.pass(Side::Core, Tcp { seq: Seq(1), ack: Seq(1), ..server(connection) }, 0);
    }
    for segment in 0..SEGMENTS {
        for connection in 0..CONNECTIONS {
            let data = Tcp { seq: Seq(1 + 10 * segment), ack: Seq(1), ..server(connection) };
            gateway.pass(Side::Core, data, 10);
        }
    }
    let (taken, report) = (resident() - before, gateway.engine.report());
    assert!(report.agents.reported.get(&AT_BOUND) > 0, "the budget is met: {report:?}");
    assert!(report.agent_octets <= 16 << 20, "{}", report.agent_octets);
    assert!(taken <= (16 << 20) + BESIDE, "{taken} octets are resident");
}
