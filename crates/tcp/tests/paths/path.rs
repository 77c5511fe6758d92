//! One flow over two hops in a row, the second one slower, with room for everything in its queue.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::net::IpAddr;
use std::time::Duration;

use lasthop_packet::{Instant, Packet, Seq};
use lasthop_tcp::{Config, Connection};

/// Headers of a segment without options, in octets.
const HEADERS: u32 = 40;

/// One direction of a hop, which sends one packet at a time.
#[derive(Clone, Copy, Debug)]
pub struct Hop {
    pub bits_a_second: u64,
    pub delay: Duration,
    is_busy_until: Instant,
}

impl Hop {
    pub fn new(bits_a_second: u64, delay: Duration) -> Self {
        Self { bits_a_second, delay, is_busy_until: Instant::ZERO }
    }

    /// When the transmission of a packet of this length begins, and when it arrives.
    fn carry(&mut self, octets: u32, now: Instant) -> (Instant, Instant) {
        let begins = self.is_busy_until.max(now);
        let nanos = u64::from(octets) * 8 * 1_000_000_000 / self.bits_a_second;
        self.is_busy_until = begins + Duration::from_nanos(nanos);
        (begins, self.is_busy_until + self.delay)
    }
}

/// A data segment as sent.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub at: Instant,
    /// Its number, from 0 on.
    pub number: u32,
    pub is_again: bool,
    /// When it entered the queue of the slow hop, and when it left it.
    pub queued: (Instant, Instant),
}

pub struct Path {
    pub sender: Connection,
    pub receiver: Connection,
    pub now: Instant,
    pub sent: Vec<Sent>,
    /// For each ACK, the number of data segments that had arrived when it was sent.
    pub acks: Vec<u32>,
    arrived: u32,
    /// The segments of which the first copy is lost.
    pub drops: Vec<u32>,
    there: [Hop; 2],
    back: [Hop; 2],
    mss: u32,
    copies: BTreeMap<u32, u32>,
    wire: BinaryHeap<Reverse<(Instant, usize)>>,
    packets: Vec<Option<(bool, Packet)>>,
}

impl Path {
    /// A flow without end.
    pub fn new(config: &Config, hops: [Hop; 2]) -> Self {
        let ends = [1, 2].map(|last| (IpAddr::from([10, 0, 0, last]), 1));
        let (iss, irs) = (Seq(u32::MAX - 20_000), Seq(77));
        let connect = |a, b, iss, irs| Connection::established(config.clone(), config, a, b, iss, irs);
        let mut sender = connect(ends[0], ends[1], iss, irs);
        sender.write_stream(1, 0, u64::MAX / 2);
        Self {
            mss: sender.flight().mss,
            sender,
            receiver: connect(ends[1], ends[0], irs, iss),
            now: Instant::ZERO,
            sent: Vec::new(),
            acks: Vec::new(),
            arrived: 0,
            drops: Vec::new(),
            there: hops,
            back: [hops[1], hops[0]],
            copies: BTreeMap::new(),
            wire: BinaryHeap::new(),
            packets: Vec::new(),
        }
    }

    pub fn run_until(&mut self, end: Instant) {
        self.transmit_data();
        loop {
            let arrival = self.wire.peek().map(|Reverse((at, _))| *at);
            let deadlines = [&self.sender, &self.receiver].map(|end| end.deadline().map(|d| d.at));
            let Some(next) = [arrival, deadlines[0], deadlines[1]].into_iter().flatten().min() else {
                return;
            };
            if next > end {
                self.now = end;
                return;
            }
            self.now = self.now.max(next);
            if arrival == Some(next) {
                self.deliver();
            } else {
                self.sender.on_deadline(self.now);
                self.receiver.on_deadline(self.now);
                self.transmit_data();
                self.transmit_acks();
            }
        }
    }

    fn deliver(&mut self) {
        let Some(Reverse((_, index))) = self.wire.pop() else { return };
        let (is_data, packet) = self.packets[index].take().expect("a packet arrives once");
        if is_data {
            self.arrived += 1;
            self.receiver.on_segment(&packet, self.now);
            while self.receiver.read().is_some() {}
            self.transmit_acks();
        } else {
            self.sender.on_segment(&packet, self.now);
            self.transmit_data();
        }
    }

    fn transmit_data(&mut self) {
        while let Some(packet) = self.sender.poll_transmit(self.now) {
            let tcp = packet.tcp().expect("a sender sends segments");
            let number = (tcp.seq - (self.sender.iss() + 1)) / self.mss;
            let copies = self.copies.entry(number).or_default();
            *copies += 1;
            let is_again = *copies > 1;
            let octets = packet.payload().len() as u32 + HEADERS;
            let (_, entered) = self.there[0].carry(octets, self.now);
            let is_lost = !is_again && self.drops.contains(&number);
            let mut queued = (entered, entered);
            if !is_lost {
                let (begins, arrives) = self.there[1].carry(octets, entered);
                queued.1 = begins;
                self.put(arrives, true, packet);
            }
            self.sent.push(Sent { at: self.now, number, is_again, queued });
        }
    }

    fn transmit_acks(&mut self) {
        while let Some(packet) = self.receiver.poll_transmit(self.now) {
            self.acks.push(self.arrived);
            let (_, entered) = self.back[0].carry(HEADERS, self.now);
            let (_, arrives) = self.back[1].carry(HEADERS, entered);
            self.put(arrives, false, packet);
        }
    }

    fn put(&mut self, at: Instant, is_data: bool, packet: Packet) {
        self.packets.push(Some((is_data, packet)));
        self.wire.push(Reverse((at, self.packets.len() - 1)));
    }

    /// Segments that wait for the slow hop, without the one that is leaving.
    pub fn queue_at(&self, at: Instant) -> usize {
        self.sent.iter().filter(|sent| sent.queued.0 <= at && at < sent.queued.1).count()
    }

    /// The segments that were sent again, and when.
    pub fn retransmissions(&self) -> Vec<(u32, Instant)> {
        self.sent.iter().filter(|sent| sent.is_again).map(|sent| (sent.number, sent.at)).collect()
    }
}
