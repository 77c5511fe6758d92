//! What a station's MAC tells of its packets: each transmission, each arrival, what became of them.

use lasthop_packet::Instant;

use super::frame::Receiver;
use super::output::Output;
use super::station::Station;
use super::wlan::Wlan;
use crate::id::StationId;
use crate::output::{Fate, FrameTimes};

impl Wlan {
    pub(super) fn tell_attempt(&mut self, index: u32, acknowledged: bool) {
        let station = &self.stations[index as usize];
        let Some(frame) = station.packet() else { return };
        self.outputs.push(Output::Attempt {
            from: StationId(index),
            frame,
            began: station.attempts.began,
            transmission: station.attempts.transmissions,
            lost: !station.attempts.arrived,
            acknowledged,
        });
    }

    /// The data frame of a station's exchange has just ended, and has arrived.
    pub(super) fn tell_transmission(&mut self, index: u32, now: Instant) {
        if !self.tells_transmissions {
            return;
        }
        let Station { queue, plan: Some(plan), attempts, .. } = &self.stations[index as usize] else {
            return;
        };
        let Some(head) = queue.front() else { return };
        let times = FrameTimes {
            queued: head.arrived,
            departed: attempts.head,
            began: Instant::from_nanos(now.as_nanos() - plan.data),
            over: now.after_nanos(self.times.sifs + plan.ack.unwrap_or(0) + self.times.difs),
        };
        let (from, has_options) = (StationId(index), attempts.options > 0);
        self.outputs.push(Output::Transmission { from, frame: head.frame, has_options, times });
    }

    /// The fate of the frame at the head of a station's queue is known.
    #[inline]
    pub(super) fn tell_fate(&mut self, index: u32, fate: Fate) {
        let Station { queue, own: None, attempts, used, .. } = &mut self.stations[index as usize] else {
            return;
        };
        let Some(head) = queue.front() else { return };
        let access = attempts.first.as_nanos() - attempts.head.as_nanos();
        if fate != Fate::FirstTransmissionFailed {
            used.frames += 1;
            used.transmissions += u64::from(attempts.transmissions);
            used.given_up += u64::from(fate == Fate::GivenUp);
            used.air_time += attempts.air_time;
            used.access += access;
        }
        if !self.tells_fates && fate != Fate::GivenUp && head.frame.to != Receiver::Broadcast {
            return;
        }
        self.outputs.push(Output::Fate {
            from: StationId(index),
            frame: head.frame,
            fate,
            arrived: attempts.delivered,
            transmissions: attempts.transmissions,
            queueing: attempts.first.as_nanos() - head.arrived.as_nanos(),
            access,
            air_time: attempts.air_time,
        });
    }
}
