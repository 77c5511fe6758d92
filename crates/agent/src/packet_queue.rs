//! Packets of one flow in order of arrival, with their cost in memory.

use std::collections::VecDeque;

use lasthop_packet::{Packet, Sizes};

/// A queue of packets, first in, first out. While it is empty it takes no memory.
#[derive(Debug, Default)]
pub struct PacketQueue {
    packets: VecDeque<Packet>,
    octets: usize,
    buffers: usize,
}

impl PacketQueue {
    /// An empty queue.
    pub const fn new() -> Self {
        Self { packets: VecDeque::new(), octets: 0, buffers: 0 }
    }

    /// The number of packets.
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    /// Whether there is no packet.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Octets of all packets, headers included.
    pub const fn octets(&self) -> usize {
        self.octets
    }

    /// Octets of allocated memory.
    pub fn allocated(&self) -> usize {
        self.packets.capacity() * size_of::<Packet>() + self.buffers
    }

    /// Additional octets of memory once a packet of this size is in the queue.
    pub fn cost_of(&self, sizes: Sizes) -> usize {
        let is_full = self.packets.len() == self.packets.capacity();
        let growth = if is_full { self.packets.capacity().max(FIRST) * size_of::<Packet>() } else { 0 };
        growth + sizes.buffer
    }

    /// Appends a packet of these sizes.
    #[inline]
    pub fn push_back(&mut self, packet: Packet, sizes: Sizes) {
        self.add(sizes);
        self.packets.push_back(packet);
    }

    /// The packet that has waited longest.
    pub fn front(&self) -> Option<&Packet> {
        self.packets.front()
    }

    /// Removes the packet that has waited longest.
    #[inline]
    pub fn pop_front(&mut self) -> Option<Packet> {
        self.take_off(self.packets.front()?.sizes());
        if self.packets.len() == 1 {
            return std::mem::take(&mut self.packets).pop_front();
        }
        self.packets.pop_front()
    }

    /// Lets `cut` remove a part of the packet that has waited longest.
    pub fn cut_front<R>(&mut self, cut: impl FnOnce(&mut Packet) -> R) -> Option<R> {
        let packet = self.packets.front_mut()?;
        let before = packet.sizes();
        let result = cut(packet);
        let after = packet.sizes();
        self.add(after);
        self.take_off(before);
        Some(result)
    }

    const fn add(&mut self, sizes: Sizes) {
        self.octets += sizes.octets;
        self.buffers += sizes.buffer;
    }

    const fn take_off(&mut self, sizes: Sizes) {
        self.octets -= sizes.octets;
        self.buffers -= sizes.buffer;
    }

    /// All packets in order.
    pub fn iter(&self) -> impl Iterator<Item = &Packet> {
        self.packets.iter()
    }
}

/// The capacity of a deque after its first element.
pub(crate) const FIRST: usize = 4;

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use lasthop_packet::{Ip, Payload, Tcp};

    use super::*;

    fn segment(len: usize) -> Packet {
        let host = Ipv4Addr::LOCALHOST.into();
        Packet::tcp_segment(Ip::new(host, host), Tcp::default(), Payload::Bytes(vec![0; len].into()))
    }

    #[test]
    fn the_stated_cost_is_no_less_than_the_allocation() {
        let mut queue = PacketQueue::new();
        let mut stated = 0;
        let allocated = allocation_counter::measure(|| {
            for len in (0..100).map(|n| 40 * n) {
                let packet = segment(len);
                let sizes = packet.sizes();
                stated += queue.cost_of(sizes);
                queue.push_back(packet, sizes);
                assert_eq!(stated, queue.allocated());
            }
        });
        assert!(allocated.bytes_current as usize <= queue.allocated(), "{allocated:?} {}", queue.allocated());
        assert_eq!(queue.octets(), queue.iter().map(Packet::len).sum::<usize>());
        while queue.pop_front().is_some() {}
        assert_eq!((queue.octets(), queue.allocated()), (0, 0));
    }
}
