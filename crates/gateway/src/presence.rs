//! Whether the packet loop takes traffic. A loop with too little processor time is worse than none:
//! frames wait for it, connections alternate between the loop and the kernel's own path, and
//! packets are reordered. A loop whose ports lose frames stops all connections. In these cases the
//! loop steps out, and steps in again after a time without faults, which grows with each
//! repetition.

use std::time::Duration;

use lasthop_linux::processor::ProcessorTime;
use lasthop_packet::Instant;

use crate::io::LONGEST_WAIT;

/// The absence after which the heartbeat is stale and frames bypass the loop.
pub(super) const MISSED: Duration = LONGEST_WAIT.saturating_mul(3);
/// The interval at which the processor time of the loop's thread is sampled.
const WINDOW: Duration = Duration::from_millis(100);
/// A thread is starved if in a window it waits for a processor for at least this share,
const MIN_WAITING: f64 = 0.5;
/// and sleeps for less than this share. A thread that keeps up with its work sleeps, even if it
/// shares a processor with others of its priority and waits a few milliseconds each time.
const MAX_SLEEPING: f64 = 0.1;
/// The time without faults before the loop steps in again: initial value and maximum.
const SHORTEST_STAY: Duration = Duration::from_millis(100);
const LONGEST_STAY: Duration = Duration::from_secs(10);
/// After the loop was in for this multiple of its last stay outside, the stay is the shortest
/// again.
const RESET_AFTER: u32 = 10;

/// The state of the loop, in or out. Reads no clock.
#[derive(Debug)]
pub(super) struct Presence {
    is_out: bool,
    /// Whether frames can bypass the loop. Otherwise they wait for it, however late it is.
    can_step_out: bool,
    /// While the loop is in, when it stepped in; while it is out, the time of the last fault.
    since: Instant,
    /// The time without faults before the loop steps in again.
    stay: Duration,
    /// The start of the current window, and the thread's processor time at that time.
    window: (Instant, Option<ProcessorTime>),
    steps_out: u64,
    /// The number of these that were because ports lost frames.
    by_ports: u64,
    /// When the loop last stepped out.
    out_since: Instant,
    /// The total time that the loop was out before that.
    was_out: Duration,
    why: Option<Why>,
}

/// Why the loop last stepped out or had to stay out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// It did not run for this time.
    Late(Duration),
    /// It waited for a processor most of the time.
    Starved,
    /// The ports lose frames.
    Ports,
}

impl Presence {
    /// Creates the state of a loop that starts now. `time` is its thread's processor time so far,
    /// if the kernel counts it.
    pub(super) fn new(now: Instant, time: Option<ProcessorTime>, can_step_out: bool) -> Self {
        Self {
            is_out: false,
            can_step_out,
            since: now,
            stay: SHORTEST_STAY,
            window: (now, time),
            steps_out: 0,
            by_ports: 0,
            out_since: now,
            was_out: Duration::ZERO,
            why: None,
        }
    }

    /// To be called at the start of each turn. `late` is the time since the turn was due, plus the
    /// time between the last heartbeat of the previous turn and its end. `ports_work` is true if no
    /// port loses frames. `time` is called only at the end of a window. Returns whether the loop is
    /// in.
    pub(super) fn is_in(
        &mut self,
        now: Instant,
        late: Duration,
        ports_work: bool,
        time: impl FnOnce() -> Option<ProcessorTime>,
    ) -> bool {
        let mut why = match (ports_work, late >= MISSED && self.can_step_out) {
            (false, _) => Some(Why::Ports),
            (true, true) => Some(Why::Late(late)),
            (true, false) => None,
        };
        let (began, before) = self.window;
        let lasted = now.since(began);
        if lasted >= WINDOW {
            let time = time();
            let is_starved =
                time.zip(before).is_some_and(|(time, before)| is_starved(time.since(before), lasted));
            why = why.or((is_starved && self.can_step_out).then_some(Why::Starved));
            self.window = (now, time);
        }
        self.why = why.or(self.why);
        match (self.is_out, why.is_some()) {
            (false, true) => {
                self.by_ports += u64::from(why == Some(Why::Ports));
                self.step_out(now);
            }
            (true, true) => self.since = now,
            (true, false) if now.since(self.since) >= self.stay => {
                self.is_out = false;
                self.since = now;
                self.was_out += now.since(self.out_since);
            }
            _ => {}
        }
        !self.is_out
    }

    fn step_out(&mut self, now: Instant) {
        let was_in_for_long = now.since(self.since) >= self.stay * RESET_AFTER;
        if self.steps_out > 0 {
            self.stay = if was_in_for_long { SHORTEST_STAY } else { (self.stay * 2).min(LONGEST_STAY) };
        }
        self.is_out = true;
        self.since = now;
        self.out_since = now;
        self.steps_out += 1;
    }

    /// Whether the loop is out, and how often it stepped out.
    pub(super) const fn report(&self) -> (bool, u64) {
        (self.is_out, self.steps_out)
    }

    /// How often the loop stepped out because ports lost frames.
    pub(super) const fn by_ports(&self) -> u64 {
        self.by_ports
    }

    /// The total time that the loop was out.
    pub(super) fn was_out(&self, now: Instant) -> Duration {
        let current = if self.is_out { now.since(self.out_since) } else { Duration::ZERO };
        self.was_out + current
    }

    /// Why the loop last stepped out or had to stay out; `None` if it never did.
    pub(super) const fn why(&self) -> Option<Why> {
        self.why
    }
}

fn is_starved(time: ProcessorTime, lasted: Duration) -> bool {
    let slept = lasted.saturating_sub(time.ran + time.waited);
    time.waited >= lasted.mul_f64(MIN_WAITING) && slept < lasted.mul_f64(MAX_SLEEPING)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TURN: Duration = Duration::from_millis(1);

    /// A loop with one turn per millisecond.
    struct Loop {
        presence: Presence,
        now: Instant,
        time: ProcessorTime,
    }

    impl Loop {
        fn new() -> Self {
            let presence = Presence::new(Instant::ZERO, Some(ProcessorTime::default()), true);
            Self { presence, now: Instant::ZERO, time: ProcessorTime::default() }
        }

        /// Runs a turn that begins late.
        fn turn(&mut self, late: Duration) -> bool {
            self.now = self.now + TURN + late;
            let time = self.time;
            self.presence.is_in(self.now, late, true, || Some(time))
        }

        /// Runs a turn in which the thread waited and ran for these shares of the time.
        fn share(&mut self, waited: f64, ran: f64) -> bool {
            self.time.waited += TURN.mul_f64(waited);
            self.time.ran += TURN.mul_f64(ran);
            self.turn(Duration::ZERO)
        }

        /// Runs turns until the loop is in again. Returns the time that this took.
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
        assert_eq!(one.presence.why(), Some(Why::Late(MISSED)));
        assert_eq!(one.until_in(), SHORTEST_STAY);
        assert!((0..1000).all(|_| one.turn(Duration::ZERO)));
    }

    #[test]
    fn stays_outside_double_up_to_a_maximum_and_reset_after_a_long_time_in() {
        let mut one = Loop::new();
        let mut stays = Vec::new();
        for _ in 0..9 {
            assert!(!one.turn(MISSED));
            stays.push(one.until_in().as_millis());
        }
        assert_eq!(stays, [100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
        for _ in 0..LONGEST_STAY.as_millis() as u64 * u64::from(RESET_AFTER) {
            assert!(one.turn(Duration::ZERO));
        }
        assert!(!one.turn(MISSED));
        assert_eq!(one.until_in(), SHORTEST_STAY);
    }

    #[test]
    fn a_loop_that_is_late_while_out_stays_out() {
        let mut one = Loop::new();
        assert!((0..100).all(|_| !one.turn(MISSED)));
        assert_eq!(one.until_in(), SHORTEST_STAY);
        assert_eq!(one.presence.report(), (false, 1));
    }

    #[test]
    fn a_starved_loop_steps_out_although_it_missed_no_heartbeat() {
        let mut one = Loop::new();
        assert!((0..1000).all(|_| one.share(0.7, 0.1)), "it rests: its work gets done, if later");
        assert!((0..1000).all(|_| one.share(0.3, 0.7)), "it works most of the time");
        assert!(!one.turn(MISSED));
        one.until_in();
        assert!((0..200).any(|_| !one.share(0.7, 0.25)));
        assert!((0..1000).all(|_| !one.share(0.7, 0.25)));
        assert_eq!(one.presence.why(), Some(Why::Starved), "this time it was not late");
        one.until_in();
    }

    #[test]
    fn a_loop_whose_ports_lose_frames_stays_out_for_a_time_after_they_work_again() {
        let mut presence = Presence::new(Instant::ZERO, None, true);
        let at = Instant::from_millis;
        assert!(!presence.is_in(at(10), Duration::ZERO, false, || None));
        assert_eq!(presence.why(), Some(Why::Ports));
        assert!(!presence.is_in(at(500), Duration::ZERO, false, || None));
        assert!(!presence.is_in(at(510), Duration::ZERO, true, || None));
        assert!(presence.is_in(at(600), Duration::ZERO, true, || None));
        assert_eq!(presence.was_out(at(1000)), Duration::from_millis(590));
        assert!(!presence.is_in(at(1000), Duration::ZERO, false, || None));
        assert_eq!(presence.was_out(at(1010)), Duration::from_millis(600));
    }

    #[test]
    fn a_loop_that_frames_cannot_bypass_steps_out_only_if_its_ports_lose_frames() {
        let mut one = Loop::new();
        one.presence.can_step_out = false;
        assert!(one.turn(10 * MISSED));
        assert!((0..1000).all(|_| one.share(0.7, 0.25)));
        assert_eq!(one.presence.report(), (false, 0));
        assert!(!one.presence.is_in(one.now, Duration::ZERO, false, || None));
    }

    #[test]
    fn without_processor_times_only_heartbeats_count() {
        let mut presence = Presence::new(Instant::ZERO, None, true);
        let mut now = Instant::ZERO;
        for _ in 0..1000 {
            now += TURN;
            assert!(presence.is_in(now, Duration::ZERO, true, || None));
        }
        assert!(!presence.is_in(now + MISSED, MISSED, true, || None));
    }
}
