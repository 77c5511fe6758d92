//! The agent trait.

use std::net::IpAddr;
use std::time::Duration;

use lasthop_packet::{FlowKey, Instant, Packet};

use crate::context::Context;
use crate::counter::DropReason;
use crate::link::{LinkEvent, LinkSenses};
use crate::obligation::{Obligation, Owed};
use crate::transfer::{FlowState, ImportError, Whose};

pub use crate::side::Side;

/// A transport-aware state machine at the edge of a wireless hop.
///
/// It has a seat: a node, with the interfaces that it watches there. These are its radio side, all
/// others and the node itself its core side, and it sees every packet that crosses from one to the
/// other. A packet between two watched interfaces crosses twice: in from the radio side, and out
/// again. What the agent sends takes the node's route to its destination, and is not shown to it
/// again.
///
/// It reads no clock, draws from no randomness but [`Context::rng`], and does nothing but what its
/// return value and its context say.
pub trait Agent: Send {
    /// Decides the fate of a packet that came in from `from`.
    ///
    /// Whatever it does not understand it forwards untouched.
    fn on_packet(&mut self, packet: &mut Packet, from: Side, cx: &mut Context<'_>) -> Verdict;

    /// Takes note of a packet that went on without asking, under [`Context::allow_bypass`]. Only
    /// for agents that let something pass.
    fn on_bypass(&mut self, packet: &Packet, from: Side, cx: &mut Context<'_>) {
        let _ = (packet, from, cx);
    }

    /// Learns whose packets come next: directions from the core side to the radio side. With very
    /// many connections, each one's state is far from the processor, and an agent that looks at all
    /// of them now waits for them at once and not one after the other. It changes nothing, and need
    /// not come true.
    fn prefetch(&self, connections: &[FlowKey]) {
        let _ = connections;
    }

    /// Learns what the link layer saw. Called only for what [`Agent::needs`] asks for.
    fn on_link(&mut self, event: &LinkEvent<'_>, cx: &mut Context<'_>) {
        let _ = (event, cx);
    }

    /// A message from the agent in the seat at the node with this address ([`Context::tell`]). It
    /// may come from anywhere: what it says is to be checked.
    fn on_message(&mut self, from: IpAddr, octets: &[u8], cx: &mut Context<'_>) {
        let _ = (from, octets, cx);
    }

    /// When [`Agent::on_deadline`] is next due, and why. Read after every call.
    fn deadline(&self) -> Option<Deadline> {
        None
    }

    /// Does what is due. Early and repeated calls are harmless.
    fn on_deadline(&mut self, cx: &mut Context<'_>) {
        let _ = cx;
    }

    /// What this agent cannot work without; checked once, before traffic.
    fn needs(&self) -> LinkSenses {
        LinkSenses::empty()
    }

    /// Whether the link layer of the watched interfaces is to withhold its acknowledgment of frames
    /// that arrive from now on: to their sender they are lost. Read after every call. Only for agents
    /// that need [`LinkSenses::REFUSAL`].
    fn refuses_frames(&self) -> bool {
        false
    }

    /// Whether it has a use for datagrams. If not, a world where showing a packet is expensive shows
    /// it TCP only; if so, also UDP that may be RTP ([`lasthop_packet::rtp::may_begin_with`]).
    fn takes_datagrams(&self) -> bool {
        false
    }

    /// How many packets the agent holds to send on, of those that it absorbed or made; a world
    /// reports them beside its accounts.
    fn held(&self) -> u64 {
        0
    }

    /// Octets of memory that it has allocated, tables and the room in them included; never more than
    /// [`Context::budget`] allows, but for some KiB of working memory, unless the budget has shrunk since.
    fn octets(&self) -> usize {
        0
    }

    /// What it owes of a connection, by its direction from the core side to the radio side.
    fn obligation(&self, connection: FlowKey) -> Obligation {
        let _ = connection;
        Obligation::Free
    }

    /// What it owes of all connections: the sum of what [`Agent::obligation`] says of each.
    fn owed(&self) -> Owed {
        Owed::default()
    }

    /// Takes the state of these connections out, with the packets that it holds of them: it sends
    /// nothing, and does not know them any more.
    ///
    /// The law: once another agent of the same scheme and settings has [imported](Agent::import)
    /// all of it, at any moment, connections end as they would have ended; they may for a while be
    /// slower.
    fn export(&mut self, whose: Whose, cx: &mut Context<'_>) -> Vec<FlowState> {
        let _ = (whose, cx);
        Vec::new()
    }

    /// Goes on with a connection from the state that another agent of the scheme had of it. The
    /// state may come from a file or another machine: it may be anything.
    fn import(&mut self, state: &FlowState, cx: &mut Context<'_>) -> Result<(), ImportError> {
        let _ = cx;
        Err(ImportError::OtherScheme(state.scheme.to_string()))
    }

    /// The world was away for a while, or another was in its place: packets may have passed that the
    /// agent was not shown.
    fn on_return(&mut self, cx: &mut Context<'_>) {
        let _ = cx;
    }

    /// Sends on everything that it holds, in order, because it will not be called again or is to be
    /// taken out of the path.
    ///
    /// The law: afterwards [`Agent::held`] is 0, and the agent may be called on as before.
    fn drain(&mut self, cx: &mut Context<'_>) {
        let _ = cx;
    }

    /// Sends on what it holds of one connection, in order, and forgets it, because it will see no
    /// more of it: a world has set the connection aside. `connection` is its direction from the
    /// core side to the radio side. A connection that it does not know is
    /// ignored. What it owes of the connection is lost.
    fn release(&mut self, connection: FlowKey, cx: &mut Context<'_>) {
        let _ = (connection, cx);
    }
}

/// What becomes of the packet in hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "every packet has a fate"]
pub enum Verdict {
    /// It goes on to the other side, after everything that was put into the outbox.
    Forward,
    /// It ends here.
    Drop(DropReason),
    /// The agent keeps it: it took the packet over, to send it, or something in its place, later.
    /// What is in hand then may be no packet any more ([`Packet::take`]).
    Absorb,
}

/// When an agent wants to be called, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline {
    /// Not before this time.
    pub at: Instant,
    /// What will be due, in a word or two: for traces, and for finding a busy loop.
    pub reason: &'static str,
}

/// How an agent gets on with its deadlines. Each world has one for each agent, and after each call at a
/// deadline asks it when the next one is.
///
/// An agent may leave several things due at one time, and see to one in each call. One whose deadline
/// never moves would be called for ever at one instant: after so many calls it is called once a
/// millisecond, and the world says whose deadline it is, by its reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Calls in a row after which the deadline had come already.
    calls: u32,
}

/// Calls at a deadline that leave one that has come already.
const MOST_CALLS: u32 = 64;
/// After so many, the time between two.
const LEAST_STEP: Duration = Duration::from_millis(1);

impl Progress {
    /// The deadline that an agent has after it was called at the last one, `now`. `Some` if it is not to
    /// be called before another time than that: it is stuck.
    pub fn hold_back(&mut self, deadline: Option<Deadline>, now: Instant) -> Option<Deadline> {
        let Some(deadline) = deadline.filter(|deadline| deadline.at <= now) else {
            self.calls = 0;
            return None;
        };
        self.calls = self.calls.saturating_add(1);
        (self.calls >= MOST_CALLS).then(|| Deadline { at: now + LEAST_STEP, ..deadline })
    }

    /// Whether it has just become stuck: to tell of it once.
    pub const fn is_newly_stuck(&self) -> bool {
        self.calls == MOST_CALLS
    }
}

impl Deadline {
    /// The earlier of two deadlines.
    pub fn earliest(a: Option<Self>, b: Option<Self>) -> Option<Self> {
        match (a, b) {
            (Some(a), Some(b)) => Some(if b.at < a.at { b } else { a }),
            (a, b) => a.or(b),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_may_see_to_many_things_at_one_time_but_not_for_ever() {
        let (now, mut progress) = (Instant::from_secs(1), Progress::default());
        let due = |at| Some(Deadline { at, reason: "due" });
        for _ in 1..MOST_CALLS {
            assert_eq!(progress.hold_back(due(now), now), None);
        }
        assert_eq!(progress.hold_back(due(now), now), due(now + LEAST_STEP));
        assert!(progress.is_newly_stuck());
        let later = now + LEAST_STEP;
        assert_eq!(progress.hold_back(due(now), later), due(later + LEAST_STEP));
        assert!(!progress.is_newly_stuck());
        assert_eq!(progress.hold_back(due(later + LEAST_STEP), later), None, "it moves");
        assert_eq!(progress.hold_back(due(later), later), None, "and may begin anew");
    }
}
