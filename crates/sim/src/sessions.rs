//! The sessions of a world, and what they have at work: calls, dialogues and their connections.

use lasthop_packet::{Instant, Rng};

use crate::calls::Calls;
use crate::channels::{ChannelKey, Channels};
use crate::id::{NodeId, SessionId};
use lasthop_apps::measured::Measured;
use lasthop_apps::session::dialogue::Dialogue;
use lasthop_apps::session::script::Step;
use lasthop_apps::session::{
    Activity, DialogueOutcome, SessionOutcome, SessionResult, SessionSoFar, SessionTcp,
};

/// A session between two hosts.
pub struct SessionConfig {
    /// Its name, for reports.
    pub name: String,
    /// How many sessions the scenario has before it: with its name and the seed it decides what the
    /// session draws ([`lasthop_apps::session::Draws`]), whichever of the others this world has.
    pub index: usize,
    /// The host that begins: a client, or one party of a call.
    pub client: NodeId,
    /// The other host.
    pub server: NodeId,
    /// When it starts.
    pub start: Instant,
    /// When it stops: nothing new is begun, and no packet of a call is sent; `None` for never.
    pub stop: Option<Instant>,
    /// What they do.
    pub activity: Activity,
}

#[derive(Default)]
pub(crate) struct Sessions {
    pub(crate) list: Vec<Session>,
    pub(crate) calls: Calls,
    pub(crate) channels: Channels,
    /// Sessions that are to be stopped and are not done yet.
    unfinished: usize,
    /// Sessions that are to be stopped.
    with_end: usize,
}

pub(crate) struct Session {
    pub(crate) name: String,
    pub(crate) start: Instant,
    pub(crate) has_end: bool,
    pub(crate) stopped_at: Option<Instant>,
    /// When nothing more was to be expected of it.
    pub(crate) done_at: Option<Instant>,
    /// An octet arrived that was not the one sent: a broken simulation.
    pub(crate) corrupted: bool,
    pub(crate) work: Work,
}

/// What a session has at work.
pub(crate) enum Work {
    /// The call with this number.
    Call(usize),
    /// A dialogue.
    Dialogue(Box<Talk>),
}

/// A dialogue with its connections.
pub(crate) struct Talk {
    pub(crate) dialogue: Dialogue,
    /// The client's and the server's.
    pub(crate) nodes: [NodeId; 2],
    pub(crate) tcp: SessionTcp,
    /// Where initial sequence numbers come from.
    pub(crate) numbers: Rng,
    /// Its connections, as its script calls them.
    pub(crate) lanes: Vec<Option<ChannelKey>>,
    /// Lists that are used again.
    pub(crate) steps: Vec<Step>,
    pub(crate) touched: Vec<(ChannelKey, usize)>,
}

impl Sessions {
    pub(crate) fn add(&mut self, session: Session) -> SessionId {
        self.with_end += usize::from(session.has_end);
        self.unfinished += usize::from(session.has_end);
        self.list.push(session);
        SessionId::of(self.list.len() - 1)
    }

    /// Whether a session is not done that is to be stopped; `None` if none is to be.
    pub(crate) fn is_waited_for(&self) -> Option<bool> {
        (self.with_end > 0).then_some(self.unfinished > 0)
    }

    /// Nothing more may be to be expected of a session.
    pub(crate) fn check_if_done(&mut self, id: SessionId, now: Instant) {
        let session = &mut self.list[id.index()];
        if session.stopped_at.is_none() || session.done_at.is_some() {
            return;
        }
        let is_done = match &session.work {
            Work::Call(call) => self.calls.call(*call).is_done(),
            Work::Dialogue(talk) => talk.dialogue.is_done(),
        };
        if is_done {
            session.done_at = Some(now);
            self.unfinished -= usize::from(session.has_end);
        }
    }

    /// What became of a session from `since` to `now`, where at `since` it was as `earlier`.
    pub(crate) fn outcome(
        &self,
        id: SessionId,
        now: Instant,
        (since, earlier): (Instant, &SessionSoFar),
    ) -> SessionOutcome {
        let session = &self.list[id.index()];
        let result = match &session.work {
            Work::Call(call) => SessionResult::Call(self.calls.call(*call).call.outcome_since(&earlier.call)),
            Work::Dialogue(talk) => SessionResult::Dialogue(self.dialogue(id, talk).since(&earlier.dialogue)),
        };
        let octets = match (&result, &session.work) {
            (_, Work::Dialogue(talk)) => talk.dialogue.received() - earlier.received,
            (SessionResult::Call(call), _) => call.streams.iter().map(|(_, stream)| stream.octets).sum(),
            (SessionResult::Dialogue(_), Work::Call(_)) => 0,
        };
        let measured = Measured { from: session.start.max(since), until: session.done_at.unwrap_or(now) };
        SessionOutcome { name: session.name.clone(), octets, measured, intact: !session.corrupted, result }
    }

    /// What became of each session so far.
    pub(crate) fn so_far(&self) -> Vec<SessionSoFar> {
        let of = |(index, session): (usize, &Session)| match &session.work {
            Work::Call(call) => {
                SessionSoFar { call: self.calls.call(*call).call.so_far(), ..SessionSoFar::default() }
            }
            Work::Dialogue(talk) => SessionSoFar {
                dialogue: self.dialogue(SessionId::of(index), talk),
                received: talk.dialogue.received(),
                ..SessionSoFar::default()
            },
        };
        self.list.iter().enumerate().map(of).collect()
    }

    /// What became of a dialogue so far, with the connections that it has.
    fn dialogue(&self, id: SessionId, talk: &Talk) -> DialogueOutcome {
        let mut outcome = talk.dialogue.outcome();
        for stats in self.channels.stats_of(id) {
            outcome.retransmits += stats.retransmits;
            outcome.timeouts += stats.timeouts;
            outcome.fast_retransmits += stats.fast_retransmits;
        }
        outcome
    }
}
