//! The memory that a packet's octets lie in: what keeping a packet really costs.
//!
//! A gateway reads frames into buffers of a few sizes, and a packet shares its frame's buffer.
//! Whoever keeps a packet of 60 octets keeps a buffer of 256 from being used again, so that is what
//! a budget has to count. In the simulator a packet counts as it would in a gateway: bounds are met
//! in the same places in every world.

/// Sizes of the buffers that frames lie in, in octets: for acknowledgments, for ordinary frames,
/// for small and large super-packets, and for anything that a read can return.
pub const SIZES: [usize; 5] = [256, 2048, 8192, 32_768, LARGEST];

/// The most octets that a frame may have: a super-packet with its link header.
pub const LARGEST: usize = 2048 + 65_536;

/// What an allocator and a reference count add to each buffer, in octets, rounded up.
const OVERHEAD: usize = 64;

/// Octets of memory that the buffer of a frame with so many octets takes.
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
