//! Connections that are split with the ends' own numbers: handshakes that pass, and the pairs that
//! take their place. This is the agent of a split; schemes add their own rules.

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

/// Whether connections from the first side to the second are split.
type Policy = fn(Side, Side) -> bool;

/// Handshakes in progress, and pairs.
pub struct Transparent {
    /// The name of the scheme in exported states.
    scheme: &'static str,
    openings: Openings,
    /// The pairs.
    pub splits: Splits,
    policy: Policy,
    /// Octets of the same memory that something else has taken.
    others: usize,
}

impl Transparent {
    /// A table without connections. `policy` decides, for a handshake that comes from the first side and
    /// goes to the second, whether the connection is split.
    pub fn new(scheme: &'static str, settings: SplitSettings, policy: Policy) -> Self {
        Self { scheme, openings: Openings::new(), splits: Splits::new(settings), policy, others: 0 }
    }

    /// Adds an agent between the legs over the hop and the hop: see [`Splits::with_notifier`].
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
        self.splits.acknowledges_for(key)
            || self.openings.peek(key).is_some_and(|opening| !opening.is_refused())
    }

    /// Processes a packet of a connection that is not split.
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

    /// Whether a packet of a split connection that owes nothing belongs to another connection on
    /// the same ports. The other end knows, and its answer passes (RFC 5961, section 4.2).
    fn is_of_another(&mut self, key: FlowKey, packet: &mut Packet, from: Side, cx: &mut Context<'_>) -> bool {
        let is_syn =
            packet.tcp().is_some_and(|tcp| tcp.flags.has(TcpFlags::SYN) && !tcp.flags.has(TcpFlags::RST));
        if is_syn {
            self.splits.expect_answer_to(key, from, cx);
            let _ = self.on_opening(key, packet, from, cx);
            return true;
        }
        let opening = self.openings.peek_mut(key);
        let completes =
            opening.is_some_and(|opening| opening.on_packet(packet, from, cx.now()) == Step::Completes);
        if completes {
            // One of the two connections may be forged, and neither needs us.
            self.openings.remove(key);
            self.splits.forget(key, cx);
        }
        completes
    }

    /// Processes the first packet of a connection: only a SYN begins a handshake.
    fn begin(&mut self, key: FlowKey, packet: &Packet, from: Side, cx: &mut Context<'_>) {
        let Some(opening) = Opening::begin(packet, from, cx.now()) else { return };
        // A packet between two wireless stations crosses twice: in from one, out to the other.
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
            cx.report(Report::new(&AT_BOUND).which(bound));
        }
    }

    /// Creates the two legs: both ends have established the connection.
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

/// Packets of other protocols than TCP pass; ICMP messages about a leg's segment are processed.
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
    /// A handshake in progress is not exported, but removed: its connection passes.
    fn export(&mut self, scope: Scope, cx: &mut Context<'_>) -> Vec<FlowState> {
        self.openings.leave(scope);
        self.splits.export(self.scheme, scope, cx)
    }

    fn import(&mut self, state: &FlowState, cx: &mut Context<'_>) -> Result<(), ImportError> {
        self.splits.import(self.scheme, state, cx)
    }

    fn give_up(&mut self, state: &FlowState, cx: &mut Context<'_>) {
        self.splits.give_up(self.scheme, state, cx);
    }

    /// Handshakes in progress may have been completed and followed by data.
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
