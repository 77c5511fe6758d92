//! Many TCP connections through a running gateway, without a TCP stack at their endpoints:
//! `exchange SOCKET FLOWS BURST RATE SECONDS`. `benches/gateway-flows.sh` runs it with two TAP
//! devices `core` and `radio`, between which the gateway's host routes.
//!
//! The server sends BURST segments of 1448 octets on each connection in turn, each connection to a
//! host of its own. A host acknowledges each second segment, and the last one sent, 2 ms after its
//! arrival. The total is about RATE packets per second. Prints a JSON document with the activity of
//! the gateway's thread during the run, from its own report.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "it is run by a script, and paces itself"
)]

use std::collections::VecDeque;
use std::error::Error;
use std::io::{IoSlice, IoSliceMut};
use std::path::Path;
use std::time::Duration;

use lasthop_gateway::control::{Command, ask};
use lasthop_gateway::device::FrameDevice;
use lasthop_linux::clock;
use lasthop_linux::device::Kind;
use lasthop_packet::Instant;
use rustix::io::{Errno, readv, writev};
use serde_json::{Value, json};

const SEGMENT: u32 = 1448;
/// The length of the headers: Ethernet, IPv4, and TCP with timestamps.
const HEADERS: usize = 14 + 20 + 32;
/// `struct virtio_net_hdr`: the checksum is partial, at offset 16 from octet 34.
const OFFLOAD: [u8; 10] = {
    let ([s, t], [o, p]) = (34_u16.to_ne_bytes(), 16_u16.to_ne_bytes());
    [1, 0, 0, 0, 0, 0, s, t, o, p]
};
/// The time from a segment's arrival at the host to its acknowledgment's departure.
const ANSWER: Duration = Duration::from_millis(2);
/// The maximum number of segments sent in a row to catch up after a delay, and of simultaneous
/// handshakes.
const MAX_BURST: u32 = 200;
/// The interval at which received frames and due frames are handled. It is long enough for the
/// gateway to process several packets each time it is woken: a wait and its end cost as much as
/// several packets.
const PAUSE: Duration = Duration::from_millis(1);
/// The time to wait until all frames in transit have arrived.
const REST: Duration = Duration::from_millis(200);

const SYN: u8 = 0x02;
const ACK: u8 = 0x10;

struct Exchange {
    core: FrameDevice,
    radio: FrameDevice,
    /// The frame that is sent next.
    octets: Vec<u8>,
    /// The next sequence number of each connection.
    next: Vec<u32>,
    /// The number of received and unacknowledged segments of each connection.
    unacknowledged: Vec<u8>,
    acks: VecDeque<(Instant, u32, u32)>,
    step: u64,
    burst: u32,
    /// Segments sent, segments that reached their host, acknowledgments sent, acknowledgments that
    /// reached the server.
    counts: [u64; 4],
}

impl Exchange {
    fn send(&mut self, flow: u32, is_down: bool, flags: u8, number: u32, len: u32) -> Result<(), Errno> {
        let [_, a, b, c] = (flow + 1).to_be_bytes();
        let (server, client) = ([192, 0, 2, 1, 1, 187], [10, a, b, c, 195, 80]);
        let (from, to) = if is_down { (server, client) } else { (client, server) };
        let (seq, ack) = if is_down { (number, 1) } else { (u32::from(flags & SYN == 0), number) };
        let total = HEADERS - 14 + len as usize;
        let octets = &mut self.octets;
        octets[16..18].copy_from_slice(&(total as u16).to_be_bytes());
        octets[24..26].copy_from_slice(&[0, 0]);
        octets[26..30].copy_from_slice(&from[..4]);
        octets[30..34].copy_from_slice(&to[..4]);
        let sum: u32 =
            octets[14..34].chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
        let sum = (sum & 0xffff) + (sum >> 16);
        let sum = (sum & 0xffff) + (sum >> 16);
        octets[24..26].copy_from_slice(&(!(sum as u16)).to_be_bytes());
        octets[34..36].copy_from_slice(&from[4..]);
        octets[36..38].copy_from_slice(&to[4..]);
        octets[38..42].copy_from_slice(&seq.to_be_bytes());
        octets[42..46].copy_from_slice(&ack.to_be_bytes());
        octets[47] = flags;
        let time = (clock::now().as_nanos() / 1_000_000) as u32;
        octets[58..62].copy_from_slice(&time.to_be_bytes());
        octets[62..66].copy_from_slice(&time.to_be_bytes());
        let device = if is_down { &self.core } else { &self.radio };
        writev(device, &[IoSlice::new(&OFFLOAD), IoSlice::new(&octets[..14 + total])]).map(drop)
    }

    /// Runs each connection's handshake, a bounded number at a time, so that reordering between the
    /// devices does not affect them.
    fn shake_hands(&mut self, rate: u64) -> Result<(), Errno> {
        let flows: Vec<u32> = (0..self.next.len() as u32).collect();
        for flows in flows.chunks(MAX_BURST as usize) {
            for (is_down, flags, number) in [(false, SYN, 0), (true, SYN | ACK, 0), (false, ACK, 1)] {
                for flow in flows {
                    self.send(*flow, is_down, flags, number, 0)?;
                    self.counts[2] += u64::from(flags == ACK);
                }
                std::thread::sleep(Duration::from_nanos(flows.len() as u64 * 1_000_000_000 / rate));
                self.receive();
            }
        }
        Ok(())
    }

    /// Sends for this time. After a long delay of this process, it does not catch up on the missed
    /// segments.
    fn run(&mut self, rate: u64, time: Duration) -> Result<(), Errno> {
        let acknowledged = if self.burst == 1 { 1 } else { 2 };
        let gap = Duration::from_nanos(1_000_000_000 * (acknowledged + 1) / (acknowledged * rate));
        let start = clock::now();
        let mut due = start;
        loop {
            let now = clock::now();
            if now.since(start) >= time {
                return Ok(());
            }
            if now.since(due) > gap * MAX_BURST {
                due = now;
            }
            while due <= now {
                let flow = (self.step / u64::from(self.burst) % self.next.len() as u64) as u32;
                let seq = self.next[flow as usize];
                self.send(flow, true, ACK, seq, SEGMENT)?;
                self.next[flow as usize] = seq.wrapping_add(SEGMENT);
                (self.step, self.counts[0]) = (self.step + 1, self.counts[0] + 1);
                due += gap;
            }
            self.answer(now)?;
            std::thread::sleep(PAUSE);
        }
    }

    /// Sends no more segments, and waits until all frames in transit have arrived.
    fn come_to_rest(&mut self) -> Result<(), Errno> {
        let start = clock::now();
        while clock::now().since(start) < REST {
            self.answer(clock::now())?;
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// Receives frames, and sends the acknowledgments that are due.
    fn answer(&mut self, now: Instant) -> Result<(), Errno> {
        self.receive();
        while let Some((_, flow, ack)) = self.acks.front().copied().filter(|(at, ..)| *at <= now) {
            self.acks.pop_front();
            self.send(flow, false, ACK, ack, 0)?;
            self.counts[2] += 1;
        }
        Ok(())
    }

    /// Receives the frames to the hosts and to the server.
    fn receive(&mut self) {
        let (mut header, mut octets) = ([0; OFFLOAD.len()], [0; 2048]);
        let now = clock::now();
        for is_down in [true, false] {
            let device = if is_down { &self.radio } else { &self.core };
            while let Ok(len) =
                readv(device, &mut [IoSliceMut::new(&mut header), IoSliceMut::new(&mut octets)])
            {
                let is_tcp = octets[12..14] == [8, 0] && octets[23] == 6;
                if !is_tcp || octets[47] & SYN != 0 {
                    continue;
                }
                if !is_down {
                    self.counts[3] += 1;
                } else if len > OFFLOAD.len() + HEADERS {
                    self.counts[1] += 1;
                    let word = |at: usize| {
                        u32::from_be_bytes([octets[at], octets[at + 1], octets[at + 2], octets[at + 3]])
                    };
                    let (flow, end) = ((word(30) & 0xff_ffff) - 1, word(38).wrapping_add(SEGMENT));
                    let unacknowledged = &mut self.unacknowledged[flow as usize];
                    *unacknowledged += 1;
                    if *unacknowledged == 2 || end == self.next[flow as usize] {
                        *unacknowledged = 0;
                        self.acks.push_back((now + ANSWER, flow, end));
                    }
                }
            }
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [socket, flows, burst, rate, seconds] = &arguments[..] else {
        return Err("usage: exchange SOCKET FLOWS BURST RATE SECONDS".into());
    };
    let (flows, burst, rate): (usize, u32, u64) = (flows.parse()?, burst.parse()?, rate.parse()?);
    let mut octets = vec![0; HEADERS + SEGMENT as usize];
    // The addresses are fixed: the script assigns one address to both devices, and another to both
    // neighbors.
    octets[..14].copy_from_slice(&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0]);
    octets[14..26].copy_from_slice(&[0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 6, 0, 0]);
    octets[46..50].copy_from_slice(&[0x80, 0, 0x10, 0]);
    octets[54..58].copy_from_slice(&[1, 1, 8, 10]);
    let mut exchange = Exchange {
        core: FrameDevice::new("core", Kind::Tap)?,
        radio: FrameDevice::new("radio", Kind::Tap)?,
        octets,
        next: vec![1; flows],
        unacknowledged: vec![0; flows],
        acks: VecDeque::new(),
        step: 0,
        burst: 1,
        counts: [0; 4],
    };
    let status = || ask(Path::new(socket), &Command::Status);
    std::thread::sleep(Duration::from_millis(200));
    exchange.shake_hands(rate)?;
    // Every connection sends before the measurement starts.
    let round = Duration::from_nanos(flows as u64 * 2_000_000_000 / rate);
    exchange.run(rate, round.max(Duration::from_secs(1)))?;
    exchange.come_to_rest()?;
    (exchange.burst, exchange.step) = (burst, 0);
    let before = status()?;
    exchange.run(rate, Duration::from_secs(seconds.parse()?))?;
    let after = status()?;
    exchange.come_to_rest()?;
    let [segments, segments_arrived, acks, acks_arrived] = exchange.counts;
    let grown = |path: &str| {
        let number = |value: &Value| value.pointer(path).and_then(Value::as_f64).unwrap_or_default();
        number(&after) - number(&before)
    };
    println!(
        "{}",
        json!({
            "flows": flows,
            "burst": burst,
            "cpu_s": grown("/report/cpu_s"),
            "frames": grown("/report/engine/counters/received") + grown("/report/engine/counters/copies"),
            "turns": grown("/report/turns"),
            "missing": (segments + acks).saturating_sub(segments_arrived + acks_arrived),
            "seconds": grown("/report/uptime_s"),
            "connections": after.pointer("/report/engine/connections"),
            "rules": after.pointer("/report/engine/rules"),
        })
    );
    Ok(())
}
