//! Stations that move, and stations that are tuned to another channel or taken off the air.

use lasthop_packet::Instant;

use super::Wlan;
use crate::contender::{Contender, Stage};
use crate::errors::ErrorModel;
use crate::frame::StationId;
use crate::output::Output;
use crate::propagation::Position;
use crate::station::Channel;

impl<E: ErrorModel> Wlan<E> {
    /// The position of a station.
    pub fn position(&self, station: StationId) -> Position {
        self.medium.position(station.0)
    }

    /// The channel that a station is tuned to; `None`: it is off the air.
    pub fn channel(&self, station: StationId) -> Option<Channel> {
        self.medium.channel(station.0)
    }

    /// Announces that stations will move or be tuned: from now on exchanges are simulated frame by frame.
    pub fn expect_moves(&mut self) {
        self.medium.stop_settling();
    }

    /// Moves stations. If a settled exchange is under way, the old positions apply until it is over, a few
    /// milliseconds at most; later exchanges are simulated frame by frame.
    pub fn move_stations(&mut self, now: Instant, positions: &[(StationId, Position)]) {
        for (station, position) in positions {
            self.medium.move_to(station.0, *position);
        }
        if self.medium.has_changes() {
            self.expect_moves();
            self.divide_anew(now);
        }
    }

    /// Tunes a station to a channel or, with `None`, takes it off the air. [`Output::Tuned`] reports when that
    /// has taken effect: at once if the station takes no part in an exchange, else at the end of that. A
    /// station takes part if it is certain to transmit, transmits or waits for a response, if it is receiving
    /// a frame for it that may still be intact, and from its response on. If it is tuned again before that,
    /// only the last channel counts. The first call may also have to wait for settled exchanges of other
    /// stations, as in [`Self::move_stations`].
    ///
    /// A station decodes a frame only if it is on the frame's channel from beginning to end. Off the air it hears
    /// nothing, and does not contend: its frames wait in its queue, with their retry counts, and its backoffs
    /// are suspended. A frame for a station that is not on the sender's channel is not acknowledged.
    ///
    /// On its new channel, a station senses the frames in the air but decodes none of them, and has no NAV.
    /// Its backoffs go on a DIFS after the medium is idle, or an EIFS after the end of a frame that it sensed.
    ///
    /// # Panics
    ///
    /// If a station is in power-save mode ([`Self::save_power`]): beacons would find the access point on one
    /// channel only.
    pub fn tune(&mut self, now: Instant, station: StationId, channel: Option<Channel>) {
        assert!(self.power_save.is_none(), "stations in power-save mode stay on their channel");
        self.tunings.retain(|(other, _)| *other != station.0);
        self.tunings.push((station.0, channel));
        self.tune_if_due(now);
    }

    /// Whether stations wait to be divided anew or to be tuned.
    #[inline]
    pub(super) fn has_changes(&self) -> bool {
        self.medium.has_changes() || !self.tunings.is_empty()
    }

    /// A settled exchange is over. Changes that have waited for that take effect.
    pub(super) fn change_if_due(&mut self, now: Instant) {
        self.divide_anew(now);
        self.tune_if_due(now);
    }

    /// Tunes the stations that wait for it and do not take part in an exchange.
    #[inline]
    pub(super) fn tune_if_due(&mut self, now: Instant) {
        if !self.tunings.is_empty() {
            self.tune_waiting(now);
        }
    }

    #[cold]
    fn tune_waiting(&mut self, now: Instant) {
        let mut tunings = std::mem::take(&mut self.tunings);
        tunings.retain(|&(station, channel)| {
            if self.medium.channel(station) != channel {
                if self.medium.domains() > 0 {
                    self.expect_moves();
                }
                if self.medium.is_settling() || self.takes_part(station) {
                    return true;
                }
                self.medium.tune(station, channel);
            }
            self.outputs.push_back(Output::Tuned { station: StationId(station), channel });
            false
        });
        self.tunings = tunings;
        self.divide_anew(now);
    }

    /// Whether a station takes part in an exchange that is simulated frame by frame.
    fn takes_part(&self, station: u32) -> bool {
        let sends = |index: u32| self.contenders[index as usize].back_off.is_transmitting();
        let is_under_way = |(initiator, began): (u32, Instant)| {
            let initiator = &self.contenders[initiator as usize];
            initiator.back_off.stage() == Stage::Exchanging && initiator.exchange.began() == began
        };
        Contender::all_of(station).any(sends)
            || self.medium.receives(station)
            || self.stations[station as usize].answered().is_some_and(is_under_way)
    }

    fn divide_anew(&mut self, now: Instant) {
        for domain in self.medium.divide_anew(now, &mut self.contenders) {
            self.schedule_access(domain);
        }
        self.commit_due();
    }
}
