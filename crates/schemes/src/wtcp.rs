//! WTCP: the base station buffers the segments for a mobile host, sends them over the hop under a
//! window and a timer of its own until the mobile host has acknowledged them, and keeps the time that
//! this takes out of the sender's measurement of the round trip.
//!
//! K. Ratnam, I. Matta, "WTCP: an efficient mechanism for improving TCP performance over wireless
//! links", ISCC 1998 ("the paper"). Its text could not be had. The rules are those that D.
//! Kliazovich's dissertation (University of Trento 2006; section 2.4, tables 2.2 and 2.3) reports of
//! it, and one that is said of it elsewhere and could not be checked. Place: the access point. Both ends stay as they are. Data
//! from the radio side (upload) passes untouched.
//!
//! | rule | where it stands | file |
//! |---|---|---|
//! | the segment that is expected next is stored; a duplicate, which is delivered or stored already, is dropped | dissertation, 2.4 | [`buffer`]; see 1 and 2 |
//! | the base station has a window over the hop, and knows what it sent last and what was acknowledged last | dissertation, 2.4 | Snoop's; see 3 |
//! | it retransmits on duplicate ACKs with the window as it is, and on a time-out with a window of one segment, which is restored with the next ACK | said elsewhere | Snoop's; see 3 |
//! | ACKs go to the fixed host only for what the mobile host has acknowledged | dissertation, 2.4 | Snoop's |
//! | the timestamp grows by the time that the segment spent in the buffer | dissertation, 2.4 | [`timestamps`]; see 4 |
//!
//! # What is left open, what we chose
//!
//! 1. *Segments ahead of the expected one* are stored, too. The paper's senders went back by a window; after
//!    a loss on the wire today's send the one hole again, and what came behind it would pass
//!    unstored and unrepaired for ever.
//! 2. *Which duplicates are dropped*: only those whose octets are all here and not acknowledged, and
//!    which tell the mobile host nothing else: no later ACK, no other window, no SACK block, no
//!    unknown option. What is acknowledged already passes: the sender did not hear so, and only the
//!    mobile host may tell it. If the mobile host answers and goes on missing what we send (its PAWS
//!    or its checksum refuses our copy), or our timer has expired too often, duplicates pass: the
//!    sender's copy is then the better one. So is one in smaller segments than what is stored: the path
//!    may not take that (see [Snoop](crate::snoop)).
//! 3. *Local recovery* is [Snoop](crate::snoop)'s: cache, SACK scoreboard, timer, window, and what is kept
//!    from the sender. The two schemes have this problem in common, and what today's TCP needs there
//!    does not depend on the scheme. While its timer has expired nothing new leaves, but the first
//!    and the last segment that are missing: the window of one segment, with a probe of the tail. It
//!    goes on for `local-retransmissions` time-outs, more than a minute by default, where Snoop gives
//!    up after ten: this is the scheme for outages.
//! 4. *The timestamp that is changed is the echo*, TSecr in the ACK on its way back, and not TSval.
//!    A TSval that is raised moves the receiver's TS.Recent ahead of the sender's clock: PAWS (RFC
//!    7323, section 5.3) would refuse what follows with less time added, and everything once the
//!    agent is gone. Nothing remembers a TSecr: no sender checks it for order, and an agent that dies
//!    leaves nothing behind. The sender computes the same round trip in both cases.
//! 5. *The unit*: the tick of the sender's clock is learnt from TSval ([`clock`]); until it is
//!    known, and where it is none of the usual ones, timestamps stay as they are.
//! 6. *How much is hidden*: only what repairs took (`hidden-time = "repairs"`). With "residence" it
//!    is all the time in the buffer, as in the paper; then a sender does not see the queue that it
//!    builds here either, which BBR, Vegas and today's slow start go by. The round trip that is left is never
//!    shorter than the hop's least and the wire's.
//! 7. *Eifel* (RFC 3522) and Linux's undo compare TSecr with the time of the first retransmission. An
//!    echo that was older than that stays older: raised beyond it, the ACK of a segment that only
//!    waited here would look like the ACK of the retransmission, and a spurious time-out would not be
//!    undone. As duplicates are dropped, the mobile host never sees a retransmission's TSval, so that
//!    Linux undoes its time-out after each outage.
//! 8. *Hidden time and the sender's RTO*: an RTO that does not know of repairs does not cover them.
//!    The local timer is 20 ms or little more than the hop's round trip, the least RTO of Linux 200
//!    ms beyond its smoothed round trip: a repair and its repetition fit. What takes longer is an
//!    outage, and a time-out there costs one segment on the wire, and is undone.
//! 9. *The bound of the buffer*: `buffer`, and the world's budget. What exceeds the share of the
//!    window's time in `held-delay` is dropped, as Snoop does it, so that congestion stays a signal.
//!
//! # Where it does harm, or little
//!
//! - Without timestamps it is Snoop with more patience.
//! - In a gateway what the kernel forwards by itself (the fast path) keeps its timestamps.

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

/// The WTCP agent, for an access point. It needs nothing of the link layer.
#[derive(Debug)]
pub struct Wtcp {
    settings: Settings,
    local: Snoop<Today>,
    /// Of connections that are known to local recovery.
    flows: FlowTable<WtcpFlow>,
}

impl Wtcp {
    /// An agent that has seen nothing yet.
    pub fn new(settings: Settings) -> Self {
        let local = Snoop::new(settings.local());
        let flows = FlowTable::new(settings.eviction_grace);
        Self { settings, local, flows }
    }

    /// Begins or ends what is known of a connection, as its local recovery has.
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
        let most = self.flows.most(budget, taken, 0);
        while self.flows.len() >= budget.flows {
            // Local recovery has as many, and made room for this one.
            let (_, gone) = self.flows.idlest()?;
            self.flows.remove(gone);
        }
        // Where there is no memory for it, its timestamps stay as they are.
        let (Ok(()) | Err(_)) = self.flows.insert(key, WtcpFlow::default(), most, now);
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
            flow.note_clock(packet, cx.now());
            flow.note_told(Advertised::by(packet));
        }
    }

    fn prefetch(&self, connections: &[FlowKey]) {
        self.local.prefetch(connections);
        self.flows.prefetch(connections, |flow| {
            std::hint::black_box((flow.told.is_some(), flow.heard));
        });
    }

    fn deadline(&self) -> Option<Deadline> {
        self.local.deadline()
    }

    fn on_deadline(&mut self, cx: &mut Context<'_>) {
        self.local.on_deadline(cx);
        // Those that local recovery has forgotten were idle for longest.
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
