//! Whether losses go with long waiting, or befall all packets alike.
//!
//! A queue that overflows loses what comes while it is full, and nothing else. A hop that loses
//! frames does not look at how long they have waited. So packets that waited as long as any did are
//! counted apart from the others, and losses beside them likewise: where they are as frequent in the
//! one class as in the other, they are the hop's. As long as losses of a queue are told as the hop's
//! they are therefore no more than [`EXCESS`] - 1 times the hop's own.

use std::time::Duration;

use lasthop_packet::Instant;

/// How many times as frequent as elsewhere losses must be beside long waiting, to be congestion.
/// Chance makes them twice as frequent now and then.
const EXCESS: u128 = 3;
/// After this time what was counted counts half.
const HALF_LIFE: Duration = Duration::from_secs(10);

/// Packets and losses, by waiting. Constant state.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Losses {
    long: Class,
    short: Class,
    halved: Instant,
}

#[derive(Clone, Copy, Debug, Default)]
struct Class {
    packets: u32,
    losses: u32,
}

impl Losses {
    /// A packet came that waited as long as any, or did not, with a loss ahead of it or without one.
    pub(super) fn on_packet(&mut self, is_long: bool, is_loss: bool, now: Instant) {
        if now.since(self.halved) >= HALF_LIFE {
            self.halved = now;
            for class in [&mut self.long, &mut self.short] {
                class.packets /= 2;
                class.losses /= 2;
            }
        }
        let class = if is_long { &mut self.long } else { &mut self.short };
        class.packets = class.packets.saturating_add(1);
        class.losses = class.losses.saturating_add(u32::from(is_loss));
    }

    /// Whether losses go with long waiting.
    pub(super) fn are_of_waiting(&self) -> bool {
        let Self { long, short, .. } = self;
        u128::from(long.losses) * u128::from(short.packets)
            > EXCESS * u128::from(short.losses) * u128::from(long.packets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Instant = Instant::from_secs(1);

    /// What was counted after these packets and losses: of long waiting, and of short.
    fn counted(long: (u32, u32), short: (u32, u32)) -> Losses {
        let mut losses = Losses::default();
        for (is_long, (packets, lost)) in [(true, long), (false, short)] {
            for n in 0..packets {
                losses.on_packet(is_long, n < lost, NOW);
            }
        }
        losses
    }

    #[test]
    fn one_loss_beside_long_waiting_is_of_it_where_nothing_else_was_lost() {
        assert!(counted((100, 1), (1000, 0)).are_of_waiting());
    }

    #[test]
    fn losses_are_of_waiting_where_they_are_more_than_three_times_as_frequent() {
        assert!(!counted((100, 3), (1000, 10)).are_of_waiting());
        assert!(counted((100, 4), (1000, 10)).are_of_waiting());
    }

    #[test]
    fn what_was_long_ago_counts_for_less() {
        let mut losses = counted((1000, 0), (1000, 10));
        losses.on_packet(true, true, NOW + HALF_LIFE);
        assert_eq!((losses.short.losses, losses.long.packets), (5, 501));
    }
}
