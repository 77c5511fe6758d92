//! What a link does to packets that it delivers: some arrive twice, and some with a wrong bit.

use lasthop_packet::Probability;

/// How often a link delivers something other than what was sent, in one direction. Each packet is
/// drawn for independently of everything else.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Faults {
    /// The probability that a packet arrives twice. The second copy follows at once, and takes no
    /// time of the link's.
    pub duplicate: Probability,
    /// The probability that a copy arrives with one bit wrong, somewhere behind its IP header.
    pub corrupt: Probability,
}

impl Faults {
    /// Each packet arrives once, as it was sent.
    pub const NONE: Self = Self { duplicate: Probability::ZERO, corrupt: Probability::ZERO };
}
