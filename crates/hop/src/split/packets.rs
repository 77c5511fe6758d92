//! The processing of a packet of a split connection.

use lasthop_agent::counter::{AT_BOUND, FULL};
use lasthop_agent::{Context, Report, Side, Verdict};
use lasthop_packet::{FlowKey, Packet, Quotation};

use super::pair::Pair;
use super::sleep::Entry;
use super::table::Splits;

/// A host with at most this many segments on their way to it does not download: they may answer its
/// upload.
const FEW: u32 = 4;

impl Splits {
    /// Processes a packet of a pair's connection.
    pub fn on_packet(
        &mut self,
        key: FlowKey,
        packet: &mut Packet,
        from: Side,
        cx: &mut Context<'_>,
    ) -> Verdict {
        self.wake(key, cx);
        let taken = self.taken();
        self.limit_notifier();
        let Some(slot) = self.pairs.find(key) else { return Verdict::Forward };
        let Some(Entry::Awake(pair)) = self.pairs.touch_at(slot, cx.now()) else {
            // There is no memory to wake the pair. If the ends cannot continue without it, they
            // retransmit.
            if !self.obligation(key).is_free() {
                return Verdict::Drop(&FULL);
            }
            self.forget(key, cx);
            return Verdict::Forward;
        };
        pair.compare(packet, from, cx.now());
        if pair.is_passed_by() {
            return self.observe(key, packet, from, cx);
        }
        // The other end has to answer the keepalive, not this agent in its place.
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
            // A packet that fills a gap is worth more than the data above it, which was never
            // acknowledged.
            pair.make_room_for(packet, from);
        }
        if let Some(bound) = lacks(pair) {
            cx.report(Report::new(&AT_BOUND).which(bound));
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
        // An ACK whose window the leg accepts is no duplicate, and concerns this leg only (RFC
        // 5681, section 2).
        let is_routed = may_be_routed && pair.leg(from).flight().peer_window == window;
        if from == Side::Radio {
            if let Some(notifier) = &mut self.notifier {
                notifier.pass(packet, from, cx);
            }
            // A connection that also downloads has its ACKs in its data. They are so rare that a
            // large window would send bursts.
            if !packet.payload().is_empty()
                && !is_downloading
                && let Some(hop) = self.windows.of_mut(key)
            {
                hop.record_data_back(packet.payload().len(), cx.now());
            }
        }
        self.work_at(slot, cx);
        if is_routed { Verdict::Forward } else { Verdict::Absorb }
    }

    /// Processes an ICMP error message from a side about a leg's packet. The message is also
    /// forwarded to the end in whose name the packet was sent, because both share the path (RFC
    /// 1191, section 3).
    pub fn on_error(&mut self, message: &Packet, from: Side, cx: &mut Context<'_>) -> Verdict {
        if let Some(quotation) = Quotation::from_message(message) {
            let key = from.opposite().connection(quotation.flow);
            if let Some(pair) = self.pairs.peek_mut(key).and_then(Entry::awake_mut) {
                pair.leg_mut(from).on_icmp(message, cx.now());
                self.work(key, cx);
            }
        }
        Verdict::Forward
    }

    /// Records a packet from an end with nothing new except its timestamp.
    pub fn on_passed(&mut self, key: FlowKey, packet: &Packet, from: Side, cx: &mut Context<'_>) {
        self.wake(key, cx);
        if let Some(pair) = self.pairs.peek_mut(key).and_then(Entry::awake_mut) {
            pair.on_passed(packet, from, cx.now());
        }
    }

    /// Records a packet that passed: the next empty packet from the other side is the answer to it.
    pub(super) fn expect_answer_to(&mut self, key: FlowKey, from: Side, cx: &mut Context<'_>) {
        self.wake(key, cx);
        if let Some(pair) = self.pairs.peek_mut(key).and_then(Entry::awake_mut) {
            pair.probed_from = Some(from);
        }
    }
}
