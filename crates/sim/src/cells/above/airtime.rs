//! A queue for each receiver, served by deficit round robin over air time, as in Linux's mac80211
//! (`ieee80211_next_txq` and what is around it). Its kernel calls such a queue a TXQ.
//!
//! A station's deficit falls by the air time of what it is sent and of what it sends, and grows by its weight at each of its
//! turns while it is negative. What is expected to be on the air soon counts as well.

use std::collections::VecDeque;
use std::time::Duration;

use lasthop_packet::{Instant, Packet};
use lasthop_wifi::{MacFrame, Receiver, StationId};

use super::driver::Driver;
use super::limits::Pending;
use super::link::Link;
use crate::accounts::DropCause;
use crate::packets::{PacketKey, Packets};
use crate::queue::{AirtimeConfig, FqCoDel, Rules, Waiting, mark};

/// For how long a station without packets stays in turn while its deficit is negative (`AIRTIME_ACTIVE_DURATION`).
const STAYS: Duration = Duration::from_millis(100);

/// The tin of broadcasts; a station's is its index and one.
const BROADCASTS: usize = 0;

pub(super) struct Airtime {
    config: AirtimeConfig,
    queues: FqCoDel,
    /// By tin.
    turns: Vec<Turns>,
    /// The tins that take turns.
    active: VecDeque<usize>,
    /// The number of the present round: in a round each tin has one turn.
    round: u64,
    /// The tin whose turn it is.
    current: Option<usize>,
    pending: Pending,
    marked: u64,
}

/// What is known of the turns of a tin.
#[derive(Clone, Copy, Default)]
struct Turns {
    /// Nanoseconds of air time.
    deficit: i64,
    /// Whether it is among the active ones.
    is_active: bool,
    /// The round of its last turn.
    round: u64,
    /// When it last had packets as it joined the active ones.
    last_active: Option<Instant>,
}

impl Airtime {
    pub(super) fn new(config: AirtimeConfig, perturbation: u64) -> Self {
        Self {
            queues: FqCoDel::new(config.flows, Rules::Mac80211, 1, perturbation),
            turns: vec![Turns::default()],
            active: VecDeque::new(),
            round: 0,
            current: None,
            pending: Pending::new(config.limits),
            marked: 0,
            config,
        }
    }

    pub(super) const fn size(&self) -> (usize, u64) {
        self.queues.size()
    }

    pub(super) const fn marked(&self) -> u64 {
        self.marked
    }

    pub(super) fn push(&mut self, to: Receiver, waiting: Waiting, packet: &Packet) {
        let tin = match to {
            Receiver::Broadcast => BROADCASTS,
            Receiver::Station(to) => tin_of(to),
        };
        if self.turns.len() <= tin {
            self.queues.add_tins(tin + 1);
            self.turns.resize(tin + 1, Turns::default());
        }
        self.queues.push(tin, waiting, packet);
        self.activate(tin, waiting.since);
    }

    /// Drops packets of the longest flow queues until there is room for those that wait.
    pub(super) fn drop_surplus(&mut self, dropped: &mut VecDeque<(PacketKey, DropCause)>) {
        let is_over = |queues: &FqCoDel| {
            let (packets, octets) = queues.size();
            packets > 0 && (queues.is_over_memory() || self.config.limit.is_exceeded_by(packets, octets))
        };
        while is_over(&self.queues) {
            self.queues.drop_from_longest(|lost| dropped.push_back((lost.key, DropCause::QueueFull)));
        }
    }

    /// A tin joins the active ones if it has packets, before the others: it is moved behind them if its deficit is negative. So
    /// does one without packets, behind the others, if it owes air time and had packets lately.
    fn activate(&mut self, tin: usize, now: Instant) {
        if self.turns[tin].is_active {
            return;
        }
        let has_packets = self.queues.has_packets(tin);
        if has_packets && tin != BROADCASTS {
            self.active.push_front(tin);
            self.turns[tin].last_active = Some(now);
        } else if has_packets || (self.balance(tin) < 0 && self.is_recent(tin, now)) {
            self.active.push_back(tin);
        } else {
            return;
        }
        self.turns[tin].is_active = true;
    }

    /// The deficit of a tin after what the driver has of it.
    fn balance(&self, tin: usize) -> i64 {
        self.turns[tin].deficit - tin.checked_sub(1).map_or(0, |station| self.pending.of(station) * 1_000)
    }

    fn is_recent(&self, tin: usize, now: Instant) -> bool {
        self.turns[tin].last_active.is_some_and(|since| now.since(since) <= STAYS)
    }

    /// Whether the driver may take a frame of a tin.
    fn is_allowed(&self, tin: usize) -> bool {
        tin.checked_sub(1).is_none_or(|station| self.pending.allows(station))
    }

    pub(super) const fn begin_round(&mut self) {
        self.round += 1;
    }

    /// The next frame that the driver takes in this round.
    pub(super) fn take(
        &mut self,
        now: Instant,
        packets: &mut Packets,
        (driver, link): (&Driver, &Link<'_>),
        dropped: &mut VecDeque<(PacketKey, DropCause)>,
    ) -> Option<Waiting> {
        loop {
            let tin = match self.current.take() {
                Some(tin) if driver.may_continue() => tin,
                Some(tin) => {
                    self.activate(tin, now);
                    continue;
                }
                None if driver.may_begin() => self.next_turn()?,
                None => return None,
            };
            if self.is_allowed(tin)
                && let Some(waiting) = self.pop(tin, now, packets, dropped)
            {
                self.current = Some(tin);
                if let Some(station) = tin.checked_sub(1) {
                    let expected = link.expected(StationId::from_index(station), waiting.len);
                    self.pending.take(station, waiting.key.0, expected);
                }
                return Some(waiting);
            }
            self.activate(tin, now);
        }
    }

    fn pop(
        &mut self,
        tin: usize,
        now: Instant,
        packets: &mut Packets,
        dropped: &mut VecDeque<(PacketKey, DropCause)>,
    ) -> Option<Waiting> {
        let can_mark = |key: PacketKey| packets.packet(key).ip().ecn().is_capable();
        let drop = |lost: Waiting| dropped.push_back((lost.key, DropCause::QueueManagement));
        let leaving = self.queues.pop(tin, now, can_mark, drop)?;
        if leaving.is_marked && mark(leaving.waiting.key, packets) {
            self.marked += 1;
        }
        Some(leaving.waiting)
    }

    /// The tin whose turn is next in this round; it leaves the active ones.
    fn next_turn(&mut self) -> Option<usize> {
        let mut head = None;
        let mut is_one_allowed = false;
        loop {
            let tin = *self.active.front()?;
            if head == Some(tin) && !std::mem::take(&mut is_one_allowed) {
                return None;
            }
            head.get_or_insert(tin);
            let (is_allowed, balance) = (self.is_allowed(tin), self.balance(tin));
            is_one_allowed |= is_allowed;
            if tin != BROADCASTS {
                if balance < 0 {
                    self.turns[tin].deficit += self.weight(tin) * 1_000;
                }
                if balance < 0 || !is_allowed {
                    self.active.rotate_left(1);
                    continue;
                }
            }
            if self.turns[tin].round == self.round {
                return None;
            }
            self.active.pop_front();
            let turns = &mut self.turns[tin];
            (turns.is_active, turns.round) = (false, self.round);
            return Some(tin);
        }
    }

    fn weight(&self, tin: usize) -> i64 {
        let station = StationId::from_index(tin - 1);
        i64::from(self.config.weights.get(&station).copied().unwrap_or(AirtimeConfig::WEIGHT).max(1))
    }

    /// The driver is done with a frame.
    pub(super) fn complete(&mut self, frame: MacFrame) {
        self.pending.complete(frame);
    }

    pub(super) fn use_air(&mut self, station: StationId, air_time: u64, now: Instant) {
        let tin = tin_of(station);
        if tin < self.turns.len() && self.is_recent(tin, now) {
            self.turns[tin].deficit = self.turns[tin].deficit.saturating_sub_unsigned(air_time);
        }
    }

    /// Takes out the frames that wait for which `is_gone`.
    pub(super) fn withdraw(&mut self, is_gone: impl Fn(PacketKey) -> bool) -> Vec<Waiting> {
        self.queues.withdraw(is_gone)
    }
}

fn tin_of(station: StationId) -> usize {
    station.index() + 1
}
