//! What an agent lets pass without being asked.

use lasthop_packet::{FlowKey, Seq};

/// Data of one direction of a connection that may go on at once; the agent is shown it afterwards, by [`crate::Agent::on_passed`].
///
/// It is an offer to worlds in which asking is dear: a gateway has the kernel forward such packets, and reads copies of them. A world that
/// takes it up lets a segment pass only if it
///
/// - carries data, and no flag but ACK and PSH;
/// - begins where the one before it ended, and everything before has gone on;
/// - ends within the passage.
///
/// It shows the agent every packet that passed, in the order in which they went on, and before any acknowledgment of it. One that it cannot
/// show is to the agent as if it had taken another way. A world that always asks is as right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// The direction.
    pub flow: FlowKey,
    /// What follows the first number, up to the second; `None` from now on nothing.
    pub data: Option<(Seq, Seq)>,
}
