//! The time before measuring begins: what happened in it is left out of outcomes.

use lasthop_apps::session::SessionSoFar;
use lasthop_packet::Instant;
use lasthop_wifi::StationId;

use crate::cells::RadioUse;
use crate::flow::FlowSoFar;
use crate::id::{FlowId, SessionId, WlanId};

/// The outcomes so far when measuring began; empty if everything is measured.
#[derive(Default)]
pub(crate) struct WarmUp {
    end: Instant,
    flows: Vec<FlowSoFar>,
    sessions: Vec<SessionSoFar>,
    /// By cell.
    radios: Vec<Vec<RadioUse>>,
}

impl WarmUp {
    pub(crate) const fn new(
        end: Instant,
        flows: Vec<FlowSoFar>,
        sessions: Vec<SessionSoFar>,
        radios: Vec<Vec<RadioUse>>,
    ) -> Self {
        Self { end, flows, sessions, radios }
    }

    pub(crate) const fn end(&self) -> Instant {
        self.end
    }

    pub(crate) fn flow(&self, flow: FlowId) -> Option<&FlowSoFar> {
        self.flows.get(flow.index())
    }

    pub(crate) fn session(&self, session: SessionId) -> Option<&SessionSoFar> {
        self.sessions.get(session.index())
    }

    pub(crate) fn radio(&self, wlan: WlanId, station: StationId) -> Option<&RadioUse> {
        self.radios.get(wlan.index())?.get(station.index())
    }
}
