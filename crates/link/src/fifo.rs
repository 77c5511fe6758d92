//! Packets that wait, first in, first out, and their octets.

use std::collections::VecDeque;

/// A packet that waits.
pub trait Length {
    /// Its octets.
    fn octets(&self) -> u32;
}

/// The number of packets for which [`Fifo::trim`] leaves the memory.
const KEPT: usize = 64;

/// Packets that wait, first in, first out.
#[derive(Debug)]
pub struct Fifo<T> {
    packets: VecDeque<T>,
    octets: u64,
}

impl<T> Default for Fifo<T> {
    fn default() -> Self {
        Self { packets: VecDeque::new(), octets: 0 }
    }
}

impl<T: Length> Fifo<T> {
    /// Packets and octets.
    #[inline]
    pub fn size(&self) -> (usize, u64) {
        (self.packets.len(), self.octets)
    }

    /// Whether no packet waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// The first packet.
    #[inline]
    pub fn first(&self) -> Option<&T> {
        self.packets.front()
    }

    /// Appends a packet.
    #[inline]
    pub fn push(&mut self, packet: T) {
        self.octets += u64::from(packet.octets());
        self.packets.push_back(packet);
    }

    /// Inserts a packet behind this number of others.
    pub fn insert(&mut self, behind: usize, packet: T) {
        self.octets += u64::from(packet.octets());
        self.packets.insert(behind, packet);
    }

    /// Removes the first packet.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        let packet = self.packets.pop_front()?;
        self.octets -= u64::from(packet.octets());
        Some(packet)
    }

    /// The packet behind this number of others.
    pub fn get(&self, behind: usize) -> Option<&T> {
        self.packets.get(behind)
    }

    /// Removes the packet behind this number of others.
    pub fn remove(&mut self, behind: usize) -> Option<T> {
        let packet = self.packets.remove(behind)?;
        self.octets -= u64::from(packet.octets());
        Some(packet)
    }

    /// Removes the last packet.
    pub fn pop_last(&mut self) -> Option<T> {
        let packet = self.packets.pop_back()?;
        self.octets -= u64::from(packet.octets());
        Some(packet)
    }

    /// Gives back the memory of an empty queue, unless it is little. A queue is one of many, and the next
    /// burst may go to another.
    pub fn trim(&mut self) {
        if self.packets.is_empty() && self.packets.capacity() > KEPT {
            self.packets = VecDeque::new();
        }
    }

    /// Packets and octets at the end that have to go until no more than `most` octets are left.
    #[inline]
    pub fn beyond(&self, most: u64) -> (usize, u64) {
        let (mut packets, mut octets) = (0, 0);
        while self.octets - octets > most {
            packets += 1;
            octets += u64::from(self.packets[self.packets.len() - packets].octets());
        }
        (packets, octets)
    }

    /// Removes some of the packets.
    #[cold]
    pub fn withdraw(&mut self, mut is_gone: impl FnMut(&T) -> bool) -> Vec<T> {
        let mut gone = Vec::new();
        for packet in std::mem::take(self).packets {
            if is_gone(&packet) {
                gone.push(packet);
            } else {
                self.push(packet);
            }
        }
        gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Packet(u32);

    impl Length for Packet {
        fn octets(&self) -> u32 {
            self.0
        }
    }

    #[test]
    fn an_empty_queue_that_is_trimmed_keeps_the_memory_of_a_few_packets() {
        for (packets, keeps) in [(KEPT / 2, true), (10_000, false)] {
            let mut fifo = Fifo::default();
            (0..packets).for_each(|_| fifo.push(Packet(1500)));
            let peak = fifo.packets.capacity();
            fifo.trim();
            assert_eq!(fifo.packets.capacity(), peak, "it is not empty");
            while fifo.pop().is_some() {}
            fifo.trim();
            assert_eq!(fifo.size(), (0, 0));
            assert_eq!(fifo.packets.capacity(), if keeps { peak } else { 0 });
        }
    }
}
