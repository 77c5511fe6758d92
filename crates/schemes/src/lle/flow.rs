//! The state of a connection.

use lasthop_agent::{Obligation, Side};
use lasthop_hop::handshake::{answers, is_syn_ack, opening, permits_sack};
use lasthop_packet::{Instant, Packet, Seq, TcpFlags, Timestamps};

use super::confirming::Confirming;
use super::control::Control;
use super::receiver::Receiver;
use super::receiving::Receiving;
use super::settings::Settings;

pub(super) use lasthop_hop::handshake::Scale;

/// A connection, from its handshake on: without the handshake the window scaling is not known (RFC
/// 7323, section 2).
#[derive(Debug)]
pub(super) struct LleFlow {
    /// The initial sequence number of the SYN that opened it, if that was seen.
    pub(super) opening: Option<Seq>,
    pub(super) core_scale: Scale,
    pub(super) radio_scale: Scale,
    /// Whether the ends on the core side and on the radio side permit SACK blocks.
    pub(super) permit_sack: [bool; 2],
    /// Whether its data goes further than the hop, so that it is only observed: see `Lle::leave`.
    pub(super) is_left: bool,
    /// Whether the agent at the other end of the hop suppresses ACKs of promised data.
    pub(super) has_peer: bool,
    /// The latest TSval sent to the radio side.
    pub(super) latest_value: Option<u32>,
    /// The highest acknowledgment number sent to the radio side, with its window.
    pub(super) latest_ack: Option<(Seq, u16)>,
    /// The host on the radio side.
    pub(super) receiver: Receiver,
    /// Data to the radio side.
    pub(super) confirming: Confirming,
    /// Data from the radio side.
    pub(super) receiving: Receiving,
    /// Used if the data goes further than the hop and LLE-TCP_CC is enabled.
    pub(super) control: Option<Box<Control>>,
}

impl LleFlow {
    pub(super) fn new(opening: Option<Seq>, control: Option<Box<Control>>) -> Self {
        Self {
            opening,
            core_scale: Scale::Unknown,
            radio_scale: Scale::Unknown,
            permit_sack: [false; 2],
            is_left: false,
            has_peer: false,
            latest_value: None,
            latest_ack: None,
            receiver: Receiver::default(),
            confirming: Confirming::new(),
            receiving: Receiving::default(),
            control,
        }
    }

    /// A connection without its handshake, of hosts that do not scale their windows.
    pub(super) fn unscaled() -> Self {
        Self { core_scale: Scale::None, radio_scale: Scale::None, ..Self::new(None, None) }
    }

    /// Whether a segment is a copy of the SYN that opened the connection, after that was answered:
    /// it has no effect any more.
    pub(super) fn is_late_copy(&self, packet: &Packet) -> bool {
        self.opening.is_some() && opening(packet) == self.opening && self.core_shift().is_some()
    }

    /// Whether a segment is a SYN-ACK of another handshake than this connection's.
    pub(super) fn is_stray(&self, packet: &Packet) -> bool {
        is_syn_ack(packet) && !answers(packet, self.opening)
    }

    /// Processes the options of an end's SYN, if it belongs to the handshake.
    pub(super) fn on_syn(&mut self, syn: &Packet, from: Side) {
        let (scale, other) = match from {
            Side::Core => (&mut self.core_scale, self.radio_scale),
            Side::Radio => (&mut self.radio_scale, self.core_scale),
        };
        if scale.record(syn, other, self.opening) {
            self.permit_sack[from as usize] = permits_sack(syn);
        }
    }

    /// Whether generated ACKs report data delivered above a hole.
    pub(super) fn is_selective(&self, settings: &Settings) -> bool {
        settings.selective_acks && self.permit_sack == [true; 2]
    }

    /// The window scale of the host on the core side, once both SYNs were seen.
    pub(super) const fn core_shift(&self) -> Option<u8> {
        self.core_scale.with(self.radio_scale)
    }

    /// The window scale of the host on the radio side, once both SYNs were seen.
    pub(super) const fn radio_shift(&self) -> Option<u8> {
        self.radio_scale.with(self.core_scale)
    }

    /// Records a segment to the radio side.
    pub(super) fn record_sent(&mut self, packet: &Packet) {
        let Some(tcp) = packet.tcp() else { return };
        if let Some(Timestamps { value, .. }) = tcp.options.timestamps {
            let is_later = self.latest_value.is_none_or(|latest| Seq(value).after(Seq(latest)));
            self.latest_value = if is_later { Some(value) } else { self.latest_value };
        }
        // Not an ACK of data that the host there has never sent: it would reject the copy.
        let is_plausible = tcp.flags.has(TcpFlags::ACK) && !tcp.ack.after(self.receiver.next);
        if is_plausible && self.latest_ack.is_none_or(|(latest, _)| !tcp.ack.before(latest)) {
            self.latest_ack = Some((tcp.ack, tcp.window));
        }
    }

    /// Updates a copy with the latest numbers: with an old TSval PAWS may reject it (RFC 7323,
    /// section 5.3), and with an old acknowledgment number the check of RFC 5961, section 5.2.
    pub(super) fn freshen(&self, copy: &mut Packet) {
        let Some(tcp) = copy.tcp_mut() else { return };
        if let Some((latest, timestamps)) = self.latest_value.zip(tcp.options.timestamps.as_mut()) {
            timestamps.value = latest;
        }
        if let Some((ack, window)) = self.latest_ack.filter(|(ack, _)| ack.after(tcp.ack)) {
            (tcp.ack, tcp.window) = (ack, window);
        }
    }

    /// The next time when the flow has work to do.
    pub(super) fn deadline(&self, settings: &Settings) -> Option<Instant> {
        let earliest = |a: Option<Instant>, b: Option<Instant>| a.into_iter().chain(b).min();
        let control = self.control.as_ref().and_then(|control| control.deadline());
        let ack = earliest(self.receiving.deadline(), self.confirming.ack_due());
        earliest(earliest(ack, self.confirming.deadline(settings)), control)
    }

    /// Octets of allocated memory, without the fixed state and the one ACK that it may owe.
    pub(super) fn allocated(&self) -> usize {
        let control = self.control.as_deref().map_or(0, |control| size_of_val(control) + control.allocated());
        self.confirming.allocated() + control
    }

    /// The obligation: octets that a sender considers delivered only because of this agent's ACKs,
    /// if copies are kept.
    pub(super) fn obligation(&self) -> Obligation {
        let keeps = !self.confirming.kept.is_empty()
            || self.control.as_ref().is_some_and(|control| !control.is_empty());
        match u64::from(self.unproven()) {
            octets if keeps && octets > 0 => Obligation::Owes(octets),
            _ => Obligation::Free,
        }
    }

    /// Whether octets were acknowledged without a copy, and the receiver has not acknowledged them
    /// itself: their loss is counted only if the connection is still known when the receiver sends
    /// duplicate ACKs, however late that is.
    pub(super) fn awaits_proof(&self) -> bool {
        self.unproven() > 0 && self.obligation().is_free()
    }

    /// The data that would be lost with this state: its start and its octets.
    pub(super) fn at_risk(&self) -> Option<(Seq, u64)> {
        let first = self.confirming.unproven_from();
        let first = first.or_else(|| self.control.as_ref().and_then(|control| control.unproven_from()));
        first.zip(Some(self.obligation().octets())).filter(|(_, octets)| *octets > 0)
    }

    /// Octets that a sender considers delivered only because of this agent's ACKs.
    pub(super) fn unproven(&self) -> u32 {
        self.confirming.unproven() + self.control.as_ref().map_or(0, |control| control.unproven())
    }
}
