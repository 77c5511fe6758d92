//! WTCP: the base station buffers the segments for a mobile host, sends them over the hop with its
//! own window and timer until the mobile host has acknowledged them, and hides the time of local
//! recovery from the sender's measurement of the round trip.
//!
//! K. Ratnam, I. Matta, "WTCP: an efficient mechanism for improving TCP performance over wireless
//! links", ISCC 1998 ("the paper"). Its text was not available. The rules are those that D.
//! Kliazovich's dissertation (University of Trento 2006; section 2.4, tables 2.2 and 2.3) reports,
//! and one from another source that could not be checked. The scheme runs at the access point; both
//! ends are unchanged. Data from the radio side (upload) passes unchanged.
//!
//! | rule | source | file |
//! |---|---|---|
//! | the next expected segment is stored; a duplicate of delivered or stored data is dropped | dissertation, 2.4 | [`buffer`]; see 1 and 2 |
//! | the base station has a window over the hop, and records the last segment sent and the last one acknowledged | dissertation, 2.4 | Snoop's; see 3 |
//! | it retransmits on duplicate ACKs with an unchanged window, and on a time-out with a window of one segment, which is restored by the next ACK | another source | Snoop's; see 3 |
//! | the fixed host gets ACKs only of data that the mobile host has acknowledged | dissertation, 2.4 | Snoop's |
//! | the timestamp is increased by the segment's time in the buffer | dissertation, 2.4 | [`timestamps`]; see 4 |
//!
//! # What the texts leave open, and what we chose
//!
//! 1. *Segments ahead of the expected one* are stored, too. The paper's senders went back by a
//!    window; after a loss on the wired path current ones retransmit only the hole, and the
//!    segments after it would never be stored or repaired.
//! 2. *Which duplicates are dropped*: only those whose octets are all here and not acknowledged,
//!    and which carry no other news for the mobile host: no later ACK, no other window, no SACK
//!    block, no unknown option. Duplicates of acknowledged data pass: the sender does not know of
//!    the ACK, and only the mobile host may acknowledge it. If the mobile host answers and still
//!    misses the agent's copies (its PAWS or its checksum rejects them), or the timer has expired
//!    too often, duplicates pass: the sender's copy is then the better one. So does one in smaller
//!    segments than the stored one: the path MTU may be smaller (see [Snoop](crate::snoop)).
//! 3. *Local recovery* is [Snoop](crate::snoop)'s: cache, SACK scoreboard, timer, window, and
//!    withholding from the sender. The two schemes have this problem in common, and the needs of
//!    current TCP there do not depend on the scheme. After a time-out no new data is sent, only the
//!    first and the last missing segment: the window of one segment, with a probe of the tail. This
//!    continues for `local-retransmissions` time-outs, more than a minute by default, where Snoop
//!    gives up after ten: this is the scheme for outages.
//! 4. *The changed timestamp is the echo*, TSecr in the returning ACK, and not TSval. A raised
//!    TSval moves the receiver's TS.Recent ahead of the sender's clock: PAWS (RFC 7323, section
//!    5.3) would reject later segments with less time added, and all segments once the agent is
//!    gone. TSecr is not stored: no sender checks its order, and an agent that fails leaves no
//!    trace. The sender computes the same round trip in both cases.
//! 5. *The unit*: the tick of the sender's clock is learned from TSval ([`clock`]); until it is
//!    known, or if it is not one of the usual ones, timestamps are not changed.
//! 6. *How much is hidden*: only the time of repairs (`hidden-time = "repairs"`). With "residence"
//!    it is all the time in the buffer, as in the paper; then the sender does not see its own queue
//!    here either, which BBR, Vegas and current slow start rely on. The remaining round trip is
//!    never shorter than the minimum of the hop plus that of the wired path.
//! 7. *Eifel* (RFC 3522) and Linux's undo compare TSecr with the time of the first retransmission.
//!    An echo that was older than that stays older: raised above it, the ACK of a segment that only
//!    waited here would look like the ACK of the retransmission, and a spurious time-out would not
//!    be undone. As duplicates are dropped, the mobile host never sees a retransmission's TSval, so
//!    that Linux undoes its time-out after each outage.
//! 8. *Hidden time and the sender's RTO*: an RTO that excludes repairs does not cover them. The
//!    local time-out is 20 ms or little more than the hop's round trip, the minimum RTO of Linux
//!    200 ms above its smoothed round trip: a repair and its repetition fit. A longer time is an
//!    outage; a time-out then costs one segment on the wired path, and is undone.
//! 9. *The bound of the buffer*: `buffer`, and the memory budget. Data in excess of the
//!    connection's share of `held-delay` is dropped as in Snoop, so that congestion stays a signal.
//!
//! # Where it harms, or gains little
//!
//! - Without timestamps it is Snoop with more retransmissions.
//! - In a gateway, packets that the kernel forwards (the fast path) keep their timestamps.

pub mod buffer;
pub mod clock;
pub mod flow;
mod scheme;
pub mod settings;
#[cfg(test)]
mod tests;
pub mod timestamps;
mod transfer;

use lasthop_agent::{
    Accounts, Agent, Budget, Context, Deadline, FlowState, FlowTable, ImportError, Scope, Side, Slot,
    Transfer, Verdict,
};
use lasthop_packet::{FlowKey, Instant, Packet, TcpFlags};

use crate::snoop::Snoop;
use crate::snoop::today::Today;
use flow::{Advertised, WtcpFlow};
pub use scheme::SCHEME;
pub use settings::Settings;

/// The WTCP agent, for an access point. It needs no link-layer information.
#[derive(Debug)]
pub struct Wtcp {
    settings: Settings,
    local: Snoop<Today>,
    /// The flows known to local recovery.
    flows: FlowTable<WtcpFlow>,
}

impl Wtcp {
    /// An agent without flows.
    pub fn new(settings: Settings) -> Self {
        let local = Snoop::new(settings.local());
        let flows = FlowTable::new(settings.eviction_grace);
        Self { settings, local, flows }
    }

    /// Creates or removes a flow's state, to match its local recovery.
    fn follow(&mut self, key: FlowKey, budget: Budget, now: Instant) -> Option<Slot> {
        if self.local.flow(key).is_none() {
            self.flows.remove(key);
            return None;
        }
        if let Some(slot) = self.flows.find(key) {
            self.flows.touch_at(slot, now);
            return Some(slot);
        }
        let taken = self.flows.octets() + self.local.octets();
        let max_flows = self.flows.max_flows(budget, taken, 0);
        while self.flows.len() >= budget.flows {
            // Local recovery has as many, and has evicted one for this flow.
            let (_, gone) = self.flows.idlest()?;
            self.flows.remove(gone);
        }
        // Without memory for it, its timestamps are not changed.
        let (Ok(()) | Err(_)) = self.flows.insert(key, WtcpFlow::default(), max_flows, now);
        self.local.leave_room(self.flows.octets());
        self.flows.find(key)
    }
}

impl Agent for Wtcp {
    fn on_packet(&mut self, packet: &mut Packet, from: Side, cx: &mut Context<'_>) -> Verdict {
        let (Some(tcp), Some(key)) = (packet.tcp(), packet.flow_key()) else {
            return self.local.on_packet(packet, from, cx);
        };
        let (key, flags) = (from.connection(key), tcp.flags);
        if flags.has(TcpFlags::SYN) || flags.has(TcpFlags::RST) {
            self.flows.remove(key);
            return self.local.on_packet(packet, from, cx);
        }
        match from {
            Side::Core => self.on_core(packet, key, cx),
            Side::Radio => self.on_radio(packet, key, cx),
        }
    }

    fn on_bypass(&mut self, packet: &Packet, from: Side, cx: &mut Context<'_>) {
        self.local.on_bypass(packet, from, cx);
        let Some(key) = packet.flow_key().map(|key| from.connection(key)) else { return };
        let slot = self.follow(key, cx.budget(), cx.now());
        if let Some(flow) = slot.filter(|_| from == Side::Core).and_then(|slot| self.flows.get_mut(slot)) {
            flow.update_clock(packet, cx.now());
            flow.record_advertised(Advertised::by(packet));
        }
    }

    fn prefetch(&self, connections: &[FlowKey]) {
        self.local.prefetch(connections);
        self.flows.prefetch(connections, |flow| {
            std::hint::black_box((flow.advertised.is_some(), flow.last_packet));
        });
    }

    fn deadline(&self) -> Option<Deadline> {
        self.local.deadline()
    }

    fn on_deadline(&mut self, cx: &mut Context<'_>) {
        self.local.on_deadline(cx);
        // Flows that local recovery has forgotten are those with the longest idle time.
        while let Some((_, key)) = self.flows.idlest().filter(|(_, key)| self.local.flow(*key).is_none()) {
            self.flows.remove(key);
        }
    }
}

impl Accounts for Wtcp {
    fn held(&self) -> u64 {
        self.local.held()
    }

    fn octets(&self) -> usize {
        self.local.octets() + self.flows.octets()
    }
}

impl Transfer for Wtcp {
    fn export(&mut self, scope: Scope, cx: &mut Context<'_>) -> Vec<FlowState> {
        self.export_flows(scope, cx)
    }

    fn import(&mut self, state: &FlowState, cx: &mut Context<'_>) -> Result<(), ImportError> {
        self.import_flow(state, cx)
    }

    fn drain(&mut self, cx: &mut Context<'_>) {
        self.local.drain(cx);
    }

    fn release(&mut self, connection: FlowKey, cx: &mut Context<'_>) {
        self.local.release(connection, cx);
        self.flows.remove(connection);
    }
}
