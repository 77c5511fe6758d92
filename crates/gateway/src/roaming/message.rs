//! The messages between access points, as octets.
//!
//! A version, the client, and a [`Message`] with names for access points, or a redirection of its connections, as
//! postcard encodes them. Who sent a message is known from the channel on which it came. Decoding takes no memory but
//! for the state of a transfer and the connections of a redirection, and that only after their length was checked.

use bytes::Bytes;
use lasthop_handoff::{Attempt, Entry, Epoch, Message, Peer};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::access_points::AccessPoints;
use super::nat::mapping::{MAX_MAPPINGS, MAX_MOVED, Moved};
use super::state::MAX_STATE;
use crate::frame::MacAddress;

/// The version of the messages. Messages of another version are ignored: their sender goes on after its time-outs.
pub const VERSION: u8 = 1;

/// The maximum number of octets of a message.
pub const MAX_MESSAGE: usize = MAX_STATE + 1024;

/// Why a message is ignored.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MessageError {
    /// It is from another version of the gateway.
    #[error("the message has version {0}; expected version {VERSION}")]
    Version(u8),
    /// It is too long.
    #[error("the message has {0} octets; at most {MAX_MESSAGE} are accepted")]
    TooLong(usize),
    /// It names an access point for which there is no room, or whose name is none.
    #[error("the message names an access point that cannot be one")]
    AccessPoint,
    /// It is no message.
    #[error("the message is malformed")]
    Malformed,
}

/// What a message is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// The hand-off of the client.
    Handoff(Message<Bytes>),
    /// Asks the central translator to send these connections of the client to the sender, which serves the client at
    /// this epoch.
    Redirect {
        /// The epoch.
        epoch: Epoch,
        /// The connections, at most [`MAX_MAPPINGS`].
        moved: Vec<Moved>,
    },
    /// The central translator has done so, as far as it could.
    Redirected {
        /// The epoch of the request.
        epoch: Epoch,
    },
}

#[derive(Serialize, Deserialize)]
struct Envelope<'a> {
    client: [u8; 6],
    #[serde(borrow)]
    content: Content<'a>,
}

#[derive(Serialize, Deserialize)]
enum Content<'a> {
    Request { attempt: NamedAttempt<'a>, epoch: Option<Epoch> },
    Transfer { attempt: NamedAttempt<'a>, epoch: Epoch, state: &'a [u8] },
    Refuse { attempt: NamedAttempt<'a>, entry: Option<NamedEntry<'a>> },
    Release { entry: NamedEntry<'a> },
    Cancel { attempt: NamedAttempt<'a>, epoch: Epoch },
    Cancelled { attempt: NamedAttempt<'a> },
    Taken { attempt: NamedAttempt<'a> },
    Redirect { epoch: Epoch, moved: &'a [u8] },
    Redirected { epoch: Epoch },
}

#[derive(Serialize, Deserialize)]
struct NamedAttempt<'a> {
    by: &'a str,
    number: u64,
}

#[derive(Serialize, Deserialize)]
struct NamedEntry<'a> {
    holder: &'a str,
    epoch: Epoch,
}

/// A message about a client, as octets.
pub fn encode(client: MacAddress, body: &Body, known: &AccessPoints) -> Vec<u8> {
    // Plain values in memory: encoding them does not fail.
    let connections = if let Body::Redirect { moved, .. } = body { &**moved } else { &[] };
    let connections = postcard::to_allocvec(connections).unwrap_or_default();
    let content = match body {
        Body::Handoff(message) => of_handoff(message, known),
        Body::Redirect { epoch, .. } => Content::Redirect { epoch: *epoch, moved: &connections },
        Body::Redirected { epoch } => Content::Redirected { epoch: *epoch },
    };
    postcard::to_extend(&Envelope { client: client.0, content }, vec![VERSION]).unwrap_or_default()
}

fn of_handoff<'a>(message: &'a Message<Bytes>, known: &'a AccessPoints) -> Content<'a> {
    let attempt = |attempt: &Attempt| NamedAttempt { by: known.name(attempt.by), number: attempt.number };
    let entry = |entry: &Entry| NamedEntry { holder: known.name(entry.holder), epoch: entry.epoch };
    match message {
        Message::Request { attempt: of, epoch } => Content::Request { attempt: attempt(of), epoch: *epoch },
        Message::Transfer { attempt: of, epoch, state } => {
            Content::Transfer { attempt: attempt(of), epoch: *epoch, state }
        }
        Message::Refuse { attempt: of, entry: by } => {
            Content::Refuse { attempt: attempt(of), entry: by.as_ref().map(entry) }
        }
        Message::Release { entry: by } => Content::Release { entry: entry(by) },
        Message::Cancel { attempt: of, epoch } => Content::Cancel { attempt: attempt(of), epoch: *epoch },
        Message::Cancelled { attempt: of } => Content::Cancelled { attempt: attempt(of) },
        Message::Taken { attempt: of } => Content::Taken { attempt: attempt(of) },
    }
}

/// The connections of a redirection.
fn connections(octets: &[u8]) -> Result<Vec<Moved>, MessageError> {
    if octets.len() > MAX_MAPPINGS * MAX_MOVED {
        return Err(MessageError::Malformed);
    }
    let (moved, rest) =
        postcard::take_from_bytes::<Vec<Moved>>(octets).map_err(|_| MessageError::Malformed)?;
    if rest.is_empty() && moved.len() <= MAX_MAPPINGS { Ok(moved) } else { Err(MessageError::Malformed) }
}

/// A message, and the client that it is about.
pub fn decode(octets: &[u8], known: &mut AccessPoints) -> Result<(MacAddress, Body), MessageError> {
    if octets.len() > MAX_MESSAGE {
        return Err(MessageError::TooLong(octets.len()));
    }
    let (version, rest) = octets.split_first().ok_or(MessageError::Malformed)?;
    if *version != VERSION {
        return Err(MessageError::Version(*version));
    }
    let (Envelope { client, content }, rest) =
        postcard::take_from_bytes::<Envelope<'_>>(rest).map_err(|_| MessageError::Malformed)?;
    if !rest.is_empty() || client[0] & 1 != 0 {
        return Err(MessageError::Malformed);
    }
    let mut number = |name: &str| known.number(name).ok_or(MessageError::AccessPoint);
    let attempt = |by: Peer, number| Attempt { by, number };
    let message = match content {
        Content::Request { attempt: of, epoch } => {
            Message::Request { attempt: attempt(number(of.by)?, of.number), epoch }
        }
        Content::Transfer { attempt: of, epoch, state } => Message::Transfer {
            attempt: attempt(number(of.by)?, of.number),
            epoch,
            state: Bytes::copy_from_slice(state),
        },
        Content::Refuse { attempt: of, entry } => Message::Refuse {
            attempt: attempt(number(of.by)?, of.number),
            entry: match entry {
                Some(entry) => Some(Entry { holder: number(entry.holder)?, epoch: entry.epoch }),
                None => None,
            },
        },
        Content::Release { entry } => {
            Message::Release { entry: Entry { holder: number(entry.holder)?, epoch: entry.epoch } }
        }
        Content::Cancel { attempt: of, epoch } => {
            Message::Cancel { attempt: attempt(number(of.by)?, of.number), epoch }
        }
        Content::Cancelled { attempt: of } => {
            Message::Cancelled { attempt: attempt(number(of.by)?, of.number) }
        }
        Content::Taken { attempt: of } => Message::Taken { attempt: attempt(number(of.by)?, of.number) },
        Content::Redirect { epoch, moved } => {
            return Ok((MacAddress(client), Body::Redirect { epoch, moved: connections(moved)? }));
        }
        Content::Redirected { epoch } => return Ok((MacAddress(client), Body::Redirected { epoch })),
    };
    Ok((MacAddress(client), Body::Handoff(message)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CLIENT: MacAddress = MacAddress([2, 0, 0, 0, 0, 7]);

    fn all(peer: Peer) -> Vec<Body> {
        let redirections = [Body::Redirect { epoch: 3, moved: Vec::new() }, Body::Redirected { epoch: 3 }];
        of_handoffs(peer).into_iter().map(Body::Handoff).chain(redirections).collect()
    }

    fn of_handoffs(peer: Peer) -> Vec<Message<Bytes>> {
        let (attempt, entry) = (Attempt { by: peer, number: u64::MAX }, Entry { holder: peer, epoch: 9 });
        vec![
            Message::Request { attempt, epoch: None },
            Message::Request { attempt, epoch: Some(3) },
            Message::Transfer { attempt, epoch: 3, state: Bytes::from_static(b"state") },
            Message::Refuse { attempt, entry: None },
            Message::Refuse { attempt, entry: Some(entry) },
            Message::Release { entry },
            Message::Cancel { attempt, epoch: 3 },
            Message::Cancelled { attempt },
            Message::Taken { attempt },
        ]
    }

    #[test]
    fn every_message_is_read_as_it_was_written_by_an_access_point_with_other_numbers() {
        let mut here = AccessPoints::new("hall");
        let stairs = here.number("stairs").expect("there is room");
        let mut there = AccessPoints::new("garden");
        let own = there.number("stairs").expect("there is room");
        there.number("hall");
        for (sent, expected) in all(stairs).iter().zip(all(own)) {
            let octets = encode(CLIENT, sent, &here);
            assert_eq!(decode(&octets, &mut there), Ok((CLIENT, expected)));
            for len in 0..octets.len() {
                assert!(decode(&octets[..len], &mut there).is_err(), "{sent:?}");
            }
            assert_eq!(decode(&[&*octets, &[0]].concat(), &mut there), Err(MessageError::Malformed));
        }
    }

    #[test]
    fn a_redirection_of_too_many_connections_is_refused_unread() {
        let mut known = AccessPoints::new("hall");
        let of = |octets: &[u8]| {
            let content = Content::Redirect { epoch: 1, moved: octets };
            postcard::to_extend(&Envelope { client: CLIENT.0, content }, vec![VERSION])
                .expect("it is encoded")
        };
        // 2^32 - 1 connections, none of which follows; and as many octets as a message may have.
        let false_number = of(&[0xff, 0xff, 0xff, 0xff, 0x0f]);
        let long = of(&vec![0; MAX_MESSAGE - 100]);
        let info = allocation_counter::measure(|| {
            assert_eq!(decode(&false_number, &mut known), Err(MessageError::Malformed));
            assert_eq!(decode(&long, &mut known), Err(MessageError::Malformed));
        });
        assert!(info.bytes_max < 2 << 20, "{info:?}");
    }

    #[test]
    fn messages_of_another_version_and_too_long_ones_are_refused() {
        let mut known = AccessPoints::new("hall");
        let mut octets = encode(CLIENT, &all(super::super::access_points::SELF)[0], &known);
        octets[0] = VERSION + 1;
        assert_eq!(decode(&octets, &mut known), Err(MessageError::Version(VERSION + 1)));
        let long = vec![VERSION; MAX_MESSAGE + 1];
        assert_eq!(decode(&long, &mut known), Err(MessageError::TooLong(long.len())));
    }

    proptest! {
        #[test]
        fn garbage_is_read_without_harm(mut garbage in prop::collection::vec(any::<u8>(), 1..200)) {
            garbage[0] = VERSION;
            let mut known = AccessPoints::new("hall");
            if let Ok((client, message)) = decode(&garbage, &mut known) {
                let again = encode(client, &message, &known);
                prop_assert_eq!(decode(&again, &mut known), Ok((client, message)));
            }
        }
    }
}
