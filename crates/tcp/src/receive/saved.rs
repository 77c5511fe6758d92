//! The receiving half in a snapshot.

use lasthop_packet::{Payload, Seq};
use serde::{Deserialize, Serialize};

use super::ReceiveSide;
use crate::send_buffer::memory_of;

/// The largest possible window (RFC 7323, section 2.3).
const LARGEST_WINDOW: u32 = 1 << 30;

/// The receive variables, and the data held.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Saved {
    next: Seq,
    advertised: Seq,
    unread: Vec<Payload>,
    /// The data above a gap.
    beyond: Vec<(Seq, Payload)>,
    fin: Option<Seq>,
    fin_received: bool,
    ts_recent: Option<u32>,
    last_ack_sent: Seq,
    segments: u32,
    duplicate: Option<(Seq, Seq)>,
    urgent: Option<Seq>,
    owes_ack: bool,
}

impl Saved {
    fn payloads(&self) -> impl Iterator<Item = &Payload> {
        self.unread.iter().chain(self.beyond.iter().map(|(_, payload)| payload))
    }

    /// Octets in order.
    pub(crate) fn unread(&self) -> u64 {
        self.unread.iter().map(|payload| payload.len() as u64).fold(0, u64::saturating_add)
    }

    /// Removes the data in order, and returns it; nothing if it is before the end of urgent data.
    pub(crate) fn take_unread(&mut self) -> Vec<Payload> {
        if self.urgent.is_some() { Vec::new() } else { std::mem::take(&mut self.unread) }
    }

    /// Octets of memory for the data held.
    pub(crate) fn memory(&self) -> usize {
        let octets = self.payloads().map(Payload::len).fold(0, usize::saturating_add);
        memory_of(self.payloads().count(), octets)
    }

    /// Octets of simulated streams.
    pub(crate) fn simulated(&self) -> u64 {
        let simulated = self.payloads().filter(|payload| payload.is_simulated());
        simulated.map(|payload| payload.len() as u64).fold(0, u64::saturating_add)
    }
}

impl ReceiveSide {
    pub(crate) fn save(&self) -> Saved {
        Saved {
            next: self.next,
            advertised: self.advertised,
            unread: self.delivered.iter().cloned().collect(),
            beyond: self.reassembly.pieces().cloned().collect(),
            fin: self.fin,
            fin_received: self.fin_received,
            ts_recent: self.ts_recent,
            last_ack_sent: self.last_ack_sent,
            segments: self.segments,
            duplicate: self.duplicate,
            urgent: self.urgent,
            owes_ack: self.ack_now || self.unacknowledged_segments > 0 || self.next != self.last_ack_sent,
        }
    }

    /// Restores the saved half in a new one, after [`ReceiveSide::begin`]. `None` if the state is invalid.
    pub(crate) fn restore(&mut self, saved: Saved) -> Option<()> {
        let window = saved.advertised - saved.next;
        let is_fin_sound = match (saved.fin, saved.fin_received) {
            (None, is_received) => !is_received,
            (Some(fin), true) => fin + 1 == saved.next,
            (Some(fin), false) => fin - saved.next <= window,
        };
        let is_in_window = |(seq, payload): &(Seq, Payload)| {
            seq.after(saved.next) && u64::from(*seq - saved.next) + payload.len() as u64 <= u64::from(window)
        };
        let unread = saved.unread();
        let is_sound = is_fin_sound
            && window <= LARGEST_WINDOW
            && unread <= u64::from(2 * LARGEST_WINDOW)
            && saved.beyond.iter().all(is_in_window);
        if !is_sound {
            return None;
        }
        (self.next, self.advertised, self.last_ack_sent) =
            (saved.next, saved.advertised, saved.last_ack_sent);
        (self.fin, self.fin_received, self.ts_recent) = (saved.fin, saved.fin_received, saved.ts_recent);
        (self.segments, self.duplicate) = (saved.segments, saved.duplicate);
        self.urgent = saved.urgent;
        self.unread = unread as u32;
        self.delivered = saved.unread.into();
        for (seq, payload) in saved.beyond {
            self.reassembly.insert(seq, payload);
        }
        self.ack_now = saved.owes_ack;
        Some(())
    }
}
