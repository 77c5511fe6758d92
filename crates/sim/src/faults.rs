//! What a link does to packets that it delivers: some arrive twice, and some with a wrong bit.

use std::collections::BTreeMap;

use lasthop_packet::{Probability, Rng};

use crate::id::At;

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

/// The faults of all links, by the interface that packets arrive at.
#[derive(Default)]
pub(crate) struct FaultyLinks {
    ends: BTreeMap<At, End>,
    /// Whether any link has faults.
    are_any: bool,
}

struct End {
    faults: Faults,
    rng: Rng,
}

/// What a packet arrives as.
#[derive(Clone, Copy)]
pub(crate) struct Drawn {
    pub(crate) first: Condition,
    /// The second copy, if there is one.
    pub(crate) second: Option<Condition>,
}

#[derive(Clone, Copy)]
pub(crate) enum Condition {
    Intact,
    /// With this bit wrong, modulo the number of bits that can be.
    Damaged(u64),
}

impl FaultyLinks {
    /// Packets that arrive here have these faults, drawn from a stream of the link's own.
    pub(crate) fn add(&mut self, at: At, faults: Faults, rng: Rng) {
        self.are_any |= faults != Faults::NONE;
        self.ends.insert(at, End { faults, rng });
    }

    /// Packets that arrive here have these faults from now on.
    pub(crate) fn set(&mut self, at: At, faults: Faults) {
        if let Some(end) = self.ends.get_mut(&at) {
            end.faults = faults;
        }
        self.are_any = self.ends.values().any(|end| end.faults != Faults::NONE);
    }

    /// Whether any link has faults.
    #[inline]
    pub(crate) const fn are_any(&self) -> bool {
        self.are_any
    }

    pub(crate) fn draw(&mut self, at: At) -> Drawn {
        let Some(End { faults, rng }) = self.ends.get_mut(&at) else {
            return Drawn { first: Condition::Intact, second: None };
        };
        let is_doubled = rng.happens(faults.duplicate);
        let mut condition = || {
            let is_damaged = rng.happens(faults.corrupt);
            if is_damaged { Condition::Damaged(rng.next_u64()) } else { Condition::Intact }
        };
        Drawn { first: condition(), second: is_doubled.then(condition) }
    }
}
