//! Where connections are split: the split, and in front of it, towards the hop, the layer that makes
//! and keeps back ACKs.

use lasthop_agent::{
    Agent, Context, Deadline, FlowState, ImportError, LinkEvent, LinkSenses, Obligation, Owed, Side, Stack,
    Verdict, Whose,
};
use lasthop_packet::{FlowKey, Packet};
use serde::{Deserialize, Serialize};

use super::settings::{NAME, Settings};
use super::split_end::SplitEnd;
use crate::lle::{Lle, Place};
use crate::transfer::{export, import};

/// The AS-TCP agent of an access point, or of the router before it.
pub struct AsTcpEdge(Stack);

/// The version of [`SavedLayer`].
const VERSION: u8 = 1;

/// What one of the two layers exports of a connection.
#[derive(Debug, Serialize, Deserialize)]
struct SavedLayer {
    layer: u8,
    octets: Vec<u8>,
}

/// The schemes that the two layers' states are of, the one nearest to the core side first.
const SCHEMES: [&str; 2] = [NAME, crate::lle::SCHEME.name];

impl AsTcpEdge {
    /// An agent that has seen nothing yet, with its end of the hop at a place.
    pub fn new(settings: &Settings, place: Place) -> Self {
        let split = SplitEnd::new(settings, place == Place::EndOfHop);
        let acks = Lle::at(place, settings.at_split());
        Self(Stack::new(vec![Box::new(split), Box::new(acks)]))
    }
}

impl Agent for AsTcpEdge {
    fn on_packet(&mut self, packet: &mut Packet, from: Side, cx: &mut Context<'_>) -> Verdict {
        self.0.on_packet(packet, from, cx)
    }

    fn prefetch(&self, connections: &[FlowKey]) {
        self.0.prefetch(connections);
    }

    fn on_link(&mut self, event: &LinkEvent<'_>, cx: &mut Context<'_>) {
        self.0.on_link(event, cx);
    }

    fn deadline(&self) -> Option<Deadline> {
        self.0.deadline()
    }

    fn on_deadline(&mut self, cx: &mut Context<'_>) {
        self.0.on_deadline(cx);
    }

    fn needs(&self) -> LinkSenses {
        self.0.needs()
    }

    fn refuses_frames(&self) -> bool {
        self.0.refuses_frames()
    }

    fn held(&self) -> u64 {
        self.0.held()
    }

    fn octets(&self) -> usize {
        self.0.octets()
    }

    fn obligation(&self, connection: FlowKey) -> Obligation {
        self.0.obligation(connection)
    }

    fn owed(&self) -> Owed {
        self.0.owed()
    }

    fn export(&mut self, whose: Whose, cx: &mut Context<'_>) -> Vec<FlowState> {
        let of_layers = self.0.export(whose, cx);
        let wrapped = of_layers.into_iter().filter_map(|state| {
            let saved = SavedLayer { layer: state.layer, octets: state.octets };
            export(NAME, VERSION, state.connection, &saved)
        });
        wrapped.collect()
    }

    fn import(&mut self, state: &FlowState, cx: &mut Context<'_>) -> Result<(), ImportError> {
        let SavedLayer { layer, octets } = import(state, NAME, VERSION)?;
        let scheme =
            SCHEMES.get(usize::from(layer)).ok_or(ImportError::Malformed("there is no such layer"))?;
        let of_layer = FlowState { layer, scheme: (*scheme).into(), connection: state.connection, octets };
        self.0.import(&of_layer, cx)
    }

    fn on_return(&mut self, cx: &mut Context<'_>) {
        self.0.on_return(cx);
    }

    fn drain(&mut self, cx: &mut Context<'_>) {
        self.0.drain(cx);
    }

    fn release(&mut self, connection: FlowKey, cx: &mut Context<'_>) {
        self.0.release(connection, cx);
    }
}
