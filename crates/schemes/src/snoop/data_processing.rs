//! Data from the core side: what is cached of it, and what is noted.

use lasthop_agent::Room;
use lasthop_packet::{Instant, Packet, Seq, Tcp, TcpFlags};

use super::flow::{Notes, Overdue, SnoopFlow};
use super::scoreboard::{Departure, Scoreboard};
use super::segmentation::is_repairable;
use super::settings::Settings;

/// What a data packet did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataEffect {
    /// The local timer starts anew.
    pub restart_timer: bool,
    /// The bound that kept the packet out of the cache.
    pub at_bound: Option<&'static str>,
}

impl SnoopFlow {
    /// Takes note of a packet with sequence space that goes to the radio side (`snoop_data`).
    /// `room` is the memory that may still be taken.
    pub fn on_data(&mut self, packet: &Packet, settings: &Settings, room: Room, now: Instant) -> DataEffect {
        let Some(tcp) = packet.tcp() else { return DataEffect::default() };
        let (seq, end) = (tcp.seq, tcp.seq + packet.segment_len());
        self.note_timestamp(tcp);
        self.beyond.on_down(tcp, now);
        if tcp.flags.has(TcpFlags::FIN) {
            self.fin = Some(end);
        }
        let late = seq.before(self.highest);
        self.highest = self.highest.later(end);
        self.arrived = self.arrived.later(end);
        if self.last_ack.is_some_and(|ack| !end.after(ack)) {
            // The receiver has it; its own duplicate ACK will tell the sender.
            if let Some(board) = &mut self.board {
                board.forget_copies(seq, end);
            }
            return DataEffect::default();
        }
        let is_overdue = self.expiries > 0;
        let is_known = late && self.mark_retransmitted_by_sender(seq, end, now);
        if is_known {
            if is_overdue {
                let tsval = tcp.options.timestamps.map(|timestamps| Seq(timestamps.value));
                self.overdue.get_or_insert(Overdue { seq, tsval });
            }
            return DataEffect { restart_timer: true, at_bound: None };
        }
        if !is_repairable(tcp) {
            return DataEffect::default();
        }
        if packet.payload().is_unseen() {
            self.note_departure(packet, late, room, now);
            return DataEffect { restart_timer: late, ..DataEffect::default() };
        }
        let sizes = packet.sizes();
        let at_bound = if self.cache.is_full() {
            Some("cached packets of a connection")
        } else if self.octets().saturating_add(sizes.octets) > settings.cached_octets {
            Some("cached octets of a connection")
        } else {
            let board = self.board.as_ref().map_or(0, Scoreboard::cost_of_one);
            room.lacks(self.cache.cost_of(sizes) + board)
        };
        if at_bound.is_some() {
            return DataEffect { at_bound, ..DataEffect::default() };
        }
        let notes = Notes { sent: now, local: 0, by_sender: false, ambiguous: late };
        self.cache.insert(packet, sizes, notes);
        let mut restart_timer = late;
        if let Some(board) = &mut self.board {
            // Whatever follows a segment whose ACK may be delayed brings that about.
            restart_timer |= board.unsacked() > 0 && board.is_single();
            board.note_segment(packet.segment_payload());
            board.transmit(seq, end, now, if late { Departure::Again } else { Departure::New });
        } else if late {
            self.fill_in(seq);
        }
        DataEffect { restart_timer, ..DataEffect::default() }
    }

    /// Takes note of data that is not kept here: of what is delivered and what is lost.
    fn note_departure(&mut self, packet: &Packet, late: bool, room: Room, now: Instant) {
        let (Some(board), Some(tcp)) = (&mut self.board, packet.tcp()) else { return };
        if room.lacks(board.cost_of_one()).is_some() {
            return;
        }
        board.note_segment(packet.segment_payload());
        let what = if late { Departure::Again } else { Departure::NotKept };
        board.transmit(tcp.seq, tcp.seq + packet.segment_len(), now, what);
    }

    /// A packet that was not cached and lies below what passed already: the network reordered it,
    /// or lost it before us and the sender repairs that. As the first in the cache it is taken for
    /// the sender's retransmission.
    fn fill_in(&mut self, seq: Seq) {
        let Some(first) = self.cache.first_mut() else { return };
        if first.seq == seq {
            first.notes.by_sender = true;
        }
        self.count_from = first.seq;
    }

    /// Marks what is cached of `[seq, end)` as retransmitted by the sender; whether there was any.
    fn mark_retransmitted_by_sender(&mut self, seq: Seq, end: Seq, now: Instant) -> bool {
        let splits = self.ranges_allowed();
        if let Some(board) = &mut self.board {
            self.expiries = 0;
            return board.retransmitted_by_sender(seq, end, now, splits);
        }
        let mut found = false;
        for cached in self.cache.iter_mut().filter(|cached| cached.seq.before(end) && cached.end.after(seq)) {
            cached.notes = Notes { sent: now, local: 0, by_sender: true, ambiguous: true };
            found = true;
        }
        found
    }

    /// Takes note of the timestamp of a packet from the core side.
    ///
    /// Only of one that the receiver may take over as TS.Recent (RFC 7323, section 4.3): one that
    /// starts within what is outstanding. So nobody outside the path can make us stamp copies with
    /// a TSval from the future, after which the receiver would refuse the true sender for good.
    pub fn note_timestamp(&mut self, tcp: &Tcp) {
        let outstanding =
            !tcp.seq.after(self.highest) && self.last_ack.is_none_or(|ack| !tcp.seq.before(ack));
        if let Some(timestamps) = tcp.options.timestamps
            && outstanding
        {
            let value = Seq(timestamps.value);
            self.highest_tsval = Some(self.highest_tsval.map_or(value, |highest| highest.later(value)));
        }
    }
}
