//! The memory of a packet's octets: the real cost of a stored packet.
//!
//! A gateway reads frames into buffers of a few sizes, and a packet shares its frame's buffer. A
//! stored packet of 60 octets keeps a buffer of 256 from being used again, so a budget has to count
//! the buffer. In the simulator a packet counts as in a gateway, so that bounds are reached in the
//! same places.

/// Sizes of the buffers for frames, in octets: for acknowledgments, for ordinary frames, for small
/// and large super-packets, and for the largest possible read.
pub const SIZES: [usize; 5] = [256, 2048, 8192, 32_768, LARGEST];

/// Maximum octets of a frame: a super-packet with its link header.
pub const LARGEST: usize = 2048 + 65_536;

/// The overhead of an allocator and a reference count for each buffer, in octets, rounded up.
const OVERHEAD: usize = 64;

/// Octets of memory of the buffer for a frame of `octets` octets.
pub const fn buffer_of(octets: usize) -> usize {
    let mut class = 0;
    while class < SIZES.len() {
        if octets <= SIZES[class] {
            return SIZES[class] + OVERHEAD;
        }
        class += 1;
    }
    octets + OVERHEAD
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_takes_the_smallest_buffer_that_holds_it() {
        let taken =
            [0, 256, 257, 2048, 2049, LARGEST, LARGEST + 1].map(|octets| buffer_of(octets) - OVERHEAD);
        assert_eq!(taken, [256, 256, 2048, 2048, 8192, LARGEST, LARGEST + 1]);
    }
}
