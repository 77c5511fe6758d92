//! The two legs of a connection.

use lasthop_agent::{Context, Deadline, Obligation, Side};
use lasthop_packet::{Instant, Packet, Payload, Seq, TcpFlags};
use lasthop_tcp::{Connection, State};

use super::account::Counted;
use super::inquiry::Inquiry;
use super::knowledge::Knowledge;
use super::liveness::Liveness;
use super::rest::Awaited;
use super::share::Share;

/// The two legs of a connection, and the data between them.
pub struct Pair {
    /// Towards the fixed host.
    pub(super) core: Connection,
    /// Towards the mobile host.
    pub(super) radio: Connection,
    /// Both legs use the ends' own sequence numbers, so that the ends can continue without the
    /// legs.
    keeps_numbers: bool,
    /// Whether the legs have seen all that the ends have exchanged.
    pub(super) knowledge: Knowledge,
    /// The share of the hop, if the window there is set for all connections together.
    pub(super) share: Option<Share>,
    /// Memory and obligations, as last counted.
    pub(super) counted: Counted,
    /// Segments of the largest super-packet so far.
    max_segments: u32,
    /// A keepalive went from this side to the other.
    pub(super) probed_from: Option<Side>,
    /// Probes that both ends of an idle pair are still there.
    pub(super) inquiry: Inquiry,
    /// When packets from the ends last came.
    pub(super) liveness: Liveness,
    /// The data that follows from another agent.
    pub(super) awaited: Awaited,
}

impl Pair {
    /// Two legs with the ends' own sequence numbers.
    pub(super) fn in_the_ends_numbers(core: Connection, radio: Connection) -> Self {
        let mut pair = Self { keeps_numbers: true, ..Self::in_own_numbers(core, radio) };
        pair.core.hold_fin();
        pair.radio.hold_fin();
        pair.copy_timestamps();
        pair
    }

    /// Two legs with sequence numbers of their own, which differ from those of the ends: they are two
    /// connections, each with the end that it accepted or that it connects to.
    pub fn in_own_numbers(core: Connection, radio: Connection) -> Self {
        let share = radio.has_external_window().then(Share::default);
        Self {
            core,
            radio,
            keeps_numbers: false,
            knowledge: Knowledge::Complete,
            share,
            counted: Counted::default(),
            max_segments: 1,
            probed_from: None,
            inquiry: Inquiry::default(),
            liveness: Liveness::default(),
            awaited: Awaited::default(),
        }
    }

    /// Whether both legs use the ends' own sequence numbers.
    pub(super) const fn keeps_numbers(&self) -> bool {
        self.keeps_numbers
    }

    /// The leg towards a side.
    pub const fn leg(&self, side: Side) -> &Connection {
        match side {
            Side::Core => &self.core,
            Side::Radio => &self.radio,
        }
    }

    pub(super) const fn leg_mut(&mut self, side: Side) -> &mut Connection {
        match side {
            Side::Core => &mut self.core,
            Side::Radio => &mut self.radio,
        }
    }

    /// Records a packet from an end.
    fn on_received(&mut self, from: Side, now: Instant) {
        self.inquiry.on_packet(from);
        self.liveness.on_received(from, now);
    }

    /// Processes a packet from a side.
    pub(super) fn on_segment(&mut self, packet: &mut Packet, from: Side, now: Instant) {
        if packet.segments() > self.max_segments {
            // A world that coalesces segments also accepts coalesced segments.
            self.max_segments = packet.segments();
            self.core.allow_super_packets(self.max_segments);
            self.radio.allow_super_packets(self.max_segments);
        }
        if self.is_orphaned(from) {
            self.on_header(packet, from, now);
            return;
        }
        self.on_received(from, now);
        packet.fit_buffer();
        // Each leg takes the place of the other one's peer, and marks its packets as that does.
        self.leg_mut(from.opposite()).stand_for(packet.ip());
        self.leg_mut(from).on_segment(packet, now);
        self.copy_timestamps();
    }

    /// Records a packet that passes to the other end.
    pub(super) fn on_passed(&mut self, packet: &Packet, from: Side, now: Instant) {
        self.on_received(from, now);
        self.leg_mut(from).learn_timestamp(packet, now);
        self.copy_timestamps();
    }

    /// Whether the end on the other side is gone, after a reset or because it was given up: data
    /// for it must not be acknowledged.
    pub(super) fn is_orphaned(&self, from: Side) -> bool {
        let other = self.leg(from.opposite());
        other.state() == State::Closed && !has_ended_well(other)
    }

    /// Moves the unread data of a closed leg, and its FIN, to the other leg, so that nothing of the
    /// closed leg has to be kept.
    pub(super) fn empty_closed_leg(&mut self) {
        for from in [Side::Core, Side::Radio] {
            if self.leg(from).state() != State::Closed || self.awaited.towards(from.opposite()) > 0 {
                continue;
            }
            while let Some(payload) = self.leg_mut(from).read() {
                self.leg_mut(from.opposite()).write(payload);
            }
            if self.leg(from).peer_has_closed() {
                self.leg_mut(from.opposite()).close();
            }
        }
    }

    /// Processes the header of a packet whose data does not fit.
    pub(super) fn on_header(&mut self, packet: &Packet, from: Side, now: Instant) {
        let mut header = packet.clone();
        header.set_payload(Payload::EMPTY);
        if let Some(tcp) = header.tcp_mut() {
            tcp.flags = TcpFlags(tcp.flags.0 & !TcpFlags::FIN.0);
        }
        self.on_received(from, now);
        self.leg_mut(from).on_segment(&header, now);
        self.copy_timestamps();
    }

    /// If a packet continues the data in order, discards the data above the gap, to which no
    /// promise applies (RFC 2018, section 8).
    pub(super) fn make_room_for(&mut self, packet: &Packet, from: Side) {
        let leg = self.leg_mut(from);
        if packet.tcp().is_some_and(|tcp| tcp.seq == leg.next_expected()) {
            leg.discard_after_gap();
        }
    }

    /// Each leg takes the place of the other one's peer, and uses its clock.
    fn copy_timestamps(&mut self) {
        if !self.keeps_numbers {
            return;
        }
        if let Some(value) = self.radio.peer_timestamp() {
            self.core.set_timestamp(value);
        }
        if let Some(value) = self.core.peer_timestamp() {
            self.radio.set_timestamp(value);
        }
    }

    /// Minimum window for a mobile host that sends, in octets: four segments; twice the largest
    /// super-packet; and enough for the window field, whose unit may be 16 KiB.
    pub(super) fn min_upload_window(&self) -> u64 {
        let segments = u64::from((2 * self.max_segments).max(4));
        (segments * u64::from(self.radio.flight().mss)).max(2 * u64::from(self.radio.window_unit()))
    }

    /// The next deadline of either leg or of the probes.
    pub(super) fn deadline(&self) -> Option<Deadline> {
        let probe = self.inquiry.due().map(|at| Deadline { at, reason: "a question to the ends" });
        let rest = self.awaits_rest().then(|| self.awaited.until());
        let rest = rest.map(|at| Deadline { at, reason: "the rest of the data" });
        let legs = Deadline::earliest(self.core.deadline(), self.radio.deadline());
        Deadline::earliest(Deadline::earliest(legs, probe), rest)
    }

    /// Runs the timers of either leg that are due, and ends the connection if the rest of its data does not come.
    pub(super) fn on_deadline(&mut self, now: Instant) {
        if self.awaits_rest() && self.awaited.until() <= now {
            self.awaited = Awaited::default();
            self.abort();
        }
        for leg in [&mut self.core, &mut self.radio] {
            if leg.deadline().is_some_and(|deadline| deadline.at <= now) {
                leg.on_deadline(now);
            }
        }
    }

    /// Whether it needs data that follows from another agent.
    fn awaits_rest(&self) -> bool {
        !self.awaited.save().is_nothing() || self.core.is_incomplete() || self.radio.is_incomplete()
    }

    /// Octets of data that follow from another agent, and go to this side.
    pub(super) fn to_come(&self, side: Side) -> u64 {
        self.leg(side).awaited().saturating_add(self.awaited.towards(side))
    }

    /// Data has followed from another agent, no more than is [to come](Self::to_come).
    pub(super) fn on_rest(&mut self, side: Side, payload: Payload, now: Instant) {
        let behind = self.leg_mut(side).supply(payload);
        self.awaited.arrived(side, behind.len() as u64, now);
        self.leg_mut(side).write(behind);
    }

    /// Lets each leg acknowledge in the other end's name, or not.
    pub(super) fn update_ack_withholding(&mut self, now: Instant) {
        self.core.withhold_acks(self.liveness.is_silent(Side::Radio, &self.radio, now));
        self.radio.withhold_acks(self.liveness.is_silent(Side::Core, &self.core, now));
    }

    /// Probes an end that may be gone, if an ACK to the other end is withheld and no recent packet
    /// requires an answer.
    pub(super) fn probe_waited_for(&mut self, side: Side, cx: &mut Context<'_>) {
        let (leg, other) = match side {
            Side::Core => (&mut self.core, &self.radio),
            Side::Radio => (&mut self.radio, &self.core),
        };
        if other.withholds_an_ack()
            && let Some(probe) = self.liveness.probe(side, leg, cx.now())
        {
            cx.send(side, probe);
        }
    }

    /// Probes both ends if it is time to. If one counts as gone, both legs end, each with a reset.
    pub(super) fn probe_ends(&mut self, cx: &mut Context<'_>) {
        if self.inquiry.probe([&mut self.core, &mut self.radio], cx) {
            self.abort();
        }
    }

    /// Ends both legs, each with a reset.
    fn abort(&mut self) {
        self.core.abort();
        self.radio.abort();
        self.inquiry = Inquiry::default();
    }

    /// Ends both legs, and sends the resets.
    pub fn reset_both(&mut self, cx: &mut Context<'_>) {
        self.abort();
        for side in [Side::Core, Side::Radio] {
            if let Some(reset) = self.leg_mut(side).poll_transmit(cx.now()) {
                cx.send(side, reset);
            }
        }
    }

    /// Whether there is nothing to send, time or wait for until a packet comes.
    pub(super) fn is_quiet(&self) -> bool {
        self.deadline().is_none()
            && self.probed_from.is_none()
            && [&self.core, &self.radio]
                .into_iter()
                .all(|leg| leg.held() == 0 && leg.state() == State::Established)
    }

    /// Octets of memory of the data in both legs, with what follows.
    pub(super) fn octets(&self) -> usize {
        self.core.memory() + self.radio.memory() + self.awaited.save().memory()
    }

    /// Octets of memory in all.
    pub(super) fn footprint(&self) -> usize {
        size_of::<Self>() + self.octets() + self.core.overhead() + self.radio.overhead()
    }

    /// The present memory and obligations.
    pub(super) fn count(&self) -> Counted {
        Counted { octets: self.footprint(), backlog: self.waiting_for_wire(), owed: self.obligation() }
    }

    /// Octets that have come off the hop and wait to be forwarded.
    fn waiting_for_wire(&self) -> u64 {
        let unsent = self.core.unacknowledged().saturating_sub(u64::from(self.core.queue().in_network()));
        unsent + u64::from(self.radio.unread())
    }

    /// Octets that have been acknowledged to one end, and that the other end has not acknowledged.
    pub fn octets_at_risk(&self) -> u64 {
        let towards = |side: Side| {
            let held = self.leg(side).unacknowledged() + u64::from(self.leg(side.opposite()).unread());
            held + self.awaited.towards(side)
        };
        towards(Side::Core) + towards(Side::Radio)
    }

    /// Whether nothing is owed, and no waiting data exists only here: then the ends can continue
    /// without the pair.
    pub fn is_free(&self) -> bool {
        self.obligation().is_free()
    }

    /// The obligation to the ends.
    pub fn obligation(&self) -> Obligation {
        match self.octets_at_risk() {
            octets if !self.keeps_numbers => Obligation::Terminates(octets),
            0 => Obligation::Free,
            octets => Obligation::Owes(octets),
        }
    }

    /// Whether both legs have ended.
    pub(super) fn is_over(&self) -> bool {
        // With the ends' numbers, later copies are known to the other end.
        let has_ended = |leg: &Connection| {
            leg.state() == State::Closed || (self.keeps_numbers && leg.state() == State::TimeWait)
        };
        has_ended(&self.core) && has_ended(&self.radio)
    }

    /// Whether a packet is a keepalive (RFC 9293, section 3.8.4): it repeats the last octet, or has
    /// no data, while nothing is outstanding.
    pub(super) fn is_keep_alive(&self, packet: &Packet, from: Side) -> bool {
        let Some(tcp) = packet.tcp() else { return false };
        let leg = self.leg(from);
        packet.segment_len() as usize == packet.payload().len()
            && packet.payload().len() <= 1
            && tcp.seq + 1 == leg.next_expected()
            && self.has_all(tcp.ack, from)
    }

    /// Whether a packet is nothing but the answer to a keepalive.
    pub(super) fn is_bare_duplicate(&self, packet: &Packet, from: Side) -> bool {
        let Some(tcp) = packet.tcp() else { return false };
        packet.segment_len() == 0 && tcp.seq == self.leg(from).next_expected() && self.has_all(tcp.ack, from)
    }

    /// Whether an end has acknowledged all data for it, with this number, and nothing is owed to
    /// the other one either.
    fn has_all(&self, ack: Seq, from: Side) -> bool {
        let flight = self.leg(from).flight();
        self.is_free() && ack == flight.max && flight.una == flight.max
    }
}

/// Whether a leg has ended with FINs in both directions.
pub(super) fn has_ended_well(leg: &Connection) -> bool {
    leg.state() == State::Closed && leg.is_fin_acknowledged() && leg.peer_has_closed()
}
