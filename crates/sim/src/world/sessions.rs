//! Sessions: adding them, their starts and stops.

use super::World;
use crate::id::{PartyId, SessionId};
use crate::schedule::Event;
use crate::sessions::{Session, SessionConfig, Talk, Work};
use lasthop_apps::session::dialogue::{Dialogue, DialogueEvent};
use lasthop_apps::session::{Activity, Draws, SessionOutcome, SessionSoFar};

impl World {
    /// Adds a session. Its two hosts are not the same.
    pub fn add_session(&mut self, config: SessionConfig) -> SessionId {
        let SessionConfig { name, index, client, server, start, stop, activity } = config;
        let id = SessionId::of(self.sessions.list.len());
        let start = start.max(self.transit.now());
        let draws = Draws { seed: self.seed, index, name: &name };
        let work = match activity {
            Activity::Call(media) => Work::Call(self.add_call(id, [client, server], media, start, &draws)),
            Activity::Dialogue { dialogue, pace, tcp } => {
                self.transit.schedule(start, Event::DialogueStart(id));
                Work::Dialogue(Box::new(Talk {
                    dialogue: Dialogue::new(dialogue, pace, start, draws.script()),
                    nodes: [client, server],
                    tcp,
                    numbers: draws.numbers(),
                    lanes: Vec::new(),
                    steps: Vec::new(),
                    touched: Vec::new(),
                }))
            }
        };
        self.sessions.add(Session {
            name,
            start,
            has_end: stop.is_some(),
            stopped_at: None,
            done_at: None,
            corrupted: false,
            work,
        });
        if let Some(stop) = stop {
            self.transit.schedule(stop.max(self.transit.now()), Event::SessionStop(id));
        }
        id
    }

    /// All sessions in the order of addition.
    pub fn sessions(&self) -> impl Iterator<Item = SessionId> + use<> {
        (0..self.sessions.list.len()).map(SessionId::of)
    }

    /// What became of a session by now, from its start or from [`World::start_measuring`] on.
    pub fn session_outcome(&self, session: SessionId) -> SessionOutcome {
        let nothing = SessionSoFar::default();
        let earlier = self.warm_up.session(session).unwrap_or(&nothing);
        self.sessions.outcome(session, self.now(), (self.warm_up.end, earlier))
    }

    pub(super) fn on_session_stop(&mut self, id: SessionId) {
        let session = &mut self.sessions.list[id.index()];
        session.stopped_at = Some(self.transit.now());
        if let Work::Call(call) = session.work {
            self.sessions.calls.of(PartyId::of(2 * call)).is_stopped = true;
        }
        self.tell_dialogue(id, DialogueEvent::Stop);
        self.sessions.check_if_done(id, self.transit.now());
    }
}
