//! The sessions of a run between real hosts.

use std::io;
use std::sync::atomic::AtomicBool;

use lasthop_apps::media::Call;
use lasthop_apps::media::call::START_PORT;
use lasthop_apps::session::{Dialogue, Draws};
use lasthop_packet::Instant;
use lasthop_scenario::{ActivityModel, Scenario};
use lasthop_sim::SessionOutcome;

use super::plan::{Case, CaseSession};
use super::site::Site;
use super::timetable::Timetable;
use super::{call, dialogue};

/// A session before it starts.
pub(super) enum Conversation<'a> {
    /// Over TCP.
    Dialogue(Box<dialogue::Conversation<'a>>),
    /// Over RTP.
    Call(Box<call::Conversation<'a>>),
}

impl Conversation<'_> {
    /// Runs the session on the calling thread, which must end after it.
    pub(super) fn run(self) -> io::Result<SessionOutcome> {
        match self {
            Self::Dialogue(dialogue) => dialogue.run(),
            Self::Call(call) => call.run(),
        }
    }
}

/// The sessions of a case, in order, each `None` if its hosts are elsewhere; `zero` is the start of its emulator.
pub(super) fn of_case<'a>(
    scenario: &'a Scenario,
    case: &'a Case,
    site: &'a Site,
    zero: Instant,
    interrupted: &'a AtomicBool,
) -> impl Iterator<Item = Option<Conversation<'a>>> {
    let end = Instant::ZERO + case.times(scenario).end;
    let sessions = case.sessions.iter().enumerate();
    sessions.map(move |(place, of_case)| {
        let session = &scenario.sessions[of_case.index];
        let start = Instant::ZERO + session.start;
        let stop = session.stop.map_or(end, |stop| end.min(Instant::ZERO + stop));
        let timetable = Timetable { zero, start, stop, end, interrupted };
        let draws = Draws { seed: case.seed, index: of_case.index, name: &session.name };
        let end = |node| Some((site.host(node)?, site.address(node)));
        let (client, server) = end(session.client).zip(end(session.server))?;
        let CaseSession { name, congestion, .. } = of_case;
        Some(match &session.activity {
            ActivityModel::Dialogue { dialogue, pace, .. } => {
                Conversation::Dialogue(Box::new(dialogue::Conversation {
                    name,
                    client: client.0,
                    server,
                    congestion: congestion.as_deref().unwrap_or_default(),
                    dialogue: Dialogue::new(dialogue.clone(), *pace, start, draws.script()),
                    timetable,
                }))
            }
            ActivityModel::Call(media) => {
                let names = [client.1, server.1].map(|address| format!("lasthop@{address}"));
                Conversation::Call(Box::new(call::Conversation {
                    name,
                    sides: [client, server],
                    // A plan has few sessions.
                    port: START_PORT + 2 * place as u16,
                    call: Call::new(*media, names, start, &draws),
                    is_speech: session.activity.kind() == "voice",
                    timetable,
                }))
            }
        })
    })
}
