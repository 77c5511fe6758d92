//! The agent trait.

use std::net::IpAddr;
use std::time::Duration;

use lasthop_packet::{FlowKey, Instant, Packet};

use crate::accounts::Accounts;
use crate::context::Context;
use crate::counter::DropReason;
use crate::link::{LinkEvent, LinkSenses};
use crate::transfer::Transfer;

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
///
/// Here is what an agent does: with packets, with what the link layer reports, at its deadlines.
/// [`Accounts`] has what it holds and owes, [`Transfer`] how its state moves to another agent. An
/// agent that keeps nothing is [`Stateless`] and has neither. A closure that decides the fate of
/// packets is such an agent:
///
/// ```
/// use lasthop_agent::{Agent, Context, Counter, Side, Verdict};
/// use lasthop_packet::Packet;
///
/// static UNWANTED: Counter = Counter::new("unwanted", "packets that this agent drops");
///
/// let no_datagrams = |packet: &mut Packet, _from: Side, _cx: &mut Context<'_>| match packet.tcp() {
///     Some(_) => Verdict::Forward,
///     None => Verdict::Drop(&UNWANTED),
/// };
/// let agent: Box<dyn Agent> = Box::new(no_datagrams);
/// # assert!(agent.deadline().is_none());
/// ```
pub trait Agent: Accounts + Transfer + Send {
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

    /// A message from the agent in the seat at the node with this address ([`Context::send_message`]). It
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
}

/// An agent that keeps nothing: no packet, no state of a connection, no obligation.
pub trait Stateless {}

impl<A: Stateless> Accounts for A {}

impl<A: Stateless> Transfer for A {}

impl<F> Stateless for F where F: FnMut(&mut Packet, Side, &mut Context<'_>) -> Verdict {}

impl<F> Agent for F
where
    F: FnMut(&mut Packet, Side, &mut Context<'_>) -> Verdict + Send,
{
    fn on_packet(&mut self, packet: &mut Packet, from: Side, cx: &mut Context<'_>) -> Verdict {
        self(packet, from, cx)
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
