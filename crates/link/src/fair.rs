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

use crate::pool::{Length, List, Pool};
use crate::tournament::Tournament;

#[cfg(test)]
mod tests;

/// Packets of flows that take turns.
#[derive(Debug)]
pub struct FairQueue<T> {
    virtual_time: u64,
    /// How many packets have come.
    arrivals: u64,
    /// The number of each flow that has a packet here.
    numbers: HashMap<u64, u32, RandomState>,
    flows: Vec<Flow>,
    /// Numbers that no flow has.
    vacant: Vec<u32>,
    pool: Pool<Entry<T>>,
    /// Flows by the tags and arrivals of their first packets.
    next: Tournament<Reverse<(u64, u64)>>,
    /// Flows by their octets.
    longest: Tournament<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Flow {
    id: u64,
    list: List,
    /// The virtual time from which the octets of its first packet count: together they are its tag.
    begins: u64,
}

#[derive(Clone, Copy, Debug)]
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
            pool: Pool::default(),
            next: Tournament::default(),
            longest: Tournament::default(),
        }
    }
}

impl<T: Length> FairQueue<T> {
    /// Packets and octets that wait.
    pub const fn size(&self) -> (usize, u64) {
        self.pool.size()
    }

    /// How many flows have state.
    #[cfg(test)]
    pub fn flows(&self) -> usize {
        self.numbers.len()
    }

    /// A packet of a flow joins those that wait.
    pub fn push(&mut self, id: u64, item: T) {
        let number = match self.numbers.get(&id) {
            Some(number) => *number,
            None => self.add_flow(id),
        };
        self.pool.push(&mut self.flows[number as usize].list, Entry { item, arrival: self.arrivals });
        self.arrivals += 1;
        self.rank(number);
    }

    /// Takes the packet whose turn it is.
    pub fn pop(&mut self) -> Option<T> {
        let number = self.next.winner()?;
        let flow = &mut self.flows[number as usize];
        let entry = self.pool.pop(&mut flow.list)?;
        flow.begins += u64::from(entry.octets());
        // A flow whose first packet was withdrawn may be behind virtual time, which never goes back.
        self.virtual_time = self.virtual_time.max(flow.begins);
        self.rank(number);
        Some(entry.item)
    }

    /// Packets and octets that [`Self::displace`] takes for a packet of `octets` of a flow: with the next
    /// call, or `in_all`.
    pub fn displaceable(&self, id: u64, octets: u32, in_all: bool) -> (usize, u64) {
        let most = self.octets_of(id) + u64::from(octets);
        if in_all {
            let of_flows = self.flows.iter().map(|flow| self.pool.beyond(&flow.list, most));
            return of_flows.fold((0, 0), |sum, more| (sum.0 + more.0, sum.1 + more.1));
        }
        let longest = self.longest.winner().map(|number| &self.flows[number as usize].list);
        longest.map_or((0, 0), |list| self.pool.beyond(list, most.max(list.octets().saturating_sub(1))))
    }

    /// Makes room for a packet of `octets` of a flow: takes the last packet of the flow with most
    /// octets, unless that flow would be this one.
    pub fn displace(&mut self, id: u64, octets: u32) -> Option<T> {
        let own = self.octets_of(id);
        let number = self.longest.winner()?;
        let list = &mut self.flows[number as usize].list;
        if list.octets() <= own + u64::from(octets) {
            return None;
        }
        let entry = self.pool.pop_last(list)?;
        self.rank(number);
        Some(entry.item)
    }

    /// Takes out some packets, in the order of their turns.
    #[cold]
    pub fn withdraw(&mut self, is_gone: impl Fn(&T) -> bool) -> Vec<T> {
        let mut gone = Vec::new();
        for number in 0..self.flows.len() {
            let flow = &mut self.flows[number];
            let entries: Vec<_> = std::iter::from_fn(|| self.pool.pop(&mut flow.list)).collect();
            if entries.is_empty() {
                continue;
            }
            let mut tag = flow.begins;
            for entry in entries {
                tag += u64::from(entry.octets());
                if is_gone(&entry.item) {
                    gone.push((tag, entry));
                } else {
                    self.pool.push(&mut flow.list, entry);
                }
            }
            self.rank(number as u32);
        }
        gone.sort_by_key(|(tag, entry)| (*tag, entry.arrival));
        gone.into_iter().map(|(_, entry)| entry.item).collect()
    }

    fn octets_of(&self, id: u64) -> u64 {
        self.numbers.get(&id).map_or(0, |number| self.flows[*number as usize].list.octets())
    }

    fn add_flow(&mut self, id: u64) -> u32 {
        let flow = Flow { id, list: List::default(), begins: self.virtual_time };
        let number = if let Some(number) = self.vacant.pop() {
            self.flows[number as usize] = flow;
            number
        } else {
            self.flows.push(flow);
            (self.flows.len() - 1) as u32
        };
        self.numbers.insert(id, number);
        number
    }

    /// A flow's packets have changed. One that has none is forgotten.
    fn rank(&mut self, number: u32) {
        let Flow { id, list, begins } = &self.flows[number as usize];
        let turn = self.pool.first(list).map(|first| (begins + u64::from(first.octets()), first.arrival));
        self.next.set(number, turn.map(Reverse));
        self.longest.set(number, (!list.is_empty()).then_some(list.octets()));
        if list.is_empty() {
            self.numbers.remove(id);
            self.vacant.push(number);
        }
    }
}
