//! The order in which connections send over a hop.
//!
//! Where several connections that share a window ([`super::windows`]) have more data than fits,
//! they take turns.

use lasthop_agent::counter::LOCAL_RETRANSMITS;
use lasthop_agent::{Context, Report, Side, Slot};

use super::lifetime::follow_timer;
use super::notifier::Notifier;
use super::pair::Pair;
use super::sleep::Entry;
use super::table::Splits;
use super::windows::WindowScope;
use crate::last_hop::{LastHop, Targets};

impl Splits {
    /// Sends what a connection may send over its hop, and then what others may send in the
    /// remaining room.
    pub(super) fn transmit(&mut self, slot: Slot, cx: &mut Context<'_>) {
        let targets = self.targets;
        let Some(key) = self.pairs.key(slot) else { return };
        let Some(pair) = self.pairs.get_mut(slot).and_then(Entry::awake_mut) else { return };
        let hop = self.windows.of_mut(key).zip(pair.share);
        let Some((hop, share)) = hop else {
            pair.transmit_freely(self.notifier.as_mut(), cx);
            return;
        };
        // Others that wait come first, except for data that takes none of their room.
        let others = hop.turns.len() - usize::from(share.is_waiting);
        let room =
            Room { octets: if others > 0 { 0 } else { u64::MAX }, reserved: share.reserved(hop, &targets) };
        let waits = pair.transmit_over(hop, room, &targets, self.notifier.as_mut(), cx);
        match (share.is_waiting, waits) {
            (false, true) => hop.turns.wait(key),
            (true, false) => hop.turns.leave(key),
            _ => {}
        }
        let others_wait = !hop.turns.is_empty();
        let sharers = self.windows.sharers(key);
        self.windows.charge(sharers);
        if others_wait {
            self.serve(sharers, cx);
        }
    }

    /// Sends for the connections that share a window, in turn, as long as there is room.
    pub(super) fn serve(&mut self, sharers: WindowScope, cx: &mut Context<'_>) {
        self.serve_waiting(sharers, cx);
        self.windows.charge(sharers);
    }

    fn serve_waiting(&mut self, sharers: WindowScope, cx: &mut Context<'_>) {
        let targets = self.targets;
        let Some(hop) = self.windows.shared_by(sharers) else { return };
        for _ in 0..hop.turns.len() {
            if !hop.has_room() {
                return;
            }
            let Some(key) = hop.turns.take_next() else { return };
            let Some(slot) = self.pairs.find(key) else { continue };
            let Some(pair) = self.pairs.get_mut(slot).and_then(Entry::awake_mut) else { continue };
            pair.update_ack_withholding(cx.now());
            let Some(share) = pair.share else { continue };
            let is_alone = hop.turns.is_empty();
            let octets = if is_alone { u64::MAX } else { hop.max_turn().min(share.allowance(hop)) };
            let room = Room { octets, reserved: 0 };
            if pair.transmit_over(hop, room, &targets, self.notifier.as_mut(), cx) {
                hop.turns.wait(key);
            }
            follow_timer(&mut self.pairs, slot);
        }
    }
}

/// The limits on what a connection may send now.
#[derive(Clone, Copy)]
struct Room {
    /// Octets that may be sent while the window has room, possibly a little more.
    octets: u64,
    /// Octets that may be sent even if the window has no room.
    reserved: u64,
}

impl Room {
    /// The octets that may be sent over this hop.
    fn on(self, hop: &LastHop) -> u64 {
        hop.room().min(self.octets).max(self.reserved)
    }

    fn take(&mut self, octets: u64) {
        self.octets = self.octets.saturating_sub(octets);
        self.reserved = self.reserved.saturating_sub(octets);
    }
}

impl Pair {
    /// Sends over the hop as long as there is room. Returns whether more data waits for room.
    fn transmit_over(
        &mut self,
        hop: &mut LastHop,
        mut left: Room,
        targets: &Targets,
        mut notifier: Option<&mut Notifier>,
        cx: &mut Context<'_>,
    ) -> bool {
        if hop.is_shared() {
            // No packet leaves before the window has room for a segment.
            hop.record_segment(self.radio.flight().mss, targets);
        }
        if hop.is_shared() && !hop.has_room() {
            left.octets = 0;
        }
        let retransmits = self.radio.stats().retransmits;
        loop {
            // A hop that has fallen silent is probed with one segment at a time.
            let room = if self.radio.is_unanswered() { 0 } else { left.on(hop) };
            if room == 0 && hop.is_shared() {
                self.radio.hold();
            } else {
                self.radio.allow(u32::try_from(room).unwrap_or(u32::MAX));
            }
            let Some(mut packet) = self.radio.poll_transmit(cx.now()) else { break };
            if let Some(notifier) = notifier.as_deref_mut() {
                notifier.pass(&mut packet, Side::Core, cx);
            }
            hop.record_segment(packet.segment_payload(), targets);
            left.take(packet.payload().len() as u64);
            if let Some(share) = &mut self.share {
                share.count(&self.radio, hop);
            }
            self.liveness.on_sent(&packet, Side::Radio, cx.now());
            if self.may_send(&packet) {
                cx.send(Side::Radio, packet);
            }
        }
        self.report_retransmits(retransmits, cx);
        let is_waiting = left.on(hop) < u64::from(self.radio.flight().mss) && self.radio.has_more();
        if let Some(share) = &mut self.share {
            share.is_waiting = is_waiting;
        }
        is_waiting
    }

    /// Sends over the hop what the leg's own congestion control allows.
    fn transmit_freely(&mut self, mut notifier: Option<&mut Notifier>, cx: &mut Context<'_>) {
        let retransmits = self.radio.stats().retransmits;
        while let Some(mut packet) = self.radio.poll_transmit(cx.now()) {
            if let Some(notifier) = notifier.as_deref_mut() {
                notifier.pass(&mut packet, Side::Core, cx);
            }
            self.liveness.on_sent(&packet, Side::Radio, cx.now());
            if self.may_send(&packet) {
                cx.send(Side::Radio, packet);
            }
        }
        self.report_retransmits(retransmits, cx);
    }

    fn report_retransmits(&self, before: u64, cx: &mut Context<'_>) {
        let again = self.radio.stats().retransmits - before;
        if again > 0 {
            cx.report(Report { amount: again, ..Report::new(&LOCAL_RETRANSMITS) });
        }
    }
}
