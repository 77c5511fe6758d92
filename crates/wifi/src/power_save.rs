//! Power save in an infrastructure network (IEEE 802.11-2020, 11.2.3).
//!
//! The access point sends a beacon at each target beacon transmission time (TBTT), ahead of its
//! queue. Stations in power-save mode doze; frames for them wait at the access point, which names
//! these stations in the beacon's traffic indication map (TIM). A station wakes for the beacon and
//! fetches its frames one by one, each with a PS-Poll. Group addressed frames (*group frames*) wait
//! for the next beacon with a delivery TIM (DTIM) and follow it.
//!
//! | module | what is in it |
//! |---|---|
//! | `config` | beacon interval, DTIM period, listen interval, bounds of buffers |
//! | `tim` | the size of a beacon |
//! | `buffer` | frames that wait at the access point; the response to a PS-Poll |
//! | `sleeper` | when a station is awake, and why |
//!
//! The connection to queues and to the medium is in `wlan/power_save.rs`.
//!
//! Beacons and PS-Polls are a station's *own frames* ([`OwnFrame`]): they carry no packet, go before all
//! other frames of the station, and cause no output.

mod buffer;
pub mod config;
mod sleeper;
#[cfg(test)]
mod tests;
mod tim;

use lasthop_packet::Instant;

use super::frame::{MacFrame, Queued, Receiver, StationId};
use super::own_frame::OwnFrame;
use super::phy::PhyConfig;

use buffer::Buffer;
pub use config::PowerSaveConfig;
use sleeper::Sleeper;

/// The power save of a cell.
#[derive(Debug)]
pub(crate) struct PowerSave {
    config: PowerSaveConfig,
    access_point: u32,
    /// The number of TBTTs so far.
    beacons: u64,
    /// The contents of the latest beacon, except the stations' bits in its TIM.
    announced: Announced,
    /// The More Data field of the frame that the access point is sending.
    more_data: bool,
    /// By station; the access point's does not change.
    sleepers: Vec<Sleeper>,
    /// Frames for each station, by station.
    buffers: Vec<Buffer>,
    /// Group frames that wait for a DTIM.
    group: Buffer,
    /// Group frames that were moved into the access point's queue after a DTIM and are not yet sent.
    group_left: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Announced {
    is_dtim: bool,
    /// Whether group frames follow.
    group: bool,
}

impl PowerSave {
    /// `doze` has an entry for each station: whether it is in power-save mode.
    pub(crate) fn new(config: PowerSaveConfig, access_point: u32, doze: &[bool]) -> Self {
        let sleepers: Vec<Sleeper> = doze.iter().map(|doze| Sleeper::new(*doze)).collect();
        Self {
            config,
            access_point,
            beacons: 0,
            announced: Announced::default(),
            more_data: false,
            buffers: sleepers.iter().map(|_| Buffer::default()).collect(),
            sleepers,
            group: Buffer::default(),
            group_left: 0,
        }
    }

    /// Nanoseconds from TBTT to TBTT.
    pub(crate) fn interval(&self) -> u64 {
        self.config.interval()
    }

    /// A station's exchange begins. It is for an own frame, for a packet to the station `to`, or
    /// for a broadcast. Its frames carry the present TIM or More Data field.
    pub(crate) fn begins(&mut self, station: u32, own: Option<OwnFrame>, to: Option<u32>) {
        if self.access_point != station {
            return;
        }
        self.more_data = match (own, to) {
            (Some(OwnFrame::Beacon), _) => {
                self.announce();
                false
            }
            (Some(_), _) => false,
            (None, Some(to)) => !self.buffers[to as usize].is_empty(),
            (None, None) => self.group_left > 1,
        };
    }

    /// A station's frame was delivered or given up, and is about to leave the MAC.
    pub(crate) fn ends(&mut self, station: u32, own: Option<OwnFrame>, to: Option<u32>) {
        match (own, to) {
            (
                Some(
                    OwnFrame::Beacon
                    | OwnFrame::Raw { .. }
                    | OwnFrame::BlockAckRequest { .. }
                    | OwnFrame::CfEnd,
                ),
                _,
            ) => {}
            // A PS-Poll that was given up may have arrived if only its ACKs were lost, so the
            // station waits for the response.
            (Some(OwnFrame::PsPoll { .. }), _) => self.sleepers[station as usize].await_response(),
            _ if self.access_point != station => {}
            (None, Some(to)) => self.buffers[to as usize].end_response(),
            (None, None) => self.group_left = self.group_left.saturating_sub(1),
        }
    }

    /// The power state of a station.
    pub(crate) fn sleeper(&self, station: u32) -> &Sleeper {
        &self.sleepers[station as usize]
    }

    pub(crate) fn sleeper_mut(&mut self, station: u32) -> &mut Sleeper {
        &mut self.sleepers[station as usize]
    }

    /// A TBTT: the stations that listen to this beacon wake.
    pub(crate) fn tbtt(&mut self, now: Instant) {
        let number = self.beacons;
        self.beacons += 1;
        let is_listened_to = number.is_multiple_of(u64::from(self.config.listen_interval.max(1)));
        if is_listened_to || self.config.receive_dtims && self.is_dtim(number) {
            self.sleepers.iter_mut().for_each(|sleeper| sleeper.wake_for_beacon(now));
        }
    }

    fn is_dtim(&self, number: u64) -> bool {
        number.is_multiple_of(u64::from(self.config.dtim_period.max(1)))
    }

    /// A beacon begins: its TIM reflects the present buffers.
    fn announce(&mut self) {
        let is_dtim = self.is_dtim(self.beacons.saturating_sub(1));
        // Each beacon announces the group frames of the last DTIM until they are sent (11.2.3.6).
        let group = self.group_left > 0 || (is_dtim && !self.group.is_empty());
        self.announced = Announced { is_dtim, group };
        self.buffers.iter_mut().for_each(Buffer::announce);
    }

    /// Octets of a beacon that begins now. Association identifiers (AID) number the stations of the
    /// cell from 1, without the access point.
    pub(crate) fn beacon_octets(&self, phy: &PhyConfig) -> u32 {
        let own = self.access_point as usize;
        let others = self.buffers.iter().enumerate().filter(|(index, _)| *index != own);
        let set = others.zip(1..).filter(|((_, buffer), _)| buffer.has_traffic());
        tim::beacon_octets(phy, set.map(|(_, identifier)| identifier))
    }

    /// A station that was awake has received a beacon. Returns the PS-Poll that it sends; `None` if
    /// no frame waits for it.
    pub(crate) fn receive_beacon(&mut self, station: u32) -> Option<OwnFrame> {
        self.sleepers[station as usize].receive_beacon(self.announced.group);
        self.buffers[station as usize].is_announced().then_some(self.ps_poll())
    }

    /// A station has received an individually addressed frame, which it will acknowledge. Returns
    /// whether that was a response to its PS-Poll.
    pub(crate) fn receive_response(&mut self, station: u32, from: u32) -> bool {
        let is_response = from == self.access_point;
        let sleeper = &mut self.sleepers[station as usize];
        if sleeper.saves_power() {
            sleeper.receive_frame(is_response);
        }
        sleeper.saves_power() && is_response
    }

    /// A station has received a raw frame, which it will acknowledge.
    pub(crate) fn receive_raw(&mut self, station: u32) {
        let sleeper = &mut self.sleepers[station as usize];
        if sleeper.saves_power() {
            sleeper.receive_frame(false);
        }
    }

    /// The PS-Poll that follows a response; `None` if the response did not have More Data set.
    pub(crate) fn next_poll(&self) -> Option<OwnFrame> {
        self.more_data.then_some(self.ps_poll())
    }

    const fn ps_poll(&self) -> OwnFrame {
        OwnFrame::PsPoll { to: StationId(self.access_point) }
    }

    /// A station has received a group frame. Returns whether the access point has sent it.
    pub(crate) fn receive_group_frame(&mut self, station: u32, from: u32) -> bool {
        let is_expected = from == self.access_point;
        if is_expected {
            self.sleepers[station as usize].receive_group_frame(self.more_data);
        }
        is_expected
    }

    /// Whether frames for a receiver are buffered at the access point: those for a station in
    /// power-save mode, and group frames as soon as one station is in that mode.
    pub(crate) fn buffers(&self, from: u32, to: Receiver) -> bool {
        from == self.access_point
            && match to {
                Receiver::Station(to) => self.sleepers[to.index()].saves_power(),
                Receiver::Broadcast => self.sleepers.iter().any(Sleeper::saves_power),
            }
    }

    /// Buffers a frame for its receiver if there is room. Returns whether there was.
    pub(crate) fn buffer(&mut self, frame: MacFrame, now: Instant) -> bool {
        let buffer = match frame.to {
            Receiver::Station(to) => &mut self.buffers[to.index()],
            Receiver::Broadcast => &mut self.group,
        };
        buffer.push(Queued { frame, arrived: now }, self.config.buffer)
    }

    /// Packets and octets that are buffered at a station for others.
    pub(crate) fn waiting(&self, station: u32) -> (usize, u64) {
        let all = self.buffers.iter().chain([&self.group]).filter(|_| station == self.access_point);
        all.map(Buffer::size).fold((0, 0), |sum, more| (sum.0 + more.0, sum.1 + more.1))
    }

    /// Removes and returns the frames that are buffered at a station for another. `with_response`:
    /// the response to a PS-Poll was removed from the queue, too.
    pub(crate) fn withdraw(&mut self, station: u32, to: StationId, with_response: bool) -> Vec<Queued> {
        if station != self.access_point {
            return Vec::new();
        }
        let buffer = &mut self.buffers[to.index()];
        if with_response {
            buffer.end_response();
        }
        buffer.take_all()
    }

    /// The access point has received a PS-Poll. Returns the frame that answers it, if there is one.
    pub(crate) fn on_ps_poll(&mut self, access_point: u32, from: u32) -> Option<Queued> {
        if self.access_point == access_point { self.buffers[from as usize].respond() } else { None }
    }

    /// A beacon was sent. Returns the group frames that follow it; there are none unless it had a
    /// DTIM.
    pub(crate) fn take_group(&mut self) -> Vec<Queued> {
        let frames = if self.announced.is_dtim { self.group.take_all() } else { Vec::new() };
        self.group_left += frames.len() as u32;
        frames
    }

    /// Removes and returns the next frame that is too old.
    pub(crate) fn pop_old(&mut self, now: Instant) -> Option<MacFrame> {
        let age = self.config.max_age();
        self.buffers.iter_mut().find_map(|buffer| buffer.pop_older(age, now)).map(|old| old.frame)
    }
}
