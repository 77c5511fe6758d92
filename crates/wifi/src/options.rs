//! Options in frames, and who knows them: "options" support for IEEE 802.11, as D. Kliazovich's
//! dissertation has it (University of Trento 2006, section 4.4.3).
//!
//! A data frame with options is of a type that the standard has reserved (data, subtype 1000). A
//! station that knows none drops it and does not acknowledge it. So a sender whose first such frame
//! to a neighbour goes without an ACK sends it again as a standard frame, without options, as it
//! does the next ones, and tries another frame with options after a while
//! ([`MacConfig::options_probe_interval`](super::MacConfig)). A neighbour that has acknowledged one is
//! known to know them until a frame to it is given up.

use lasthop_packet::Instant;
use lasthop_packet::time::nanos;

use super::frame::Receiver;
use super::knowledge::Knowledge;
use super::wlan::Wlan;
use crate::id::StationId;

impl Wlan {
    /// Whether a station knows options in frames; by default none does.
    pub fn set_knows_options(&mut self, station: StationId, knows: bool) {
        self.stations[station.index()].knows_options = knows;
    }

    /// Whether it does.
    pub fn knows_options(&self, station: StationId) -> bool {
        self.stations[station.index()].knows_options
    }

    /// Whether the times of each data frame that arrives are told ([`super::Output::Transmission`]);
    /// not by default.
    pub fn tell_transmissions(&mut self, tell: bool) {
        self.tells_transmissions = tell;
    }

    /// Whether they are.
    pub fn tells_transmissions(&self) -> bool {
        self.tells_transmissions
    }

    /// Gives the frame in the hands of a station's MAC this number of octets of options, before its
    /// first transmission. `false` if it goes without: it is broadcast, or its receiver does not know
    /// options.
    pub fn attach_options(&mut self, station: StationId, key: u32, octets: u16, now: Instant) -> bool {
        let sender = &mut self.stations[station.index()];
        let Some(head) = sender.queue.front().filter(|head| head.frame.key == key) else { return false };
        let Receiver::Station(to) = head.frame.to else { return false };
        // A frame of its own may be in the MAC's hands before that at the head.
        let attempts = if sender.own.is_some() { &mut sender.set_aside } else { &mut sender.attempts };
        if !sender.knows_options || attempts.transmissions > 0 {
            return false;
        }
        let goes = match sender.neighbours.get(to.index()) {
            Some(Knowledge::FallBack(until)) => now >= *until,
            Some(Knowledge::Untried | Knowledge::Knows) | None => true,
        };
        if goes {
            attempts.options = octets;
        }
        goes
    }

    /// Whether the addressee of the frame at the head of a station's queue would drop it for its
    /// type.
    pub(crate) fn drops_type(&self, initiator: u32) -> bool {
        self.stations[initiator as usize].attempts.options > 0
            && self.addressee(initiator).is_some_and(|to| !self.stations[to as usize].knows_options)
    }

    /// The addressee of a frame with options has acknowledged it.
    #[cold]
    pub(crate) fn note_options_acknowledged(&mut self, index: u32) {
        self.note(index, |knowledge| *knowledge = Knowledge::Knows);
    }

    /// An exchange of a frame with options failed: whether its data frame was sent or only its RTS.
    /// If its receiver is not known to know options, it goes without from now on.
    pub(crate) fn note_options_failed(&mut self, index: u32, now: Instant, data_sent: bool) {
        let until = now.after_nanos(nanos(self.mac.options_probe_interval));
        let falls_back = self.note(index, |knowledge| {
            let falls_back = data_sent && *knowledge != Knowledge::Knows;
            if falls_back {
                *knowledge = Knowledge::FallBack(until);
            }
            falls_back
        });
        if falls_back == Some(true) {
            self.stations[index as usize].attempts.options = 0;
            self.counters.options_refused += 1;
        }
    }

    /// A frame with options was given up: who was to receive it may be another by now.
    pub(crate) fn note_options_given_up(&mut self, index: u32) {
        self.note(index, |knowledge| {
            if *knowledge == Knowledge::Knows {
                *knowledge = Knowledge::Untried;
            }
        });
    }

    /// What is known of the receiver of the frame at the head of a station's queue; `None` where
    /// that has no options.
    fn note<R>(&mut self, index: u32, note: impl FnOnce(&mut Knowledge) -> R) -> Option<R> {
        let station = &mut self.stations[index as usize];
        if station.attempts.options == 0 {
            return None;
        }
        let Receiver::Station(to) = station.queue.front()?.frame.to else { return None };
        if station.neighbours.len() <= to.index() {
            station.neighbours.resize(to.index() + 1, Knowledge::Untried);
        }
        Some(note(&mut station.neighbours[to.index()]))
    }
}
