//! Whether losses coincide with long waiting, or affect all packets alike.
//!
//! A queue that overflows loses only packets that arrive while it is full. A hop that loses frames
//! does so however long they have waited. So packets with the longest waiting times are counted
//! separately from the others, as are the losses next to them. If losses are as frequent in one
//! class as in the other, the hop causes them. Losses of a queue that are ascribed to the hop are
//! therefore never more than [`EXCESS`] - 1 times the hop's own.

use std::time::Duration;

use lasthop_packet::Instant;

/// How many times more frequent losses must be next to long waiting than elsewhere to count as
/// congestion. By chance they are sometimes twice as frequent.
const EXCESS: u128 = 3;
/// The counts are halved after this time.
const HALF_LIFE: Duration = Duration::from_secs(10);

/// Packets and losses, by waiting time. The state is constant.
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
    /// Records a packet: whether it waited as long as any, and whether a loss preceded it.
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

    /// Whether losses coincide with long waiting.
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

    /// The counts after these packets and losses, with long waiting and with short.
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
    fn one_loss_with_long_waiting_is_congestion_if_there_are_no_other_losses() {
        assert!(counted((100, 1), (1000, 0)).are_of_waiting());
    }

    #[test]
    fn losses_are_congestion_where_they_are_more_than_three_times_as_frequent() {
        assert!(!counted((100, 3), (1000, 10)).are_of_waiting());
        assert!(counted((100, 4), (1000, 10)).are_of_waiting());
    }

    #[test]
    fn old_counts_are_halved() {
        let mut losses = counted((1000, 0), (1000, 10));
        losses.on_packet(true, true, NOW + HALF_LIFE);
        assert_eq!((losses.short.losses, losses.long.packets), (5, 501));
    }
}
