//! The engine, a frame at a time: `cargo bench -p lasthop-live --bench gateway`.

use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use bytes::Bytes;
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use lasthop_agent::{LinkSenses, Side};
use lasthop_live::frame::{Checksum, Frame};
use lasthop_live::gateway::{Engine, Outgoing, Plan, config};
use lasthop_live::io::{Port, PortId};
use lasthop_packet::wire::emit;
use lasthop_packet::{Instant, Ip, Packet, Payload, Seq, Tcp, TcpFlags, Timestamps};

const LINK: [u8; 14] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];

/// A gateway with this many connections, each with its handshake behind it.
struct Bench {
    engine: Engine,
    out: Outgoing,
    flows: u32,
    step: u32,
    now: Instant,
}

impl Bench {
    fn new(flows: u32, scheme: &str) -> Self {
        let text = format!("[bounds]\nflows = {flows}\n[[rule]]\nscheme = \"{scheme}\"\n");
        let plan: Plan = config::parse(&text, "bench", LinkSenses::empty()).expect("right").plan;
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

    fn push(&mut self, port: u16, frame: Frame) {
        self.take(PortId(port), frame);
    }

    fn take(&mut self, port: PortId, frame: Frame) {
        self.engine.on_frame(port, frame, self.now, &mut self.out);
        black_box(&self.out.frames);
        self.out.frames.clear();
    }

    /// What a port's device gives at a time: data segments and their ACKs.
    fn batch(&mut self) -> Vec<(PortId, Frame)> {
        (0..32)
            .flat_map(|_| {
                let (data, ack) = self.next();
                [(PortId(0), data), (PortId(1), ack)]
            })
            .collect()
    }

    /// A data segment of the next connection, and the acknowledgment of it.
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
    // The network card has looked at the checksum, as most do.
    Frame { checksum: Checksum::Right, ..Frame::plain(Bytes::from([&LINK[..], &emit(&packet)].concat())) }
}

fn engine(criterion: &mut Criterion) {
    for (scheme, flows) in
        [("snoop", 10), ("snoop", 1_000), ("snoop", 10_000), ("snoop", 100_000), ("none", 10)]
    {
        let mut bench = Bench::new(flows, scheme);
        let mut group = criterion.benchmark_group(format!("engine, {scheme}, {flows} flows"));
        group.throughput(Throughput::Elements(128)).warm_up_time(Duration::from_secs(1));
        group.measurement_time(Duration::from_secs(3)).sample_size(20);
        let bench = std::cell::RefCell::new(&mut bench);
        group.bench_function("64 data segments and their ACKs", |bencher| {
            bencher.iter_batched(
                || (0..2).map(|_| bench.borrow_mut().batch()).collect::<Vec<_>>(),
                |batches| {
                    let mut bench = bench.borrow_mut();
                    for frames in batches {
                        bench.now = bench.now.after_nanos(32 * 20_000);
                        bench.engine.prefetch(&frames);
                        for (port, frame) in frames {
                            bench.take(port, frame);
                        }
                    }
                },
                // Made just before: a frame that was just read is in the cache, too.
                BatchSize::PerIteration,
            );
        });
        group.finish();
    }
}

criterion_group!(benches, engine);
criterion_main!(benches);
