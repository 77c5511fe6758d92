//! Connections that are split in the ends' own numbers: handshakes that pass, and the pairs that
//! take their place.

use std::time::Duration;

use lasthop_agent::counter::AT_BOUND;
use lasthop_agent::{Context, FlowTable, Report, Side, Verdict};
use lasthop_packet::{FlowKey, Packet, TcpFlags};

use super::opening::{Opening, Step};
use super::table::{SplitSettings, Splits};

/// Whether connections that come in by one side and go out by the other are split.
type Policy = fn(Side, Side) -> bool;

/// Handshakes that are under way, and pairs.
pub struct Transparent {
    openings: FlowTable<Box<Opening>>,
    /// The pairs.
    pub splits: Splits,
    policy: Policy,
}

impl Transparent {
    /// No connections yet.
    pub fn new(settings: SplitSettings, policy: Policy) -> Self {
        // A flood makes room by the oldest at once: a handshake that is answered is short.
        Self { openings: FlowTable::new(Duration::ZERO), splits: Splits::new(settings), policy }
    }

    /// Takes in a TCP segment.
    pub fn on_segment(
        &mut self,
        key: FlowKey,
        packet: &mut Packet,
        from: Side,
        cx: &mut Context<'_>,
    ) -> Verdict {
        if !self.splits.has(key) {
            return self.on_opening(key, packet, from, cx);
        }
        if self.splits.obligation(key).is_free() && self.is_of_another(key, packet, from, cx) {
            return Verdict::Forward;
        }
        self.splits.on_packet(key, packet, from, cx)
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
        let input = first_crossing.map_or(from, |first| first.opener());
        if !(self.policy)(input, from.opposite()) {
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
        let (core, radio) = self.splits.legs();
        let pair = opening.pair(key, core, radio);
        let is_split = pair.is_some_and(|pair| self.splits.begin(key, pair, cx));
        if is_split { self.splits.on_packet(key, packet, from, cx) } else { Verdict::Forward }
    }

    /// The world was away: handshakes under way may have been completed, and data sent behind them.
    pub fn on_return(&mut self, cx: &Context<'_>) {
        self.openings = FlowTable::new(Duration::ZERO);
        self.splits.doubt_all(cx.now());
    }

    /// Forgets a connection.
    pub fn forget(&mut self, key: FlowKey, cx: &mut Context<'_>) {
        self.openings.remove(key);
        self.splits.forget(key, cx);
    }
}
