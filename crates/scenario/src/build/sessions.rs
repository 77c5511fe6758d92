//! Sessions between two nodes of a world.

use lasthop_apps::session::{EndExtensions, Party};
use lasthop_packet::Instant;
use lasthop_sim::{Activity, NodeId, SessionConfig, SessionId, SessionTcp, World};

use crate::model::{ActivityModel, Scenario, SchemeChoice, SessionModel};

impl Scenario {
    /// Adds a session between two nodes.
    pub(super) fn add_session(
        &self,
        world: &mut World,
        (index, session): (usize, &SessionModel),
        [client, server]: [NodeId; 2],
        scheme: &SchemeChoice,
    ) -> SessionId {
        let activity = match &session.activity {
            ActivityModel::Call(media) => Activity::Call(*media),
            ActivityModel::Dialogue { dialogue, pace, tcp } => {
                let tcp = scheme.tcp_of_session(index, tcp);
                Activity::Dialogue {
                    dialogue: dialogue.clone(),
                    pace: *pace,
                    tcp: SessionTcp {
                        client: tcp.clone(),
                        server: tcp.clone(),
                        extensions: self.end_extensions(session, scheme),
                    },
                }
            }
        };
        world.add_session(SessionConfig {
            name: session.name.clone(),
            index,
            client,
            server,
            start: Instant::ZERO + session.start,
            stop: session.stop.map(|stop| Instant::ZERO + stop),
            activity,
        })
    }

    /// A scheme's extensions at the ends of a session's connections. Each end both sends and
    /// receives.
    fn end_extensions(
        &self,
        session: &SessionModel,
        scheme: &SchemeChoice,
    ) -> Box<dyn Fn(Party) -> EndExtensions + Send + Sync> {
        if !scheme.changes_endpoints() {
            return Box::new(|_| (None, None));
        }
        let (client, server) = (self.role(session.client), self.role(session.server));
        let scheme = scheme.clone();
        Box::new(move |party| {
            let role = if party == Party::Client { client } else { server };
            match scheme.placement() {
                Some(placement) => (placement.sender_extension(role), placement.receiver_extension(role)),
                None => (None, None),
            }
        })
    }
}
