//! Connections that are split in the ends' own numbers: handshakes that pass, and the pairs that
//! take their place. It is the agent of a split; schemes add to it what is theirs.

use lasthop_agent::counter::AT_BOUND;
use lasthop_agent::{
    Accounts, Agent, Context, Deadline, FlowState, ImportError, Obligation, Owed, Report, Scope, Side,
    Transfer, Verdict,
};
use lasthop_packet::{FlowKey, Packet, Protocol, TcpFlags};

use super::opening::{Opening, Step};
use super::openings::Openings;
use super::settings::SplitSettings;
use super::table::Splits;

/// Whether connections that come in by one side and go out by the other are split.
type Policy = fn(Side, Side) -> bool;

/// Handshakes that are under way, and pairs.
pub struct Transparent {
    /// The scheme that its states are of.
    scheme: &'static str,
    openings: Openings,
    /// The pairs.
    pub splits: Splits,
    policy: Policy,
    /// Octets that something else has taken of the same memory.
    others: usize,
}

impl Transparent {
    /// No connections yet.
    pub fn new(scheme: &'static str, settings: SplitSettings, policy: Policy) -> Self {
        Self { scheme, openings: Openings::new(), splits: Splits::new(settings), policy, others: 0 }
    }

    /// The same with an agent between the legs over the hop and the hop: see [`Splits::with_notifier`].
    #[must_use]
    pub fn with_notifier(self, agent: Box<dyn Agent>) -> Self {
        Self { splits: self.splits.with_notifier(agent), ..self }
    }

    /// Leaves room for octets that something else has taken of the same memory.
    pub const fn leave_room(&mut self, octets: usize) {
        self.others = octets;
    }

    /// Whether a connection is split, or may be once its handshake is complete.
    pub fn attends_to(&self, key: FlowKey) -> bool {
        self.splits.speaks_for(key) || self.openings.peek(key).is_some_and(|opening| !opening.is_refused())
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

    /// A packet of a connection that is split, and of which nothing is owed: whether it belongs to
    /// another one on the same ports. The end that is asked knows, and its answer passes (RFC 5961,
    /// section 4.2).
    fn is_of_another(&mut self, key: FlowKey, packet: &mut Packet, from: Side, cx: &mut Context<'_>) -> bool {
        let is_syn =
            packet.tcp().is_some_and(|tcp| tcp.flags.has(TcpFlags::SYN) && !tcp.flags.has(TcpFlags::RST));
        if is_syn {
            self.splits.have_answered(key, from, cx);
            let _ = self.on_opening(key, packet, from, cx);
            return true;
        }
        let opening = self.openings.peek_mut(key);
        let completes =
            opening.is_some_and(|opening| opening.on_packet(packet, from, cx.now()) == Step::Completes);
        if completes {
            // One of the two may be forged, and neither needs us.
            self.openings.remove(key);
            self.splits.forget(key, cx);
        }
        completes
    }

    /// The first packet of a connection: a SYN, or none of ours.
    fn begin(&mut self, key: FlowKey, packet: &Packet, from: Side, cx: &mut Context<'_>) {
        let Some(opening) = Opening::begin(packet, from, cx.now()) else { return };
        // A packet between two wireless stations crosses twice: in from the one, out to the other.
        let first_crossing = self.openings.peek(key.reversed());
        let first_crossing =
            first_crossing.filter(|first| first.initial_number() == opening.initial_number());
        let input = first_crossing.map_or(from, Opening::opener);
        if !(self.policy)(input, from.opposite()) {
            self.openings.remove(key.reversed());
            return;
        }
        let taken = self.splits.octets() + self.others;
        if let Err(bound) = self.openings.insert(key, opening, cx.budget(), taken, cx.now()) {
            cx.report(Report::of(&AT_BOUND).which(bound));
        }
    }

    /// Both ends have agreed: from here on each has a leg of its own.
    fn split(&mut self, key: FlowKey, packet: &mut Packet, from: Side, cx: &mut Context<'_>) -> Verdict {
        let Some(opening) = self.openings.remove(key).filter(|_| cx.may_owe()) else {
            return Verdict::Forward;
        };
        let (core, radio) = self.splits.legs();
        let pair = opening.pair(key, core, radio);
        let is_split = pair.is_some_and(|pair| self.splits.begin(key, pair, cx));
        if is_split { self.splits.on_packet(key, packet, from, cx) } else { Verdict::Forward }
    }
}

/// A packet of any protocol but TCP passes; what an ICMP message says of a leg's segment is heard.
impl Agent for Transparent {
    fn on_packet(&mut self, packet: &mut Packet, from: Side, cx: &mut Context<'_>) -> Verdict {
        let key = packet.flow_key().map(|key| from.connection(key));
        let Some(key) = key.filter(|key| key.protocol == Protocol::Tcp) else {
            return self.splits.on_error(packet, from, cx);
        };
        self.splits.leave_room(self.openings.octets() + self.others);
        if !self.splits.has(key) {
            return self.on_opening(key, packet, from, cx);
        }
        if self.splits.obligation(key).is_free() && self.is_of_another(key, packet, from, cx) {
            return Verdict::Forward;
        }
        self.splits.on_packet(key, packet, from, cx)
    }

    fn deadline(&self) -> Option<Deadline> {
        let leg = self.splits.next_timer().map(|at| Deadline { at, reason: "a leg's timer" });
        let opening = self.openings.next_timer().map(|at| Deadline { at, reason: "an old handshake" });
        Deadline::earliest(leg, opening)
    }

    fn on_deadline(&mut self, cx: &mut Context<'_>) {
        self.openings.on_deadline(cx.now());
        self.splits.leave_room(self.openings.octets() + self.others);
        self.splits.on_deadline(cx);
    }
}

impl Accounts for Transparent {
    fn octets(&self) -> usize {
        self.splits.octets() + self.openings.octets()
    }

    fn obligation(&self, connection: FlowKey) -> Obligation {
        self.splits.obligation(connection)
    }

    fn owed(&self) -> Owed {
        self.splits.owed()
    }
}

impl Transfer for Transparent {
    /// A handshake under way is left out, and forgotten: its connection passes.
    fn export(&mut self, scope: Scope, cx: &mut Context<'_>) -> Vec<FlowState> {
        self.openings.leave(scope);
        self.splits.export(self.scheme, scope, cx)
    }

    fn import(&mut self, state: &FlowState, cx: &mut Context<'_>) -> Result<(), ImportError> {
        self.splits.import(self.scheme, state, cx)
    }

    /// Handshakes under way may have been completed, and data sent behind them.
    fn on_return(&mut self, cx: &mut Context<'_>) {
        self.openings = Openings::new();
        self.splits.mark_all_uncertain(cx.now());
    }

    fn drain(&mut self, cx: &mut Context<'_>) {
        self.splits.forget_free(cx);
    }

    fn release(&mut self, connection: FlowKey, cx: &mut Context<'_>) {
        self.openings.remove(connection);
        self.splits.release(connection, cx);
    }
}
