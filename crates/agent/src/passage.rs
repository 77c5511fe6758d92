//! What an agent lets pass without being asked.

use lasthop_packet::{FlowKey, Seq};

/// What may go on at once of a connection that carries data one way; the agent is shown it afterwards, by [`crate::Agent::on_passed`].
///
/// It is an offer to worlds in which asking is dear: a gateway has the kernel forward such packets, and reads copies of them. A world that
/// takes it up lets a segment pass only if it
///
/// - carries data, and no flag but ACK and PSH;
/// - begins where the one before it ended, and everything before has gone on;
/// - ends within the limits;
///
/// and a packet of the other direction only if it
///
/// - has no data, no flag but ACK, and no option but timestamps;
/// - acknowledges more than any before it, within the limits.
///
/// It shows the agent every packet that passed, of both directions in the order in which they went on. One that it cannot show is to the
/// agent as if it had taken another way. A world that always asks is as right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
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
}
