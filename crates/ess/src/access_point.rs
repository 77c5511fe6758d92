//! The management entity of an access point: it answers probes, authenticates and associates clients.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use lasthop_packet::Instant;

use crate::frame::{Frame, Heard, MAX_CANDIDATES, Security};
use crate::{AccessPointId, Channel, ClientId};

/// What an access point does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessPointConfig {
    /// How clients prove who they are.
    pub security: Security,
    /// The number of clients that it associates; at most and by default 2,007, the number of association
    /// identifiers (9.4.1.8).
    pub max_clients: u16,
    /// How long it waits for the answer to a message of the handshake. Default 100 ms for the first time, and 1 s
    /// after that (hostapd).
    pub handshake_timeout: [Duration; 2],
    /// How often it sends a message of the handshake. Default 4.
    pub max_tries: u8,
}

/// The number of association identifiers.
const MAX_AID: u16 = 2_007;

impl Default for AccessPointConfig {
    fn default() -> Self {
        Self {
            security: Security::Open,
            max_clients: MAX_AID,
            handshake_timeout: [Duration::from_millis(100), Duration::from_secs(1)],
            max_tries: 4,
        }
    }
}

/// What an access point asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// It sends a frame to a client.
    Send {
        /// The client.
        to: ClientId,
        /// The frame.
        frame: Frame,
    },
    /// A client is associated with it, and carries data.
    Associated {
        /// The client.
        client: ClientId,
        /// The access point that the client says it comes from.
        previous: Option<AccessPointId>,
    },
    /// A client is no longer associated with it.
    Disassociated {
        /// The client.
        client: ClientId,
    },
    /// A client has answered a beacon request.
    Reported {
        /// The client.
        client: ClientId,
        /// The access points that it receives.
        heard: Vec<Heard>,
    },
    /// A client has answered a transition request.
    Answered {
        /// The client.
        client: ClientId,
        /// The access point that it goes to; `None` if it stays.
        target: Option<AccessPointId>,
    },
}

/// The management entity of an access point.
#[derive(Debug)]
pub struct AccessPoint {
    config: AccessPointConfig,
    clients: BTreeMap<ClientId, Entry>,
    /// Identifiers that were given back, the last one first.
    vacant: Vec<u16>,
    outputs: VecDeque<Output>,
}

/// What it knows of a client.
#[derive(Clone, Copy, Debug)]
enum Entry {
    Authenticated,
    /// It was told its identifier, and the handshake is at this message.
    Handshake {
        aid: u16,
        previous: Option<AccessPointId>,
        message: u8,
        tries: u8,
        deadline: Instant,
    },
    Associated {
        aid: u16,
    },
}

impl Entry {
    const fn aid(self) -> Option<u16> {
        match self {
            Self::Authenticated => None,
            Self::Handshake { aid, .. } | Self::Associated { aid } => Some(aid),
        }
    }
}

/// The number of clients that have authenticated and not associated, above which no other is.
const MAX_AUTHENTICATED: usize = 256;

impl AccessPoint {
    /// An access point without clients.
    pub fn new(config: AccessPointConfig) -> Self {
        Self { config, clients: BTreeMap::new(), vacant: Vec::new(), outputs: VecDeque::new() }
    }

    /// Whether a client is associated and carries data.
    pub fn is_associated(&self, client: ClientId) -> bool {
        matches!(self.clients.get(&client), Some(Entry::Associated { .. }))
    }

    /// The associated clients.
    pub fn clients(&self) -> impl Iterator<Item = ClientId> {
        let all = self.clients.iter();
        all.filter(|(_, entry)| matches!(entry, Entry::Associated { .. })).map(|(client, _)| *client)
    }

    /// A frame was received from a client.
    pub fn on_frame(&mut self, from: ClientId, frame: &Frame, now: Instant) {
        match frame {
            Frame::ProbeRequest => self.send(from, Frame::ProbeResponse),
            Frame::AuthenticationRequest => self.authenticate(from),
            Frame::AssociationRequest { previous } => self.associate(from, *previous, now),
            Frame::Handshake(message) => self.on_handshake(from, *message, now),
            Frame::Disassociation => self.remove(from),
            Frame::Null { .. } => self.on_data(from),
            Frame::BeaconReport { heard } if self.is_associated(from) => {
                self.outputs.push_back(Output::Reported { client: from, heard: heard.clone() });
            }
            Frame::TransitionResponse { target } if self.is_associated(from) => {
                self.outputs.push_back(Output::Answered { client: from, target: *target });
            }
            _ => {}
        }
    }

    /// A data frame was received from a client. One that is not associated is told so: its data frames are frames
    /// of class 3 (11.3.3), which only associated stations may send.
    pub fn on_data(&mut self, from: ClientId) {
        if !self.is_associated(from) {
            self.send(from, Frame::Disassociation);
        }
    }

    /// The time at which [`Self::on_timeout`] is due.
    pub fn next_timeout(&self) -> Option<Instant> {
        let deadlines = self.clients.values().filter_map(|entry| match entry {
            Entry::Handshake { deadline, .. } => Some(*deadline),
            _ => None,
        });
        deadlines.min()
    }

    /// Repeats the messages of handshakes whose answers are late. Early and repeated calls are harmless.
    pub fn on_timeout(&mut self, now: Instant) {
        let is_late = |entry: &Entry| matches!(entry, Entry::Handshake { deadline, .. } if *deadline <= now);
        let late = self.clients.iter().filter(|(_, entry)| is_late(entry));
        let late: Vec<ClientId> = late.map(|(client, _)| *client).collect();
        for client in late {
            let Some(Entry::Handshake { message, tries, deadline, .. }) = self.clients.get_mut(&client)
            else {
                continue;
            };
            if *tries >= self.config.max_tries {
                self.send(client, Frame::Disassociation);
                self.remove(client);
                continue;
            }
            *tries += 1;
            *deadline = now + self.config.handshake_timeout[1];
            let message = *message;
            self.send(client, Frame::Handshake(message));
        }
    }

    /// Asks a client to go to one of these access points, the preferred one first. More than [`MAX_CANDIDATES`]
    /// are left out. Does nothing for a client that is not associated.
    pub fn steer(&mut self, client: ClientId, candidates: &[AccessPointId]) {
        if self.is_associated(client) {
            let candidates = candidates.iter().take(MAX_CANDIDATES).copied().collect();
            self.send(client, Frame::TransitionRequest { candidates });
        }
    }

    /// Asks a client which access points it receives on these channels. Does nothing for a client that is not associated.
    pub fn measure(&mut self, client: ClientId, channels: Vec<Channel>) {
        if self.is_associated(client) {
            self.send(client, Frame::BeaconRequest { channels });
        }
    }

    /// Ends the association of a client without a frame: it has gone to another access point, or the access
    /// point could not reach it.
    pub fn remove(&mut self, client: ClientId) {
        let Some(entry) = self.clients.remove(&client) else { return };
        self.vacant.extend(entry.aid());
        if matches!(entry, Entry::Associated { .. }) {
            self.outputs.push_back(Output::Disassociated { client });
        }
    }

    /// Ends the association of a client, and tells it.
    pub fn disassociate(&mut self, client: ClientId) {
        if self.clients.contains_key(&client) {
            self.send(client, Frame::Disassociation);
            self.remove(client);
        }
    }

    /// The next output.
    pub fn poll(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// Authenticates a client. That ends its association, if it has one (11.3.4.3).
    fn authenticate(&mut self, client: ClientId) {
        self.remove(client);
        let waiting = self.clients.values().filter(|entry| entry.aid().is_none()).count();
        let accepts = self.has_room() && waiting < MAX_AUTHENTICATED;
        if accepts {
            self.clients.insert(client, Entry::Authenticated);
        }
        self.send(client, Frame::AuthenticationResponse { accepts });
    }

    fn associate(&mut self, client: ClientId, previous: Option<AccessPointId>, now: Instant) {
        let Some(entry) = self.clients.get(&client) else {
            // It is not authenticated (11.3.5.3).
            self.send(client, Frame::Disassociation);
            return;
        };
        let has_handshake = match self.config.security {
            Security::Open => false,
            Security::FourWayHandshake => true,
            Security::FastTransition => previous.is_none(),
        };
        let aid = entry.aid().or_else(|| self.new_aid());
        self.send(client, Frame::AssociationResponse { aid, has_handshake });
        let Some(aid) = aid else { return };
        if has_handshake {
            let deadline = now + self.config.handshake_timeout[0];
            let entry = Entry::Handshake { aid, previous, message: 1, tries: 1, deadline };
            self.clients.insert(client, entry);
            self.send(client, Frame::Handshake(1));
        } else {
            self.complete(client, aid, previous);
        }
    }

    fn on_handshake(&mut self, client: ClientId, message: u8, now: Instant) {
        let Some(Entry::Handshake { aid, previous, message: sent, tries, deadline }) =
            self.clients.get_mut(&client)
        else {
            return;
        };
        match (*sent, message) {
            (1, 2) => {
                (*sent, *tries, *deadline) = (3, 1, now + self.config.handshake_timeout[0]);
                self.send(client, Frame::Handshake(3));
            }
            (3, 4) => {
                let (aid, previous) = (*aid, *previous);
                self.complete(client, aid, previous);
            }
            _ => {}
        }
    }

    fn complete(&mut self, client: ClientId, aid: u16, previous: Option<AccessPointId>) {
        let before = self.clients.insert(client, Entry::Associated { aid });
        // A repeated request finds the client associated.
        if !matches!(before, Some(Entry::Associated { .. })) {
            self.outputs.push_back(Output::Associated { client, previous });
        }
    }

    fn has_room(&self) -> bool {
        let taken = self.clients.values().filter(|entry| entry.aid().is_some()).count();
        taken < usize::from(self.config.max_clients.min(MAX_AID))
    }

    /// An identifier that no client has; `None` if there is no room.
    fn new_aid(&mut self) -> Option<u16> {
        if !self.has_room() {
            return None;
        }
        let taken = self.clients.values().filter(|entry| entry.aid().is_some()).count();
        // All identifiers up to the number of those taken and vacant have been given.
        self.vacant.pop().or_else(|| u16::try_from(taken + 1).ok())
    }

    fn send(&mut self, to: ClientId, frame: Frame) {
        self.outputs.push_back(Output::Send { to, frame });
    }
}
