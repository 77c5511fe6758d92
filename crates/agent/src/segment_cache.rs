//! TCP segments of one flow, by sequence number, within a bound.

use std::collections::VecDeque;

use lasthop_packet::{Packet, Seq, Sizes};

use crate::packet_queue::FIRST;

/// Segments in sequence order with notes of type `N` on each; at most `capacity` of them.
///
/// The order is relative to the lowest sequence number in the cache, and so survives the wrap, as
/// long as the cache spans less than 2^31 octets: TCP's own rule for a window.
#[derive(Debug)]
pub struct SegmentCache<N> {
    segments: VecDeque<Cached<N>>,
    capacity: usize,
    octets: usize,
    buffers: usize,
}

/// A segment in the cache.
#[derive(Debug)]
pub struct Cached<N> {
    /// The segment.
    pub packet: Packet,
    /// Its first sequence number.
    pub seq: Seq,
    /// The sequence number after its last.
    pub end: Seq,
    /// The scheme's data about it.
    pub notes: N,
}

impl<N> SegmentCache<N> {
    /// An empty cache for at most `capacity` segments.
    pub const fn new(capacity: usize) -> Self {
        Self { segments: VecDeque::new(), capacity, octets: 0, buffers: 0 }
    }

    /// The number of segments.
    pub fn len(&self) -> usize {
        self.segments.len()
    }

    /// Whether there is no segment.
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// Whether no more segments fit.
    pub fn is_full(&self) -> bool {
        self.segments.len() >= self.capacity
    }

    /// Octets of all packets in the cache.
    pub const fn octets(&self) -> usize {
        self.octets
    }

    /// Octets of allocated memory.
    pub fn allocated(&self) -> usize {
        self.segments.capacity() * size_of::<Cached<N>>() + self.buffers
    }

    /// Maximum of the additional octets of memory once a packet of this size is in the cache.
    pub fn cost_of(&self, sizes: Sizes) -> usize {
        let is_full = self.segments.len() == self.segments.capacity();
        let growth = if is_full { self.segments.capacity().max(FIRST) * size_of::<Cached<N>>() } else { 0 };
        growth + sizes.buffer
    }

    /// The segment with the lowest sequence number.
    pub fn first(&self) -> Option<&Cached<N>> {
        self.segments.front()
    }

    /// The segment with the lowest sequence number.
    pub fn first_mut(&mut self) -> Option<&mut Cached<N>> {
        self.segments.front_mut()
    }

    /// The segment with the highest sequence number.
    pub fn last(&self) -> Option<&Cached<N>> {
        self.segments.back()
    }

    /// The segment that starts at `seq`.
    pub fn find_mut(&mut self, seq: Seq) -> Option<&mut Cached<N>> {
        let at = self.position(seq);
        self.segments.get_mut(at).filter(|cached| cached.seq == seq)
    }

    /// The segment that contains `seq`. If segments overlap, the one that starts last.
    pub fn covering(&self, seq: Seq) -> Option<&Cached<N>> {
        let at = self.segments.partition_point(|cached| !cached.seq.after(seq));
        let cached = self.segments.get(at.checked_sub(1)?)?;
        cached.end.after(seq).then_some(cached)
    }

    /// The number of segments that start at or after `seq`.
    pub fn count_from(&self, seq: Seq) -> usize {
        self.segments.len() - self.position(seq)
    }

    /// All segments in sequence order.
    pub fn iter(&self) -> impl Iterator<Item = &Cached<N>> {
        self.segments.iter()
    }

    /// All segments in sequence order.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Cached<N>> {
        self.segments.iter_mut()
    }

    /// Inserts a copy of a TCP segment of these sizes; it replaces one that starts at the same
    /// number. Returns `false` if there is no room, or if the packet is no TCP segment that
    /// occupies sequence space.
    pub fn insert(&mut self, packet: &Packet, sizes: Sizes, notes: N) -> bool {
        let Some(seq) = packet.tcp().map(|tcp| tcp.seq) else { return false };
        let length = packet.segment_len();
        if length == 0 {
            return false;
        }
        let (at, is_full) = (self.position(seq), self.is_full());
        let same = self.segments.get_mut(at).filter(|same| same.seq == seq);
        if is_full && same.is_none() {
            return false;
        }
        // The copy is made inside the entry: a packet is large, and moving it is costly.
        let mut cached = Cached { packet: packet.clone(), seq, end: seq + length, notes };
        let added = if cached.packet.compact() { cached.packet.sizes() } else { sizes };
        if let Some(same) = same {
            let removed = std::mem::replace(same, cached).packet.sizes();
            self.forget(removed);
        } else if at == self.segments.len() {
            // Much faster, and the usual place.
            self.segments.push_back(cached);
        } else {
            self.segments.insert(at, cached);
        }
        self.octets += added.octets;
        self.buffers += added.buffer;
        true
    }

    /// Removes the segments that end at or before `ack`, and returns them in sequence order.
    pub fn remove_acknowledged(&mut self, ack: Seq) -> impl Iterator<Item = Cached<N>> + '_ {
        std::iter::from_fn(move || {
            let Some(first) = self.segments.front() else {
                self.shrink();
                return None;
            };
            if first.end.after(ack) {
                return None;
            }
            let removed = first.packet.sizes();
            self.forget(removed);
            self.segments.pop_front()
        })
    }

    /// The same for a caller that does not need the segments: none is moved out first.
    pub fn forget_acknowledged(&mut self, ack: Seq) {
        let gone = self.segments.iter().take_while(|cached| !cached.end.after(ack));
        let (mut count, mut octets, mut buffers) = (0, 0, 0);
        for sizes in gone.map(|cached| cached.packet.sizes()) {
            (count, octets, buffers) = (count + 1, octets + sizes.octets, buffers + sizes.buffer);
        }
        self.forget(Sizes { octets, buffer: buffers });
        if count == self.segments.len() {
            self.shrink();
        } else {
            self.segments.drain(..count);
        }
    }

    /// Removes all segments.
    pub fn clear(&mut self) {
        (self.octets, self.buffers) = (0, 0);
        self.shrink();
    }

    fn forget(&mut self, removed: Sizes) {
        self.octets -= removed.octets;
        self.buffers -= removed.buffer;
    }

    /// Frees the memory of an empty cache. An idle flow should cost little, and memory that another
    /// flow has just freed is in the processor's cache, where this flow's own memory would no
    /// longer be.
    fn shrink(&mut self) {
        self.segments = VecDeque::new();
    }

    /// The index of the first segment that does not come before `seq`. The end is checked first,
    /// because new data belongs there.
    fn position(&self, seq: Seq) -> usize {
        match self.segments.back() {
            None => 0,
            Some(last) if last.seq.before(seq) => self.segments.len(),
            _ => self.segments.partition_point(|cached| cached.seq.before(seq)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use lasthop_packet::{Ip, Payload, Tcp};

    use super::*;

    fn segment(seq: Seq, len: u32) -> Packet {
        let host = Ipv4Addr::LOCALHOST.into();
        let tcp = Tcp { seq, ..Tcp::default() };
        Packet::tcp_segment(Ip::new(host, host), tcp, Payload::Stream { stream: 1, offset: 0, len })
    }

    fn insert(cache: &mut SegmentCache<()>, packet: &Packet) -> bool {
        cache.insert(packet, packet.sizes(), ())
    }

    fn seqs(cache: &SegmentCache<()>) -> Vec<u32> {
        cache.iter().map(|cached| cached.seq.0).collect()
    }

    #[test]
    fn segments_stay_in_order_across_the_wrap() {
        let mut cache = SegmentCache::new(10);
        let start = Seq(u32::MAX - 150);
        for step in [0, 200, 100] {
            assert!(insert(&mut cache, &segment(start + step, 100)));
        }
        assert_eq!(seqs(&cache), [start.0, (start + 100).0, (start + 200).0]);
        assert_eq!(cache.remove_acknowledged(start + 200).count(), 2);
        assert_eq!(seqs(&cache), [49]);
    }

    #[test]
    fn the_bound_holds_and_octets_are_counted() {
        let mut cache = SegmentCache::new(2);
        assert!(insert(&mut cache, &segment(Seq(0), 100)) && insert(&mut cache, &segment(Seq(100), 100)));
        assert!(!insert(&mut cache, &segment(Seq(200), 100)));
        assert!(insert(&mut cache, &segment(Seq(100), 60)), "a segment replaces its namesake");
        assert_eq!(cache.octets(), 140 + 100);
        cache.forget_acknowledged(Seq(160));
        assert_eq!((cache.len(), cache.octets()), (0, 0));
    }

    #[test]
    fn the_stated_cost_is_no_less_than_the_allocation() {
        let mut cache = SegmentCache::new(1000);
        let host = Ipv4Addr::LOCALHOST.into();
        let allocated = allocation_counter::measure(|| {
            let mut seq = Seq(0);
            for len in (1..100).map(|n| 30 * n) {
                let tcp = Tcp { seq, ..Tcp::default() };
                let payload = Payload::Bytes(vec![0; len as usize].into());
                let packet = Packet::tcp_segment(Ip::new(host, host), tcp, payload);
                let before = cache.allocated();
                let cost = cache.cost_of(packet.sizes());
                assert!(insert(&mut cache, &packet));
                assert_eq!(cache.allocated(), before + cost);
                seq += len;
            }
        });
        assert!(allocated.bytes_current as usize <= cache.allocated(), "{allocated:?} {}", cache.allocated());
        cache.clear();
        assert_eq!(cache.allocated(), 0);
    }

    #[test]
    fn segments_are_counted_from_a_number_across_the_wrap() {
        let mut cache = SegmentCache::new(4);
        let start = Seq(u32::MAX - 149);
        assert!(insert(&mut cache, &segment(start, 100)) && insert(&mut cache, &segment(start + 200, 100)));
        assert_eq!([0, 1, 200, 201].map(|offset| cache.count_from(start + offset)), [2, 1, 1, 0]);
    }

    #[test]
    fn a_segment_is_found_by_any_octet_of_it() {
        let mut cache = SegmentCache::new(4);
        let start = Seq(u32::MAX - 149);
        assert!(insert(&mut cache, &segment(start, 100)) && insert(&mut cache, &segment(start + 200, 100)));
        let found = |offset: u32| cache.covering(start + offset).map(|cached| cached.seq - start);
        assert_eq!(
            [0, 99, 100, 199, 200, 299, 300].map(found),
            [Some(0), Some(0), None, None, Some(200), Some(200), None]
        );
        assert!(cache.covering(Seq(start.0 - 1)).is_none());
    }

    #[test]
    fn an_empty_cache_holds_no_memory() {
        let mut cache = SegmentCache::new(1000);
        for number in 0..100 {
            assert!(insert(&mut cache, &segment(Seq(number * 100), 100)));
        }
        cache.forget_acknowledged(Seq(10_000));
        assert_eq!(cache.segments.capacity(), 0);
    }

    #[test]
    fn a_segment_that_is_acknowledged_in_part_stays() {
        let mut cache = SegmentCache::new(2);
        assert!(insert(&mut cache, &segment(Seq(0), 100)));
        assert_eq!(cache.remove_acknowledged(Seq(99)).count(), 0);
        assert!(cache.find_mut(Seq(0)).is_some() && cache.find_mut(Seq(1)).is_none());
    }
}
