//! Clients that an access point serves as soon as the central translator has redirected their mappings to it. Until
//! then the access point neither releases the former one nor answers the next: mappings move in the order in which the
//! client went.

use std::collections::BTreeMap;

use crate::hand_offs::{ClientState, Envelope};
use crate::id::{HandOffId, NodeId};

/// Envelopes that wait for a client at most. Others are lost; access points repeat what is not answered.
const MAX_ENVELOPES: usize = 32;

#[derive(Default)]
pub(crate) struct Redirections(BTreeMap<HandOffId, Waiting>);

/// What waits for the central translator's answer.
#[derive(Default)]
pub(crate) struct Waiting {
    state: ClientState,
    /// To other access points, by their nodes.
    unsent: Vec<(NodeId, Envelope)>,
    /// From other access points.
    unread: Vec<Envelope>,
}

impl Redirections {
    /// A client is to be served with this state after the answer.
    pub(crate) fn wait(&mut self, id: HandOffId, state: ClientState) {
        self.0.insert(id, Waiting { state, ..Waiting::default() });
    }

    /// What waits for a client's answer; `None` if it waits for none.
    pub(crate) fn get_mut(&mut self, id: HandOffId) -> Option<&mut Waiting> {
        self.0.get_mut(&id)
    }

    /// The answer has come, or is no longer of interest.
    pub(crate) fn take(&mut self, id: HandOffId) -> Option<Waiting> {
        self.0.remove(&id)
    }
}

impl Waiting {
    /// An envelope is to be sent to a node after the answer.
    pub(crate) fn send_later(&mut self, to: NodeId, envelope: Envelope) {
        if self.unsent.len() < MAX_ENVELOPES {
            self.unsent.push((to, envelope));
        }
    }

    /// An envelope that has come is to be read after the answer.
    pub(crate) fn read_later(&mut self, envelope: Envelope) {
        if self.unread.len() < MAX_ENVELOPES {
            self.unread.push(envelope);
        }
    }

    /// The client's state, and the envelopes to be sent and to be read.
    pub(crate) fn into_parts(self) -> (ClientState, Vec<(NodeId, Envelope)>, Vec<Envelope>) {
        (self.state, self.unsent, self.unread)
    }
}
