//! Options in frames, and who knows them: "options" support for IEEE 802.11, as D. Kliazovich's
//! dissertation has it (University of Trento 2006, section 4.4.3).
//!
//! A data frame with options is of a type that the standard has reserved (data, subtype 1000). A
//! station that knows none drops it and does not acknowledge it. So a sender whose first such frame
//! to a neighbour goes without an ACK sends it again as a standard frame, without options, as it
//! does the next ones, and tries another frame with options after a while
//! ([`MacConfig::options_probe_interval`](crate::MacConfig)). A neighbour that has acknowledged one is
//! known to know them until a frame to it is given up.

use lasthop_packet::Instant;
use lasthop_packet::time::nanos;

use super::Wlan;
use crate::contender::Contender;
use crate::errors::ErrorModel;
use crate::frame::{Receiver, StationId};
use crate::knowledge::Knowledge;

impl<E: ErrorModel> Wlan<E> {
    /// Whether a station knows options in frames; by default none does.
    pub fn set_knows_options(&mut self, station: StationId, knows: bool) {
        self.stations[station.index()].options_mut().set_knows(knows);
    }

    /// Whether it does.
    pub fn knows_options(&self, station: StationId) -> bool {
        self.stations[station.index()].options().knows()
    }

    /// Whether the times of each data frame that arrives are told ([`crate::Output::Transmission`]);
    /// not by default.
    pub fn report_transmissions(&mut self, is_on: bool) {
        self.wanted.transmissions = is_on;
    }

    /// Whether they are.
    pub fn reports_transmissions(&self) -> bool {
        self.wanted.transmissions
    }

    /// Gives the frame in the hands of a station's MAC this number of octets of options, before its
    /// first transmission. `false` if it goes without: it is broadcast, or its receiver does not know
    /// options.
    pub fn attach_options(&mut self, station: StationId, key: u32, octets: u16, now: Instant) -> bool {
        let sender = &mut self.contenders[Contender::index_of(station.0) as usize];
        let Some(head) = sender.queue.head().filter(|head| head.frame.key == key) else { return false };
        let Receiver::Station(to) = head.frame.to else { return false };
        let attempts = sender.queue.attempts_mut();
        let goes =
            attempts.transmissions() == 0 && self.stations[station.index()].options().may_send(to, now);
        if goes {
            attempts.set_options(octets);
        }
        goes
    }

    /// Whether the addressee of the frame at the head of a contender's queue would drop it for its
    /// type.
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

    /// An exchange of a frame with options failed: whether its data frame was sent or only its RTS.
    /// If its receiver is not known to know options, it goes without from now on.
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

    /// A frame with options was given up: who was to receive it may be another by now.
    pub(super) fn note_options_given_up(&mut self, index: u32) {
        self.note(index, |knowledge| {
            if *knowledge == Knowledge::Knows {
                *knowledge = Knowledge::Untried;
            }
        });
    }

    /// What is known of the receiver of the frame at the head of a contender's queue; `None` where
    /// that has no options.
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
