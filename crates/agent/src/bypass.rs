//! Packets that pass without a call of the agent.

use lasthop_packet::{FlowKey, LARGEST_WINDOW, Seq};

/// The packets of a connection that may pass at once, by the state of its data in one direction.
/// The agent sees them afterwards, in [`crate::Agent::on_bypass`].
///
/// This is an offer to worlds in which a call is expensive: a gateway has the kernel forward such
/// packets, and reads copies of them. A world that accepts it lets a packet pass only if it has ACK
/// set, no other flag but PSH, no option but timestamps, and,
///
/// - in that direction, no data, or data that begins where the previous data ended, all of which
///   has been forwarded, and ends within the limits;
/// - in the other direction, data, or an acknowledgment higher than all before it; within the
///   limits.
///
/// If the agent does not respond in time, everything of the connection passes, as if there were no
/// agent.
///
/// The world shows the agent every packet that passed, of both directions in the order in which
/// they were forwarded; of the payload only the length, if the headers are enough ([`Shown`]). For
/// the agent, a packet that the world cannot show took another path. A world that always calls the
/// agent is also correct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bypass {
    /// The direction of the data.
    pub flow: FlowKey,
    /// The packets that may pass; `None`: from now on none.
    pub limits: Option<Limits>,
}

/// The limits on forwarded data and acknowledgments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The highest acknowledgment that was forwarded.
    pub acknowledged: Seq,
    /// The start of the data that has not been forwarded.
    pub from: Seq,
    /// The end of the last data that may pass.
    pub until: Seq,
    /// The part of these packets that the agent has to see.
    pub shown: Shown,
}

/// The part of passed packets that an agent has to see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// All octets: the agent stores them.
    Whole,
    /// The headers: a payload may be [`lasthop_packet::Payload::unseen`].
    Headers,
}

impl Limits {
    /// Limits for an agent that lets all new data and new ACKs pass, and stores none of them: from
    /// `from` to the end of the sequence number space. `until` stays as in `last` until half of the
    /// distance is used up.
    pub fn unlimited(acknowledged: Seq, from: Seq, last: Option<Self>) -> Self {
        let is_enough = |until: &Seq| until.offset_from(from) > (LARGEST_WINDOW / 2).cast_signed();
        let until = last.map(|last| last.until).filter(is_enough).unwrap_or(from + LARGEST_WINDOW);
        Self { acknowledged, from, until, shown: Shown::Headers }
    }
}
