//! A client: its entity, and its radio, which changes channels.

use std::time::Duration;

use lasthop_ess::{AccessPointId, Channel};
use lasthop_packet::Instant;

use super::config::ClientMember;
use super::member::Place;
use crate::id::{LinkId, NodeId};
use crate::schedule::LazyTimer;

/// Packets that a client keeps while it is on another channel (the default length of Linux's device queues).
const MAX_HELD: usize = 1_000;

pub(super) struct Client {
    place: Place,
    link: LinkId,
    entity: lasthop_ess::Client,
    timer: LazyTimer,
    radio: Radio,
    /// The channel that the entity has asked for.
    wanted: Option<Channel>,
    switch_time: Duration,
    /// Management frames that it has not sent yet.
    unsent: u32,
    /// The access point for which its data waits, while it is on another channel.
    holds_for: Option<AccessPointId>,
}

/// What a radio is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Radio {
    Off,
    /// It is on the wanted channel.
    Tuned,
    /// It sends what it has been given, before it leaves its channel.
    Finishing,
    /// It leaves its channel at the end of an exchange.
    Leaving,
    /// It changes its channel, until then.
    Switching(Instant),
    Arriving,
}

impl Client {
    pub(super) fn new(member: ClientMember, node: NodeId, link: LinkId, switch_time: Duration) -> Self {
        let ClientMember { link: _, station, config, start } = member;
        Self {
            place: Place { node, station },
            link,
            entity: lasthop_ess::Client::new(config, start),
            timer: LazyTimer::default(),
            radio: Radio::Off,
            wanted: None,
            switch_time,
            unsent: 0,
            holds_for: None,
        }
    }

    pub(super) const fn place(&self) -> Place {
        self.place
    }

    pub(super) const fn link(&self) -> LinkId {
        self.link
    }

    pub(super) const fn entity(&self) -> &lasthop_ess::Client {
        &self.entity
    }

    /// As [`Self::entity`].
    pub(super) const fn entity_mut(&mut self) -> &mut lasthop_ess::Client {
        &mut self.entity
    }

    pub(super) const fn timer_mut(&mut self) -> &mut LazyTimer {
        &mut self.timer
    }

    /// Its timer, and when something is due.
    pub(super) fn timer_and_due(&mut self) -> (&mut LazyTimer, Option<Instant>) {
        let due = match self.radio {
            Radio::Switching(until) => until.min(self.entity.next_timeout()),
            _ => self.entity.next_timeout(),
        };
        (&mut self.timer, (due < Instant::MAX).then_some(due))
    }
}

/// Its radio.
impl Client {
    /// The entity asks for another channel.
    pub(super) fn tune(&mut self, channel: Channel, now: Instant) {
        self.wanted = Some(channel);
        match self.radio {
            Radio::Off => self.radio = Radio::Switching(now + self.switch_time),
            Radio::Tuned => self.radio = Radio::Finishing,
            _ => {}
        }
    }

    /// A management frame waits to be sent.
    pub(super) const fn sends_frame(&mut self) {
        self.unsent += 1;
    }

    /// A management frame was sent, or given up.
    pub(super) const fn frame_was_sent(&mut self) {
        self.unsent = self.unsent.saturating_sub(1);
    }

    /// Whether it is to leave its channel now.
    pub(super) fn leaves_channel(&mut self) -> bool {
        let leaves = self.radio == Radio::Finishing && self.unsent == 0;
        if leaves {
            self.radio = Radio::Leaving;
        }
        leaves
    }

    /// The channel that it is to change to now, if the time for that has come.
    pub(super) fn on_switched(&mut self, now: Instant) -> Option<Channel> {
        match self.radio {
            Radio::Switching(until) if until <= now => {
                self.radio = Radio::Arriving;
                self.wanted
            }
            _ => None,
        }
    }

    /// Its radio has come to a channel, or has left it.
    pub(super) fn on_tuned(&mut self, channel: Option<Channel>, now: Instant) {
        match channel {
            None => self.radio = Radio::Switching(now + self.switch_time),
            Some(channel) if self.wanted == Some(channel) => {
                self.radio = Radio::Tuned;
                self.entity.on_tuned(channel, now);
            }
            // Meanwhile the entity has asked for another one.
            Some(_) => self.radio = Radio::Finishing,
        }
    }

    /// Its data for an access point is to wait, at most this many packets, or waits no longer with `None`, if that has
    /// changed.
    pub(super) fn changes_hold(&mut self) -> Option<(AccessPointId, Option<usize>)> {
        let associated = self.entity.access_point();
        match (self.holds_for, associated) {
            (None, Some(access_point)) if !self.entity.is_on_air() => {
                self.holds_for = associated;
                Some((access_point, Some(MAX_HELD)))
            }
            (Some(access_point), _) if self.entity.is_on_air() => {
                self.holds_for = None;
                Some((access_point, None))
            }
            _ => None,
        }
    }

    /// What waited is dropped, because it has left the access point.
    pub(super) const fn drop_held(&mut self) {
        self.holds_for = None;
    }
}
