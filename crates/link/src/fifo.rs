//! Packets that wait, first in, first out, and their octets.

use std::collections::VecDeque;

/// A packet that waits.
pub trait Length {
    /// Its octets.
    fn octets(&self) -> u32;
}

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

    /// Removes the last packet.
    pub fn pop_last(&mut self) -> Option<T> {
        let packet = self.packets.pop_back()?;
        self.octets -= u64::from(packet.octets());
        Some(packet)
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
