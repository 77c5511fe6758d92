//! The effects of power save on queues, and on frames that begin and end.

use lasthop_packet::time::nanos;
use lasthop_packet::{Instant, Rng};

use super::Wlan;
use crate::contender::Contender;
use crate::errors::ErrorModel;
use crate::events::Event;
use crate::frame::{Kind, Queued, StationId};
use crate::output::Output;
use crate::own_frame::OwnFrame;
use crate::power_save::{PowerSave, PowerSaveConfig};

impl<E: ErrorModel> Wlan<E> {
    /// Puts these stations into power-save mode for the whole run. The access point stays awake,
    /// even if it is among them. All stations have to be added before.
    ///
    /// # Panics
    ///
    /// If a frame has been enqueued.
    pub fn save_power(&mut self, access_point: StationId, stations: &[StationId], config: PowerSaveConfig) {
        assert!(self.medium.domains() == 0, "power save begins before the first frame");
        let first = config
            .first_beacon
            .map_or_else(|| Rng::named(self.seed, "radio beacons").below(config.interval()), nanos);
        let mut doze = vec![false; self.stations.len()];
        for station in stations.iter().filter(|station| **station != access_point) {
            doze[station.index()] = true;
        }
        self.power_save = Some(Box::new(PowerSave::new(config, access_point.0, &doze)));
        self.aggregates = false;
        self.events.push(Instant::from_nanos(first), access_point.0, Event::Tbtt(access_point.0));
    }

    /// Nanoseconds for which a station has been awake; `None` if it is not in power-save mode.
    pub fn awake_time(&self, station: StationId, now: Instant) -> Option<u64> {
        self.power_save.as_deref()?.sleeper(station.0).awake_time(now)
    }

    /// A TBTT: stations wake, frames that are too old are dropped, and the access point sends a
    /// beacon next. If the previous beacon has not been sent yet, no second one follows it: its
    /// contents are made when it is sent.
    pub(super) fn on_tbtt(&mut self, access_point: u32, now: Instant) {
        self.medium.divide();
        let Some(power_save) = self.power_save.as_deref_mut() else { return };
        power_save.tbtt(now);
        let next = now.after_nanos(power_save.interval());
        self.events.push(next, access_point, Event::Tbtt(access_point));
        while let Some(frame) = power_save.pop_old(now) {
            self.counters.aged += 1;
            self.outputs.push_back(Output::TooOld { from: StationId(access_point), frame });
        }
        self.send_own(now, access_point, OwnFrame::Beacon, false);
    }

    /// Octets of a beacon that begins now.
    #[cold]
    pub(super) fn beacon_octets(&self) -> u32 {
        self.power_save.as_deref().map_or(0, |it| it.beacon_octets(&self.phy))
    }

    /// Gives a station an own frame to send ahead of its queue.
    #[inline(never)]
    fn send_own(&mut self, now: Instant, station: u32, frame: OwnFrame, with_back_off: bool) {
        let index = Contender::index_of(station);
        if self.contenders[index as usize].send_own(frame) {
            self.contend(now, index, with_back_off);
        }
    }

    /// An exchange begins.
    #[cold]
    pub(super) fn power_save_begins(&mut self, index: u32) {
        let own = self.contenders[index as usize].own();
        match own {
            None | Some(OwnFrame::Raw { .. } | OwnFrame::BlockAckRequest { .. } | OwnFrame::CfEnd) => {}
            Some(OwnFrame::Beacon) => self.counters.beacons += 1,
            Some(OwnFrame::PsPoll { .. }) => self.counters.ps_polls += 1,
        }
        let to = self.partner(index);
        if let Some(power_save) = self.power_save.as_deref_mut() {
            power_save.begins(Contender::station_of(index), own, to);
        }
    }

    /// A contender's frame was delivered or given up, and is about to leave the MAC.
    #[cold]
    pub(super) fn power_save_ends(&mut self, index: u32) {
        let (own, to) = (self.contenders[index as usize].own(), self.partner(index));
        if let Some(power_save) = self.power_save.as_deref_mut() {
            power_save.ends(Contender::station_of(index), own, to);
        }
    }

    /// The access point has received a PS-Poll, and contends for the medium to send the response.
    #[cold]
    pub(super) fn receive_ps_poll(&mut self, station: u32, from: u32, now: Instant) {
        if let Some(queued) = self.power_save.as_deref_mut().and_then(|it| it.on_ps_poll(station, from)) {
            self.move_ahead(station, [queued].into_iter(), false, now);
        }
    }

    /// A beacon was sent. If it had a DTIM, the group frames follow it.
    #[cold]
    pub(super) fn release_group(&mut self, station: u32, now: Instant) {
        let frames = self.power_save.as_deref_mut().map(PowerSave::take_group).unwrap_or_default();
        if !frames.is_empty() {
            self.move_ahead(station, frames.into_iter(), true, now);
        }
    }

    /// Puts frames ahead of a station's queue; with `first`, also ahead of frames that were put
    /// there before.
    fn move_ahead(
        &mut self,
        station: u32,
        frames: impl ExactSizeIterator<Item = Queued>,
        first: bool,
        now: Instant,
    ) {
        let index = Contender::index_of(station);
        let contender = &mut self.contenders[index as usize];
        let (had_frame, had_packet) = (contender.has_frame(), !contender.queue.is_empty());
        contender.queue.push_ahead(frames, first, now);
        if let Some(head) = contender.queue.head().filter(|_| !had_packet) {
            self.outputs.push_back(Output::Departs { from: StationId(station), frame: head.frame });
        }
        if !had_frame {
            self.contend(now, index, false);
        }
    }

    /// A beacon has ended, and these stations have received it without a collision.
    #[cold]
    pub(super) fn receive_beacon(&mut self, initiator: u32, receivers: &[u32], during: (Instant, Instant)) {
        let from = Contender::station_of(initiator);
        for &station in receivers {
            let sleeper = self.power_save.as_deref().map(|it| it.sleeper(station));
            if sleeper.is_some_and(|it| it.saves_power() && it.listens_since(during.0))
                && !self.is_in_error(Kind::Data, (from, station), initiator, during)
                && let Some(poll) = self.power_save.as_deref_mut().map(|it| it.receive_beacon(station))
            {
                self.poll_for_frames(station, poll, during.1);
                if poll.is_none() {
                    self.doze(station, during.1);
                }
            }
        }
    }

    /// A station has received an individually addressed frame, which it will acknowledge.
    #[cold]
    pub(super) fn receive_response(&mut self, station: u32, from: u32, now: Instant) {
        if let Some(power_save) = self.power_save.as_deref_mut()
            && power_save.receive_response(station, from)
        {
            let poll = power_save.next_poll();
            self.poll_for_frames(station, poll, now);
        }
    }

    /// A station has sent its ACK.
    #[cold]
    pub(super) fn ack_sent(&mut self, station: u32, now: Instant) {
        if let Some(power_save) = self.power_save.as_deref_mut() {
            power_save.sleeper_mut(station).ack_sent();
        }
        self.doze(station, now);
    }

    /// A station has received a group frame.
    pub(super) fn receive_group_frame(&mut self, station: u32, from: u32, now: Instant) {
        if self.power_save.as_deref_mut().is_some_and(|it| it.receive_group_frame(station, from)) {
            self.doze(station, now);
        }
    }

    /// Gives a station a PS-Poll to send, or withdraws the one that it has.
    fn poll_for_frames(&mut self, station: u32, poll: Option<OwnFrame>, now: Instant) {
        if let Some(poll) = poll {
            self.send_own(now, station, poll, true);
        } else {
            self.contenders[Contender::index_of(station) as usize].withdraw_own();
        }
    }

    /// Whether a station's receiver has been on from `start` to now.
    #[inline]
    pub(super) fn listens_since(&self, station: u32, start: Instant) -> bool {
        self.power_save.as_deref().is_none_or(|it| it.sleeper(station).listens_since(start))
    }

    /// Wakes a station, which has a frame to send.
    #[inline]
    pub(super) fn wake(&mut self, station: u32, now: Instant) {
        if let Some(power_save) = self.power_save.as_deref_mut() {
            power_save.sleeper_mut(station).wake(now);
        }
    }

    /// A station in power-save mode dozes, unless it has a reason to be awake.
    #[inline(never)]
    pub(super) fn doze(&mut self, station: u32, now: Instant) {
        if let Some(power_save) = self.power_save.as_deref_mut() {
            let mut all = Contender::all_of(station);
            power_save
                .sleeper_mut(station)
                .doze(now, || all.any(|it| self.contenders[it as usize].has_frame()));
        }
    }
}
