//! The sessions of a world: when they start, stop and are done. What they do: `calls`, `dialogues`; the
//! connections of dialogues: `channels`.

pub(crate) mod calls;
pub(crate) mod channels;
pub(crate) mod dialogues;

use std::net::IpAddr;

use lasthop_apps::measured::Measured;
use lasthop_apps::session::{Activity, SessionOutcome, SessionResult};
use lasthop_packet::Instant;

use crate::id::{DialogueId, NodeId, SessionId};
use crate::schedule::Event;
use crate::transit::Transit;

/// A session between two hosts.
pub struct SessionConfig {
    /// Its name, for reports.
    pub name: String,
    /// The number of sessions before it in the scenario: with its name and the seed it determines what the
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
    /// Its activity.
    pub activity: Activity,
}

/// The two hosts of a session; the client is the first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hosts {
    pub(crate) nodes: [NodeId; 2],
    pub(crate) addresses: [IpAddr; 2],
}

/// The activity of a session at work.
#[derive(Clone, Copy)]
pub(crate) enum Work {
    /// The call with this number.
    Call(usize),
    Dialogue(DialogueId),
}

#[derive(Default)]
pub(crate) struct Sessions {
    list: Vec<Session>,
    /// Sessions that are to be stopped and are not done yet.
    unfinished: usize,
    /// Sessions that are to be stopped.
    with_end: usize,
}

struct Session {
    name: String,
    start: Instant,
    has_end: bool,
    /// When nothing more was to be expected of it.
    done_at: Option<Instant>,
    work: Work,
}

impl Sessions {
    /// The session that is added next.
    pub(crate) fn next_id(&self) -> SessionId {
        SessionId::from_index(self.list.len())
    }

    /// Adds a session that starts, and stops, at these times.
    pub(crate) fn add(
        &mut self,
        name: String,
        (start, stop): (Instant, Option<Instant>),
        work: Work,
        transit: &mut Transit,
    ) {
        let (id, has_end) = (self.next_id(), stop.is_some());
        self.with_end += usize::from(has_end);
        self.unfinished += usize::from(has_end);
        self.list.push(Session { name, start, has_end, done_at: None, work });
        if let Some(stop) = stop {
            transit.schedule(stop.max(transit.now()), Event::SessionStop(id));
        }
    }

    /// The number of sessions.
    pub(crate) const fn count(&self) -> usize {
        self.list.len()
    }

    pub(crate) fn work(&self, id: SessionId) -> Work {
        self.list[id.index()].work
    }

    /// Whether a session is not done that is to be stopped; `None` if none is to be.
    pub(crate) fn is_waited_for(&self) -> Option<bool> {
        (self.with_end > 0).then_some(self.unfinished > 0)
    }

    /// Nothing more is to be expected of a session.
    pub(crate) fn on_done(&mut self, id: SessionId, now: Instant) {
        let session = &mut self.list[id.index()];
        if session.done_at.is_none() {
            session.done_at = Some(now);
            self.unfinished -= usize::from(session.has_end);
        }
    }

    /// The outcome of a session from `since` to `now`, with that of its call or dialogue.
    pub(crate) fn outcome(
        &self,
        id: SessionId,
        (since, now): (Instant, Instant),
        WorkOutcome { octets, intact, result }: WorkOutcome,
    ) -> SessionOutcome {
        let Session { name, start, done_at, .. } = &self.list[id.index()];
        let measured = Measured { from: since.max(*start), until: done_at.unwrap_or(now) };
        SessionOutcome { name: name.clone(), octets, measured, intact, result }
    }
}

/// The outcome of a call or a dialogue.
pub(crate) struct WorkOutcome {
    /// See [`SessionOutcome::octets`].
    octets: u64,
    /// Whether each octet that arrived was the one sent.
    intact: bool,
    result: SessionResult,
}
