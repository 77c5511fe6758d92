//! Snoop: the access point caches what it forwards to a mobile host, retransmits what the wireless
//! hop lost, and keeps the duplicate ACKs for it from the sender, who then does not mistake the
//! loss for congestion.
//!
//! H. Balakrishnan, S. Seshan, E. Amir, R. H. Katz, "Improving TCP/IP Performance over Wireless
//! Networks", `MobiCom` 1995 ("the paper"), and the authors' code for ns-2, `tcp/snoop.cc`,
//! `tcp/snoop.h` and `tcl/lan/ns-ll.tcl` in ns-2.35 ("snoop.cc"). Place: the access point. Both
//! ends stay as they are. Data from the radio side (upload) passes untouched, unless [`uplink`] is
//! set.
//!
//! `preset = "published"` behaves as snoop.cc does. The default is for the TCP of today, with SACK,
//! timestamps and segmentation offload; what it adds can be switched on and off setting by setting.
//!
//! # What was added for today's TCP
//!
//! | setting | what it does | where |
//! |---|---|---|
//! | `loss-detection = "sack"` | every hole is found by what left after it and arrived, lost copies too, and repaired at once; a super-packet is cached as one buffer and repaired in pieces | [`scoreboard`], [`ack_processing`] |
//! | `timer = "hop"` | RFC 6298 with back-off, from 20 ms on, longer where the receiver may delay its ACK, and the longer the more copies were needless; sends the first segment missing and the last | [`rtt`], [`ack_processing`] |
//! | `withholding` | SACK blocks above the first hole of ours, the duplicate ACKs that then say nothing, and reports of data doubled by our copies do not reach the sender; for 100 ms and two round trips over the hop at most | [`ack_rewriting`] |
//! | `monotone-timestamps` | copies, and packets that waited, carry the highest TSval that went to the receiver | [`segmentation`] |
//! | `local-window` | packets wait here and not in the queue behind, which stays about 3 ms long: a repair takes one short round trip, overtakes what waits, and so does everybody else's packet | [`lasthop_hop::last_hop`], [`hold_queue`] |
//!
//! *Not asked for:* data in order and its acknowledgments, as long as nothing waits and nothing is
//! missing ([`fast_path`]): a gateway's kernel forwards them.
//!
//! *A hop that loses nothing* (a run of 1,000 segments without a loss; [`lasthop_hop::last_hop`]), and has
//! no queue or delivers more than 1 Gbit/s, is only watched: nothing waits for room, and where packets
//! pass without asking their headers are enough. So nothing of them is cached. The first loss is
//! then the sender's to repair, and it hears of it. After that data is cached again, until the hop
//! has delivered twice as many segments without a loss.
//!
//! *A sender that does as well without us* (`steps-aside`, [`short_path`]): its path to us is no longer
//! than the hop, so that it repairs losses nearly as soon as we could, and they leave it twice the
//! window that it uses. Its connection passes untouched.
//!
//! *What is withheld is under repair*, or will be within a quarter of the hop's least round trip: a
//! segment that no more than `reordering` others have overtaken is repaired then ([`scoreboard`]).
//! To let those SACK blocks pass would be simpler, and the sender could go on sending (RFC 3042);
//! but it would hear of nearly every loss, and RACK would act on some.
//!
//! *An ACK may be late.* Where a single segment is outstanding the timer waits for a delayed ACK as
//! well. Data that follows brings that ACK about, so the wait starts anew. And it becomes longer,
//! up to 200 ms, where the receiver tells of many needless copies ([`rtt`]).
//!
//! *It fails open.* The sender hears of nothing that the receiver has not got: no early ACK, no
//! SACK block that the receiver did not send. What waits here is not acknowledged, so an agent that
//! dies loses some packets, as a queue that is flushed does. [`Agent::drain`] sends all that waits.
//!
//! *The sender's order is kept.* Our copies overtake what waits; what the sender sends again does
//! not: had it come back before what left the sender earlier and waits here, RACK would take all of
//! that for lost. Where the receiver tells of no blocks it does overtake: RACK has nothing to go by
//! there, and only what the receiver waits for can free the window.
//!
//! *Congestion stays a signal.* A connection whose packets wait longer than `held-delay` loses the
//! first that waits, uncached, and no other of that window; a sender that does not slow down for it
//! loses ever fewer. What exceeds four times that delay is dropped. What was not cached is never
//! withheld.
//!
//! *ACKs that queue* on a narrow way back make the round trip long, and no data waits longer for it. While
//! the hop loses nothing, the window leaves that time out, by the timestamps of the ACKs
//! ([`WayBack`](lasthop_hop::last_hop::WayBack)). Once it loses something, repairs take that time, too.
//!
//! *A silent receiver.* What was on the hop when the timer expired no longer counts in the window, which
//! other connections to the same address share: they may be those of another device behind it. Until the
//! receiver answers, it gets copies and what the sender sends again, and what waits for it waits on; once
//! retransmissions are used up, that is dropped, and whatever comes passes.
//! Its first ACK may tell that it was only late: if that echoes an older TSval than the first copy had (RFC
//! 3522, section 3.2), no loss is inferred from it, nor from the sender's time-out.
//!
//! *A receiver without SACK* says of a hole only that it is there: more duplicate ACKs than
//! `reordering`, or one and then none, start a repair of one segment, an ACK of the copy that stops
//! short the next (RFC 6582), and a lost copy is the timer's.
//!
//! *A path behind the hop that takes smaller packets* ([`path_mtu`]): once a router says so, or the sender
//! sends something again in smaller segments, what is cached is forgotten. The sender, who hears of it as
//! without an agent, repairs that.
//!
//! # The rules of the published scheme
//!
//! Data from the core side, the paper's "Data transfer from a fixed host" and its flowchart of
//! `snoop_data`; [`data_processing`]:
//!
//! | packet | what happens |
//! |---|---|
//! | next in sequence, or further on | cached, forwarded |
//! | below what passed already, cached | the sender retransmitted it: marked, its count of local retransmissions starts anew, forwarded; the timer starts anew |
//! | below what passed already, not cached | cached, and if it is then the first in the cache, marked as the sender's retransmission; the timer starts anew |
//! | acknowledged already | forwarded |
//! | no room in the cache | forwarded, not cached |
//!
//! ACKs from the radio side, the same section and its flowchart of `snoop_ack`; [`duplicates`]:
//!
//! | ACK | what happens |
//! |---|---|
//! | new | cleans the cache up to it, measures the hop's round-trip time unless a packet that it covers left twice (Karn), starts the timer anew, ends all expectations |
//! | lower than the last | forwarded |
//! | duplicate, its packet not cached or marked | forwarded |
//! | the first duplicate | forwarded |
//! | the second | the packet is retransmitted, the ACK suppressed. Expected from now on: as many more as packets are cached from the missing one on, less two |
//! | expected | suppressed |
//! | beyond what was expected | counted anew: the first is forwarded, so is the second if the packet was retransmitted already |
//! | after a count below zero | the packet is retransmitted as long as that happened less than twice; then forwarded |
//!
//! A timer of srtt + 4 rttvar, at least 100 ms, runs while something is cached ([`rtt`]). When it
//! expires and the first cached packet is the one that the receiver waits for, that packet is
//! retransmitted, at most 10 times.
//!
//! # Where snoop.cc differs from the paper
//!
//! - The paper retransmits at the first duplicate ACK; snoop.cc lets one pass, for reordering.
//!   [`Settings::duplicates_passed`].
//! - The paper drops an ACK lower than the last; snoop.cc forwards it. So do we.
//! - The paper answers a retransmission of acknowledged data with an ACK in the receiver's name;
//!   snoop.cc forwards the data. So do we: an agent that speaks for the receiver does not fail
//!   open.
//! - The paper has a second, "persist" timer for a connection gone silent; snoop.cc only declares
//!   it. The round-trip timer does its work here.
//! - In snoop.cc the weights of srtt are the other way round than Jacobson's (7/8 for the latest
//!   measurement). Kept.
//!
//! # Where we differ from snoop.cc
//!
//! - Its count of the duplicates that passed is one variable for all connections and outlives a new
//!   ACK. Ours belongs to the connection and starts anew with each new ACK.
//! - It measures the round-trip time with retransmitted packets too. The paper, and Karn, do not.
//! - It does not notice a sender's retransmission while the cache is full. We do; that takes no
//!   room.
//! - Once the sender has retransmitted a packet, it still suppresses the duplicates that it
//!   expected before. We let them all pass, as the paper says: the sender counts them.
//! - Once a packet was retransmitted as often as allowed, it still suppresses the duplicates that
//!   it expected. We let them all pass: nobody but the sender can help then.
//! - A count that falls short by two is treated as one that falls short by one.
//! - It caches nothing while the interface queue is nearly full, to leave congestion to the sender.
//!   An agent sees no queue here; what the queue behind it drops is repaired as if the air had lost
//!   it.
//!
//! # What both leave open, and what we chose
//!
//! *Octets.* ns-2 numbers packets. Here an ACK may cover a part of a cached packet (a super-packet
//! of segmentation offload, or other segment borders in a retransmission). The rest of it then
//! counts as a packet that was not retransmitted yet, and a copy carries only what the receiver
//! misses: from the acknowledgment number up to the first SACK block.
//!
//! *What a duplicate ACK is.* RFC 5681, section 2, with what came after it. No duplicate, and never
//! suppressed, is an ACK that carries data, any flag but ACK (SYN, FIN, RST, and ECE and CWR, with
//! which ECN, and accurate ECN, tell of congestion), an option that we do not know (such as those
//! of MPTCP), another window than the last, a window of zero (it keeps a sender in persist state
//! alive), or a report of duplicate data (RFC 2883 tells it once; no later ACK would). Other SACK
//! information in a suppressed ACK is not lost: the receiver repeats it, as far as the three or
//! four blocks of an option go (RFC 2018, section 4). An ACK that changes the window and reports
//! SACK blocks is a sign of loss all the same (RFC 6675, section 2): real receivers open the window
//! while they hold data above a hole. It counts, and triggers the repair, but passes.
//!
//! *Timestamps.* A segment that overtakes older ones with a newer TSval makes PAWS (RFC 7323,
//! section 5.3) refuse those from then on: after one retransmission by the sender every older copy
//! in the cache would be dead. So a copy leaves with the highest TSval that already went to the
//! receiver. The sender then measures (section 4.1) the time since that later packet left it: a
//! true round-trip time of the path, but without the time that the repair took. Its RTO does not
//! learn how long local repairs take; nor can it mistake the echo for that of its first
//! transmission (Eifel, RFC 3522). The copy keeps its old acknowledgment number, window and TSecr;
//! receivers ignore the first two as older than what they have (RFC 9293, section 3.10.7.4).
//!
//! *Zero window.* The timer does not retransmit into a closed window; probes are the sender's
//! business.
//!
//! *Beginning and end.* State begins with the first data from the core side, never with a SYN, so
//! that a SYN flood takes no room and a connection that is older than the agent is served too.
//! Until an ACK is seen, the first packet cached is taken for the one that the receiver waits for.
//! A SYN from either side starts anew, and so do sequence numbers more than 2^30 away. A RST from
//! either side ends the state, and so does an ACK of the sender's FIN; a FIN from the mobile host
//! does not, since data may still flow to it. A connection without packets is forgotten after a
//! while.
//!
//! *Not touched:* urgent data, segments with unknown options (signatures, MPTCP), ACKs of data that
//! never passed, and everything that is not TCP. Beside its own copies the agent edits two things, and
//! neither in a segment with an option that it does not know: the TSval of a segment that has waited, and
//! the SACK blocks of an ACK.
//!
//! # Where the published scheme does harm
//!
//! - Today's senders (RACK, RFC 8985) may retransmit after one duplicate ACK with a SACK block: the
//!   first, which passes. And each new ACK over a second hole carries SACK blocks, so that several
//!   losses in one window reach the sender.
//! - While duplicates are suppressed the sender sends nothing new (no limited transmit), so the hop
//!   may run idle.
//! - Packets that are forwarded after the count elicit duplicates that are not expected; three of
//!   them start fast retransmit.
//! - Congestion at the queue behind the agent is hidden from the sender. Loss in front of it is
//!   not.
//! - A timer without back-off on a hop whose delay rises quickly (a full queue, power saving)
//!   retransmits what was never lost.
//! - With BBR, or any sender that does not slow down for loss, there is little to gain.
//! - A super-packet counts as one packet, so too few duplicates are expected of it.
//!
//! # Where the default does harm, or little
//!
//! - A sender whose RTO is shorter than the local time-out may repair faster by itself, and learns
//!   a longer RTO.
//! - The local window aims at a delay. Beside a sender behind us that fills the queue it keeps its
//!   share at the time, no more.
//! - Once a hop has shown no loss for long, the first loss shrinks the sender's window.
//! - It cannot see into `IPsec` or QUIC, needs both directions to pass, and starts from nothing
//!   after a hand-off.

pub mod account;
pub mod ack_processing;
pub mod ack_rewriting;
mod core_side;
pub mod data_processing;
pub mod duplicates;
pub mod expectation;
pub mod fast_path;
pub mod flow;
pub mod hold_queue;
mod lifetime;
mod path_beyond;
pub mod path_mtu;
mod radio_side;
pub mod rtt;
mod scheme;
pub mod scoreboard;
pub mod segmentation;
pub mod settings;
pub mod short_path;
#[cfg(test)]
mod tests;
mod timers;
mod transfer;
pub mod uplink;
mod uploads;

use lasthop_agent::{
    Agent, Budget, Context, Deadline, FlowState, FlowTable, ImportError, Room, Side, Slot, Verdict, Whose,
};
use lasthop_hop::last_hop::{Aims, Hops, LastHop, Trust};
use lasthop_packet::{FlowKey, Packet, PacketTooBig, TcpFlags};

use flow::SnoopFlow;
pub use scheme::SCHEME;
pub use settings::Settings;
use settings::UplinkHalf;
use uplink::Uplink;

/// The Snoop agent, for an access point. It needs nothing of the link layer.
#[derive(Debug)]
pub struct Snoop {
    settings: Settings,
    /// What local windows aim at.
    aims: Aims,
    /// By the direction from the core to the radio side, each with its local timer.
    flows: FlowTable<SnoopFlow>,
    /// Where connections have a local window: one for each mobile host.
    hops: Hops,
    /// Of all of them together.
    trust: Trust,
    /// Octets of memory that all flows take beside their table.
    octets: usize,
    /// Octets of memory beside that: of tables, of what waits for hops, and what something else has taken
    /// of the same memory.
    beside: usize,
    /// Octets of the tables among them.
    tables: usize,
    /// Octets that something else has taken.
    others: usize,
    /// Packets that wait for room in a local window.
    held: u64,
    /// The other direction, where something is done for it.
    uplink: Option<Uplink>,
}

impl Snoop {
    /// An agent that has seen nothing yet.
    pub fn new(settings: Settings) -> Self {
        let flows = FlowTable::new(settings.eviction_grace);
        let uplink = (settings.uplink == UplinkHalf::Nack).then(|| Uplink::new(&settings));
        let (aims, hops, trust) = (settings.aims(), Hops::new(), Trust::default());
        Self {
            settings,
            aims,
            flows,
            hops,
            trust,
            octets: 0,
            beside: 0,
            tables: 0,
            others: 0,
            held: 0,
            uplink,
        }
    }

    /// Leaves room for octets that something else has taken of the same memory.
    pub const fn leave_room(&mut self, octets: usize) {
        self.beside = self.beside - self.others + octets;
        self.others = octets;
    }

    /// Brings the account of memory up to date with what the tables take now.
    fn charge_tables(&mut self) {
        let tables =
            self.flows.octets() + self.hops.octets() + self.uplink.as_ref().map_or(0, Uplink::octets);
        self.beside = self.beside - self.tables + tables;
        self.tables = tables;
    }

    /// The same for what waits for a hop.
    fn charge_hop(&mut self, at: Option<Slot>) {
        if let Some(hop) = at.and_then(|at| self.hops.get_mut(at)) {
            hop.charge(&mut self.beside);
        }
    }

    /// Brings the account of memory up to date with what a flow takes now. What it might take more.
    fn charge(&mut self, slot: Slot, budget: Budget) -> Option<Room> {
        Some(self.flows.get_mut(slot)?.charge(&mut self.octets, budget.beside(self.beside)))
    }

    /// The hop that a flow goes over.
    fn hop(&self, slot: Slot) -> Option<&LastHop> {
        self.hops.get(self.flows.get(slot)?.hop?)
    }

    /// The same, to be changed.
    fn hop_mut(&mut self, slot: Slot) -> Option<&mut LastHop> {
        self.hops.get_mut(self.flows.get(slot)?.hop?)
    }

    /// Keeps the account of the hop that a flow goes over.
    fn count_in_flight(&mut self, slot: Slot, before: u64, after: u64) {
        if let Some(hop) = self.hop_mut(slot) {
            hop.in_flight = hop.in_flight - before + after;
        }
    }
}

impl Agent for Snoop {
    fn on_packet(&mut self, packet: &mut Packet, from: Side, cx: &mut Context<'_>) -> Verdict {
        let (Some(tcp), Some(key)) = (packet.tcp(), packet.flow_key()) else {
            if let Some(too_big) = PacketTooBig::of(packet).filter(|_| from == Side::Radio) {
                self.on_too_big(&too_big, cx);
            }
            return Verdict::Forward;
        };
        let key = from.connection(key);
        if tcp.flags.has(TcpFlags::SYN) || tcp.flags.has(TcpFlags::RST) {
            self.forget(key, cx);
            self.forget_upload(key);
            return Verdict::Forward;
        }
        self.note_upload(packet, key, from, cx);
        self.permit_upload(packet, key, from, cx);
        let known = match from {
            Side::Core => self.find_or_admit(packet, key, cx),
            Side::Radio => self.flows.find(key),
        };
        let Some(slot) = known else { return Verdict::Forward };
        let verdict = match from {
            Side::Core => self.on_core(packet, slot, cx),
            Side::Radio => self.on_radio(packet, slot, cx),
        };
        let is_charged = |flow: &SnoopFlow| flow.charged == flow.allocated();
        debug_assert!(self.flows.get(slot).is_none_or(is_charged), "memory is counted when it is taken");
        self.permit(slot, cx);
        verdict
    }

    fn on_bypass(&mut self, packet: &Packet, from: Side, cx: &mut Context<'_>) {
        let (Some(tcp), Some(key)) = (packet.tcp(), packet.flow_key()) else { return };
        let key = from.connection(key);
        if tcp.flags.has(TcpFlags::SYN) || tcp.flags.has(TcpFlags::RST) {
            self.forget(key, cx);
            self.forget_upload(key);
        } else {
            self.note_upload(packet, key, from, cx);
            self.note_passed(packet, key, from, cx);
        }
    }

    fn prefetch(&self, connections: &[FlowKey]) {
        self.flows.prefetch(connections, SnoopFlow::look);
        // Only now: where a hop is, its flow says.
        for key in connections {
            let hop = self.flows.peek(*key).and_then(|flow| self.hops.get(flow.hop?));
            hop.inspect(|hop| hop.look());
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        let timer = self.flows.next_timer().map(|at| Deadline { at, reason: "local retransmission" });
        let idle = self.idle_deadline().map(|at| Deadline { at, reason: "idle connection" });
        Deadline::earliest(timer, idle)
    }

    fn on_deadline(&mut self, cx: &mut Context<'_>) {
        while let Some(slot) = self.flows.pop_timer(cx.now()).and_then(|key| self.flows.find(key)) {
            self.on_timer(slot, cx);
            self.charge(slot, cx.budget());
            self.permit(slot, cx);
        }
        while self.idle_deadline().is_some_and(|at| at <= cx.now())
            && let Some(key) = self.idlest()
        {
            self.forget(key, cx);
            self.forget_upload(key);
        }
    }

    fn held(&self) -> u64 {
        self.held
    }

    fn octets(&self) -> usize {
        self.octets + self.beside - self.others
    }

    fn export(&mut self, whose: Whose, cx: &mut Context<'_>) -> Vec<FlowState> {
        if let Some(uplink) = &mut self.uplink {
            uplink.forget_of(whose);
            self.charge_tables();
        }
        self.export_flows(whose, cx)
    }

    fn import(&mut self, state: &FlowState, cx: &mut Context<'_>) -> Result<(), ImportError> {
        self.import_flow(state, cx)
    }

    fn on_return(&mut self, cx: &mut Context<'_>) {
        self.resume_timers(cx.now());
    }

    fn drain(&mut self, cx: &mut Context<'_>) {
        let holds = |slot: &Slot| self.flows.get(*slot).is_some_and(|flow| !flow.held.is_empty());
        let holding: Vec<Slot> = self.flows.slots().filter(holds).collect();
        // At once: each flush would look for its own among all.
        for slot in &holding {
            let at = self.flows.get(*slot).and_then(|flow| flow.hop);
            if let Some(hop) = at.and_then(|at| self.hops.get_mut(at)) {
                hop.turns.clear();
            }
            self.charge_hop(at);
        }
        for slot in holding {
            self.flush(slot, cx);
        }
    }

    fn release(&mut self, connection: FlowKey, cx: &mut Context<'_>) {
        self.forget_upload(connection);
        self.forget(connection, cx);
    }
}
