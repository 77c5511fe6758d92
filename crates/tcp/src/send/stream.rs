//! The data that the application sends, and its end.

use lasthop_packet::{Payload, Seq, TcpFlags};

use super::urgent::UrgentMarks;
use crate::send_buffer::SendBuffer;

/// The unacknowledged data, from SND.UNA on, and its end.
///
/// - Nothing is added after the application has closed.
/// - FIN has the number after the last octet.
#[derive(Debug)]
pub(crate) struct Stream {
    buffer: SendBuffer,
    /// [`SendBuffer::is_incomplete`], which is asked for each segment.
    is_incomplete: bool,
    /// Size of the send buffer in octets.
    most: u32,
    end: End,
    /// More will be written soon.
    expects_more: bool,
    urgent: UrgentMarks,
}

/// The state of the end of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum End {
    /// More may be written.
    Open,
    /// The application has closed: FIN follows the last octet of data.
    Closed,
    /// FIN was sent.
    Sent,
    /// FIN is acknowledged.
    Acknowledged,
}

impl Stream {
    /// An empty stream with a send buffer of `most` octets.
    pub(super) fn new(most: u32) -> Self {
        let (buffer, urgent) = (SendBuffer::default(), UrgentMarks::default());
        Self { buffer, is_incomplete: false, most, end: End::Open, expects_more: false, urgent }
    }

    /// Restores a saved stream.
    pub(super) fn restore(&mut self, buffer: SendBuffer, urgent: UrgentMarks, end: End) {
        (self.buffer, self.urgent, self.end) = (buffer, urgent, end);
        self.is_incomplete = self.buffer.is_incomplete();
    }

    pub(super) fn push(&mut self, payload: Payload) {
        self.buffer.push(payload);
    }

    /// The next data that the stream was restored without. Returns what comes after it.
    pub(super) fn supply(&mut self, payload: Payload) -> Payload {
        let behind = self.buffer.supply(payload);
        self.is_incomplete = self.buffer.is_incomplete();
        behind
    }

    pub(super) fn push_stream(&mut self, stream: u32, offset: u64, len: u64) {
        self.buffer.push_stream(stream, offset, len);
    }

    pub(super) const fn expect_more(&mut self, more: bool) {
        self.expects_more = more;
    }

    /// Discards everything after the first `octets`.
    pub(super) fn truncate(&mut self, octets: u64) {
        self.buffer.truncate(octets);
    }

    pub(super) fn close(&mut self) {
        self.end = self.end.max(End::Closed);
    }

    pub(super) const fn end_elsewhere(&mut self) {
        self.end = End::Acknowledged;
    }

    pub(super) const fn on_fin_sent(&mut self) {
        self.end = End::Sent;
    }

    /// Everything that was sent is acknowledged, including FIN.
    pub(super) fn on_all_acknowledged(&mut self) {
        if self.end == End::Sent && self.buffer.is_empty() {
            self.end = End::Acknowledged;
        }
    }

    pub(crate) const fn end(&self) -> End {
        self.end
    }

    pub(super) const fn buffer(&self) -> &SendBuffer {
        &self.buffer
    }

    /// Octets that the stream was restored without and that have not come.
    pub(crate) fn awaited(&self) -> u64 {
        self.buffer.awaited()
    }

    /// Whether some of them may have to be sent.
    #[inline]
    pub(crate) const fn is_incomplete(&self) -> bool {
        self.is_incomplete
    }

    pub(crate) const fn urgent(&self) -> &UrgentMarks {
        &self.urgent
    }

    #[inline]
    pub(crate) const fn len(&self) -> u64 {
        self.buffer.len()
    }

    /// The part of a window of `window` octets that the send buffer can fill.
    #[inline]
    pub(super) fn limit(&self, window: u32) -> u32 {
        window.min(self.most)
    }

    /// Octets in the send buffer after the first `outstanding` ones.
    pub(super) fn unsent(&self, outstanding: u32) -> u64 {
        self.len().min(u64::from(self.most)).saturating_sub(u64::from(outstanding))
    }

    /// Urgent data ends before this number.
    pub(super) fn mark_urgent(&mut self, end: Seq) {
        if self.end == End::Open {
            self.urgent.add(end);
        }
    }

    /// Up to `len` octets from `position` on, and the flags of their segment.
    ///
    //= RFC 9293, section 3.9.1.2: PSH in the last segment of what was written, unless more will be.
    #[inline]
    pub(super) fn data_at(&self, position: u64, len: u32) -> (Payload, TcpFlags) {
        let payload = self.buffer.slice(position, len);
        let is_end = position + payload.len() as u64 == self.buffer.len();
        let is_last = is_end && (!self.expects_more || self.end > End::Open);
        (payload, if is_last { TcpFlags::ACK.with(TcpFlags::PSH) } else { TcpFlags::ACK })
    }

    /// Everything before `una` is acknowledged, `octets` of it newly, with SYN and FIN counted as one each.
    /// Returns the number of newly acknowledged octets of data.
    #[inline]
    pub(super) fn acknowledge(&mut self, octets: u32, una: Seq) -> u64 {
        let data = u64::from(octets).min(self.buffer.len());
        self.buffer.acknowledge(data);
        if self.is_incomplete {
            self.is_incomplete = self.buffer.is_incomplete();
        }
        self.urgent.forget_before(una);
        data
    }
}
