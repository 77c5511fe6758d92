//! Whether the packet loop takes traffic. A loop that gets too little processor time is worse than
//! none: frames wait for it, connections alternate between the loop and the kernel's own path, and
//! packets are reordered. So the loop steps out, and steps in again after it has been on time for a
//! while; longer each time.

use std::time::Duration;

use lasthop_packet::Instant;

use super::processor::ProcessorTime;
use crate::io::LONGEST_WAIT;

/// After an absence this long the heartbeat was stale and frames already bypassed the loop.
pub(super) const MISSED: Duration = LONGEST_WAIT.saturating_mul(3);
/// How often the processor time of the loop's thread is looked at.
const WINDOW: Duration = Duration::from_millis(100);
/// Starved is a thread that waits for a processor for at least this share of a window,
const WAITS: f64 = 0.5;
/// and in all of it rests for less than this share. One whose work gets done rests, even if it
/// shares a processor with others of its priority and waits a few milliseconds each time.
const RESTS: f64 = 0.1;
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
    /// When the current window began, and the thread's processor time by then.
    window: (Instant, Option<ProcessorTime>),
    steps_out: u64,
    /// How late the loop was when it last stepped out or had to stay out; `None` if it was only starved.
    late_by: Option<Duration>,
}

impl Presence {
    /// For a loop that starts now. `time` is its thread's processor time so far, if the kernel
    /// counts it.
    pub(super) fn new(now: Instant, time: Option<ProcessorTime>) -> Self {
        Self {
            is_out: false,
            since: now,
            stay: SHORTEST_STAY,
            window: (now, time),
            steps_out: 0,
            late_by: None,
        }
    }

    /// Called when a turn begins, `late` after it was due; `time` is only called at the end of a
    /// window. Returns whether the loop is in.
    pub(super) fn is_in(
        &mut self,
        now: Instant,
        late: Duration,
        time: impl FnOnce() -> Option<ProcessorTime>,
    ) -> bool {
        let mut is_late = late >= MISSED;
        let (began, before) = self.window;
        let lasted = now.since(began);
        if lasted >= WINDOW {
            let time = time();
            is_late |= time.zip(before).is_some_and(|(time, before)| is_starved(time.since(before), lasted));
            self.window = (now, time);
        }
        if is_late {
            self.late_by = (late >= MISSED).then_some(late);
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

    /// How late it was when it last stepped out or had to stay out; `None` if it was only starved.
    pub(super) const fn late_by(&self) -> Option<Duration> {
        self.late_by
    }
}

fn is_starved(time: ProcessorTime, lasted: Duration) -> bool {
    let rested = lasted.saturating_sub(time.ran + time.waited);
    time.waited >= lasted.mul_f64(WAITS) && rested < lasted.mul_f64(RESTS)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TURN: Duration = Duration::from_millis(1);

    /// A loop that turns every millisecond.
    struct Loop {
        presence: Presence,
        now: Instant,
        time: ProcessorTime,
    }

    impl Loop {
        fn new() -> Self {
            let presence = Presence::new(Instant::ZERO, Some(ProcessorTime::default()));
            Self { presence, now: Instant::ZERO, time: ProcessorTime::default() }
        }

        /// A turn that begins late.
        fn turn(&mut self, late: Duration) -> bool {
            self.now = self.now + TURN + late;
            let time = self.time;
            self.presence.is_in(self.now, late, || Some(time))
        }

        /// A turn in which the thread waited and ran for shares of the time.
        fn share(&mut self, waited: f64, ran: f64) -> bool {
            self.time.waited += TURN.mul_f64(waited);
            self.time.ran += TURN.mul_f64(ran);
            self.turn(Duration::ZERO)
        }

        /// Until it is in again; how long that took.
        fn until_in(&mut self) -> Duration {
            let began = self.now;
            while !self.turn(Duration::ZERO) {}
            self.now.since(began)
        }
    }

    #[test]
    fn a_missed_heartbeat_is_followed_by_a_stay_outside() {
        let mut one = Loop::new();
        assert!(one.turn(MISSED.saturating_sub(TURN)), "late, but not missed");
        assert!(!one.turn(MISSED));
        assert_eq!(one.presence.late_by(), Some(MISSED));
        assert_eq!(one.until_in(), SHORTEST_STAY);
        assert!((0..1000).all(|_| one.turn(Duration::ZERO)));
    }

    #[test]
    fn who_comes_and_goes_stays_outside_for_longer_each_time_and_is_forgiven() {
        let mut one = Loop::new();
        let mut stays = Vec::new();
        for _ in 0..9 {
            assert!(!one.turn(MISSED));
            stays.push(one.until_in().as_millis());
        }
        assert_eq!(stays, [100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
        for _ in 0..LONGEST_STAY.as_millis() as u64 * u64::from(FORGIVEN_AFTER) {
            assert!(one.turn(Duration::ZERO));
        }
        assert!(!one.turn(MISSED));
        assert_eq!(one.until_in(), SHORTEST_STAY);
    }

    #[test]
    fn a_loop_that_is_late_outside_stays_outside() {
        let mut one = Loop::new();
        assert!((0..100).all(|_| !one.turn(MISSED)));
        assert_eq!(one.until_in(), SHORTEST_STAY);
        assert_eq!(one.presence.report(), (false, 1));
    }

    #[test]
    fn who_never_rests_and_mostly_waits_steps_out_although_no_heartbeat_is_missed() {
        let mut one = Loop::new();
        assert!((0..1000).all(|_| one.share(0.7, 0.1)), "it rests: its work gets done, if later");
        assert!((0..1000).all(|_| one.share(0.3, 0.7)), "it works most of the time");
        assert!(!one.turn(MISSED));
        one.until_in();
        assert!((0..200).any(|_| !one.share(0.7, 0.25)));
        assert!((0..1000).all(|_| !one.share(0.7, 0.25)));
        assert_eq!(one.presence.late_by(), None, "this time it was not late");
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
