//! The split, with an end on the hop that can refuse frames.

use lasthop_agent::{
    Agent, Context, Deadline, FlowState, ImportError, LinkSenses, Obligation, Owed, Side, Verdict, Whose,
};
use lasthop_packet::{FlowKey, Packet, Protocol};

use super::settings::{NAME, Settings};
use crate::split::transparent::Transparent;

/// An agent that splits connections, and refuses frames while too much waits to be sent on.
pub(super) struct SplitEnd {
    connections: Transparent,
    /// Octets; `None`: it refuses nothing.
    refuse_above: Option<u64>,
}

impl SplitEnd {
    /// An agent that has seen nothing yet. Only an access point `can_refuse`.
    pub(super) fn new(settings: &Settings, can_refuse: bool) -> Self {
        let refuse_above = (can_refuse && settings.refuse_above > 0).then_some(settings.refuse_above as u64);
        Self {
            connections: Transparent::new(settings.splits(), |input, output| input != output),
            refuse_above,
        }
    }
}

impl Agent for SplitEnd {
    fn on_packet(&mut self, packet: &mut Packet, from: Side, cx: &mut Context<'_>) -> Verdict {
        let key = packet.flow_key().map(|key| from.connection(key));
        match key.filter(|key| key.protocol == Protocol::Tcp) {
            Some(key) => self.connections.on_segment(key, packet, from, cx),
            None => Verdict::Forward,
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        self.connections.splits.next_timer().map(|at| Deadline { at, reason: "a leg's timer" })
    }

    fn on_deadline(&mut self, cx: &mut Context<'_>) {
        self.connections.splits.on_deadline(cx);
    }

    fn needs(&self) -> LinkSenses {
        if self.refuse_above.is_some() { LinkSenses::REFUSAL } else { LinkSenses::empty() }
    }

    fn refuses_frames(&self) -> bool {
        self.refuse_above.is_some_and(|most| self.connections.splits.backlog() > most)
    }

    fn octets(&self) -> usize {
        self.connections.splits.octets()
    }

    fn obligation(&self, connection: FlowKey) -> Obligation {
        self.connections.splits.obligation(connection)
    }

    fn owed(&self) -> Owed {
        self.connections.splits.owed()
    }

    fn export(&mut self, whose: Whose, cx: &mut Context<'_>) -> Vec<FlowState> {
        self.connections.splits.export(NAME, whose, cx)
    }

    fn import(&mut self, state: &FlowState, cx: &mut Context<'_>) -> Result<(), ImportError> {
        self.connections.splits.import(NAME, state, cx)
    }

    fn on_return(&mut self, cx: &mut Context<'_>) {
        self.connections.on_return(cx);
    }

    fn drain(&mut self, cx: &mut Context<'_>) {
        self.connections.splits.forget_free(cx);
    }

    fn release(&mut self, connection: FlowKey, cx: &mut Context<'_>) {
        self.connections.forget(connection, cx);
    }
}
