//! The counters, each with one name in results, metrics and documentation.

use std::fmt;

/// A counter. Each is a constant in the module that counts: a scheme may have its own counters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Counter {
    /// The name in results, such as `local_retransmits`.
    pub name: &'static str,
    /// The meaning, as a phrase.
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

/// The reason why an agent dropped a packet: worlds count it under this name.
pub type DropReason = &'static Counter;

/// Declares counters and a list of them all. The doc comment is the only statement of a counter's
/// meaning.
macro_rules! listed {
    ($(#[doc = $of_list:literal])+ $list:ident: $($(#[doc = $about:literal])+ $name:ident = $label:literal,)+) => {
        $($(#[doc = $about])+ pub static $name: Counter = Counter::new($label, concat!($($about),+));)+

        $(#[doc = $of_list])+
        pub static $list: &[&Counter] = &[$(&$name),+];
    };
}

listed! {
    /// The counters of most schemes: results have these even if they are zero.
    REPORTS:
    /// Segments that agents retransmitted from their caches.
    LOCAL_RETRANSMITS = "local_retransmits",
    /// Duplicate ACKs that agents withheld from senders.
    DUPLICATE_ACKS_SUPPRESSED = "duplicate_acks_suppressed",
    /// ACKs that agents sent on behalf of receivers.
    ACKS_GENERATED = "acks_generated",
    /// ACKs that agents withheld because an agent nearer to the sender generates them.
    ACKS_SUPPRESSED = "acks_suppressed",
    /// Octets lost for good that an agent had acknowledged on behalf of a receiver; 1 for a loss
    /// whose size the agent does not know.
    ACKNOWLEDGED_AND_LOST = "acknowledged_and_lost",
    /// Control messages that agents sent to TCP senders.
    CONTROL_MESSAGES = "control_messages",
    /// Times that agents dropped data that they had taken over, or the tail of a super-packet.
    DROPPED_HELD = "dropped_held",
    /// Octets of payload that these drops lost.
    DROPPED_HELD_OCTETS = "dropped_held_octets",
    /// Times that an agent left something untouched because a bound was reached.
    AT_BOUND = "at_bound",
    /// Agents whose deadlines stopped moving; they are called once a millisecond from then on.
    DEADLINES_STUCK = "deadlines_stuck",
}

/// A duplicate ACK that the sender must not see: the loss is repaired locally.
pub static DUPLICATE_ACK: Counter = Counter::new("dropped_duplicate_ack", "duplicate ACK suppressed");
/// There is no room for the packet.
pub static FULL: Counter = Counter::new("dropped_full", "no room in an agent");
/// An ACK for data whose delivery an agent nearer to the sender has reported or will report.
pub static ACKNOWLEDGED: Counter = Counter::new("dropped_acknowledged", "acknowledged by an agent");

/// The reasons to drop a packet that most schemes have.
pub static DROP_REASONS: &[DropReason] = &[&DUPLICATE_ACK, &FULL, &ACKNOWLEDGED];

/// Counts of arbitrary counters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally(Vec<(&'static Counter, u64)>);

impl Tally {
    /// A tally of zeros that includes these counters.
    pub fn with_counters(counters: &[&'static Counter]) -> Self {
        Self(counters.iter().map(|counter| (*counter, 0)).collect())
    }

    /// Counts. The first few comparisons find the counter, because there are only a handful.
    pub fn count(&mut self, counter: &'static Counter, amount: u64) {
        let is_it = |(known, _): &&mut (&'static Counter, u64)| {
            std::ptr::eq(*known, counter) || known.name == counter.name
        };
        match self.0.iter_mut().find(is_it) {
            Some((_, count)) => *count += amount,
            None => self.0.push((counter, amount)),
        }
    }

    /// The count of a counter.
    pub fn get(&self, counter: &Counter) -> u64 {
        self.0.iter().find(|(known, _)| known.name == counter.name).map_or(0, |(_, count)| *count)
    }

    /// All counters that were counted or given to [`Self::with_counters`], in that order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static Counter, u64)> {
        self.0.iter().copied()
    }

    /// The sum of all counts.
    pub fn sum(&self) -> u64 {
        self.0.iter().map(|(_, count)| count).sum()
    }

    /// Adds the counts of another tally.
    pub fn add(&mut self, other: &Self) {
        for (counter, count) in other.iter() {
            self.count(counter, count);
        }
    }
}

/// Declares a struct of counts, one field each, and a [`Counter`] for each. This is the only place
/// that states field, constant, name in results, and, as the field's doc comment, the meaning.
///
/// ```
/// lasthop_agent::counters! {
///     /// The counters of a door.
///     #[derive(Clone, Copy, Debug, Default)]
///     pub struct DoorCounters {
///         /// People who came in.
///         came: CAME = "came_in",
///         /// People who left.
///         left: LEFT = "left",
///     }
/// }
/// let door = DoorCounters { came: 3, left: 1 };
/// let counts: Vec<(&str, u64)> = door.iter().map(|(counter, count)| (counter.name, count)).collect();
/// assert_eq!(counts, [("came_in", 3), ("left", 1)]);
/// assert_eq!(LEFT.about, "People who left.");
/// ```
#[macro_export]
macro_rules! counters {
    ($(#[$meta:meta])* pub struct $name:ident {
        $($(#[doc = $about:literal])+ $field:ident: $counter:ident = $label:literal,)+
    }) => {
        $(#[$meta])*
        pub struct $name {
            $($(#[doc = $about])+ pub $field: u64,)+
        }

        $($(#[doc = $about])+ pub static $counter: $crate::Counter = $crate::Counter::new($label, concat!($($about),+));)+

        impl $name {
            /// The counters, in order.
            pub const COUNTERS: &'static [&'static $crate::Counter] = &[$(&$counter),+];

            /// Each counter with its count, in order.
            pub fn iter(&self) -> impl Iterator<Item = (&'static $crate::Counter, u64)> {
                [$((&$counter, self.$field)),+].into_iter()
            }

            /// The sum of all counts.
            pub const fn sum(&self) -> u64 {
                0 $(+ self.$field)+
            }

            /// The sum of both.
            #[must_use]
            pub const fn plus(self, other: Self) -> Self {
                Self { $($field: self.$field.saturating_add(other.$field)),+ }
            }

            /// The increase of each count; zero where it has decreased.
            #[must_use]
            pub const fn since(self, before: Self) -> Self {
                Self { $($field: self.$field.saturating_sub(before.$field)),+ }
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    static OWN: Counter = Counter::new("own", "Something that no other scheme does.");

    #[test]
    fn a_tally_has_its_initial_counters_and_all_that_were_counted() {
        let mut tally = Tally::with_counters(REPORTS);
        tally.count(&OWN, 2);
        tally.count(&AT_BOUND, 1);
        tally.count(&OWN, 3);
        assert_eq!(
            (tally.get(&OWN), tally.get(&AT_BOUND), tally.get(&ACKS_GENERATED), tally.sum()),
            (5, 1, 0, 6)
        );
        assert_eq!(tally.iter().count(), REPORTS.len() + 1);
        let mut both = Tally::default();
        both.add(&tally);
        both.add(&tally);
        assert_eq!(both.get(&OWN), 10);
    }

    #[test]
    fn no_name_is_used_twice() {
        let mut names: Vec<&str> = REPORTS.iter().chain(DROP_REASONS).map(|counter| counter.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), REPORTS.len() + DROP_REASONS.len());
    }
}
