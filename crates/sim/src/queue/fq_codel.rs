//! Flow queues with CoDel (RFC 8290, section 4).
//!
//! Where the RFC leaves a choice, this is what Linux does, whose code the RFC describes: over the
//! limit up to 64 packets are dropped at once, but no more than half of the longest queue; its CoDel
//! counts them as its own; and CoDel leaves the last packet of the largest size alone that waits in
//! all flow queues together.

use std::collections::VecDeque;

use lasthop_link::{Fifo, Length};
use lasthop_packet::{Instant, Packet};

use super::codel::{CoDel, Leaving, Source};
use super::config::FqCoDelConfig;
use super::flow_hash::flow_hash;
use super::waiting::Waiting;
use crate::packets::PacketKey;

/// Packets that are dropped at once at most where the limit is passed.
const DROP_BATCH: u32 = 64;

#[derive(Debug)]
pub(super) struct FqCoDel {
    config: FqCoDelConfig,
    flows: Vec<Flow>,
    /// Flow queues whose turn it is first: each has become active since it was last empty.
    new_flows: VecDeque<u32>,
    old_flows: VecDeque<u32>,
    /// Packets and octets that wait.
    size: (usize, u64),
    /// Octets of memory that what waits takes.
    memory: u64,
    /// The largest packet so far, which stands for the link's MTU.
    largest: u32,
    perturbation: u64,
}

#[derive(Debug, Default)]
struct Flow {
    packets: Fifo<Stored>,
    codel: CoDel,
    /// Octets that it may still send in its turn.
    deficit: i64,
    /// Whether it is in one of the two lists.
    is_active: bool,
}

/// A packet that waits, with the octets of its buffer.
#[derive(Clone, Copy, Debug)]
struct Stored {
    waiting: Waiting,
    memory: u32,
}

impl Length for Stored {
    fn octets(&self) -> u32 {
        self.waiting.len
    }
}

/// Whose turn it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    New,
    Old,
}

impl FqCoDel {
    pub(super) fn new(config: FqCoDelConfig, perturbation: u64) -> Self {
        Self {
            config,
            flows: (0..config.flows.max(1)).map(|_| Flow::default()).collect(),
            new_flows: VecDeque::new(),
            old_flows: VecDeque::new(),
            size: (0, 0),
            memory: 0,
            largest: 0,
            perturbation,
        }
    }

    pub(super) const fn config(&self) -> FqCoDelConfig {
        self.config
    }

    pub(super) const fn set(&mut self, config: FqCoDelConfig) {
        self.config = config;
    }

    /// Packets and octets that wait.
    pub(super) const fn size(&self) -> (usize, u64) {
        self.size
    }

    /// Whether what waits takes more memory than it may.
    pub(super) const fn is_over_memory(&self) -> bool {
        self.memory > self.config.memory_limit
    }

    /// A packet joins the queue of its flow.
    pub(super) fn push(&mut self, waiting: Waiting, packet: &Packet) {
        let hash = flow_hash(packet, self.perturbation);
        let index = ((u128::from(hash) * self.flows.len() as u128) >> 64) as usize;
        let flow = &mut self.flows[index];
        self.largest = self.largest.max(waiting.len);
        let memory = packet.buffer_octets() as u32;
        self.memory += u64::from(memory);
        self.size = (self.size.0 + 1, self.size.1 + u64::from(waiting.len));
        flow.packets.push(Stored { waiting, memory });
        if !flow.is_active {
            flow.is_active = true;
            // RFC 8290, section 4.1: a queue that becomes active goes to the end of the new ones, with
            // one quantum.
            flow.deficit = i64::from(self.config.quantum);
            self.new_flows.push_back(index as u32);
        }
    }

    /// Drops packets from the head of the queue with the most octets.
    pub(super) fn drop_from_longest(&mut self, mut dropped: impl FnMut(Waiting)) {
        let active = self.new_flows.iter().chain(&self.old_flows);
        let longest = active
            .copied()
            .max_by_key(|index| (self.flows[*index as usize].packets.size().1, std::cmp::Reverse(*index)));
        let Some(longest) = longest else { return };
        let flow = &mut self.flows[longest as usize];
        let (half, mut octets, mut packets) = (flow.packets.size().1 / 2, 0, 0);
        while packets < DROP_BATCH && (packets == 0 || octets < half) {
            let Some(Stored { waiting, memory }) = flow.packets.pop() else { break };
            self.size = (self.size.0 - 1, self.size.1 - u64::from(waiting.len));
            self.memory -= u64::from(memory);
            octets += u64::from(waiting.len);
            packets += 1;
            dropped(waiting);
        }
        flow.codel.record_dropped(packets);
    }

    /// The next packet to send; `dropped` receives those that are dropped before it.
    pub(super) fn pop(
        &mut self,
        now: Instant,
        can_mark: impl Fn(PacketKey) -> bool,
        mut dropped: impl FnMut(Waiting),
    ) -> Option<Leaving> {
        loop {
            let (turn, index) = match (self.new_flows.front(), self.old_flows.front()) {
                (Some(new), _) => (Turn::New, *new),
                (None, Some(old)) => (Turn::Old, *old),
                (None, None) => return None,
            };
            let flow = &mut self.flows[index as usize];
            // RFC 8290, section 4.2: a queue that has used up its quantum gets another one, and goes to
            // the end of the old ones.
            if flow.deficit <= 0 {
                flow.deficit += i64::from(self.config.quantum);
                self.move_on(turn, Some(index));
                continue;
            }
            let mut source = FlowSource {
                packets: &mut flow.packets,
                size: &mut self.size,
                memory: &mut self.memory,
                largest: self.largest,
                can_mark: &can_mark,
                dropped: &mut dropped,
            };
            if let Some(leaving) = flow.codel.dequeue(&self.config.codel, now, &mut source) {
                flow.deficit -= i64::from(leaving.waiting.len);
                return Some(leaving);
            }
            //= RFC 8290, section 4.2: if the queue selected for dequeue came from the list of new
            //= queues, it is moved to the end of the list of old queues. If instead it came from the
            //= list of old queues, that queue is removed from the list.
            if turn == Turn::New && !self.old_flows.is_empty() {
                self.move_on(turn, Some(index));
            } else {
                flow.is_active = false;
                flow.packets.trim();
                self.move_on(turn, None);
            }
        }
    }

    /// Takes the first of a list out of it, and appends a flow to the old ones.
    fn move_on(&mut self, turn: Turn, to_old: Option<u32>) {
        match turn {
            Turn::New => self.new_flows.pop_front(),
            Turn::Old => self.old_flows.pop_front(),
        };
        self.old_flows.extend(to_old);
    }
}

/// The queue of one flow, for its CoDel.
struct FlowSource<'a, M, D> {
    packets: &'a mut Fifo<Stored>,
    size: &'a mut (usize, u64),
    memory: &'a mut u64,
    largest: u32,
    can_mark: &'a M,
    dropped: &'a mut D,
}

impl<M: Fn(PacketKey) -> bool, D: FnMut(Waiting)> Source for FlowSource<'_, M, D> {
    fn take(&mut self) -> Option<Waiting> {
        let Stored { waiting, memory } = self.packets.pop()?;
        *self.size = (self.size.0 - 1, self.size.1 - u64::from(waiting.len));
        *self.memory -= u64::from(memory);
        Some(waiting)
    }

    fn is_short(&self) -> bool {
        self.size.1 <= u64::from(self.largest)
    }

    fn discard(&mut self, waiting: Waiting) {
        (self.dropped)(waiting);
    }

    fn can_mark(&self, waiting: Waiting) -> bool {
        (self.can_mark)(waiting.key)
    }
}
