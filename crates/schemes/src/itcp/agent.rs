//! The agent at the access point.

use lasthop_agent::counter::AT_BOUND;
use lasthop_agent::{
    Accounts, Agent, Budget, Context, Deadline, FlowState, FlowTable, ImportError, Obligation, Owed, Report,
    Scope, Side, Transfer, Verdict,
};
use lasthop_hop::handshake::opening as opens;
use lasthop_hop::split::Splits;
use lasthop_hop::split::carried;
use lasthop_packet::quote::{PacketTooBig, Quotation, error_about};
use lasthop_packet::{FlowKey, Packet, Seq, Transport};
use lasthop_tcp::State;

use super::opening::{Opening, Outcome};
use super::settings::{OpenedBy, Settings};

/// The I-TCP agent, for an access point. It needs no link-layer information.
pub struct Itcp {
    pub(super) settings: Settings,
    /// Connections whose SYN is not answered yet.
    pub(super) openings: FlowTable<Box<Opening>>,
    pub(super) splits: Splits,
    /// Octets of memory of an opening, without its table entry.
    of_opening: usize,
}

impl Itcp {
    /// An agent without connections.
    pub fn new(settings: Settings) -> Self {
        let splits = Splits::new(settings.splits());
        let of_opening = Opening::memory(&settings.leg());
        Self { openings: FlowTable::new(settings.eviction_grace), splits, settings, of_opening }
    }

    /// Processes a SYN of a new connection.
    fn begin(&mut self, key: FlowKey, syn: &Packet, from: Side, cx: &mut Context<'_>) -> Verdict {
        let iss = initial_number(cx);
        let opening = Opening::new(key, syn.clone(), from, &self.settings.leg(), iss);
        if !self.admit(key, opening, cx) {
            return Verdict::Forward;
        }
        self.follow(key, cx);
        Verdict::Absorb
    }

    pub(super) fn admit(&mut self, key: FlowKey, opening: Opening, cx: &mut Context<'_>) -> bool {
        // Openings that complete become pairs, which need room, too.
        let flows = cx.budget().flows.saturating_sub(self.splits.count());
        let budget = Budget { flows, ..cx.budget() };
        if let Some(idlest) = self.openings.eviction_candidate(self.max_flows(budget), cx.now(), |_| true) {
            self.openings.remove(idlest);
        }
        let max_flows = self.max_flows(budget);
        let is_there = self.openings.insert(key, Box::new(opening), max_flows, cx.now()).is_ok();
        if !is_there {
            cx.report(Report::new(&AT_BOUND).which(budget.bound_at(max_flows)));
        }
        is_there
    }

    /// The maximum number of simultaneous openings.
    fn max_flows(&self, budget: Budget) -> usize {
        let taken = self.octets();
        let has_memory = budget.room(0, taken).in_all >= self.of_opening;
        let of_memory = if has_memory { usize::MAX } else { self.openings.len() };
        self.openings.max_flows(budget, taken, self.of_opening).min(of_memory)
    }

    /// Limits the pairs to the remaining memory.
    fn leave_room(&mut self) {
        self.splits.leave_room(self.openings.octets() + self.openings.len() * self.of_opening);
    }

    /// Processes a packet of a connection that is being opened.
    fn on_opening(&mut self, key: FlowKey, packet: &Packet, from: Side, cx: &mut Context<'_>) -> Verdict {
        let Some(opening) = self.openings.touch(key, cx.now()) else { return Verdict::Forward };
        if opening.is_of_the_ends(packet, from) {
            self.openings.remove(key);
            return Verdict::Forward;
        }
        if from != opening.opener {
            opening.on_answer(packet, cx.now());
        } else if opening.is_repeated_by(packet) {
            opening.onward.stand_for(packet.ip());
        } else {
            // The end has given up, or opens another connection.
            opening.onward.abort();
            self.follow(key, cx);
            self.openings.remove(key);
            return Verdict::Forward;
        }
        self.follow(key, cx);
        Verdict::Absorb
    }

    /// Rewrites an ICMP error message about the onward SYN, such as host unreachable, to one about
    /// the opener's SYN: an end ignores messages about segments that it has not sent (RFC 5927,
    /// section 4.1).
    fn rewrite_error(&self, message: &mut Packet, from: Side) {
        let Transport::Icmp(icmp) = *message.transport() else { return };
        let Some(quotation) = Quotation::from_message(message) else { return };
        let Some(opening) = self.openings.peek(from.opposite().connection(quotation.flow)) else { return };
        // A SYN is never too big.
        let is_about_it = opening.opener != from && quotation.seq == opening.onward.iss();
        if is_about_it
            && PacketTooBig::from_message(message).is_none()
            && let Some(rewritten) = error_about(&opening.syn, message.ip().source, icmp.kind, icmp.code)
        {
            *message = rewritten;
        }
    }

    /// Sends what the onward leg has to send, and completes the opening once that leg is open or
    /// refused.
    pub(super) fn follow(&mut self, key: FlowKey, cx: &mut Context<'_>) {
        let now = cx.now();
        let Some(opening) = self.openings.peek_mut(key) else { return };
        let opener = opening.opener;
        while let Some(packet) = opening.onward.poll_transmit(now) {
            cx.send(opener.opposite(), packet);
        }
        let due = opening.onward.deadline();
        match opening.outcome(self.settings.leg(), initial_number(cx), now) {
            Outcome::Waits => match due {
                Some(due) => self.openings.set_timer(key, due.at),
                None => self.openings.clear_timer(key),
            },
            Outcome::Opened(mut pair) => {
                self.openings.remove(key);
                self.leave_room();
                if !self.splits.has_room(cx) {
                    pair.reset_both(cx);
                } else if self.splits.begin(key, *pair, cx) {
                    self.splits.resume(key, None, cx);
                }
            }
            Outcome::Refused(mut back) => {
                self.openings.remove(key);
                while let Some(packet) = back.poll_transmit(now) {
                    cx.send(opener, packet);
                }
            }
        }
    }
}

/// An initial sequence number.
fn initial_number(cx: &mut Context<'_>) -> Seq {
    Seq(cx.rng().next_u64() as u32)
}

impl Agent for Itcp {
    fn on_packet(&mut self, packet: &mut Packet, from: Side, cx: &mut Context<'_>) -> Verdict {
        let Some(key) = packet.flow_key().filter(|_| packet.tcp().is_some()) else {
            self.rewrite_error(packet, from);
            return self.splits.on_error(packet, from, cx);
        };
        let key = from.connection(key);
        self.leave_room();
        let may_open = from == Side::Radio || self.settings.opened_by == OpenedBy::Either;
        let begins = opens(packet).is_some() && may_open && carried::can_be_answered(packet);
        if begins && self.splits.has_ended_for(key, from) {
            self.splits.forget(key, cx);
        }
        if self.splits.has(key) {
            return self.splits.on_packet(key, packet, from, cx);
        }
        if self.openings.peek(key).is_none() && begins && cx.may_owe() {
            return self.begin(key, packet, from, cx);
        }
        self.on_opening(key, packet, from, cx)
    }

    fn deadline(&self) -> Option<Deadline> {
        let timers = self.splits.next_timer().into_iter().chain(self.openings.next_timer());
        timers.min().map(|at| Deadline { at, reason: "a leg's timer" })
    }

    fn on_deadline(&mut self, cx: &mut Context<'_>) {
        while let Some(key) = self.openings.pop_timer(cx.now()) {
            let Some(opening) = self.openings.peek_mut(key) else { continue };
            opening.onward.on_deadline(cx.now());
            if opening.onward.state() == State::Closed {
                // The other end has not answered, so the opener gets no answer.
                self.openings.remove(key);
            } else {
                self.follow(key, cx);
            }
        }
        self.leave_room();
        self.splits.on_deadline(cx);
    }
}

impl Accounts for Itcp {
    fn octets(&self) -> usize {
        self.splits.octets() + self.openings.octets() + self.openings.len() * self.of_opening
    }

    fn obligation(&self, connection: FlowKey) -> Obligation {
        let is_opening = self.openings.peek(connection).is_some();
        if is_opening { Obligation::Terminates(0) } else { self.splits.obligation(connection) }
    }

    fn owed(&self) -> Owed {
        let openings = self.openings.len() as u64;
        self.splits.owed().plus(Owed { connections: openings, octets: 0 })
    }
}

impl Transfer for Itcp {
    fn export(&mut self, scope: Scope, cx: &mut Context<'_>) -> Vec<FlowState> {
        self.export_all(scope, cx)
    }

    fn import(&mut self, state: &FlowState, cx: &mut Context<'_>) -> Result<(), ImportError> {
        self.import_one(state, cx)
    }

    fn give_up(&mut self, state: &FlowState, cx: &mut Context<'_>) {
        self.give_up_one(state, cx);
    }

    fn release(&mut self, connection: FlowKey, cx: &mut Context<'_>) {
        self.openings.remove(connection);
        self.splits.release(connection, cx);
    }
}
