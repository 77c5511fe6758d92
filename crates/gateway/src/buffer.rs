//! Buffers for frames, which are reused once no frame refers to them.
//!
//! Each read may return a frame of any size up to that of a super-packet, but an agent that keeps a
//! frame of 1500 octets must not keep 64 KB alive. So a read scatters into a small and a large
//! buffer, and the frame is returned in the smallest of a few sizes that holds it: in place if that
//! is the small or the large one, otherwise as a copy.

use std::collections::VecDeque;
use std::io::{self, IoSliceMut};

use bytes::{Bytes, BytesMut};
pub(crate) use lasthop_packet::buffer::LARGEST;
use lasthop_packet::buffer::SIZES;

/// The size of the small buffer, for an ordinary frame.
const SMALL: usize = 2048;
/// The number of further octets read into the large buffer.
const LARGE: usize = 65_536;
/// The index of the small buffer in `SIZES`.
const SMALL_CLASS: usize = 1;
const _: () = assert!(SIZES[SMALL_CLASS] == SMALL && LARGEST == SMALL + LARGE);
/// The index of the large buffer.
const LARGEST_CLASS: usize = SIZES.len() - 1;
/// The memory that each size keeps for reuse: more than agents hold for a few fast connections,
/// because the allocation of a large buffer costs as much as a copy.
const KEPT_OCTETS: usize = 4 << 20;
/// The maximum number of buffers that each size keeps: the number of frames read from a port in a
/// row.
pub(crate) const KEPT_BUFFERS: usize = 1024;

/// Buffers for frames.
#[derive(Debug)]
pub struct Buffers {
    classes: [Class; SIZES.len()],
    /// The buffers for the next read.
    small: BytesMut,
    large: BytesMut,
}

impl Buffers {
    /// Creates buffers.
    pub fn new() -> Self {
        let mut classes = SIZES.map(Class::new);
        let (small, large) = (classes[SMALL_CLASS].take(), classes[LARGEST_CLASS].take());
        Self { classes, small, large }
    }

    /// Has `read` fill two buffers, one after the other; it returns the number of octets read.
    /// Returns these octets as one buffer.
    pub fn read_with(
        &mut self,
        read: impl FnOnce([IoSliceMut<'_>; 2]) -> io::Result<usize>,
    ) -> io::Result<Bytes> {
        let pieces = [IoSliceMut::new(&mut self.small), IoSliceMut::new(&mut self.large[SMALL..])];
        let len = read(pieces)?.min(LARGEST);
        let class = SIZES.iter().position(|&size| len <= size).unwrap_or(LARGEST_CLASS);
        let (head, tail) = (len.min(SMALL), len.saturating_sub(SMALL));
        let octets = match class {
            SMALL_CLASS => {
                let next = self.classes[SMALL_CLASS].take();
                std::mem::replace(&mut self.small, next)
            }
            LARGEST_CLASS => {
                let next = self.classes[LARGEST_CLASS].take();
                self.large[..head].copy_from_slice(&self.small);
                std::mem::replace(&mut self.large, next)
            }
            _ => {
                let mut octets = self.classes[class].take();
                octets[..head].copy_from_slice(&self.small[..head]);
                octets[head..len].copy_from_slice(&self.large[SMALL..SMALL + tail]);
                octets
            }
        };
        Ok(self.classes[class].lend(octets, len))
    }
}

impl Default for Buffers {
    fn default() -> Self {
        Self::new()
    }
}

/// Buffers of one size.
#[derive(Debug)]
struct Class {
    size: usize,
    /// The complete buffers that were handed out, oldest first except for those checked since. A
    /// buffer can be reused if this is the only remaining reference.
    lent: VecDeque<Bytes>,
    /// The maximum length of `lent`.
    kept: usize,
}

/// The number of oldest buffers that are checked for a free one.
const OLDEST_CHECKED: usize = 4;

impl Class {
    fn new(size: usize) -> Self {
        let kept = (KEPT_OCTETS / size).min(KEPT_BUFFERS);
        Self { size, lent: VecDeque::with_capacity(kept), kept }
    }

    /// A buffer of this size with arbitrary content.
    fn take(&mut self) -> BytesMut {
        // If frames are forwarded at once, the newest buffer is free, and in the processor's cache.
        if let Some(newest) = self.lent.pop_back() {
            match newest.try_into_mut() {
                Ok(free) => return free,
                Err(held) => self.lent.push_back(held),
            }
        }
        // If agents hold frames, they release the oldest first.
        for _ in 0..OLDEST_CHECKED.min(self.lent.len()) {
            let Some(oldest) = self.lent.pop_front() else { break };
            match oldest.try_into_mut() {
                Ok(free) => return free,
                Err(held) => self.lent.push_back(held),
            }
        }
        // Splitting off one octet makes the buffer reference-counted from the start, so that
        // handing it out needs no allocation.
        let mut new = BytesMut::zeroed(self.size + 1);
        drop(new.split_off(self.size));
        new
    }

    /// Hands out the first `len` octets of a buffer.
    fn lend(&mut self, buffer: BytesMut, len: usize) -> Bytes {
        let whole = buffer.freeze();
        let part = whole.slice(..len);
        if self.lent.len() >= self.kept {
            // The oldest buffer is not tracked any more: it is freed with the last frame that
            // refers to it.
            self.lent.pop_front();
        }
        self.lent.push_back(whole);
        part
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counting_from(first: u8, len: usize) -> Vec<u8> {
        (0..len).map(|i| first.wrapping_add((i % 251) as u8)).collect()
    }

    fn read(buffers: &mut Buffers, octets: &[u8]) -> Bytes {
        let octets = buffers.read_with(|[mut head, mut tail]| {
            let cut = octets.len().min(head.len());
            head[..cut].copy_from_slice(&octets[..cut]);
            tail[..octets.len() - cut].copy_from_slice(&octets[cut..]);
            Ok(octets.len())
        });
        octets.expect("nothing fails")
    }

    #[test]
    fn frames_of_any_length_are_contiguous_and_unchanged_while_they_are_held() {
        let mut buffers = Buffers::new();
        let lengths = [0, 1, 66, 256, 257, 1514, 2048, 2049, 8192, 8193, 32_768, 32_769, 65_549, LARGEST];
        let held = lengths.map(|len| read(&mut buffers, &counting_from(7, len)));
        for len in lengths {
            read(&mut buffers, &counting_from(100, len));
        }
        for (octets, len) in held.iter().zip(lengths) {
            assert!(octets == &counting_from(7, len), "{len}");
        }
    }

    #[test]
    fn steady_traffic_allocates_nothing() {
        let mut buffers = Buffers::new();
        let mut round = || {
            for len in [66, 1514, 1514, 4000, 20_000, 65_000] {
                drop(buffers.read_with(|_| Ok(len)).expect("nothing fails"));
            }
        };
        (0..10).for_each(|_| round());
        let allocated = allocation_counter::measure(|| (0..1000).for_each(|_| round()));
        assert_eq!(allocated.count_total, 0);
    }

    #[test]
    fn a_held_frame_keeps_little_more_memory_than_its_octets() {
        let mut buffers = Buffers::new();
        let mut kept = Vec::new();
        let allocated = allocation_counter::measure(|| {
            kept.extend((0..2000).map(|_| buffers.read_with(|_| Ok(1514)).expect("nothing fails")));
        });
        let payload = 2000 * 1514;
        assert!(allocated.bytes_current < 3 * payload / 2, "{}", allocated.bytes_current);
    }
}
