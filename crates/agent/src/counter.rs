//! What is counted, each under one name wherever it is told: results, metrics, docs.

use std::fmt;

/// Something that is counted. A constant of whoever counts it: a scheme that does what no other does has its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Counter {
    /// Its name in results, such as `local_retransmits`.
    pub name: &'static str,
    /// What it counts, as a phrase with a full stop.
    pub about: &'static str,
}

impl Counter {
    /// A counter of this name.
    pub const fn new(name: &'static str, about: &'static str) -> Self {
        Self { name, about: about.trim_ascii() }
    }
}

impl fmt::Debug for Counter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Why an agent dropped the packet in hand: worlds count it under this name.
pub type DropReason = &'static Counter;

/// Segments that an agent sent again from its own cache; the detail is what made it do so.
pub static LOCAL_RETRANSMITS: Counter =
    Counter::new("local_retransmits", "Segments that agents sent again from their caches.");
/// Duplicate ACKs that an agent kept from the sender.
pub static DUPLICATE_ACKS_SUPPRESSED: Counter =
    Counter::new("duplicate_acks_suppressed", "Duplicate ACKs that agents kept from senders.");
/// ACKs that an agent sent in a receiver's name.
pub static ACKS_GENERATED: Counter =
    Counter::new("acks_generated", "ACKs that agents sent in receivers' names.");
/// ACKs that an agent kept back because one nearer to the sender makes them.
pub static ACKS_SUPPRESSED: Counter = Counter::new(
    "acks_suppressed",
    "ACKs that agents kept back because an agent nearer to the sender makes them.",
);
/// Data that an agent acknowledged in a receiver's name, that has not arrived, and that nobody has any more.
pub static ACKNOWLEDGED_AND_LOST: Counter = Counter::new(
    "acknowledged_and_lost",
    "Times that data was lost for good that an agent had acknowledged in a receiver's name.",
);
/// Control messages to TCP senders; the detail is the message's name.
pub static CONTROL_MESSAGES: Counter =
    Counter::new("control_messages", "Control messages that agents sent to TCP senders.");
/// Data that was dropped and was not the packet in hand, or only a part of it: the tail of a super-packet, or what had waited.
pub static DROPPED_HELD: Counter = Counter::new(
    "dropped_held",
    "Times that agents dropped data that they had taken over, or a super-packet's tail.",
);
/// Octets of payload of those.
pub static DROPPED_HELD_OCTETS: Counter =
    Counter::new("dropped_held_octets", "Octets of payload that were dropped so.");
/// Something passed untouched because a table or cache was full; the detail is which.
pub static AT_BOUND: Counter =
    Counter::new("at_bound", "Times that something passed an agent untouched because a bound was reached.");

/// A duplicate ACK that the sender must not see: the loss is repaired locally.
pub static DUPLICATE_ACK: Counter = Counter::new("dropped_duplicate_ack", "duplicate ACK suppressed");
/// There is no room for it.
pub static FULL: Counter = Counter::new("dropped_full", "no room in an agent");
/// An ACK of what the sender knows already from an agent nearer to it, or will.
pub static ACKNOWLEDGED: Counter = Counter::new("dropped_acknowledged", "acknowledged by an agent");

/// What most schemes do: results have these whether or not anything was counted.
pub static REPORTS: [&Counter; 9] = [
    &LOCAL_RETRANSMITS,
    &DUPLICATE_ACKS_SUPPRESSED,
    &ACKS_GENERATED,
    &ACKS_SUPPRESSED,
    &ACKNOWLEDGED_AND_LOST,
    &CONTROL_MESSAGES,
    &DROPPED_HELD,
    &DROPPED_HELD_OCTETS,
    &AT_BOUND,
];

/// The reasons to drop a packet that most schemes have.
pub static DROP_REASONS: [DropReason; 3] = [&DUPLICATE_ACK, &FULL, &ACKNOWLEDGED];

/// Counts by counter, of any kinds that come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally(Vec<(&'static Counter, u64)>);

impl Tally {
    /// Nothing counted yet; these are told even so.
    pub fn of_any(counters: &[&'static Counter]) -> Self {
        Self(counters.iter().map(|counter| (*counter, 0)).collect())
    }

    /// Counts. There are a handful of counters: the first few comparisons find one.
    pub fn count(&mut self, counter: &'static Counter, amount: u64) {
        let is_it = |(known, _): &&mut (&'static Counter, u64)| {
            std::ptr::eq(*known, counter) || known.name == counter.name
        };
        match self.0.iter_mut().find(is_it) {
            Some((_, count)) => *count += amount,
            None => self.0.push((counter, amount)),
        }
    }

    /// How much was counted.
    pub fn of(&self, counter: &Counter) -> u64 {
        self.0.iter().find(|(known, _)| known.name == counter.name).map_or(0, |(_, count)| *count)
    }

    /// Every counter that came or was told to be there, in that order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static Counter, u64)> {
        self.0.iter().copied()
    }

    /// All counts together.
    pub fn sum(&self) -> u64 {
        self.0.iter().map(|(_, count)| count).sum()
    }

    /// Adds what another has counted.
    pub fn add(&mut self, other: &Self) {
        for (counter, count) in other.iter() {
            self.count(counter, count);
        }
    }
}

/// A struct of counts that are always there, one field each, and a [`Counter`] for each: the one place that says field, constant, name in
/// results, and, as the field's doc comment, what is counted.
///
/// ```
/// lasthop_agent::counters! {
///     /// What a door counts.
///     #[derive(Clone, Copy, Debug, Default)]
///     pub struct DoorCounters {
///         /// People who came in.
///         came: CAME = "came_in",
///         /// People who left.
///         left: LEFT = "left",
///     }
/// }
/// let door = DoorCounters { came: 3, left: 1 };
/// let told: Vec<(&str, u64)> = door.iter().map(|(counter, count)| (counter.name, count)).collect();
/// assert_eq!(told, [("came_in", 3), ("left", 1)]);
/// assert_eq!(LEFT.about, "People who left.");
/// ```
#[macro_export]
macro_rules! counters {
    ($(#[$meta:meta])* pub struct $name:ident {
        $($(#[doc = $about:literal])+ $field:ident: $counter:ident = $told:literal,)+
    }) => {
        $(#[$meta])*
        pub struct $name {
            $($(#[doc = $about])+ pub $field: u64,)+
        }

        $($(#[doc = $about])+ pub static $counter: $crate::Counter = $crate::Counter::new($told, concat!($($about),+));)+

        impl $name {
            /// The counters, in order.
            pub const COUNTERS: &'static [&'static $crate::Counter] = &[$(&$counter),+];

            /// Each counter with its count, in order.
            pub fn iter(&self) -> impl Iterator<Item = (&'static $crate::Counter, u64)> {
                [$((&$counter, self.$field)),+].into_iter()
            }

            /// All counts together.
            pub const fn sum(&self) -> u64 {
                0 $(+ self.$field)+
            }

            /// The counts of both.
            #[must_use]
            pub const fn plus(self, other: Self) -> Self {
                Self { $($field: self.$field + other.$field),+ }
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    static OWN: Counter = Counter::new("own", "Something that no other scheme does.");

    #[test]
    fn a_tally_takes_what_comes_and_tells_what_it_was_told_of() {
        let mut tally = Tally::of_any(&REPORTS);
        tally.count(&OWN, 2);
        tally.count(&AT_BOUND, 1);
        tally.count(&OWN, 3);
        assert_eq!(
            (tally.of(&OWN), tally.of(&AT_BOUND), tally.of(&ACKS_GENERATED), tally.sum()),
            (5, 1, 0, 6)
        );
        assert_eq!(tally.iter().count(), REPORTS.len() + 1);
        let mut both = Tally::default();
        both.add(&tally);
        both.add(&tally);
        assert_eq!(both.of(&OWN), 10);
    }

    #[test]
    fn no_name_is_used_twice() {
        let mut names: Vec<&str> = REPORTS.iter().chain(&DROP_REASONS).map(|counter| counter.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), REPORTS.len() + DROP_REASONS.len());
    }
}
