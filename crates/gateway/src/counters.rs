//! What the engine counts.

use std::collections::BTreeMap;

use lasthop_agent::counter::{DROP_REASONS, REPORTS};
use lasthop_agent::{Counter, Tally, Verdict};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::frame::NotForAgents;

lasthop_agent::counters! {
    /// What is counted in addition to the reasons for which frames pass.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default)]
    pub struct EngineCounters {
        /// Frames received on a port.
        received: RECEIVED = "received_frames",
        /// Octets of these frames, including link headers.
        received_octets: RECEIVED_OCTETS = "received_octets",
        /// Copies of frames that passed in the kernel because agents allowed it; no other counter
        /// includes them.
        copies: COPIES = "copied_frames",
        /// Packets that agents generated for connections that had been forgotten.
        unaddressed: UNADDRESSED = "unaddressed_packets",
        /// Packets that agents generated and that were too large for IP.
        too_large: TOO_LARGE = "too_large_packets",
        /// Connections seen.
        connections: CONNECTIONS = "connections",
        /// Of these, connections taken over from the previous gateway process.
        taken_over: TAKEN_OVER = "connections_taken_over",
        /// Connections of the previous gateway process that could not be taken over.
        not_taken_over: NOT_TAKEN_OVER = "connections_not_taken_over",
        /// Connections removed from the table because they were idle.
        expired: EXPIRED = "connections_expired",
        /// Connections removed from the table to make room.
        evicted: EVICTED = "connections_evicted",
        /// Connections to which an agent can no longer deliver what it owes: idle for too long, not
        /// taken over, or the agent panicked.
        obligations_broken: OBLIGATIONS_BROKEN = "obligations_broken",
        /// Octets of these connections that agents had acknowledged and not delivered.
        octets_broken: OCTETS_BROKEN = "octets_broken",
        /// Connections set aside because only one direction passes through this gateway.
        aside_one_way: ASIDE_ONE_WAY = "connections_aside_one_way",
        /// Connections set aside because their sender does not slow down for loss.
        aside_unresponsive: ASIDE_UNRESPONSIVE = "connections_aside_unresponsive",
        /// Connections, and datagram flows between two ports, set aside because their agent has no
        /// use for them.
        aside_no_use: ASIDE_NO_USE = "connections_aside_no_use",
        /// Connections set aside by a command on the control socket.
        aside_asked: ASIDE_ASKED = "connections_aside_asked",
    }
}

lasthop_agent::counters! {
    /// Why frames passed, in the same octets, without an agent seeing them.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default)]
    pub struct Passed {
        /// Not an IP packet, a packet type that no agent understands, a damaged packet, or a
        /// checksum or segmentation at an unexpected position.
        not_understood: NOT_UNDERSTOOD = "not-understood",
        /// A checksum was wrong.
        wrong_checksum: WRONG_CHECKSUM = "wrong-checksum",
        /// ICMP, or UDP that no agent uses.
        not_tcp: NOT_TCP = "not-tcp",
        /// No rule matched it.
        unwanted: UNWANTED = "unwanted",
        /// The table was full of connections in use.
        table_full: TABLE_FULL = "table-full",
        /// Its connection was set aside.
        aside: ASIDE = "aside",
        /// Only one direction of its connection has been seen so far.
        one_way: ONE_WAY = "one-way",
        /// The gateway was drained: everything passed untouched.
        drained: DRAINED = "drained",
        /// Its rule's agent panicked, now or too often before.
        broken_agent: BROKEN_AGENT = "broken-agent",
    }
}

lasthop_agent::counters! {
    /// What happened to the packets of a rule's agent; a super-packet counts once.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default)]
    pub struct PacketCounters {
        /// Packets that agents saw.
        seen: SEEN = "seen_packets",
        /// Of those, packets that were forwarded, edited or not.
        forwarded: FORWARDED = "forwarded_packets",
        /// Of those, packets that agents took over, to send them later or in another form.
        absorbed: ABSORBED = "absorbed_packets",
        /// Packets that passed without a decision by an agent and were shown to it, whole or as
        /// headers.
        shown: SHOWN = "shown_packets",
        /// Packets that agents generated.
        sent: SENT = "made_packets",
        /// Panics of agents. A new agent replaces each one that panics.
        panics: PANICS = "panics",
    }
}

/// What the engine has counted since it was created; a super-packet counts once.
///
/// The counters balance. Frames received are those that passed and those that agents saw. Packets
/// that agents saw are those that they forwarded, dropped and absorbed. A test checks this.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counters {
    /// All but the frames that passed.
    #[serde(flatten)]
    pub counts: EngineCounters,
    /// Frames that went out again in the same octets without an agent seeing them, by reason.
    pub passed: Passed,
}

impl Passed {
    pub(super) const fn count(&mut self, why: &NotForAgents) {
        match why {
            NotForAgents::WrongChecksum => self.wrong_checksum += 1,
            NotForAgents::NotIp
            | NotForAgents::Malformed(_)
            | NotForAgents::Opaque
            | NotForAgents::UnsupportedOffload => {
                self.not_understood += 1;
            }
        }
    }
}

/// What a rule's agent did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleCounters {
    /// Its packets.
    #[serde(flatten)]
    pub packets: PacketCounters,
    /// Of the packets that it saw, those that it dropped, by reason.
    #[serde(flatten, serialize_with = "by_name", deserialize_with = "drop_reasons")]
    pub dropped: Tally,
    /// What it reports.
    #[serde(flatten, serialize_with = "by_name", deserialize_with = "reports")]
    pub reported: Tally,
}

impl Default for RuleCounters {
    fn default() -> Self {
        Self {
            packets: PacketCounters::default(),
            dropped: Tally::with_counters(DROP_REASONS),
            reported: Tally::with_counters(REPORTS),
        }
    }
}

impl RuleCounters {
    pub(super) fn count_verdict(&mut self, verdict: Verdict) {
        self.packets.seen += 1;
        match verdict {
            Verdict::Forward => self.packets.forwarded += 1,
            Verdict::Drop(reason) => self.dropped.count(reason, 1),
            Verdict::Absorb => self.packets.absorbed += 1,
        }
    }

    /// How much was counted of packets, or reported.
    pub fn of(&self, counter: &Counter) -> u64 {
        let of_packets = self.packets.iter().find(|(known, _)| known.name == counter.name);
        of_packets.map_or_else(|| self.reported.get(counter), |(_, count)| count)
    }

    /// Adds what another has counted.
    pub fn add(&mut self, other: &Self) {
        self.packets = self.packets.plus(other.packets);
        self.dropped.add(&other.dropped);
        self.reported.add(&other.reported);
    }
}

fn by_name<S: Serializer>(tally: &Tally, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(tally.iter().map(|(counter, count)| (counter.name, count)))
}

fn drop_reasons<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Tally, D::Error> {
    tally(DROP_REASONS, deserializer)
}

fn reports<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Tally, D::Error> {
    tally(REPORTS, deserializer)
}

/// The count of each of these counters. Other counters, such as those of a newer version, are
/// skipped.
fn tally<'de, D: Deserializer<'de>>(
    counters: &[&'static Counter],
    deserializer: D,
) -> Result<Tally, D::Error> {
    let counts = BTreeMap::<String, Value>::deserialize(deserializer)?;
    let mut tally = Tally::with_counters(counters);
    for counter in counters {
        tally.count(counter, counts.get(counter.name).and_then(Value::as_u64).unwrap_or_default());
    }
    Ok(tally)
}
