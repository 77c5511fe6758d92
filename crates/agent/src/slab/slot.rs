//! Slots.

use std::num::NonZeroU32;

/// A flow's slot in a [`Slab`](super::Slab). A flow keeps its slot until it is removed; then
/// another flow may get it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
// One more than its index, so that an `Option` of it takes 4 octets.
pub struct Slot(NonZeroU32);

impl Slot {
    /// The index in the array.
    pub(crate) const fn index(self) -> usize {
        self.0.get() as usize - 1
    }

    pub(crate) const fn at(index: usize) -> Self {
        Self(NonZeroU32::MIN.saturating_add(index as u32))
    }
}
