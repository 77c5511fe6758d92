//! What an agent lets pass without being asked.

use lasthop_packet::{FlowKey, LARGEST_WINDOW, Seq};

/// What may go on at once of a connection, by what is known of its data in one direction; the agent
/// is shown it afterwards, by [`crate::Agent::on_bypass`].
///
/// It is an offer to worlds in which asking is dear: a gateway has the kernel forward such packets,
/// and reads copies of them. A world that takes it up lets a packet pass only if it has ACK set, no
/// other flag but PSH, no option but timestamps, and,
///
/// - in that direction, no data, or data that begins where the data before it ended, all of which
///   has gone on, and ends within the limits;
/// - in the other direction, data, or an acknowledgment of more than any before it; within the
///   limits.
///
/// Where the agent does not answer in time, everything of the connection passes, as if there were
/// no agent.
///
/// It shows the agent every packet that passed, of both directions in the order in which they went
/// on; of the payload only the length, where the headers are enough ([`Shown`]). One that it cannot
/// show is to the agent as if it had taken another way. A world that always asks is as right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bypass {
    /// The direction of the data.
    pub flow: FlowKey,
    /// What may pass; `None`: from now on nothing.
    pub limits: Option<Limits>,
}

/// How far data and acknowledgments may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The highest acknowledgment that went on.
    pub acknowledged: Seq,
    /// Where the data that has not gone on begins.
    pub from: Seq,
    /// Where the last of what may pass ends.
    pub until: Seq,
    /// What the agent has to see of it.
    pub shown: Shown,
}

/// What an agent has to see of what passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// All octets: it keeps them.
    Whole,
    /// The headers: a payload may be [`lasthop_packet::Payload::unseen`].
    Headers,
}

impl Limits {
    /// For an agent that has nothing against new data and new ACKs, and keeps none of them: as far as
    /// sequence numbers go from `from` on. `until` stays as `last` said until half of the distance is
    /// used up.
    pub fn as_far_as_numbers_go(acknowledged: Seq, from: Seq, last: Option<Self>) -> Self {
        let is_enough = |until: &Seq| until.offset_from(from) > (LARGEST_WINDOW / 2).cast_signed();
        let until = last.map(|last| last.until).filter(is_enough).unwrap_or(from + LARGEST_WINDOW);
        Self { acknowledged, from, until, shown: Shown::Headers }
    }
}
