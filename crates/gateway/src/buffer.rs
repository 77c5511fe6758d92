//! Memory for frames: used again once nobody holds the frame any more.
//!
//! A frame of any size up to a super-packet's has to be expected at each read, but an agent that
//! keeps a frame of 1500 octets must not keep 64 KB alive with it. So a read scatters into a small
//! piece and a large one, and what came is handed out in the smallest of a few sizes that holds it:
//! as it lies where it is small or large, copied in between.

use std::collections::VecDeque;
use std::io::{self, IoSliceMut};

use bytes::{Bytes, BytesMut};
pub(crate) use lasthop_packet::buffer::LARGEST;
use lasthop_packet::buffer::SIZES;

/// What is read first: an ordinary frame.
const SMALL: usize = 2048;
/// What is read behind it.
const LARGE: usize = 65_536;
/// Where `SIZES` has the small piece.
const SMALL_CLASS: usize = 1;
const _: () = assert!(SIZES[SMALL_CLASS] == SMALL && LARGEST == SMALL + LARGE);
/// Where it has the large one.
const LARGEST_CLASS: usize = SIZES.len() - 1;
/// How much memory each size remembers, for use again: more than agents hold of a few fast
/// connections, because a new large buffer costs as much as a copy of one.
const KEPT_OCTETS: usize = 4 << 20;
/// How many buffers it keeps at most: as many frames as are read from a port in a row.
pub(crate) const KEPT_BUFFERS: usize = 1024;

/// Buffers for frames.
#[derive(Debug)]
pub struct Buffers {
    classes: [Class; SIZES.len()],
    /// What the next read goes to.
    small: BytesMut,
    large: BytesMut,
}

impl Buffers {
    /// Buffers of which none is in use.
    pub fn new() -> Self {
        let mut classes = SIZES.map(Class::new);
        let (small, large) = (classes[SMALL_CLASS].take(), classes[LARGEST_CLASS].take());
        Self { classes, small, large }
    }

    /// Has `read` fill two pieces of memory, one behind the other; it returns how many octets it
    /// put there. Returns them as one.
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
    /// What was handed out, whole, oldest first but for those that were looked at since. Where ours
    /// is the only reference left, it can be used again.
    lent: VecDeque<Bytes>,
    /// How many of those are remembered.
    kept: usize,
}

/// How many of the oldest are looked at for one that is free.
const LOOKED_AT: usize = 4;

impl Class {
    fn new(size: usize) -> Self {
        let kept = (KEPT_OCTETS / size).min(KEPT_BUFFERS);
        Self { size, lent: VecDeque::with_capacity(kept), kept }
    }

    /// A buffer of this size with anything in it.
    fn take(&mut self) -> BytesMut {
        // Of frames that go on at once, the newest buffer is the one that the processor has at
        // hand.
        if let Some(newest) = self.lent.pop_back() {
            match newest.try_into_mut() {
                Ok(free) => return free,
                Err(held) => self.lent.push_back(held),
            }
        }
        // Of frames that agents hold, the oldest is the first that they let go of.
        for _ in 0..LOOKED_AT.min(self.lent.len()) {
            let Some(oldest) = self.lent.pop_front() else { break };
            match oldest.try_into_mut() {
                Ok(free) => return free,
                Err(held) => self.lent.push_back(held),
            }
        }
        // One octet is split off so that the buffer is a counted one from the start, which costs no
        // allocation at each loan.
        let mut new = BytesMut::zeroed(self.size + 1);
        drop(new.split_off(self.size));
        new
    }

    /// Hands out the first `len` octets of a buffer.
    fn lend(&mut self, buffer: BytesMut, len: usize) -> Bytes {
        let whole = buffer.freeze();
        let part = whole.slice(..len);
        if self.lent.len() >= self.kept {
            // Somebody keeps many. The oldest is theirs alone from now on.
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
        let came = buffers.read_with(|[mut head, mut tail]| {
            let cut = octets.len().min(head.len());
            head[..cut].copy_from_slice(&octets[..cut]);
            tail[..octets.len() - cut].copy_from_slice(&octets[cut..]);
            Ok(octets.len())
        });
        came.expect("nothing fails")
    }

    #[test]
    fn octets_of_any_length_come_as_one_and_what_is_held_stays_as_it_is() {
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
    fn a_frame_that_is_kept_keeps_little_more_than_its_octets() {
        let mut buffers = Buffers::new();
        let mut kept = Vec::new();
        let allocated = allocation_counter::measure(|| {
            kept.extend((0..2000).map(|_| buffers.read_with(|_| Ok(1514)).expect("nothing fails")));
        });
        let payload = 2000 * 1514;
        assert!(allocated.bytes_current < 3 * payload / 2, "{}", allocated.bytes_current);
    }
}
