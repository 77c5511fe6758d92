//! The agent at the access point.

use std::time::Duration;

use lasthop_agent::counter::AT_BOUND;
use lasthop_agent::{
    Agent, Context, Deadline, FlowState, FlowTable, ImportError, Obligation, Owed, Report, Side, Verdict,
    Whose,
};
use lasthop_packet::{FlowKey, Packet, TcpFlags};

use super::interfaces::{Policy, medium, policy};
use super::settings::Settings;
use crate::split::opening::{Opening, Step};
use crate::split::table::Splits;

/// The scheme's name.
pub(super) const NAME: &str = "cicada";

/// The CICADA agent, for an access point. It needs nothing of the link layer.
pub struct Cicada {
    /// Handshakes that are under way.
    openings: FlowTable<Box<Opening>>,
    splits: Splits,
}

impl Cicada {
    /// An agent that has seen nothing yet.
    pub fn new(settings: &Settings) -> Self {
        // A flood makes room by the oldest at once: a handshake that is answered is short.
        Self { openings: FlowTable::new(Duration::ZERO), splits: Splits::new(settings.splits()) }
    }

    /// A packet of a connection that is not split.
    fn on_opening(&mut self, key: FlowKey, packet: &mut Packet, from: Side, cx: &mut Context<'_>) -> Verdict {
        let Some(opening) = self.openings.touch(key, cx.now()) else {
            self.begin(key, packet, from, cx);
            return Verdict::Forward;
        };
        if packet.tcp().is_some_and(|tcp| tcp.flags.has(TcpFlags::RST)) {
            self.openings.remove(key);
            return Verdict::Forward;
        }
        match opening.on_packet(packet, from, cx.now()) {
            Step::Passes => Verdict::Forward,
            Step::Completes => self.split(key, packet, from, cx),
        }
    }

    /// Whether a packet completes a handshake on the ports of a connection that is split.
    fn completes(&mut self, key: FlowKey, packet: &Packet, from: Side, cx: &Context<'_>) -> bool {
        let opening = self.openings.peek_mut(key);
        opening.is_some_and(|opening| opening.on_packet(packet, from, cx.now()) == Step::Completes)
    }

    /// The first packet of a connection: a SYN, or none of ours.
    fn begin(&mut self, key: FlowKey, packet: &Packet, from: Side, cx: &mut Context<'_>) {
        let Some(opening) = Opening::begin(packet, from, cx.now()) else { return };
        // A packet between two wireless stations crosses twice: in from the one, out to the other.
        let first_crossing = self.openings.peek(key.reversed());
        let first_crossing =
            first_crossing.filter(|first| first.initial_number() == opening.initial_number());
        let input = first_crossing.map_or(from, |first| first.opener());
        if policy(medium(input), medium(from.opposite())) == Policy::Routed {
            self.openings.remove(key.reversed());
            return;
        }
        let most = cx.budget().flows;
        if let Some(idlest) = self.openings.next_to_go(most, cx.now(), |_| true) {
            self.openings.remove(idlest);
        }
        if self.openings.insert(key, Box::new(opening), most, cx.now()).is_err() {
            cx.report(Report::of(&AT_BOUND).which("connections"));
        }
    }

    /// Both ends have agreed: from here on each has a leg of its own.
    fn split(&mut self, key: FlowKey, packet: &mut Packet, from: Side, cx: &mut Context<'_>) -> Verdict {
        let Some(opening) = self.openings.remove(key).filter(|_| cx.may_owe()) else {
            return Verdict::Forward;
        };
        if self.splits.has(key) {
            // Both on the same ports: one of the two may be forged, and neither needs us.
            self.splits.forget(key, cx);
            return Verdict::Forward;
        }
        let (core, radio) = self.splits.legs();
        let pair = opening.pair(key, core, radio);
        let is_split = pair.is_some_and(|pair| self.splits.begin(key, pair, cx));
        if is_split { self.splits.on_packet(key, packet, from, cx) } else { Verdict::Forward }
    }
}

impl Agent for Cicada {
    fn on_packet(&mut self, packet: &mut Packet, from: Side, cx: &mut Context<'_>) -> Verdict {
        let (Some(tcp), Some(key)) = (packet.tcp(), packet.flow_key()) else { return Verdict::Forward };
        let key = from.connection(key);
        if !self.splits.has(key) {
            return self.on_opening(key, packet, from, cx);
        }
        let is_syn = tcp.flags.has(TcpFlags::SYN) && !tcp.flags.has(TcpFlags::RST);
        let is_free = self.splits.obligation(key).is_free();
        if is_free && (is_syn || self.completes(key, packet, from, cx)) {
            // Perhaps another connection on the same ports. The end that is asked knows, and goes by
            // its answer (RFC 5961, section 4.2).
            self.splits.have_answered(key, from, cx);
            return self.on_opening(key, packet, from, cx);
        }
        self.splits.on_packet(key, packet, from, cx)
    }

    fn deadline(&self) -> Option<Deadline> {
        self.splits.next_timer().map(|at| Deadline { at, reason: "a leg's timer" })
    }

    fn on_deadline(&mut self, cx: &mut Context<'_>) {
        self.splits.on_deadline(cx);
    }

    fn octets(&self) -> usize {
        self.splits.octets()
    }

    fn obligation(&self, connection: FlowKey) -> Obligation {
        self.splits.obligation(connection)
    }

    fn owed(&self) -> Owed {
        self.splits.owed()
    }

    fn export(&mut self, whose: Whose, cx: &mut Context<'_>) -> Vec<FlowState> {
        self.splits.export(NAME, whose, cx)
    }

    fn import(&mut self, state: &FlowState, cx: &mut Context<'_>) -> Result<(), ImportError> {
        self.splits.import(NAME, state, cx)
    }

    fn drain(&mut self, cx: &mut Context<'_>) {
        self.splits.forget_free(cx);
    }

    fn release(&mut self, connection: FlowKey, cx: &mut Context<'_>) {
        self.openings.remove(connection);
        self.splits.forget(connection, cx);
    }
}
