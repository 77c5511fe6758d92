//! Raw frames of the caller.

use lasthop_packet::Instant;

use super::Wlan;
use crate::contender::Contender;
use crate::errors::ErrorModel;
use crate::frame::StationId;
use crate::output::{Fate, Output};
use crate::own_frame::RawFrame;

impl<E: ErrorModel> Wlan<E> {
    /// Enqueues a raw frame that a station is to send. It goes before the station's packets and after
    /// its earlier raw frames, even if a packet has been transmitted already. A unicast frame is
    /// acknowledged, retried up to the retry limit or to the end of its chain, and preceded by an RTS if it is
    /// longer than the threshold, as a data frame. [`Output::RawDelivered`] and [`Output::RawFate`] follow. `false`: 64
    /// frames wait already, and this one is dropped.
    ///
    /// Raw frames are not counted ([`super::WlanCounters`], [`super::Used`]), and do not wait at the
    /// access point for stations in power-save mode: a frame that is transmitted while its receiver dozes is
    /// lost.
    pub fn enqueue_raw(&mut self, now: Instant, from: StationId, frame: RawFrame) -> bool {
        self.medium.divide();
        let index = Contender::index_of(from.0);
        let contender = &mut self.contenders[index as usize];
        let had_frame = contender.has_frame();
        let has_room = contender.push_raw(frame);
        if has_room && !had_frame {
            self.wake(from.0, now);
            self.contend(now, index, false);
        }
        has_room
    }

    /// The power of one station's frames at another, at their present positions, in watts: see
    /// [`Propagation::received_power`](crate::Propagation::received_power).
    pub fn received_power(&self, from: StationId, at: StationId) -> Option<f64> {
        self.medium.received_power(from.0, at.0)
    }

    /// An addressee has received the raw frame of a contender.
    #[cold]
    pub(super) fn receive_raw(&mut self, at: u32, initiator: u32) {
        let Some((frame, sequence, is_retry)) = self.contenders[initiator as usize].raw() else {
            return;
        };
        if self.stations[at as usize].receive_raw(initiator, sequence, is_retry) {
            self.report_raw(at, initiator, frame);
        }
        if let Some(power_save) = self.power_save.as_deref_mut() {
            power_save.receive_raw(at);
        }
    }

    /// Reports a raw frame of a contender that has arrived.
    pub(super) fn report_raw(&mut self, at: u32, initiator: u32, frame: RawFrame) {
        let from = StationId(Contender::station_of(initiator));
        let at = StationId(at);
        let power = self.received_power(from, at);
        let Some(plan) = self.contenders[initiator as usize].exchange.plan() else { return };
        let rate = plan.data.rate;
        self.outputs.push_back(Output::RawDelivered { at, from, key: frame.key, rate, power });
    }

    /// Reports the fate of a contender's raw frame.
    #[cold]
    pub(super) fn report_raw_fate(&mut self, index: u32, fate: Fate) {
        if let Some((frame, ..)) = self.contenders[index as usize].raw()
            && fate != Fate::FirstTransmissionFailed
        {
            let from = StationId(Contender::station_of(index));
            let acknowledged = fate == Fate::Delivered;
            let attempts = self.contenders[index as usize].attempts();
            let (transmissions, air_time) = (attempts.transmissions(), attempts.air_time());
            self.outputs.push_back(Output::RawFate {
                from,
                key: frame.key,
                acknowledged,
                transmissions,
                air_time,
            });
        }
    }
}
