//! Engines with many connections, and their frames, for `benches/gateway.rs` and
//! `examples/engine.rs`.

use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr};

use bytes::Bytes;
use lasthop_agent::{LinkSenses, Side};
use lasthop_gateway::frame::{Checksum, Frame};
use lasthop_gateway::io::{Port, PortId};
use lasthop_gateway::{Engine, Outgoing, Plan, config};
use lasthop_packet::wire::emit;
use lasthop_packet::{Instant, Ip, Packet, Payload, Seq, Tcp, TcpFlags, Timestamps};

const LINK: [u8; 14] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];

/// A gateway with established connections.
pub struct Bench {
    engine: Engine,
    out: Outgoing,
    flows: u32,
    step: u32,
    now: Instant,
}

impl Bench {
    pub fn new(flows: u32, scheme: &str) -> Self {
        // With room for additional short connections.
        let text = format!("[bounds]\nflows = {}\n[[rule]]\nscheme = \"{scheme}\"\n", flows + 100);
        let plan: Plan = config::parse(&text, "bench", LinkSenses::all()).expect("right").plan;
        let port = |name: &str, side| Port { name: name.into(), side, ethernet: true, copies_of: None };
        let engine = Engine::new(&[port("eth0", Side::Core), port("wlan0", Side::Radio)], &plan);
        let now = Instant::from_secs(1);
        let mut bench = Self { engine, out: Outgoing::default(), flows, step: 0, now };
        for flow in 0..flows {
            bench.push(1, frame(flow, false, 0, 0, TcpFlags::SYN, 0));
            bench.push(0, frame(flow, true, 0, 0, TcpFlags::SYN.with(TcpFlags::ACK), 0));
            bench.push(1, frame(flow, false, 1, 0, TcpFlags::ACK, 0));
        }
        bench
    }

    /// Passes a batch of frames to the engine, as the packet loop does.
    pub fn pass(&mut self, frames: Vec<(PortId, Frame)>) {
        self.now = self.now.after_nanos(32 * 20_000);
        self.engine.prefetch(&frames);
        for (port, frame) in frames {
            self.take(port, frame);
        }
    }

    fn push(&mut self, port: u16, frame: Frame) {
        self.take(PortId(port), frame);
    }

    fn take(&mut self, port: PortId, frame: Frame) {
        self.engine.on_frame(port, frame, self.now, &mut self.out);
        black_box(&self.out.frames);
        self.out.frames.clear();
    }

    /// A batch of frames, as devices return them: 32 data segments and their ACKs.
    pub fn batch(&mut self) -> Vec<(PortId, Frame)> {
        (0..32)
            .flat_map(|_| {
                let (data, ack) = self.next();
                [(PortId(0), data), (PortId(1), ack)]
            })
            .collect()
    }

    /// The frames of a new connection, from its SYN to a RST.
    pub fn short(&mut self) -> Vec<(PortId, Frame)> {
        self.step += 1;
        let flow = self.flows + self.step;
        let both = TcpFlags::SYN.with(TcpFlags::ACK);
        vec![
            (PortId(1), frame(flow, false, 0, 0, TcpFlags::SYN, 0)),
            (PortId(0), frame(flow, true, 0, 0, both, 0)),
            (PortId(1), frame(flow, false, 1, 0, TcpFlags::ACK, 0)),
            (PortId(0), frame(flow, true, 1, 1448, TcpFlags::ACK, 0)),
            (PortId(1), frame(flow, false, 1449, 0, TcpFlags::ACK, 0)),
            (PortId(0), frame(flow, true, 1449, 0, TcpFlags::RST, 0)),
        ]
    }

    /// A data segment of the next connection, and its acknowledgment.
    fn next(&mut self) -> (Frame, Frame) {
        let (flow, round) = (self.step % self.flows, self.step / self.flows);
        self.step += 1;
        let (seq, time) = (1 + round * 1448, self.step);
        (
            frame(flow, true, seq, 1448, TcpFlags::ACK, time),
            frame(flow, false, seq + 1448, 0, TcpFlags::ACK, time),
        )
    }
}

fn frame(flow: u32, is_down: bool, number: u32, len: u32, flags: TcpFlags, time: u32) -> Frame {
    let [_, a, b, c] = (flow + 1).to_be_bytes();
    let (server, client) = (Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(10, a, b, c));
    let (ports, seq, ack) = if is_down { ((443, 50_000), number, 1) } else { ((50_000, 443), 1, number) };
    let ip = if is_down { (server, client) } else { (client, server) };
    let mut tcp =
        Tcp { source_port: ports.0, destination_port: ports.1, flags, window: 4000, ..Tcp::default() };
    (tcp.seq, tcp.ack) = (Seq(seq), Seq(ack));
    tcp.options.timestamps = Some(Timestamps { value: time, echo_reply: time });
    let payload = Payload::Stream { stream: 1, offset: 0, len };
    let packet = Packet::tcp_segment(Ip::new(IpAddr::V4(ip.0), IpAddr::V4(ip.1)), tcp, payload);
    // Like most network cards, this one has verified the checksum.
    Frame { checksum: Checksum::Right, ..Frame::plain(Bytes::from([&LINK[..], &emit(&packet)].concat())) }
}
