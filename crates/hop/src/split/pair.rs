//! The two legs of a connection.

use lasthop_agent::{Context, Deadline, Obligation, Side};
use lasthop_packet::{Instant, Packet, Payload, Seq, TcpFlags};
use lasthop_tcp::{Connection, State};

use super::account::Counted;
use super::inquiry::Inquiry;
use super::knowledge::Knowledge;
use super::liveness::Liveness;
use super::share::Share;

/// The two legs of a connection, and what lies between them.
pub struct Pair {
    /// Towards the fixed host.
    pub(super) core: Connection,
    /// Towards the mobile host.
    pub(super) radio: Connection,
    /// Both legs have the ends' own numbers, so that the ends can go on without them.
    keeps_numbers: bool,
    /// Whether the legs know what the ends have said to each other.
    pub(super) knowledge: Knowledge,
    /// What it has of the hop, if the window there is set for all connections together.
    pub(super) share: Option<Share>,
    /// What it has taken, and owes, as it was counted last.
    pub(super) counted: Counted,
    /// Segments of the largest super-packet that came.
    most_segments: u32,
    /// A probe of whether the other end is there went from this side to the other.
    pub(super) probed_from: Option<Side>,
    /// Whether both ends of one that is idle are still there.
    pub(super) inquiry: Inquiry,
    /// When they were heard from.
    pub(super) presence: Liveness,
}

impl Pair {
    /// Two legs in the ends' own numbers.
    pub(super) fn in_the_ends_numbers(core: Connection, radio: Connection) -> Self {
        let mut pair = Self { keeps_numbers: true, ..Self::in_own_numbers(core, radio) };
        pair.core.hold_fin();
        pair.radio.hold_fin();
        pair.tell_timestamps();
        pair
    }

    /// Two legs, each in numbers of its own: they are two connections.
    pub fn in_own_numbers(core: Connection, radio: Connection) -> Self {
        let share = radio.is_ruled_from_outside().then(Share::default);
        Self {
            core,
            radio,
            keeps_numbers: false,
            knowledge: Knowledge::Whole,
            share,
            counted: Counted::default(),
            most_segments: 1,
            probed_from: None,
            inquiry: Inquiry::default(),
            presence: Liveness::default(),
        }
    }

    /// Whether both legs have the ends' own numbers.
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

    /// An end was heard from.
    fn on_heard(&mut self, from: Side, now: Instant) {
        self.inquiry.on_heard(from);
        self.presence.on_heard(from, now);
    }

    /// Takes in a packet from a side.
    pub(super) fn on_segment(&mut self, packet: &mut Packet, from: Side, now: Instant) {
        if packet.segments() > self.most_segments {
            // A world that has put segments together takes them together.
            self.most_segments = packet.segments();
            self.core.allow_super_packets(self.most_segments);
            self.radio.allow_super_packets(self.most_segments);
        }
        if self.is_orphaned(from) {
            self.on_header(packet, from, now);
            return;
        }
        self.on_heard(from, now);
        packet.fit_buffer();
        // Each leg stands for the other one's peer, and marks what it sends as that does.
        self.leg_mut(from.opposite()).stand_for(packet.ip());
        self.leg_mut(from).on_segment(packet, now);
        self.tell_timestamps();
    }

    /// A packet goes on to the other end.
    pub(super) fn on_passed(&mut self, packet: &Packet, from: Side, now: Instant) {
        self.on_heard(from, now);
        self.leg_mut(from).note_timestamp_of(packet, now);
        self.tell_timestamps();
    }

    /// Whether the end on the other side is gone, by a reset or because it was given up: what comes
    /// for it is not to be acknowledged.
    pub(super) fn is_orphaned(&self, from: Side) -> bool {
        let other = self.leg(from.opposite());
        other.state() == State::Closed && !has_ended_well(other)
    }

    /// Moves on what waits at a leg that has ended, and the end behind it: nothing is kept of that leg.
    pub(super) fn empty_closed_leg(&mut self) {
        for from in [Side::Core, Side::Radio] {
            if self.leg(from).state() != State::Closed {
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

    /// Takes in what a packet says beside its data, for which there is no room.
    pub(super) fn on_header(&mut self, packet: &Packet, from: Side, now: Instant) {
        let mut header = packet.clone();
        header.set_payload(Payload::EMPTY);
        if let Some(tcp) = header.tcp_mut() {
            tcp.flags = TcpFlags(tcp.flags.0 & !TcpFlags::FIN.0);
        }
        self.on_heard(from, now);
        self.leg_mut(from).on_segment(&header, now);
        self.tell_timestamps();
    }

    /// Where a packet continues what has arrived in order: gives up what lies behind the gap, of which
    /// nothing is promised (RFC 2018, section 8).
    pub(super) fn make_room_for(&mut self, packet: &Packet, from: Side) {
        let leg = self.leg_mut(from);
        if packet.tcp().is_some_and(|tcp| tcp.seq == leg.next_expected()) {
            leg.discard_behind_gap();
        }
    }

    /// Each leg stands for the other one's peer, and has its clock.
    fn tell_timestamps(&mut self) {
        if !self.keeps_numbers {
            return;
        }
        if let Some(value) = self.radio.peer_timestamp() {
            self.core.tell_timestamp(value);
        }
        if let Some(value) = self.core.peer_timestamp() {
            self.radio.tell_timestamp(value);
        }
    }

    /// Octets that a mobile host which sends is offered in any case: four segments; what comes as one
    /// super-packet, twice; and enough for the window field to tell, whose unit may be 16 KiB.
    pub(super) fn least_upload(&self) -> u64 {
        let segments = u64::from((2 * self.most_segments).max(4));
        (segments * u64::from(self.radio.flight().mss)).max(2 * u64::from(self.radio.window_unit()))
    }

    /// When one of the legs is next due, or a question to the ends.
    pub(super) fn deadline(&self) -> Option<Deadline> {
        let question = self.inquiry.due().map(|at| Deadline { at, reason: "a question to the ends" });
        Deadline::earliest(Deadline::earliest(self.core.deadline(), self.radio.deadline()), question)
    }

    /// Does what is due on either leg.
    pub(super) fn on_deadline(&mut self, now: Instant) {
        for leg in [&mut self.core, &mut self.radio] {
            if leg.deadline().is_some_and(|deadline| deadline.at <= now) {
                leg.on_deadline(now);
            }
        }
    }

    /// Has each leg speak, or not, for the other end.
    pub(super) fn speak_for_who_is_there(&mut self, now: Instant) {
        self.core.withhold_acks(self.presence.is_silent(Side::Radio, &self.radio, now));
        self.radio.withhold_acks(self.presence.is_silent(Side::Core, &self.core, now));
    }

    /// Asks an end that may be gone, where the other end waits for what is withheld and nothing else asks.
    pub(super) fn ask_for(&mut self, side: Side, cx: &mut Context<'_>) {
        let (leg, other) = match side {
            Side::Core => (&mut self.core, &self.radio),
            Side::Radio => (&mut self.radio, &self.core),
        };
        if other.withholds_an_ack()
            && let Some(question) = self.presence.question(side, leg, cx.now())
        {
            cx.send(side, question);
        }
    }

    /// Asks both ends whether they are there, if it is time to. Where one has not answered for long,
    /// both legs end, each with a reset.
    pub(super) fn inquire(&mut self, cx: &mut Context<'_>) {
        if self.inquiry.ask([&mut self.core, &mut self.radio], cx) {
            self.abort();
        }
    }

    /// Ends both legs, each with a reset.
    fn abort(&mut self) {
        self.core.abort();
        self.radio.abort();
        self.inquiry = Inquiry::default();
    }

    /// The same, and sends the resets.
    pub fn reset_both(&mut self, cx: &mut Context<'_>) {
        self.abort();
        for side in [Side::Core, Side::Radio] {
            if let Some(reset) = self.leg_mut(side).poll_transmit(cx.now()) {
                cx.send(side, reset);
            }
        }
    }

    /// Whether nothing is to be sent, timed or waited for: a packet has to come first.
    pub(super) fn is_quiet(&self) -> bool {
        self.deadline().is_none()
            && self.probed_from.is_none()
            && [&self.core, &self.radio]
                .into_iter()
                .all(|leg| leg.held() == 0 && leg.state() == State::Established)
    }

    /// Octets of memory that the legs have taken for what they hold.
    pub(super) fn octets(&self) -> usize {
        self.core.memory() + self.radio.memory()
    }

    /// Octets of memory that it takes in all.
    pub(super) fn footprint(&self) -> usize {
        size_of::<Self>() + self.octets() + self.core.overhead() + self.radio.overhead()
    }

    /// What it has taken, and owes.
    pub(super) fn count(&self) -> Counted {
        Counted { octets: self.footprint(), backlog: self.waiting_for_wire(), owed: self.obligation() }
    }

    /// Octets that have come off the hop and wait to be sent on.
    fn waiting_for_wire(&self) -> u64 {
        let unsent = self.core.unacknowledged().saturating_sub(u64::from(self.core.queue().in_network()));
        unsent + u64::from(self.radio.unread())
    }

    /// Octets that one end takes for delivered, and the other has not acknowledged.
    pub fn octets_at_risk(&self) -> u64 {
        let towards =
            |side: Side| self.leg(side).unacknowledged() + u64::from(self.leg(side.opposite()).unread());
        towards(Side::Core) + towards(Side::Radio)
    }

    /// Whether nothing is owed, and nothing waits that only this agent has: then the ends go on
    /// without it.
    pub fn is_free(&self) -> bool {
        self.obligation().is_free()
    }

    /// What is owed.
    pub fn obligation(&self) -> Obligation {
        match self.octets_at_risk() {
            octets if !self.keeps_numbers => Obligation::Terminates(octets),
            0 => Obligation::Free,
            octets => Obligation::Owes(octets),
        }
    }

    /// Whether both legs have ended: nothing more can come of them.
    pub(super) fn is_over(&self) -> bool {
        // What comes again after that is known to the other end, if the numbers are the ends'.
        let has_ended = |leg: &Connection| {
            leg.state() == State::Closed || (self.keeps_numbers && leg.state() == State::TimeWait)
        };
        has_ended(&self.core) && has_ended(&self.radio)
    }

    /// Whether a packet asks if the other end is still there (RFC 9293, section 3.8.4): it repeats
    /// the last octet, or none at all, while nothing is outstanding.
    pub(super) fn is_keep_alive(&self, packet: &Packet, from: Side) -> bool {
        let Some(tcp) = packet.tcp() else { return false };
        let leg = self.leg(from);
        packet.segment_len() as usize == packet.payload().len()
            && packet.payload().len() <= 1
            && tcp.seq + 1 == leg.next_expected()
            && self.has_all(tcp.ack, from)
    }

    /// Whether a packet is nothing but an answer to that.
    pub(super) fn is_bare_duplicate(&self, packet: &Packet, from: Side) -> bool {
        let Some(tcp) = packet.tcp() else { return false };
        packet.segment_len() == 0 && tcp.seq == self.leg(from).next_expected() && self.has_all(tcp.ack, from)
    }

    /// Whether an end has acknowledged all that there is for it, by this number, and nothing is owed
    /// to the other one either.
    fn has_all(&self, ack: Seq, from: Side) -> bool {
        let flight = self.leg(from).flight();
        self.is_free() && ack == flight.max && flight.una == flight.max
    }
}

/// Whether a leg has ended as both of its ends wanted.
pub(super) fn has_ended_well(leg: &Connection) -> bool {
    leg.state() == State::Closed && leg.is_fin_acknowledged() && leg.peer_has_closed()
}
