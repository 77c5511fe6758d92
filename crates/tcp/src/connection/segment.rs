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
        // What few packets have is written into place: a packet that might have it would be put together
        // elsewhere.
        let packet = place.insert(self.packet(self.remote, ecn, tcp, payload));
        if self.has_rare_parts(flags)
            && let Some(tcp) = packet.tcp_mut()
        {
            self.write_rare_parts(tcp, now);
        }
        if self.most_segments > 1 && len > self.flight.mss && !self.path_mtu.is_probe(seq) {
            packet.set_segment_size(u16::try_from(self.flight.mss).ok().and_then(NonZeroU16::new));
        }
        if self.path_mtu.may_fragment() {
            packet.let_fragment();
        }
        if reserved_bits != 0 {
            packet.set_tcp_reserved_bits(reserved_bits);
        }
        self.receive.on_sent(len == 0, now);
    }

    /// A header with all that belongs to it.
    pub(super) fn whole_header(&mut self, seq: Seq, flags: TcpFlags, now: Instant) -> Tcp {
        let mut tcp = self.header(seq, flags, now);
        if self.has_rare_parts(flags) {
            self.write_rare_parts(&mut tcp, now);
        }
        tcp
    }

    /// A header without what few have.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "every packet; measured")]
    fn header(&mut self, seq: Seq, flags: TcpFlags, now: Instant) -> Tcp {
        let is_syn = flags.has(TcpFlags::SYN);
        let timestamps = self.negotiated.timestamps.then(|| self.timestamps(now));
        Tcp {
            source_port: self.local.1,
            destination_port: self.remote.1,
            seq,
            ack: if flags.has(TcpFlags::ACK) { self.receive.acknowledges() } else { Seq(0) },
            flags,
            window: if is_syn { 0 } else { self.receive.advertise(self.negotiated.our_shift) },
            urgent_pointer: 0,
            options: TcpOptions { timestamps, ..TcpOptions::default() },
        }
    }

    /// Whether a header has what few have.
    #[inline]
    fn has_rare_parts(&self, flags: TcpFlags) -> bool {
        flags.has(TcpFlags::SYN)
            || (self.negotiated.sack && self.receive.has_report())
            || !self.urgent.is_empty()
    }

    /// SACK blocks and an urgent pointer, or the window and the options of a SYN.
    #[cold]
    fn write_rare_parts(&self, tcp: &mut Tcp, now: Instant) {
        if !tcp.flags.has(TcpFlags::SYN) {
            if self.negotiated.sack {
                tcp.options.sack = self.receive.sack_blocks(self.most_sack_blocks());
            }
            self.write_urgent_pointer(tcp);
            return;
        }
        let answering = self.state == State::SynReceived;
        let has_timestamps = if answering { self.negotiated.timestamps } else { self.config.timestamps };
        tcp.window = if answering {
            // What the peer's SYN was answered with stays promised.
            self.receive.window().min(u32::from(u16::MAX)) as u16
        } else {
            self.receive.window_in_syn()
        };
        tcp.options = TcpOptions {
            maximum_segment_size: Some(self.config.mss.min(u32::from(u16::MAX)) as u16),
            window_scale: if answering { self.negotiated.shift() } else { self.offered_shift() },
            sack_permitted: if answering { self.negotiated.sack } else { self.config.sack },
            timestamps: has_timestamps.then(|| self.timestamps(now)),
            ..TcpOptions::default()
        };
    }

    #[inline]
    fn timestamps(&self, now: Instant) -> Timestamps {
        Timestamps { value: self.timestamp(now), echo_reply: self.receive.ts_recent() }
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
        let ip = Ip { traffic_class, identification, ..Ip::new(self.local.0, to.0) };
        match self.hop_limit {
            Some(hop_limit) => Ip { hop_limit, ..ip },
            None => ip,
        }
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
