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
/// It is attached to a node and to the interfaces that it watches there. These are its radio side;
/// all other interfaces and the node itself are its core side. It sees every packet that crosses
/// from one side to the other. A packet between two watched interfaces crosses twice: in from the
/// radio side, and out again. A packet from the agent takes the node's route to its destination,
/// and is not shown to the agent again.
///
/// An agent reads no clock, draws from no randomness but [`Context::rng`], and acts only through
/// its return value and its context.
///
/// This trait has what an agent does: with packets, with link-layer events, at its deadlines.
/// [`Accounts`] has what it holds and owes, [`Transfer`] the transfer of its state to another
/// agent. An agent without packets, connection state or obligations is [`Stateless`] and implements
/// neither. A closure that decides the fate of packets is such an agent:
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
    /// Packets that the agent does not understand are forwarded untouched.
    fn on_packet(&mut self, packet: &mut Packet, from: Side, cx: &mut Context<'_>) -> Verdict;

    /// Processes a packet that was forwarded without a call, under [`Context::allow_bypass`]. Only
    /// for agents that allow bypassing.
    fn on_bypass(&mut self, packet: &Packet, from: Side, cx: &mut Context<'_>) {
        let _ = (packet, from, cx);
    }

    /// Announces the connections of the next packets: directions from the core side to the radio
    /// side. With very many connections, the state of each is outside the processor's caches, and
    /// an agent that reads all of them now waits for them in parallel instead of one after the
    /// other. This changes nothing, and the packets may not come.
    fn prefetch(&self, connections: &[FlowKey]) {
        let _ = connections;
    }

    /// Processes a link-layer event. Called only for the events in [`Agent::needs`].
    fn on_link(&mut self, event: &LinkEvent<'_>, cx: &mut Context<'_>) {
        let _ = (event, cx);
    }

    /// Processes a message from the agent at the node with this address
    /// ([`Context::send_message`]). The message may come from anywhere, and has to be validated.
    fn on_message(&mut self, from: IpAddr, octets: &[u8], cx: &mut Context<'_>) {
        let _ = (from, octets, cx);
    }

    /// When [`Agent::on_deadline`] is next due, and why. Read after every call.
    fn deadline(&self) -> Option<Deadline> {
        None
    }

    /// Performs the actions that are due. Early and repeated calls are harmless.
    fn on_deadline(&mut self, cx: &mut Context<'_>) {
        let _ = cx;
    }

    /// The senses that this agent requires; checked once, before traffic.
    fn needs(&self) -> LinkSenses {
        LinkSenses::empty()
    }

    /// Whether the link layer of the watched interfaces withholds its acknowledgment of frames that
    /// arrive from now on: to their sender they are lost. Read after every call. Only for agents
    /// that need [`LinkSenses::REFUSAL`].
    fn refuses_frames(&self) -> bool {
        false
    }

    /// Whether it processes datagrams. If not, a world where showing a packet is expensive shows it
    /// only TCP; if so, also UDP that may be RTP ([`lasthop_packet::rtp::may_begin_with`]).
    fn takes_datagrams(&self) -> bool {
        false
    }
}

/// An agent without packets, connection state or obligations.
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

/// The fate of the current packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "every packet has a fate"]
pub enum Verdict {
    /// It is forwarded to the other side, after everything in the outbox.
    Forward,
    /// It is dropped.
    Drop(DropReason),
    /// The agent has taken the packet over, to send it or a substitute later. What remains in the
    /// argument may be no packet any more ([`Packet::take`]).
    Absorb,
}

/// The next time when an agent has to be called, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline {
    /// The earliest time of the call.
    pub at: Instant,
    /// What will be due, in a word or two, for traces and for the detection of busy loops.
    pub reason: &'static str,
}

/// Detects deadlines that do not move. Each world has one for each agent, and queries it for the
/// next deadline after each call at a deadline.
///
/// An agent may leave several actions due at one time, and perform one in each call. An agent whose
/// deadline never moves would be called forever at one instant: after 64 such calls it is
/// called once a millisecond, and the world reports the reason of its deadline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Consecutive calls after which the deadline had already passed.
    calls: u32,
}

/// Maximum number of consecutive calls after which the deadline has already passed.
const MAX_CALLS: u32 = 64;
/// The time between two calls after that.
const MIN_STEP: Duration = Duration::from_millis(1);

impl Progress {
    /// The postponed deadline of an agent that is stuck; `None` if it may be called at `deadline`.
    /// The agent was last called at `now`.
    pub fn hold_back(&mut self, deadline: Option<Deadline>, now: Instant) -> Option<Deadline> {
        let Some(deadline) = deadline.filter(|deadline| deadline.at <= now) else {
            self.calls = 0;
            return None;
        };
        self.calls = self.calls.saturating_add(1);
        (self.calls >= MAX_CALLS).then(|| Deadline { at: now + MIN_STEP, ..deadline })
    }

    /// Whether the agent has just become stuck, so that this is reported once.
    pub const fn is_newly_stuck(&self) -> bool {
        self.calls == MAX_CALLS
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
    fn an_agent_may_have_many_things_due_at_one_time_but_not_without_limit() {
        let (now, mut progress) = (Instant::from_secs(1), Progress::default());
        let due = |at| Some(Deadline { at, reason: "due" });
        for _ in 1..MAX_CALLS {
            assert_eq!(progress.hold_back(due(now), now), None);
        }
        assert_eq!(progress.hold_back(due(now), now), due(now + MIN_STEP));
        assert!(progress.is_newly_stuck());
        let later = now + MIN_STEP;
        assert_eq!(progress.hold_back(due(now), later), due(later + MIN_STEP));
        assert!(!progress.is_newly_stuck());
        assert_eq!(progress.hold_back(due(later + MIN_STEP), later), None, "it moves");
        assert_eq!(progress.hold_back(due(later), later), None, "and may begin anew");
    }
}
