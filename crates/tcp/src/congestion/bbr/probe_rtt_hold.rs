//! How long the window is small to measure a round-trip time without queue: 200 ms and a round trip
//! (draft-ietf-ccwg-bbr, section 5.3.4.3).

use std::time::Duration;

use lasthop_packet::Instant;

use super::rounds::Rounds;

const DURATION: Duration = Duration::from_millis(200);

/// The period with a small window.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ProbeRttHold {
    /// When it ends; None until the network is drained.
    done_at: Option<Instant>,
    is_round_done: bool,
}

impl ProbeRttHold {
    /// Processes an ACK; `is_drained` if the octets in the network fit into the small window.
    /// Returns whether a round trip has passed, so that the period may have ended
    /// ([`Self::is_done`]).
    pub(super) fn on_ack(
        &mut self,
        is_drained: bool,
        rounds: &mut Rounds,
        delivered: u64,
        now: Instant,
    ) -> bool {
        if self.done_at.is_none() {
            if is_drained {
                (self.done_at, self.is_round_done) = (Some(now + DURATION), false);
                rounds.begin(delivered);
            }
            return false;
        }
        self.is_round_done |= rounds.is_start();
        self.is_round_done
    }

    /// Whether the 200 ms have passed.
    pub(super) fn is_done(&self, now: Instant) -> bool {
        self.done_at.is_some_and(|at| now > at)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::delivery;
    use super::*;

    #[test]
    fn it_begins_when_the_network_is_drained_and_lasts_200_ms_and_a_round_trip() {
        let (mut hold, mut rounds) = (ProbeRttHold::default(), Rounds::default());
        let at = Instant::from_millis;
        assert!(!hold.on_ack(false, &mut rounds, 1000, at(0)));
        assert!(!hold.on_ack(true, &mut rounds, 2000, at(100)));
        rounds.on_ack(Some(&delivery(1999, 3000)), 3000);
        assert!(!hold.on_ack(true, &mut rounds, 3000, at(400)) && hold.is_done(at(400)));
        rounds.on_ack(Some(&delivery(2000, 4000)), 4000);
        assert!(hold.on_ack(true, &mut rounds, 4000, at(401)));
        assert!(!hold.is_done(at(300)));
    }
}
