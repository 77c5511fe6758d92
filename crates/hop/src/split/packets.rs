//! What becomes of a packet of a connection that is split.

use lasthop_agent::counter::{AT_BOUND, FULL};
use lasthop_agent::{Context, Report, Side, Verdict};
use lasthop_packet::{FlowKey, Packet, Quotation};

use super::pair::Pair;
use super::sleep::Entry;
use super::table::Splits;

/// A host with at most this many segments on their way to it does not download: they may answer what it uploads.
const FEW: u32 = 4;

impl Splits {
    /// Takes in a packet of a pair's connection.
    pub fn on_packet(
        &mut self,
        key: FlowKey,
        packet: &mut Packet,
        from: Side,
        cx: &mut Context<'_>,
    ) -> Verdict {
        self.wake(key, cx);
        let taken = self.taken();
        self.leave_room_to_notifier();
        let Some(slot) = self.pairs.find(key) else { return Verdict::Forward };
        let Some(Entry::Awake(pair)) = self.pairs.touch_at(slot, cx.now()) else {
            // There is no memory to wake it. Where the ends cannot do without it they send this again.
            if !self.obligation(key).is_free() {
                return Verdict::Drop(&FULL);
            }
            self.forget(key, cx);
            return Verdict::Forward;
        };
        pair.compare(packet, from, cx.now());
        if pair.is_passed_by() {
            return self.overhear(key, packet, from, cx);
        }
        // The end that is asked is to answer, and not this agent in its place.
        if pair.is_keep_alive(packet, from) {
            pair.probed_from = Some(from);
            pair.on_passed(packet, from, cx.now());
            return Verdict::Forward;
        }
        if pair.probed_from == Some(from.opposite()) && pair.is_bare_duplicate(packet, from) {
            pair.probed_from = None;
            pair.on_passed(packet, from, cx.now());
            return Verdict::Forward;
        }
        if !cx.may_owe() && pair.is_free() {
            self.forget(key, cx);
            return Verdict::Forward;
        }
        let lacks = |pair: &Pair| {
            let in_all = taken - pair.counted.octets + pair.footprint();
            cx.budget().room(pair.octets(), in_all).lacks(packet.payload().len())
        };
        if lacks(pair).is_some() {
            // What fills a gap is worth more than what lies behind it, which was never acknowledged.
            pair.make_room_for(packet, from);
        }
        if let Some(bound) = lacks(pair) {
            cx.report(Report::of(&AT_BOUND).which(bound));
            if pair.is_free() {
                self.forget(key, cx);
                return Verdict::Forward;
            }
            pair.on_header(packet, from, cx.now());
            self.work_at(slot, cx);
            return Verdict::Drop(&FULL);
        }
        let may_be_routed = self.settings.routes_duplicates && pair.is_bare_duplicate(packet, from);
        let window = pair.leg(from).flight().peer_window;
        let is_downloading = pair.radio.flight().outstanding() > FEW * pair.radio.flight().mss;
        pair.on_segment(packet, from, cx.now());
        // One whose window the leg takes is no duplicate, but news to this leg alone (RFC 5681, section 2).
        let is_routed = may_be_routed && pair.leg(from).flight().peer_window == window;
        if from == Side::Radio {
            if let Some(notifier) = &mut self.notifier {
                notifier.pass(packet, from, cx);
            }
            // A connection that downloads meanwhile has its ACKs in its data. They come so seldom that a large
            // window would send bursts.
            if !packet.payload().is_empty()
                && !is_downloading
                && let Some(hop) = self.windows.of_mut(key)
            {
                hop.note_data_back(packet.payload().len(), cx.now());
            }
        }
        self.work_at(slot, cx);
        if is_routed { Verdict::Forward } else { Verdict::Absorb }
    }

    /// Takes in an ICMP error message from a side, about what a leg has sent there. It goes on to the end in
    /// whose name that was sent: the path is that end's, too (RFC 1191, section 3).
    pub fn on_error(&mut self, message: &Packet, from: Side, cx: &mut Context<'_>) -> Verdict {
        if let Some(quotation) = Quotation::of(message) {
            let key = from.opposite().connection(quotation.flow);
            if let Some(pair) = self.pairs.peek_mut(key).and_then(Entry::awake_mut) {
                pair.leg_mut(from).on_icmp(message, cx.now());
                self.work(key, cx);
            }
        }
        Verdict::Forward
    }

    /// A packet of an end's has come that says nothing new but the time.
    pub fn on_passed(&mut self, key: FlowKey, packet: &Packet, from: Side, cx: &mut Context<'_>) {
        self.wake(key, cx);
        if let Some(pair) = self.pairs.peek_mut(key).and_then(Entry::awake_mut) {
            pair.on_passed(packet, from, cx.now());
        }
    }

    /// The next packet from the other side that says nothing is the answer to one that came from this
    /// side, and passed.
    pub(super) fn have_answered(&mut self, key: FlowKey, from: Side, cx: &mut Context<'_>) {
        self.wake(key, cx);
        if let Some(pair) = self.pairs.peek_mut(key).and_then(Entry::awake_mut) {
            pair.probed_from = Some(from);
        }
    }
}
