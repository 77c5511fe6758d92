//! Options in frames, and stations that understand them: "options" support for IEEE 802.11 by D.
//! Kliazovich (dissertation, University of Trento 2006, section 4.4.3).
//!
//! A data frame with options has a type that the standard reserves (data, subtype 1000). A station
//! that does not understand options drops it without an ACK. A sender whose first frame with
//! options to a neighbor is not acknowledged therefore retransmits it as a standard frame, without
//! options. The next frames to that neighbor are standard frames, too, until the sender tries
//! options again ([`MacConfig::options_probe_interval`](crate::MacConfig)). A neighbor that has
//! acknowledged a frame with options is known to understand them until a frame to it is given up.

use lasthop_packet::Instant;
use lasthop_packet::time::nanos;

use super::Wlan;
use crate::contender::Contender;
use crate::errors::ErrorModel;
use crate::frame::{Receiver, StationId};
use crate::knowledge::Knowledge;

impl<E: ErrorModel> Wlan<E> {
    /// Sets whether a station understands options in frames; by default none does.
    pub fn set_knows_options(&mut self, station: StationId, knows: bool) {
        self.stations[station.index()].options_mut().set_knows(knows);
    }

    /// Whether a station understands options in frames.
    pub fn knows_options(&self, station: StationId) -> bool {
        self.stations[station.index()].options().knows()
    }

    /// Sets whether the times of each data frame that arrives are reported
    /// ([`crate::Output::Transmission`]). Default off.
    pub fn report_transmissions(&mut self, is_on: bool) {
        self.wanted.transmissions = is_on;
    }

    /// Whether the times of data frames are reported.
    pub fn reports_transmissions(&self) -> bool {
        self.wanted.transmissions
    }

    /// Adds this number of octets of options to a station's frame with this key, before its first
    /// transmission. Returns `false` if the frame is sent without options: it is not at the head of
    /// the queue, is a broadcast, or has been transmitted; the station does not understand options;
    /// or the receiver is assumed not to. Stations that aggregate send none: from 802.11e on, the type of these frames is
    /// that of `QoS` data.
    pub fn attach_options(&mut self, station: StationId, key: u32, octets: u16, now: Instant) -> bool {
        let sender = &mut self.contenders[Contender::index_of(station.0) as usize];
        let Some(head) = sender.queue.head().filter(|head| head.frame.key == key) else { return false };
        let Receiver::Station(to) = head.frame.to else { return false };
        let attempts = sender.queue.attempts_mut();
        let goes = !self.aggregates
            && attempts.transmissions() == 0
            && self.stations[station.index()].options().may_send(to, now);
        if goes {
            attempts.set_options(octets);
        }
        goes
    }

    /// Whether the addressee of the frame at the head of a contender's queue drops it because of
    /// its type.
    pub(super) fn drops_type(&self, initiator: u32) -> bool {
        let contender = &self.contenders[initiator as usize];
        contender.queue.attempts().options() > 0
            && contender.own().is_none()
            && self.addressee(initiator).is_some_and(|to| !self.stations[to as usize].options().knows())
    }

    /// The addressee of a frame with options has acknowledged it.
    #[cold]
    pub(super) fn note_options_acknowledged(&mut self, index: u32) {
        self.note(index, |knowledge| *knowledge = Knowledge::Knows);
    }

    /// An exchange of a frame with options failed; `data_sent`: its data frame was sent, not only
    /// its RTS. If the receiver is not known to understand options, the frame is sent without them
    /// from now on.
    pub(super) fn note_options_failed(&mut self, index: u32, now: Instant, data_sent: bool) {
        let until = now.after_nanos(nanos(self.mac.options_probe_interval));
        let falls_back = self.note(index, |knowledge| {
            let falls_back = data_sent && *knowledge != Knowledge::Knows;
            if falls_back {
                *knowledge = Knowledge::FallBack(until);
            }
            falls_back
        });
        if falls_back == Some(true) {
            self.contenders[index as usize].attempts_mut().set_options(0);
            self.counters.options_refused += 1;
        }
    }

    /// A frame with options was given up. Its receiver is no longer known to understand options,
    /// because another station may have taken its place.
    pub(super) fn note_options_given_up(&mut self, index: u32) {
        self.note(index, |knowledge| {
            if *knowledge == Knowledge::Knows {
                *knowledge = Knowledge::Untried;
            }
        });
    }

    /// Changes what a contender's station knows about the receiver of the frame at the head of its
    /// queue; `None` if that frame has no options.
    fn note<R>(&mut self, index: u32, note: impl FnOnce(&mut Knowledge) -> R) -> Option<R> {
        let contender = &self.contenders[index as usize];
        if contender.attempts().options() == 0 {
            return None;
        }
        let Receiver::Station(to) = contender.queue.head()?.frame.to else { return None };
        let station = &mut self.stations[Contender::station_of(index) as usize];
        Some(note(station.options_mut().of(to)))
    }
}
