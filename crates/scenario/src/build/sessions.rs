//! Sessions between two nodes of a world.

use lasthop_packet::Instant;
use lasthop_sim::{Activity, NodeId, SessionConfig, SessionId, World};

use crate::model::{ActivityModel, Scenario, SessionModel};

impl Scenario {
    /// Adds a session between two nodes.
    pub(super) fn add_session(
        &self,
        world: &mut World,
        session: &SessionModel,
        (client, server): (NodeId, NodeId),
    ) -> SessionId {
        let activity = match &session.activity {
            ActivityModel::Call(media) => Activity::Call(*media),
        };
        world.add_session(SessionConfig {
            name: session.name.clone(),
            client,
            server,
            start: Instant::ZERO + session.start,
            stop: session.stop.map(|stop| Instant::ZERO + stop),
            activity,
        })
    }
}
