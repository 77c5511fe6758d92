//! Packets that the kernel forwarded without a verdict: because an agent allowed it, which is then
//! shown them, or because the gateway is passive and only measures.

use lasthop_agent::{Bypass, Side, Slot};
use lasthop_packet::{Instant, Packet, TcpFlags};

use super::{Engine, MAX_EXPIRED_PER_FRAME, Outgoing};
use crate::frame::{Frame, Headers, LinkHeader};
use crate::io::{Port, PortId};

impl Engine {
    /// Processes the headers of a packet that the kernel forwarded from a port.
    pub fn on_passed(&mut self, port: PortId, headers: &Headers<'_>, now: Instant, out: &mut Outgoing) {
        self.counters.counts.copies += 1;
        let Some(&Port { side, ethernet, .. }) = self.ports.get(usize::from(port.0)) else { return };
        let Ok((link, packet)) = headers.parse(ethernet) else { return };
        let Some(key) = packet.flow_key().map(|key| side.connection(key)) else { return };
        if self.is_passive {
            self.expire(MAX_EXPIRED_PER_FRAME, now, out);
            let flags = packet.tcp().map_or(TcpFlags(0), |tcp| tcp.flags);
            if let Some(slot) = self.find_or_insert(key, flags, now, out) {
                self.measure(slot, &packet, (side, port, &link), now);
            }
            return;
        }
        match self.connections.find(key) {
            Some(slot) => self.show(slot, &packet, (side, port, &link), now, out),
            None => out.bypasses.push(Bypass { flow: key, limits: None }),
        }
    }

    /// Processes the copy of a frame that the kernel forwarded.
    pub(super) fn on_copy(
        &mut self,
        ethernet: bool,
        [core, radio]: [PortId; 2],
        frame: &Frame,
        now: Instant,
        out: &mut Outgoing,
    ) {
        self.counters.counts.copies += 1;
        let Ok((link, packet)) = frame.parse(ethernet) else { return };
        // Copies from both sides arrive on one port, in order. The link header identifies the side
        // from which a packet came.
        let passed = [(Side::Core, core), (Side::Radio, radio)].into_iter().find_map(|(side, port)| {
            let slot = self.connections.find(side.connection(packet.flow_key()?))?;
            let arrival = self.connections.at(slot).from(side).arrival.as_ref()?;
            (arrival.link == link).then_some((side, port, slot))
        });
        let Some((side, port, slot)) = passed else {
            // The connection was removed, or its packets now arrive with another link header and
            // must be diverted so that the engine learns it.
            let both = packet.flow_key().into_iter().flat_map(|flow| [flow, flow.reversed()]);
            out.bypasses.extend(both.map(|flow| Bypass { flow, limits: None }));
            return;
        };
        self.show(slot, &packet, (side, port, &link), now, out);
    }

    /// Records a packet that was received and forwarded at once.
    fn measure(
        &mut self,
        slot: Slot,
        packet: &Packet,
        (side, port, link): (Side, PortId, &LinkHeader),
        now: Instant,
    ) {
        self.count(slot, |connection, hop_rtts| connection.record(packet, (side, port, link), now, hop_rtts));
        self.departs(slot, packet, side.opposite(), now);
        self.connections.used(slot, now);
    }

    /// Shows a forwarded packet to the agent of its connection.
    fn show(
        &mut self,
        slot: Slot,
        packet: &Packet,
        (side, port, link): (Side, PortId, &LinkHeader),
        now: Instant,
        out: &mut Outgoing,
    ) {
        self.measure(slot, packet, (side, port, link), now);
        self.watch(slot, now, out);
        let is_drained = self.is_drained && self.obligation(slot).is_free();
        let connection = self.connections.at(slot);
        match connection.rule.filter(|_| connection.aside.is_none() && !is_drained) {
            Some(rule) => {
                let rule = usize::from(rule);
                self.rules[rule].counters.packets.shown += 1;
                let _ = self.call_about(slot, rule, now, |agent, cx| agent.on_bypass(packet, side, cx));
                self.send_outbox(Some(slot), now, out);
            }
            None => out.bypasses.push(Bypass { flow: self.connections.key(slot), limits: None }),
        }
    }
}
