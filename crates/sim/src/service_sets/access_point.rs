//! An access point: its entity, and its beacons (IEEE 802.11-2020, 11.1.3.2).

use std::time::Duration;

use lasthop_ess::Channel;
use lasthop_packet::{Instant, Rng};

use super::config::{AccessPointMember, ServiceSetConfig};
use super::member::Place;
use crate::id::NodeId;
use crate::schedule::LazyTimer;

pub(super) struct AccessPoint {
    place: Place,
    channel: Channel,
    entity: lasthop_ess::AccessPoint,
    timer: LazyTimer,
    beacon_interval: Duration,
    /// The target beacon transmission time.
    next_beacon: Instant,
    /// Whether a beacon waits for the medium.
    has_beacon: bool,
}

impl AccessPoint {
    /// Its first beacon is due at a random time of the first interval.
    pub(super) fn new(
        (member, channel): (AccessPointMember, Channel),
        node: NodeId,
        config: &ServiceSetConfig,
        rng: &mut Rng,
    ) -> Self {
        let AccessPointMember { station, config: own } = member;
        let interval = config.beacon_interval;
        Self {
            place: Place { node, station },
            channel,
            entity: lasthop_ess::AccessPoint::new(own),
            timer: LazyTimer::default(),
            beacon_interval: interval,
            next_beacon: Instant::ZERO + interval.mul_f64(rng.uniform()),
            has_beacon: false,
        }
    }

    pub(super) const fn place(&self) -> Place {
        self.place
    }

    pub(super) const fn channel(&self) -> Channel {
        self.channel
    }

    pub(super) const fn entity(&self) -> &lasthop_ess::AccessPoint {
        &self.entity
    }

    /// As [`Self::entity`].
    pub(super) const fn entity_mut(&mut self) -> &mut lasthop_ess::AccessPoint {
        &mut self.entity
    }

    pub(super) const fn timer_mut(&mut self) -> &mut LazyTimer {
        &mut self.timer
    }

    /// Its timer, and when something is due.
    pub(super) fn timer_and_due(&mut self) -> (&mut LazyTimer, Option<Instant>) {
        let due = self.entity.next_timeout().map_or(self.next_beacon, |at| at.min(self.next_beacon));
        (&mut self.timer, Some(due))
    }

    /// Whether it is to send a beacon now. A beacon that still waits for the medium is the one of this interval, too.
    pub(super) fn is_beacon_due(&mut self, now: Instant) -> bool {
        if now < self.next_beacon {
            return false;
        }
        self.next_beacon += self.beacon_interval;
        !std::mem::replace(&mut self.has_beacon, true)
    }

    pub(super) const fn beacon_was_sent(&mut self) {
        self.has_beacon = false;
    }
}
