//! The receiving half: RCV.NXT, reassembly, and when an ACK is owed.

use std::collections::VecDeque;
use std::time::Duration;

use lasthop_packet::{Payload, SackBlocks, Seq};

use crate::config::AckPolicy;
use crate::reassembly::Reassembly;

/// The receive variables of RFC 9293, section 3.3.1, and what waits for the application.
#[derive(Debug)]
pub(super) struct ReceiveSide {
    next: Seq,
    /// Receive buffer in octets.
    buffer: u32,
    reassembly: Reassembly,
    delivered: VecDeque<Payload>,
    unread: u32,
    /// Behind the window that was advertised last; it never moves back (RFC 9293, section 3.8.6).
    advertised: Seq,
    policy: AckPolicy,
    unacknowledged_segments: u32,
    pub(super) ack_now: bool,
    fin: Option<Seq>,
    fin_received: bool,
    /// TS.Recent and the number up to which we have acknowledged (RFC 7323, section 4.3).
    ts_recent: u32,
    last_ack_sent: Seq,
}

impl ReceiveSide {
    pub(super) fn new(buffer: u32, policy: AckPolicy) -> Self {
        Self {
            next: Seq(0),
            buffer,
            reassembly: Reassembly::default(),
            delivered: VecDeque::new(),
            unread: 0,
            advertised: Seq(0),
            policy,
            unacknowledged_segments: 0,
            ack_now: false,
            fin: None,
            fin_received: false,
            ts_recent: 0,
            last_ack_sent: Seq(0),
        }
    }

    /// The peer's initial sequence number is known.
    pub(super) fn synchronize(&mut self, irs: Seq) {
        self.next = irs + 1;
        self.advertised = self.next + self.buffer;
        self.last_ack_sent = self.next;
    }

    #[inline]
    pub(super) const fn next(&self) -> Seq {
        self.next
    }

    pub(super) const fn fin_received(&self) -> bool {
        self.fin_received
    }

    #[inline]
    pub(super) fn read(&mut self) -> Option<Payload> {
        let payload = self.delivered.pop_front()?;
        self.unread -= payload.len() as u32;
        Some(payload)
    }

    /// The window field to send, shifted; remembers what it promises.
    #[inline]
    pub(super) fn advertise(&mut self, shift: u8) -> u16 {
        let free = self.buffer.saturating_sub(self.unread);
        self.advertised = self.advertised.later(self.next + free);
        ((self.advertised - self.next) >> shift).min(u32::from(u16::MAX)) as u16
    }

    /// An ACK leaves: nothing more is owed.
    #[inline]
    pub(super) const fn acknowledged(&mut self) {
        self.ack_now = false;
        self.unacknowledged_segments = 0;
        self.last_ack_sent = self.next;
    }

    pub(super) const fn ts_recent(&self) -> u32 {
        self.ts_recent
    }

    /// Remembers the peer's timestamp.
    ///
    //= RFC 7323, section 4.3: "If SEG.TSval >= TS.Recent and SEG.SEQ <= Last.ACK.sent, then SEG.TSval is copied to TS.Recent".
    pub(super) const fn note_timestamp(&mut self, value: u32, seq: Seq) {
        if value.wrapping_sub(self.ts_recent) as i32 >= 0 && !seq.after(self.last_ack_sent) {
            self.ts_recent = value;
        }
    }

    /// Whether the timestamp is older than what was seen (PAWS; RFC 7323, section 5.3).
    pub(super) const fn is_old_timestamp(&self, value: u32) -> bool {
        (value.wrapping_sub(self.ts_recent) as i32) < 0
    }

    pub(super) fn sack_blocks(&self, limit: usize) -> SackBlocks {
        self.reassembly.sack_blocks(limit)
    }

    /// Whether any octet of a segment, or an empty one itself, lies in the window (RFC 9293, section 3.4).
    #[inline]
    pub(super) fn accepts(&self, seq: Seq, segment_len: u32) -> bool {
        let window = self.advertised - self.next;
        if segment_len == 0 {
            return seq == self.next || seq.within(self.next, self.next + window);
        }
        window > 0 && seq.before(self.next + window) && (seq + segment_len).after(self.next)
    }

    /// Takes in data, and FIN behind it. Returns for how long the ACK may wait, if it may.
    #[inline]
    pub(super) fn take(&mut self, seq: Seq, payload: &Payload, fin: bool) -> Option<Duration> {
        if fin {
            self.fin = Some(seq + payload.len() as u32);
        }
        if payload.is_empty() && !fin {
            return None;
        }
        if seq == self.next && self.reassembly.is_empty() && self.fin.is_none() {
            if payload.len() as u32 <= self.advertised - self.next {
                self.deliver(payload.clone());
                return self.owe_ack();
            }
        }
        self.take_out_of_order(seq, payload)
    }

    #[cold]
    fn take_out_of_order(&mut self, seq: Seq, payload: &Payload) -> Option<Duration> {
        // Everything but plain data in order is acknowledged at once (RFC 5681, section 4.2).
        self.ack_now = true;
        // Cut to the window on both sides.
        let start = seq.later(self.next);
        let end = (seq + payload.len() as u32).earlier(self.advertised);
        if end.after(start) {
            self.reassembly.insert(start, payload.slice((start - seq) as usize, (end - seq) as usize));
        }
        while let Some(piece) = self.reassembly.take_next(self.next) {
            self.deliver(piece);
        }
        if self.fin == Some(self.next) && !self.fin_received {
            self.fin_received = true;
            self.next += 1;
        }
        None
    }

    fn deliver(&mut self, payload: Payload) {
        let len = payload.len() as u32;
        self.next += len;
        self.unread += len;
        self.delivered.push_back(payload);
    }

    fn owe_ack(&mut self) -> Option<Duration> {
        self.unacknowledged_segments += 1;
        match self.policy {
            AckPolicy::Delayed(delay) if self.unacknowledged_segments < 2 => Some(delay),
            _ => {
                self.ack_now = true;
                None
            }
        }
    }
}
