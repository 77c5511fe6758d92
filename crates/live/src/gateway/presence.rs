//! Whether the packet loop takes traffic. A loop that gets too little processor time is worse than none: frames wait for it, connections alternate
//! between the loop and the kernel's own path, and packets are reordered. So the loop steps out, and steps in again after it has been on time for
//! a while; longer each time.

use std::time::Duration;

use lasthop_packet::Instant;

use crate::io::LONGEST_WAIT;

/// After an absence this long the heartbeat was stale and frames already bypassed the loop.
const MISSED: Duration = LONGEST_WAIT.saturating_mul(3);
/// How often the time is checked that the loop's thread had to wait for a processor.
const WINDOW: Duration = Duration::from_millis(100);
/// A thread that waits for this much of a window is starved. One that shares a processor with a few others of its priority waits less.
const STARVING: Duration = Duration::from_millis(80);
/// How long the loop has to be on time before it steps in again: the first time, and at most.
const SHORTEST_STAY: Duration = Duration::from_millis(100);
const LONGEST_STAY: Duration = Duration::from_secs(10);
/// After it was in for this many times its last stay outside, the stay is the shortest again.
const FORGIVEN_AFTER: u32 = 10;

/// Whether the loop is in or out. Reads no clock.
#[derive(Debug)]
pub(super) struct Presence {
    is_out: bool,
    /// When it stepped in; while it is out, since when it has been on time.
    since: Instant,
    stay: Duration,
    /// When the current window began, and how long the thread had waited for a processor in total by then.
    window: (Instant, Option<Duration>),
    steps_out: u64,
}

impl Presence {
    /// For a loop that starts now. `waited` is how long its thread has waited for a processor so far, if the kernel counts it.
    pub(super) fn new(now: Instant, waited: Option<Duration>) -> Self {
        Self { is_out: false, since: now, stay: SHORTEST_STAY, window: (now, waited), steps_out: 0 }
    }

    /// Called when a turn begins, `late` after it was due; `waited` is only called at the end of a window. Returns whether the loop is in.
    pub(super) fn is_in(
        &mut self,
        now: Instant,
        late: Duration,
        waited: impl FnOnce() -> Option<Duration>,
    ) -> bool {
        let mut is_late = late >= MISSED;
        let (began, before) = self.window;
        if now.since(began) >= WINDOW {
            let waited = waited();
            let of_window = waited.zip(before).map(|(now, before)| now.saturating_sub(before));
            // A window may have lasted longer: the share counts.
            let share = now.since(began).as_secs_f64() / WINDOW.as_secs_f64();
            is_late |= of_window.is_some_and(|waited| waited >= STARVING.mul_f64(share));
            self.window = (now, waited);
        }
        match (self.is_out, is_late) {
            (false, true) => self.step_out(now),
            (true, true) => self.since = now,
            (true, false) if now.since(self.since) >= self.stay => {
                self.is_out = false;
                self.since = now;
            }
            _ => {}
        }
        !self.is_out
    }

    fn step_out(&mut self, now: Instant) {
        let was_in_for_long = now.since(self.since) >= self.stay * FORGIVEN_AFTER;
        if self.steps_out > 0 {
            self.stay = if was_in_for_long { SHORTEST_STAY } else { (self.stay * 2).min(LONGEST_STAY) };
        }
        self.is_out = true;
        self.since = now;
        self.steps_out += 1;
    }

    /// Whether it is out, and how often it stepped out.
    pub(super) const fn report(&self) -> (bool, u64) {
        (self.is_out, self.steps_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TURN: Duration = Duration::from_millis(1);

    /// A loop that turns every millisecond, and waits for a processor for a part of each.
    struct Loop {
        presence: Presence,
        now: Instant,
        waited: Duration,
    }

    impl Loop {
        fn new() -> Self {
            let presence = Presence::new(Instant::ZERO, Some(Duration::ZERO));
            Self { presence, now: Instant::ZERO, waited: Duration::ZERO }
        }

        fn turn(&mut self, late: Duration, waited: Duration) -> bool {
            self.now = self.now + TURN + late;
            self.waited += waited;
            let waited = self.waited;
            self.presence.is_in(self.now, late, || Some(waited))
        }

        /// Until it is in again; how long that took.
        fn until_in(&mut self) -> Duration {
            let began = self.now;
            while !self.turn(Duration::ZERO, Duration::ZERO) {}
            self.now.since(began)
        }
    }

    #[test]
    fn a_missed_heartbeat_is_followed_by_a_stay_outside() {
        let mut one = Loop::new();
        assert!(one.turn(MISSED.saturating_sub(TURN), Duration::ZERO), "late, but not missed");
        assert!(!one.turn(MISSED, Duration::ZERO));
        assert_eq!(one.until_in(), SHORTEST_STAY);
        assert!((0..1000).all(|_| one.turn(Duration::ZERO, Duration::ZERO)));
    }

    #[test]
    fn who_comes_and_goes_stays_outside_for_longer_each_time_and_is_forgiven() {
        let mut one = Loop::new();
        let mut stays = Vec::new();
        for _ in 0..9 {
            assert!(!one.turn(MISSED, Duration::ZERO));
            stays.push(one.until_in().as_millis());
        }
        assert_eq!(stays, [100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
        for _ in 0..LONGEST_STAY.as_millis() as u64 * u64::from(FORGIVEN_AFTER) {
            assert!(one.turn(Duration::ZERO, Duration::ZERO));
        }
        assert!(!one.turn(MISSED, Duration::ZERO));
        assert_eq!(one.until_in(), SHORTEST_STAY);
    }

    #[test]
    fn a_loop_that_is_late_outside_stays_outside() {
        let mut one = Loop::new();
        assert!((0..100).all(|_| !one.turn(MISSED, Duration::ZERO)));
        assert_eq!(one.until_in(), SHORTEST_STAY);
        assert_eq!(one.presence.report(), (false, 1));
    }

    #[test]
    fn who_waits_for_a_processor_most_of_the_time_steps_out_although_no_heartbeat_is_missed() {
        let mut one = Loop::new();
        assert!((0..1000).all(|_| one.turn(Duration::ZERO, TURN.mul_f64(0.7))), "others have work, too");
        let starving = TURN.mul_f64(0.9);
        assert!((0..200).any(|_| !one.turn(Duration::ZERO, starving)));
        assert!((0..1000).all(|_| !one.turn(Duration::ZERO, starving)));
        one.until_in();
    }

    #[test]
    fn where_the_kernel_does_not_tell_heartbeats_alone_count() {
        let mut presence = Presence::new(Instant::ZERO, None);
        let mut now = Instant::ZERO;
        for _ in 0..1000 {
            now += TURN;
            assert!(presence.is_in(now, Duration::ZERO, || None));
        }
        assert!(!presence.is_in(now + MISSED, MISSED, || None));
    }
}
