//! Flow queues with CoDel (RFC 8290, section 4), for one transmitter or for several that share them.
//!
//! Where the RFC leaves a choice, this is what Linux does, whose code the RFC describes. Linux has it twice, as a
//! queueing discipline and in mac80211, with different choices: [`Rules`].

use std::collections::VecDeque;

use lasthop_link::{Fifo, Length};
use lasthop_packet::{Instant, Packet};

use super::codel::{CoDel, Leaving, Source};
use super::config::FqCoDelConfig;
use super::flow_hash::flow_hash;
use super::waiting::Waiting;
use crate::packets::PacketKey;

/// Whose choices are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rules {
    /// Those of the queueing discipline `fq_codel`: over the limit up to 64 packets are dropped at once, but no more than
    /// half of the octets of the longest queue; its CoDel counts them as its own; and CoDel leaves the last packet of the
    /// largest size alone that waits in all flow queues together.
    Discipline,
    /// Those of mac80211 (`fq_impl.h`): over the limit up to 32 packets are dropped at once, but no more than half of the
    /// longest queue; and CoDel leaves the last packet of a queue alone.
    Mac80211,
}

impl Rules {
    /// Packets that are dropped at once at most where the limit is passed.
    const fn drop_batch(self) -> usize {
        match self {
            Self::Discipline => 64,
            Self::Mac80211 => 32,
        }
    }
}

#[derive(Debug)]
pub(crate) struct FqCoDel {
    config: FqCoDelConfig,
    rules: Rules,
    /// By the number of a flow queue: its place in `flows` and one, or 0 as long as it had no packet. Behind the numbers that
    /// the hash chooses among there is one for each tin, for packets whose flow queue is in use by another tin.
    places: Vec<u32>,
    flows: Vec<Flow>,
    tins: Vec<Tin>,
    /// Packets and octets that wait.
    size: (usize, u64),
    /// Octets of memory that what waits takes.
    memory: u64,
    /// The largest packet so far, which stands for the link's MTU.
    largest: u32,
    perturbation: u64,
}

/// The flow queues of one transmitter that have packets.
#[derive(Debug, Default)]
struct Tin {
    /// Flow queues whose turn it is first: each has become active since it was last empty.
    new_flows: VecDeque<u32>,
    old_flows: VecDeque<u32>,
    /// Packets that wait.
    packets: usize,
}

#[derive(Debug, Default)]
struct Flow {
    number: u32,
    /// The tin that it belongs to while it is active.
    tin: usize,
    packets: Fifo<Stored>,
    codel: CoDel,
    /// Octets that it may still send in its turn.
    deficit: i64,
    /// Whether it is in one of its tin's two lists.
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
    /// With this number of tins, 1 or more.
    pub(crate) fn new(config: FqCoDelConfig, rules: Rules, tins: usize, perturbation: u64) -> Self {
        let mut new = Self {
            config,
            rules,
            places: vec![0; config.flows.max(1) as usize],
            flows: Vec::new(),
            tins: Vec::new(),
            size: (0, 0),
            memory: 0,
            largest: 0,
            perturbation,
        };
        new.add_tins(tins);
        new
    }

    /// Makes sure that there are this many tins.
    pub(crate) fn add_tins(&mut self, tins: usize) {
        while self.tins.len() < tins {
            self.tins.push(Tin::default());
            self.places.push(0);
        }
    }

    pub(super) const fn config(&self) -> FqCoDelConfig {
        self.config
    }

    pub(super) const fn set(&mut self, config: FqCoDelConfig) {
        self.config = config;
    }

    /// Packets and octets that wait.
    pub(crate) const fn size(&self) -> (usize, u64) {
        self.size
    }

    /// Whether a tin has packets.
    pub(crate) fn has_packets(&self, tin: usize) -> bool {
        self.tins.get(tin).is_some_and(|tin| tin.packets > 0)
    }

    /// Whether what waits takes more memory than it may.
    pub(crate) const fn is_over_memory(&self) -> bool {
        self.memory > self.config.memory_limit
    }

    /// A packet joins the queue of its flow.
    pub(crate) fn push(&mut self, tin: usize, waiting: Waiting, packet: &Packet) {
        let index = self.place_of(tin, packet);
        let flow = &mut self.flows[index];
        self.largest = self.largest.max(waiting.len);
        let memory = packet.buffer_octets() as u32;
        self.memory += u64::from(memory);
        self.size = (self.size.0 + 1, self.size.1 + u64::from(waiting.len));
        self.tins[tin].packets += 1;
        flow.packets.push(Stored { waiting, memory });
        if !flow.is_active {
            (flow.is_active, flow.tin) = (true, tin);
            // RFC 8290, section 4.1: a queue that becomes active goes to the end of the new ones, with
            // one quantum.
            flow.deficit = i64::from(self.config.quantum);
            self.tins[tin].new_flows.push_back(index as u32);
        }
    }

    /// The place of the flow queue of a packet.
    fn place_of(&mut self, tin: usize, packet: &Packet) -> usize {
        let hash = flow_hash(packet, self.perturbation);
        let shared = self.places.len() - self.tins.len();
        let mut number = ((u128::from(hash) * shared as u128) >> 64) as usize;
        let is_of_another = |flow: &Flow| flow.is_active && flow.tin != tin;
        if self.places[number].checked_sub(1).is_some_and(|place| is_of_another(&self.flows[place as usize]))
        {
            number = shared + tin;
        }
        if self.places[number] == 0 {
            self.flows.push(Flow { number: number as u32, ..Flow::default() });
            self.places[number] = self.flows.len() as u32;
        }
        self.places[number] as usize - 1
    }

    /// Drops packets from the head of the queue with the most octets.
    pub(crate) fn drop_from_longest(&mut self, mut dropped: impl FnMut(Waiting)) {
        let active = self.tins.iter().flat_map(|tin| tin.new_flows.iter().chain(&tin.old_flows));
        let longest = active.copied().max_by_key(|index| {
            let flow = &self.flows[*index as usize];
            (flow.packets.size().1, std::cmp::Reverse(flow.number))
        });
        let Some(longest) = longest else { return };
        let flow = &mut self.flows[longest as usize];
        let (in_all, (mut packets, mut octets)) = (flow.packets.size(), (0, 0));
        let is_half = |packets: usize, octets: u64| match self.rules {
            Rules::Discipline => octets >= in_all.1 / 2,
            Rules::Mac80211 => packets >= in_all.0 / 2,
        };
        while packets < self.rules.drop_batch() && (packets == 0 || !is_half(packets, octets)) {
            let Some(Stored { waiting, memory }) = flow.packets.pop() else { break };
            self.memory -= u64::from(memory);
            octets += u64::from(waiting.len);
            packets += 1;
            dropped(waiting);
        }
        self.size = (self.size.0 - packets, self.size.1 - octets);
        self.tins[flow.tin].packets -= packets;
        if self.rules == Rules::Discipline {
            flow.codel.record_dropped(packets as u32);
        }
    }

    /// The next packet of a tin to send; `dropped` receives those that are dropped before it.
    pub(crate) fn pop(
        &mut self,
        tin: usize,
        now: Instant,
        can_mark: impl Fn(PacketKey) -> bool,
        mut dropped: impl FnMut(Waiting),
    ) -> Option<Leaving> {
        let lists = self.tins.get_mut(tin)?;
        loop {
            let (turn, index) = match (lists.new_flows.front(), lists.old_flows.front()) {
                (Some(new), _) => (Turn::New, *new),
                (None, Some(old)) => (Turn::Old, *old),
                (None, None) => return None,
            };
            let flow = &mut self.flows[index as usize];
            // RFC 8290, section 4.2: a queue that has used up its quantum gets another one, and goes to
            // the end of the old ones.
            if flow.deficit <= 0 {
                flow.deficit += i64::from(self.config.quantum);
                lists.move_on(turn, Some(index));
                continue;
            }
            let mut source = FlowSource {
                packets: &mut flow.packets,
                rules: self.rules,
                size: &mut self.size,
                of_tin: &mut lists.packets,
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
            if turn == Turn::New && !lists.old_flows.is_empty() {
                lists.move_on(turn, Some(index));
            } else {
                flow.is_active = false;
                flow.packets.trim();
                lists.move_on(turn, None);
            }
        }
    }

    /// Takes out packets for which `is_gone`, in the order of their arrival.
    pub(crate) fn withdraw(&mut self, is_gone: impl Fn(PacketKey) -> bool) -> Vec<Waiting> {
        let mut gone = Vec::new();
        for flow in &mut self.flows {
            if flow.packets.is_empty() {
                continue;
            }
            let of_flow = flow.packets.withdraw(|stored| is_gone(stored.waiting.key));
            self.tins[flow.tin].packets -= of_flow.len();
            self.memory -= of_flow.iter().map(|stored| u64::from(stored.memory)).sum::<u64>();
            gone.extend(of_flow.into_iter().map(|stored| stored.waiting));
        }
        let octets: u64 = gone.iter().map(|waiting| u64::from(waiting.len)).sum();
        self.size = (self.size.0 - gone.len(), self.size.1 - octets);
        gone.sort_by_key(|waiting| waiting.since);
        gone
    }
}

impl Tin {
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
    rules: Rules,
    size: &'a mut (usize, u64),
    of_tin: &'a mut usize,
    memory: &'a mut u64,
    largest: u32,
    can_mark: &'a M,
    dropped: &'a mut D,
}

impl<M: Fn(PacketKey) -> bool, D: FnMut(Waiting)> Source for FlowSource<'_, M, D> {
    fn take(&mut self) -> Option<Waiting> {
        let Stored { waiting, memory } = self.packets.pop()?;
        *self.size = (self.size.0 - 1, self.size.1 - u64::from(waiting.len));
        *self.of_tin -= 1;
        *self.memory -= u64::from(memory);
        Some(waiting)
    }

    fn is_short(&self) -> bool {
        match self.rules {
            Rules::Discipline => self.size.1 <= u64::from(self.largest),
            Rules::Mac80211 => self.packets.is_empty(),
        }
    }

    fn discard(&mut self, waiting: Waiting) {
        (self.dropped)(waiting);
    }

    fn can_mark(&self, waiting: Waiting) -> bool {
        (self.can_mark)(waiting.key)
    }
}
