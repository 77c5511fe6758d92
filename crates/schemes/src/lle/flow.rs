//! What is kept about a connection.

use lasthop_agent::{Obligation, Side};
use lasthop_hop::handshake::{answers, is_syn_ack, opening, permits_sack};
use lasthop_packet::{Instant, Packet, Seq, TcpFlags, Timestamps};

use super::confirming::Confirming;
use super::control::Control;
use super::receiver::Receiver;
use super::receiving::Receiving;
use super::settings::Settings;

pub(super) use lasthop_hop::handshake::Scale;

/// A connection, from its handshake on: without the handshake it is not known how windows are scaled
/// (RFC 7323, section 2).
#[derive(Debug)]
pub(super) struct LleFlow {
    /// The initial sequence number of the SYN that opened it, if that was seen.
    pub(super) opening: Option<Seq>,
    pub(super) core_scale: Scale,
    pub(super) radio_scale: Scale,
    /// The ends on the core side and on the radio side permit SACK blocks.
    pub(super) permit_sack: [bool; 2],
    /// Its data goes further than the hop, and it is only heard: see `Lle::leave`.
    pub(super) is_left: bool,
    /// The agent behind the hop keeps ACKs back for which it has a promise.
    pub(super) has_peer: bool,
    /// The latest TSval that went to the radio side.
    pub(super) latest_value: Option<u32>,
    /// The highest acknowledgment number that went there, and the window beside it.
    pub(super) latest_ack: Option<(Seq, u16)>,
    /// The host on the radio side.
    pub(super) receiver: Receiver,
    /// Data to the radio side.
    pub(super) confirming: Confirming,
    /// Data from the radio side.
    pub(super) receiving: Receiving,
    /// Where the data goes further than the hop, and LLE-TCP_CC is wanted.
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

    /// One that is met on its way, of hosts that do not scale their windows.
    pub(super) fn unscaled() -> Self {
        Self { core_scale: Scale::None, radio_scale: Scale::None, ..Self::new(None, None) }
    }

    /// Whether a segment is a copy of the SYN that opened the connection, and comes after it was
    /// answered: it says nothing any more.
    pub(super) fn is_late_copy(&self, packet: &Packet) -> bool {
        self.opening.is_some() && opening(packet) == self.opening && self.core_shift().is_some()
    }

    /// Whether a segment is a SYN-ACK of another handshake than this connection's.
    pub(super) fn is_stray(&self, packet: &Packet) -> bool {
        is_syn_ack(packet) && !answers(packet, self.opening)
    }

    /// Takes in what an end's SYN offers, if it is of the handshake.
    pub(super) fn on_syn(&mut self, syn: &Packet, from: Side) {
        let (scale, other) = match from {
            Side::Core => (&mut self.core_scale, self.radio_scale),
            Side::Radio => (&mut self.radio_scale, self.core_scale),
        };
        if scale.note(syn, other, self.opening) {
            self.permit_sack[from as usize] = permits_sack(syn);
        }
    }

    /// Whether ACKs that are made say what was delivered beyond a hole.
    pub(super) fn is_selective(&self, settings: &Settings) -> bool {
        settings.selective_acks && self.permit_sack == [true; 2]
    }

    /// How the windows of the host on the core side are scaled, once both SYNs were seen.
    pub(super) const fn core_shift(&self) -> Option<u8> {
        self.core_scale.with(self.radio_scale)
    }

    /// How the windows of the host on the radio side are scaled, once both SYNs were seen.
    pub(super) const fn radio_shift(&self) -> Option<u8> {
        self.radio_scale.with(self.core_scale)
    }

    /// Takes note of a segment to the radio side.
    pub(super) fn on_leaving(&mut self, packet: &Packet) {
        let Some(tcp) = packet.tcp() else { return };
        if let Some(Timestamps { value, .. }) = tcp.options.timestamps {
            let is_later = self.latest_value.is_none_or(|latest| Seq(value).after(Seq(latest)));
            self.latest_value = if is_later { Some(value) } else { self.latest_value };
        }
        // Not of what the host there has never sent: it would refuse the copy.
        let is_plausible = tcp.flags.has(TcpFlags::ACK) && !tcp.ack.after(self.receiver.next);
        if is_plausible && self.latest_ack.is_none_or(|(latest, _)| !tcp.ack.before(latest)) {
            self.latest_ack = Some((tcp.ack, tcp.window));
        }
    }

    /// Has a copy say what was said last: with an old TSval PAWS may refuse it (RFC 7323, section
    /// 5.3), and with an old acknowledgment number the check of RFC 5961, section 5.2.
    pub(super) fn freshen(&self, copy: &mut Packet) {
        let Some(tcp) = copy.tcp_mut() else { return };
        if let Some((latest, timestamps)) = self.latest_value.zip(tcp.options.timestamps.as_mut()) {
            timestamps.value = latest;
        }
        if let Some((ack, window)) = self.latest_ack.filter(|(ack, _)| ack.after(tcp.ack)) {
            (tcp.ack, tcp.window) = (ack, window);
        }
    }

    /// When something is due.
    pub(super) fn deadline(&self, settings: &Settings) -> Option<Instant> {
        let earliest = |a: Option<Instant>, b: Option<Instant>| a.into_iter().chain(b).min();
        let control = self.control.as_ref().and_then(|control| control.deadline());
        let ack = earliest(self.receiving.deadline(), self.confirming.ack_due());
        earliest(earliest(ack, self.confirming.deadline(settings)), control)
    }

    /// Octets of memory that it takes, beside its fixed state and the one ACK that it may owe.
    pub(super) fn allocated(&self) -> usize {
        let control = self.control.as_deref().map_or(0, |control| size_of_val(control) + control.allocated());
        self.confirming.allocated() + control
    }

    /// What is owed: what a sender takes for arrived on our word alone, as long as it is kept here.
    pub(super) fn obligation(&self) -> Obligation {
        let keeps = !self.confirming.kept.is_empty()
            || self.control.as_ref().is_some_and(|control| !control.is_empty());
        match u64::from(self.unproven()) {
            octets if keeps && octets > 0 => Obligation::Owes(octets),
            _ => Obligation::Free,
        }
    }

    /// Whether octets were acknowledged of which nothing is kept, and which the receiver has not
    /// acknowledged itself: only if the connection is known when it complains is a loss counted, however
    /// late that is.
    pub(super) fn awaits_proof(&self) -> bool {
        self.unproven() > 0 && self.obligation().is_free()
    }

    /// What would be lost with it: where that begins, and how many octets.
    pub(super) fn at_risk(&self) -> Option<(Seq, u64)> {
        let first = self.confirming.unproven_from();
        let first = first.or_else(|| self.control.as_ref().and_then(|control| control.unproven_from()));
        first.zip(Some(self.obligation().octets())).filter(|(_, octets)| *octets > 0)
    }

    /// Octets that a sender takes for arrived on our word alone.
    pub(super) fn unproven(&self) -> u32 {
        self.confirming.unproven() + self.control.as_ref().map_or(0, |control| control.unproven())
    }
}
