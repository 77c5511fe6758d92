//! Self-clocked fair queueing (S. J. Golestani, "A Self-Clocked Fair Queueing Scheme for Broadband
//! Applications", INFOCOM 1994), each flow with the same weight.
//!
//! A packet's tag is the virtual time at which it is sent: its octets after the tag of the packet
//! before it in its flow, or after the present virtual time if that is later. The packet with the
//! lowest tag is next, of equal ones the one that came first; virtual time is the tag of the packet
//! that was taken last. What two flows send while both have packets here differs by no more than the
//! longest packet of each, however long their queues are.
//!
//! The last tag of a flow that has no packet here is not above virtual time: nothing is kept of such a
//! flow. With start-time fair queueing (Goyal, Vin and Cheng 1996) something would have to be, and
//! flows of one packet each, if there are always new ones, would hold up a flow that waits.

use std::cmp::Reverse;

use ahash::RandomState;
use hashbrown::HashMap;

use crate::fifo::{Fifo, Length};
use crate::tournament::Tournament;

#[cfg(test)]
mod tests;

/// A fair queue.
#[derive(Debug)]
pub struct FairQueue<T> {
    virtual_time: u64,
    /// The number of packets pushed so far.
    arrivals: u64,
    /// The number of each flow that has packets here.
    numbers: HashMap<u64, u32, RandomState>,
    flows: Vec<Flow<T>>,
    /// Numbers that are not in use.
    vacant: Vec<u32>,
    /// Packets and octets of all flows.
    size: (usize, u64),
    /// Flows by the tags and arrivals of their first packets.
    next: Tournament<Reverse<(u64, u64)>>,
    /// Flows by their octets.
    longest: Tournament<u64>,
}

#[derive(Debug)]
struct Flow<T> {
    id: u64,
    packets: Fifo<Entry<T>>,
    /// The virtual time from which the octets of its first packet count: together they are its tag.
    begins: u64,
}

#[derive(Debug)]
struct Entry<T> {
    item: T,
    arrival: u64,
}

impl<T: Length> Length for Entry<T> {
    fn octets(&self) -> u32 {
        self.item.octets()
    }
}

impl<T> Default for FairQueue<T> {
    fn default() -> Self {
        Self {
            virtual_time: 0,
            arrivals: 0,
            numbers: HashMap::with_hasher(RandomState::new()),
            flows: Vec::new(),
            vacant: Vec::new(),
            size: (0, 0),
            next: Tournament::default(),
            longest: Tournament::default(),
        }
    }
}

impl<T: Length> FairQueue<T> {
    /// Packets and octets that wait.
    pub const fn size(&self) -> (usize, u64) {
        self.size
    }

    /// How many flows have state.
    #[cfg(test)]
    pub fn flows(&self) -> usize {
        self.numbers.len()
    }

    /// Appends a packet to its flow.
    pub fn push(&mut self, id: u64, item: T) {
        let number = match self.numbers.get(&id) {
            Some(number) => *number,
            None => self.add_flow(id),
        };
        self.size = (self.size.0 + 1, self.size.1 + u64::from(item.octets()));
        self.flows[number as usize].packets.push(Entry { item, arrival: self.arrivals });
        self.arrivals += 1;
        self.rank(number);
    }

    /// Removes the packet whose turn it is.
    pub fn pop(&mut self) -> Option<T> {
        let number = self.next.winner()?;
        let flow = &mut self.flows[number as usize];
        let entry = flow.packets.pop()?;
        flow.begins += u64::from(entry.octets());
        // A flow whose first packet was withdrawn may be behind virtual time, which never goes back.
        self.virtual_time = self.virtual_time.max(flow.begins);
        Some(self.leave(number, entry))
    }

    /// Packets and octets that [`Self::displace`] would remove for a packet of `octets` of a flow: by the
    /// next call, or by all calls until it removes no more (`in_all`).
    pub fn displaceable(&self, id: u64, octets: u32, in_all: bool) -> (usize, u64) {
        let most = self.octets_of(id) + u64::from(octets);
        if in_all {
            let of_flows = self.flows.iter().map(|flow| flow.packets.beyond(most));
            return of_flows.fold((0, 0), |sum, more| (sum.0 + more.0, sum.1 + more.1));
        }
        let longest = self.longest.winner().map(|number| &self.flows[number as usize].packets);
        longest.map_or((0, 0), |it| it.beyond(most.max(it.size().1.saturating_sub(1))))
    }

    /// Makes room for a packet of `octets` of a flow: removes the last packet of the flow with the most
    /// octets, unless this flow would have the most.
    pub fn displace(&mut self, id: u64, octets: u32) -> Option<T> {
        let own = self.octets_of(id);
        let number = self.longest.winner()?;
        let packets = &mut self.flows[number as usize].packets;
        if packets.size().1 <= own + u64::from(octets) {
            return None;
        }
        let entry = packets.pop_last()?;
        Some(self.leave(number, entry))
    }

    /// Removes some of the packets, in the order of their turns.
    #[cold]
    pub fn withdraw(&mut self, is_gone: impl Fn(&T) -> bool) -> Vec<T> {
        let mut gone = Vec::new();
        for number in 0..self.flows.len() {
            let flow = &mut self.flows[number];
            if flow.packets.is_empty() {
                continue;
            }
            let mut tag = flow.begins;
            let mut tags = Vec::new();
            let withdrawn = flow.packets.withdraw(|entry| {
                tag += u64::from(entry.octets());
                let is_gone = is_gone(&entry.item);
                tags.extend(is_gone.then_some(tag));
                is_gone
            });
            gone.extend(tags.into_iter().zip(withdrawn));
            self.rank(number as u32);
        }
        self.size.0 -= gone.len();
        self.size.1 -= gone.iter().map(|(_, entry)| u64::from(entry.octets())).sum::<u64>();
        gone.sort_by_key(|(tag, entry)| (*tag, entry.arrival));
        gone.into_iter().map(|(_, entry)| entry.item).collect()
    }

    fn octets_of(&self, id: u64) -> u64 {
        self.numbers.get(&id).map_or(0, |number| self.flows[*number as usize].packets.size().1)
    }

    fn add_flow(&mut self, id: u64) -> u32 {
        let number = self.vacant.pop().unwrap_or_else(|| {
            self.flows.push(Flow { id, packets: Fifo::default(), begins: 0 });
            (self.flows.len() - 1) as u32
        });
        let flow = &mut self.flows[number as usize];
        (flow.id, flow.begins) = (id, self.virtual_time);
        self.numbers.insert(id, number);
        number
    }

    /// A flow's packet has left.
    fn leave(&mut self, number: u32, entry: Entry<T>) -> T {
        self.size = (self.size.0 - 1, self.size.1 - u64::from(entry.octets()));
        self.rank(number);
        entry.item
    }

    /// Updates the order after a flow's packets have changed; removes a flow that has none.
    fn rank(&mut self, number: u32) {
        let Flow { id, packets, begins } = &mut self.flows[number as usize];
        let turn = packets.first().map(|first| Reverse((*begins + u64::from(first.octets()), first.arrival)));
        self.next.set(number, turn);
        self.longest.set(number, turn.map(|_| packets.size().1));
        if packets.is_empty() {
            packets.trim();
            self.numbers.remove(id);
            self.vacant.push(number);
        }
    }
}
