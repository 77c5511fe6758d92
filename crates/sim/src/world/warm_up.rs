//! The time before measuring begins: what happened in it is left out of outcomes.

use lasthop_packet::Instant;

use super::World;
use crate::cells::RadioUse;
use crate::flow::FlowSoFar;
use crate::id::{FlowId, SessionId, StationId, WlanId};
use crate::session::SessionSoFar;

/// What had become of everything when measuring began; nothing where all was measured.
#[derive(Default)]
pub(super) struct WarmUp {
    end: Instant,
    flows: Vec<FlowSoFar>,
    sessions: Vec<SessionSoFar>,
    /// By cell.
    radios: Vec<Vec<RadioUse>>,
}

impl World {
    /// From now on, outcomes of flows and sessions and the use of radios count what happens after this
    /// moment. Completion times still count from the start of a flow. Counters and
    /// [`World::accounts`] count everything.
    pub fn start_measuring(&mut self) {
        let now = self.now();
        self.warm_up = WarmUp {
            end: now,
            flows: self.hosts.so_far(),
            sessions: self.sessions.so_far(),
            radios: self.links.cells.radio_uses(now),
        };
    }
}

impl WarmUp {
    /// When measuring began.
    pub(super) const fn end(&self) -> Instant {
        self.end
    }

    pub(super) fn flow(&self, flow: FlowId) -> Option<&FlowSoFar> {
        self.flows.get(flow.index())
    }

    pub(super) fn session(&self, session: SessionId) -> Option<&SessionSoFar> {
        self.sessions.get(session.index())
    }

    pub(super) fn radio(&self, wlan: WlanId, station: StationId) -> Option<&RadioUse> {
        self.radios.get(wlan.index())?.get(station.index())
    }
}
