//! A segment, from what is decided about it to the packet that leaves.

use std::num::NonZeroU16;

use lasthop_packet::{Ecn, Instant, Ip, Packet, Payload, Seq, Tcp, TcpFlags, TcpOptions, Timestamps};

use super::window_scale::window_shift;
use super::{Connection, Endpoint, State};

/// What is decided about a segment before it is written.
pub(super) struct Segment {
    pub(super) seq: Seq,
    pub(super) flags: TcpFlags,
    pub(super) payload: Payload,
    /// The reserved bits of its header.
    pub(super) reserved_bits: u8,
    /// It has data, none of which was sent before, and is no window probe.
    pub(super) is_new_data: bool,
}

impl Connection {
    /// Writes a segment with our addresses, ports, acknowledgment and window into its packet's place.
    #[inline]
    pub(super) fn write_segment(&mut self, segment: Segment, place: &mut Option<Packet>, now: Instant) {
        let Segment { seq, mut flags, payload, reserved_bits, is_new_data } = segment;
        let mut ecn = Ecn::NotEct;
        if self.ecn.is_some() {
            (ecn, flags) = self.write_marks(flags, is_new_data);
        }
        let len = payload.len() as u32;
        let tcp = self.header(seq, flags, now);
        // What few packets have is written into place: a packet that may have it would be built elsewhere.
        let packet = place.insert(self.packet(self.remote, ecn, tcp, payload));
        if self.owes_report(flags)
            && let Some(tcp) = packet.tcp_mut()
        {
            self.write_report(tcp);
        }
        if self.most_segments > 1 && len > self.flight.mss {
            packet.set_segment_size(u16::try_from(self.flight.mss).ok().and_then(NonZeroU16::new));
        }
        if reserved_bits != 0 {
            packet.set_tcp_reserved_bits(reserved_bits);
        }
        self.receive.on_sent(len == 0, now);
    }

    /// A header with all that belongs to it.
    pub(super) fn whole_header(&mut self, seq: Seq, flags: TcpFlags, now: Instant) -> Tcp {
        let mut tcp = self.header(seq, flags, now);
        if self.owes_report(flags) {
            self.write_report(&mut tcp);
        }
        tcp
    }

    /// Whether SACK blocks go with a segment.
    #[inline]
    fn owes_report(&self, flags: TcpFlags) -> bool {
        self.negotiated.sack && self.receive.has_report() && !flags.has(TcpFlags::SYN)
    }

    #[cold]
    fn write_report(&self, tcp: &mut Tcp) {
        tcp.options.sack = self.receive.sack_blocks(self.most_sack_blocks());
    }

    /// A header without SACK blocks.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "every packet; measured")]
    fn header(&mut self, seq: Seq, flags: TcpFlags, now: Instant) -> Tcp {
        let syn = flags.has(TcpFlags::SYN);
        Tcp {
            source_port: self.local.1,
            destination_port: self.remote.1,
            seq,
            ack: if flags.has(TcpFlags::ACK) { self.receive.next() } else { Seq(0) },
            flags,
            window: if syn && self.state == State::SynReceived {
                // What the peer's SYN was answered with stays promised.
                self.receive.window().min(u32::from(u16::MAX)) as u16
            } else if syn {
                self.receive.window_in_syn()
            } else {
                self.receive.advertise(self.negotiated.our_shift)
            },
            urgent_pointer: 0,
            options: self.options(syn, now),
        }
    }

    #[inline]
    pub(super) fn packet(&mut self, to: Endpoint, ecn: Ecn, tcp: Tcp, payload: Payload) -> Packet {
        let ip = self.ip(to, ecn);
        self.identification = self.identification.wrapping_add(1);
        self.stats.segments_sent += 1;
        Packet::tcp_segment(ip, tcp, payload)
    }

    #[inline]
    pub(super) const fn ip(&self, to: Endpoint, ecn: Ecn) -> Ip {
        let (traffic_class, identification) = (self.dscp << 2 | ecn as u8, self.identification);
        Ip { traffic_class, identification, ..Ip::new(self.local.0, to.0) }
    }

    #[inline]
    fn options(&self, syn: bool, now: Instant) -> TcpOptions {
        let mut options = TcpOptions::default();
        let answering = self.state == State::SynReceived;
        if syn {
            options.maximum_segment_size = Some(self.config.mss.min(u32::from(u16::MAX)) as u16);
            options.window_scale = if answering { self.negotiated.shift() } else { self.offered_shift() };
            options.sack_permitted = if answering { self.negotiated.sack } else { self.config.sack };
        }
        if if syn && !answering { self.config.timestamps } else { self.negotiated.timestamps } {
            options.timestamps =
                Some(Timestamps { value: self.timestamp(now), echo_reply: self.receive.ts_recent() });
        }
        options
    }

    /// The shift that our windows need.
    pub(super) fn shift(&self) -> u8 {
        window_shift(self.config.largest_window())
    }

    /// The shift that our SYN offers, if it opens the connection: none where our windows need none.
    pub(super) fn offered_shift(&self) -> Option<u8> {
        Some(self.shift()).filter(|shift| *shift > 0)
    }

    /// SACK blocks that there is room for beside the other options.
    pub(super) const fn most_sack_blocks(&self) -> usize {
        if self.negotiated.timestamps { 3 } else { 4 }
    }

    /// What the timestamp clock says.
    #[inline]
    pub(super) const fn timestamp(&self, now: Instant) -> u32 {
        self.timestamp_clock.reads(now)
    }
}
