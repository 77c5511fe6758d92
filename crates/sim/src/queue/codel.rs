//! CoDel's estimator and control loop (RFC 8289, section 5), for one queue.

use std::time::Duration;

use lasthop_packet::Instant;

use super::config::CoDelConfig;
use super::waiting::Waiting;

/// A queue that CoDel takes packets from.
pub(super) trait Source {
    /// Takes the packet at the head.
    fn take(&mut self) -> Option<Waiting>;

    /// Whether what still waits is no more than one packet of the largest size.
    fn is_short(&self) -> bool;

    /// A packet that was taken goes no further.
    fn discard(&mut self, waiting: Waiting);

    /// Whether a packet can be marked.
    fn can_mark(&self, waiting: Waiting) -> bool;
}

/// A packet that leaves a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Leaving {
    pub(crate) waiting: Waiting,
    pub(crate) is_marked: bool,
}

/// The state of one queue's control loop; names are the RFC's.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CoDel {
    /// When the delay will have been above the target for an interval.
    first_above_time: Option<Instant>,
    drop_next: Instant,
    /// Drops since the dropping state was entered.
    count: u32,
    /// The value that `count` began with.
    last_count: u32,
    is_dropping: bool,
}

/// If CoDel enters the dropping state again within this number of intervals, it continues at the
/// rate that it had.
const RECENT: u32 = 16;

impl CoDel {
    /// The next packet to send. Packets before it may be discarded.
    pub(super) fn dequeue(
        &mut self,
        config: &CoDelConfig,
        now: Instant,
        source: &mut impl Source,
    ) -> Option<Leaving> {
        let (mut waiting, mut is_late) = self.take(config, now, source)?;
        let mut is_marked = false;
        if self.is_dropping {
            self.is_dropping = is_late;
            //= RFC 8289, section 5.5: a large backlog might result in drop rates so high that the
            //= next drop should happen now, hence the "while" loop.
            while self.is_dropping && now >= self.drop_next {
                self.count = self.count.saturating_add(1);
                if config.ecn && source.can_mark(waiting) {
                    is_marked = true;
                    self.drop_next = self.control_law(config, self.drop_next);
                    break;
                }
                source.discard(waiting);
                (waiting, is_late) = self.take(config, now, source)?;
                if is_late {
                    self.drop_next = self.control_law(config, self.drop_next);
                } else {
                    self.is_dropping = false;
                }
            }
        } else if is_late {
            is_marked = config.ecn && source.can_mark(waiting);
            self.enter(config, now);
            if !is_marked {
                source.discard(waiting);
                (waiting, _) = self.take(config, now, source)?;
            }
        }
        Some(Leaving { waiting, is_marked })
    }

    /// Packets of this queue were dropped from outside: the control loop continues as if it had
    /// dropped them.
    pub(super) const fn record_dropped(&mut self, packets: u32) {
        self.count = self.count.saturating_add(packets);
    }

    /// The packet at the head, and whether it may be dropped: the delay has been above the target
    /// for an interval.
    fn take(
        &mut self,
        config: &CoDelConfig,
        now: Instant,
        source: &mut impl Source,
    ) -> Option<(Waiting, bool)> {
        let Some(waiting) = source.take() else {
            self.first_above_time = None;
            self.is_dropping = false;
            return None;
        };
        if now.since(waiting.since) < config.target || source.is_short() {
            self.first_above_time = None;
            return Some((waiting, false));
        }
        match self.first_above_time {
            None => {
                self.first_above_time = Some(now + config.interval);
                Some((waiting, false))
            }
            Some(first_above_time) => Some((waiting, now >= first_above_time)),
        }
    }

    /// Enters the dropping state.
    fn enter(&mut self, config: &CoDelConfig, now: Instant) {
        self.is_dropping = true;
        //= RFC 8289, section 5.5: if min went above TARGET close to when it last went below, assume
        //= that the drop rate that controlled the queue on the last cycle is a good starting point
        //= to control it now.
        let delta = self.count.wrapping_sub(self.last_count);
        let is_recent = now < self.drop_next + config.interval * RECENT;
        self.count = if delta > 1 && is_recent { delta } else { 1 };
        self.drop_next = self.control_law(config, now);
        self.last_count = self.count;
    }

    /// When the next packet is dropped, the last one having been due at `from`.
    fn control_law(&self, config: &CoDelConfig, from: Instant) -> Instant {
        // RFC 8289, section 3.3: in inverse proportion to the square root of the number of drops, so
        // that TCP's throughput falls linearly.
        let nanos = config.interval.as_nanos() as f64 / f64::from(self.count.max(1)).sqrt();
        from + Duration::from_nanos(nanos as u64)
    }
}
