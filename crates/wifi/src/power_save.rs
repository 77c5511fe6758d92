//! Power save in an infrastructure network (IEEE 802.11-2012, 10.2.1).
//!
//! The access point sends a beacon at each target beacon transmission time (TBTT), ahead of its
//! queue. Stations in power-save mode doze; frames for them wait at the access point, which names
//! these stations in the beacon's traffic indication map (TIM). A station wakes for the beacon and
//! fetches its frames one by one, each with a PS-Poll. Group frames wait for the next beacon with a
//! delivery TIM (DTIM), and follow it.
//!
//! | module | what is in it |
//! |---|---|
//! | `config` | beacon interval, DTIM period, listen interval, bounds of buffers |
//! | `beacon` | TBTTs; what a beacon says; who hears it |
//! | `tim` | its size |
//! | `buffer`, `buffers` | what waits at the access point; the answer to a PS-Poll |
//! | `sleeper`, `dozing` | when a station is awake, and why |
//!
//! What leads from here to queues and to the medium is in `wlan/power_save.rs`.
//!
//! Beacons and PS-Polls are a station's *own frames* ([`OwnFrame`]): they carry no packet, never
//! wait in a queue, and no output is about them.

mod beacon;
mod buffer;
mod buffers;
pub mod config;
mod dozing;
mod sleeper;
#[cfg(test)]
mod tests;
mod tim;

use super::frame::OwnFrame;

use buffer::Buffer;
pub use config::PowerSaveConfig;
use sleeper::Sleeper;

/// A cell with power save.
#[derive(Debug)]
pub(crate) struct PowerSave {
    config: PowerSaveConfig,
    access_point: u32,
    /// TBTTs so far.
    beacons: u64,
    /// What the latest beacon said, apart from the TIM's bits of stations.
    announced: Announced,
    /// The More Data field of the frame that the access point is sending.
    more_data: bool,
    /// By station; the access point's own never changes.
    sleepers: Vec<Sleeper>,
    /// Frames for each station, by station.
    buffers: Vec<Buffer>,
    /// Group frames that wait for a DTIM.
    group: Buffer,
    /// Group frames that were moved into the access point's queue after a DTIM and are not yet sent.
    group_left: u32,
    /// Packets and octets in all buffers.
    waiting: (usize, u64),
}

#[derive(Clone, Copy, Debug, Default)]
struct Announced {
    is_dtim: bool,
    /// Group frames follow.
    group: bool,
}

impl PowerSave {
    /// `doze` says of each station whether it is in power-save mode.
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
            waiting: (0, 0),
        }
    }

    /// Nanoseconds from TBTT to TBTT.
    pub(crate) fn interval(&self) -> u64 {
        self.config.interval()
    }

    /// A station's exchange begins, of a frame of its own or of a packet to a station or to all: its frames
    /// carry the present state (TIM, More Data).
    pub(crate) fn begins(&mut self, station: u32, own: Option<OwnFrame>, to: Option<u32>) {
        if self.access_point != station {
            return;
        }
        self.more_data = match (own, to) {
            (Some(_), _) => {
                self.announce();
                false
            }
            (None, Some(to)) => !self.buffers[to as usize].is_empty(),
            (None, None) => self.group_left > 1,
        };
    }

    /// Its frame was delivered or given up, and is about to leave the MAC.
    pub(crate) fn ends(&mut self, station: u32, own: Option<OwnFrame>, to: Option<u32>) {
        match (own, to) {
            (Some(OwnFrame::Beacon), _) => {}
            // Even a PS-Poll that was given up may have arrived and only its ACK been lost: the
            // station waits for the response.
            (Some(OwnFrame::PsPoll { .. }), _) => self.sleepers[station as usize].awaits_response(),
            _ if self.access_point != station => {}
            (None, Some(to)) => self.buffers[to as usize].is_responding = false,
            (None, None) => self.group_left = self.group_left.saturating_sub(1),
        }
    }
}
