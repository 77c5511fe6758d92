//! A simulated bottleneck for tests of a path model: a queue, a rate, a round-trip time, and an ACK
//! for each segment.

use std::collections::{BTreeSet, VecDeque};
use std::ops::ControlFlow::Continue;
use std::time::Duration;

use lasthop_packet::{Instant, Seq};

use super::dice::Dice;
use super::rate::octets_in;
use crate::congestion::{AckSample, CongestionControl, PathModel, PathSample, Stage};
use crate::flight::Flight;
use crate::retransmission_queue::{RateSample, RetransmissionQueue};

pub(super) const MSS: u32 = 1000;

pub(super) struct Pipe<M> {
    pub model: M,
    pub flight: Flight,
    pub queue: RetransmissionQueue,
    pub now: Instant,
    pub stage: Stage,
    /// Rate of the bottleneck, in octets per second.
    pub rate: u64,
    pub rtt: Duration,
    /// Limit of the queue, in octets.
    pub buffer: u64,
    /// Random loss, in segments of 1000.
    pub loss: u64,
    /// Policer before the bottleneck: octets per second, and the depth of its bucket.
    pub policer: Option<(u64, u64)>,
    /// Segments that the application has not sent yet.
    pub data: u64,
    pub dropped: u64,
    tokens: u64,
    filled_at: Instant,
    dice: Dice,
    is_busy_until: Instant,
    next_send: Instant,
    wire: VecDeque<(Instant, Seq)>,
    /// Segments received above a gap, as distances from the start.
    held: BTreeSet<u32>,
    recovery_end: Seq,
}

/// A delivery, of data sent when `prior` octets were delivered; now `delivered` octets are.
pub(super) const fn delivery(prior: u64, delivered: u64) -> RateSample {
    RateSample {
        delivered: delivered - prior,
        prior_delivered: prior,
        interval: Duration::from_millis(50),
        is_application_limited: false,
        in_network: 0,
        lost: 0,
    }
}

impl<M: CongestionControl + PathModel + Default> Pipe<M> {
    /// 1 MB/s and 50 ms: 50 segments fill it.
    pub(super) fn new() -> Self {
        let una = Seq(1);
        let cwnd = 10 * MSS;
        let flight =
            Flight { una, nxt: una, max: una, peer_window: 1 << 30, mss: MSS, cwnd, ssthresh: 1 << 30 };
        let (mut queue, mut model) = (RetransmissionQueue::default(), M::default());
        queue.record_in_network();
        model.begin(&flight, Some(Duration::from_millis(50)), true);
        Self {
            model,
            flight,
            queue,
            now: Instant::from_secs(1),
            stage: Stage::Open,
            rate: 1_000_000,
            rtt: Duration::from_millis(50),
            buffer: 1 << 30,
            loss: 0,
            policer: None,
            data: u64::MAX,
            dropped: 0,
            tokens: 0,
            filled_at: Instant::ZERO,
            dice: Dice::new(Seq(99)),
            is_busy_until: Instant::ZERO,
            next_send: Instant::ZERO,
            wire: VecDeque::new(),
            held: BTreeSet::new(),
            recovery_end: una,
        }
    }

    /// Runs for this time.
    pub(super) fn run(&mut self, time: Duration) {
        let end = self.now + time;
        self.run_while(end, |_| true);
        self.now = end;
    }

    /// Runs until this holds after an ACK, for at most a minute.
    pub(super) fn run_until(&mut self, mut holds: impl FnMut(&Self) -> bool) {
        self.run_while(self.now + Duration::from_secs(60), |pipe| !holds(pipe));
    }

    fn run_while(&mut self, end: Instant, mut holds: impl FnMut(&Self) -> bool) {
        loop {
            while self.next_send <= self.now && self.send() {}
            let departure = self.can_send().then_some(self.next_send);
            let next = [self.wire.front().map(|(at, _)| *at), departure].into_iter().flatten().min();
            let Some(next) = next.filter(|next| *next <= end) else { return };
            self.now = self.now.max(next);
            if self.wire.front().is_some_and(|(at, _)| *at <= self.now) {
                self.acknowledge();
                if !holds(self) {
                    return;
                }
            }
        }
    }

    /// The application writes this number of segments.
    pub(super) fn write(&mut self, segments: u64) {
        self.check_application_limit();
        self.data += segments;
    }

    /// Divides the rate of the bottleneck by this factor, for queued segments too.
    pub(super) fn slow_down(&mut self, times: u32) {
        self.rate /= u64::from(times);
        let now = self.now;
        let later = |at: Instant| now + at.since(now) * times;
        self.is_busy_until = later(self.is_busy_until);
        self.wire.iter_mut().for_each(|(at, _)| *at = later(*at));
    }

    /// Octets queued at the bottleneck.
    pub(super) fn backlog(&self) -> u64 {
        octets_in(self.rate, self.is_busy_until.since(self.now))
    }

    fn can_send(&self) -> bool {
        let has_data = self.data > 0 || self.queue.next_lost(MSS).is_some();
        has_data && self.queue.in_network() + MSS <= self.flight.cwnd
    }

    fn send(&mut self) -> bool {
        if !self.can_send() {
            return false;
        }
        if self.queue.in_network() == 0 && self.queue.is_application_limited() {
            self.model.on_restart(self.now, self.queue.delivered(), &mut self.flight);
        }
        let seq = self.queue.next_lost(MSS).map_or(self.flight.max, |(seq, _)| seq);
        if seq == self.flight.max {
            self.data = if self.data == u64::MAX { self.data } else { self.data - 1 };
            self.flight.max += MSS;
            self.flight.nxt = self.flight.max;
        }
        self.queue.on_sent(seq, seq + MSS, self.now);
        let pacing = self.model.pacing().expect("a model has a rate").rate;
        self.next_send =
            self.next_send.max(self.now) + Duration::from_nanos(u64::from(MSS) * 1_000_000_000 / pacing);
        self.carry(seq);
        true
    }

    fn carry(&mut self, seq: Seq) {
        let is_lost = self.dice.below(1000) < self.loss || !self.passes_policer();
        if is_lost || self.backlog() > self.buffer {
            self.dropped += 1;
            return;
        }
        let duration = Duration::from_nanos(u64::from(MSS) * 1_000_000_000 / self.rate);
        self.is_busy_until = self.is_busy_until.max(self.now) + duration;
        self.wire.push_back((self.is_busy_until + self.rtt, seq));
    }

    fn passes_policer(&mut self) -> bool {
        let Some((rate, depth)) = self.policer else { return true };
        let since = self.now.since(self.filled_at);
        self.tokens = (self.tokens + octets_in(rate, since)).min(depth);
        self.filled_at = self.now;
        let has_tokens = self.tokens >= u64::from(MSS);
        self.tokens -= if has_tokens { u64::from(MSS) } else { 0 };
        has_tokens
    }

    fn check_application_limit(&mut self) {
        if self.data == 0 && self.queue.in_network() < self.flight.cwnd {
            self.queue.record_application_limited();
        }
    }

    fn acknowledge(&mut self) {
        let Some((_, seq)) = self.wire.pop_front() else { return };
        self.check_application_limit();
        let (in_network_before, lost_before) = (self.queue.in_network(), self.queue.lost_in_all());
        let outstanding = self.flight.outstanding();
        self.queue.begin_ack(None);
        if seq.before(self.flight.una) {
            return;
        }
        self.held.insert(seq - Seq(1));
        while self.held.remove(&(self.flight.una - Seq(1))) {
            self.flight.una += MSS;
        }
        if seq.after(self.flight.una) {
            self.queue.on_sack(self.flight.una, &[(seq, seq + MSS)], self.now);
        }
        self.queue.on_cumulative_ack(self.flight.una, self.now);
        self.detect_losses(lost_before);
        let delivery = self.queue.delivery();
        let rtt = delivery.last_sent.map(|sent| self.now.since(sent));
        let acked = delivery.octets();
        let rate = self.queue.rate_sample(self.now);
        let ack = AckSample { now: self.now, acked, outstanding, rtt, srtt: rtt, rate };
        self.model.update(&mut PathSample {
            ack,
            stage: self.stage,
            lost: (self.queue.lost_in_all() - lost_before) as u32,
            in_network_before,
            is_delayed: false,
            next_departure: self.next_send,
            flight: &mut self.flight,
            queue: &mut self.queue,
        });
    }

    /// Processes an ACK in recovery that delivers these octets and has no rate sample.
    pub(super) fn acknowledge_in_recovery(&mut self, acked: u32) {
        let ack = AckSample { now: self.now, acked, outstanding: acked, rtt: None, srtt: None, rate: None };
        self.model.update(&mut PathSample {
            ack,
            stage: Stage::Recovery,
            lost: 0,
            in_network_before: acked,
            is_delayed: false,
            next_departure: self.now,
            flight: &mut self.flight,
            queue: &mut self.queue,
        });
    }

    /// Marks as lost all segments sent before the one delivered last: there is no reordering.
    fn detect_losses(&mut self, lost_before: u64) {
        if let Some(newest) = self.queue.delivery().newest {
            let Self { model, flight, queue, now, .. } = self;
            queue.mark_lost(
                |segment| Continue(newest.is_after(segment.sent, segment.end)),
                |lost| model.on_segment_lost(lost, *now, flight),
            );
        }
        let is_over = !self.flight.una.before(self.recovery_end);
        if self.stage == Stage::Recovery && is_over {
            self.stage = Stage::Open;
        }
        if self.stage == Stage::Open && self.queue.lost_in_all() > lost_before {
            self.recover();
        }
    }

    /// Begins a recovery.
    pub(super) fn recover(&mut self) {
        self.model.on_loss(&self.flight);
        (self.stage, self.recovery_end) = (Stage::Recovery, self.flight.max);
    }

    /// Undoes the last recovery, which was spurious.
    pub(super) fn undo(&mut self) {
        self.queue.unmark_lost();
        self.model.on_undo(&self.flight);
        self.stage = Stage::Open;
    }
}
