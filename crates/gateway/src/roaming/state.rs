//! The connections of a client, as octets that move from one access point to another.
//!
//! A version, the numbers of translations and of connections, and these as postcard encodes them. Decoding needs memory
//! in proportion to the octets, whatever they say.

use bytes::Bytes;
use serde::de::DeserializeOwned;
use thiserror::Error;

use super::nat::mapping::{MAX_MAPPINGS, Mapping};
use crate::engine::SavedConnection;

/// The version of the form. Another version is refused: connections of which nothing is owed go on without it.
pub const VERSION: u8 = 2;

/// The maximum number of octets of a client's state.
pub const MAX_STATE: usize = 16 << 20;

/// The maximum number of connections of a client whose state moves.
pub const MAX_CONNECTIONS: usize = 4096;

/// Why a state cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StateError {
    /// It is from another version of the gateway.
    #[error("the state has version {0}; expected version {VERSION}")]
    Version(u8),
    /// It has too many octets.
    #[error("the state has {0} octets; at most {MAX_STATE} are accepted")]
    TooLarge(usize),
    /// It has too many connections.
    #[error("the state has {0} connections; at most {MAX_CONNECTIONS} are accepted")]
    TooMany(usize),
    /// It has too many translations.
    #[error("the state has {0} translations; at most {MAX_MAPPINGS} are accepted")]
    TooManyMappings(usize),
    /// It ends too early, or too late, or is no state.
    #[error("the state is malformed")]
    Malformed,
}

/// The state with these translations, and with the connections for which there is room, those with octets at risk
/// first; and the connections that it does not have.
pub fn encode(mut connections: Vec<SavedConnection>, mappings: &[Mapping]) -> (Bytes, Vec<SavedConnection>) {
    connections.sort_by_key(|connection| connection.owed().is_free());
    let mappings = &mappings[..mappings.len().min(MAX_MAPPINGS)];
    let mut octets = vec![0; HEADER];
    for mapping in mappings {
        octets.extend(postcard::to_allocvec(mapping).unwrap_or_default());
    }
    let (mut count, mut left_out) = (0_u16, Vec::new());
    for connection in connections {
        let encoded = postcard::to_allocvec(&connection).unwrap_or_default();
        let fits = octets.len() + encoded.len() <= MAX_STATE;
        if encoded.is_empty() || !fits || usize::from(count) >= MAX_CONNECTIONS {
            left_out.push(connection);
        } else {
            octets.extend(encoded);
            count += 1;
        }
    }
    octets[0] = VERSION;
    octets[1..3].copy_from_slice(&(mappings.len() as u16).to_be_bytes());
    octets[3..HEADER].copy_from_slice(&count.to_be_bytes());
    (octets.into(), left_out)
}

/// The connections of a state, which may have been sent by anybody.
pub fn decode(octets: &[u8]) -> Result<Vec<SavedConnection>, StateError> {
    let (_, count, rest) = begin(octets)?;
    let (connections, rest) = take(count, rest)?;
    if rest.is_empty() { Ok(connections) } else { Err(StateError::Malformed) }
}

/// The translations of a state, which may have been sent by anybody.
pub fn mappings(octets: &[u8]) -> Result<Vec<Mapping>, StateError> {
    begin(octets).map(|(mappings, _, _)| mappings)
}

/// The translations, the number of connections, and the octets of these.
fn begin(octets: &[u8]) -> Result<(Vec<Mapping>, usize, &[u8]), StateError> {
    if octets.len() > MAX_STATE {
        return Err(StateError::TooLarge(octets.len()));
    }
    let ([version, numbers @ ..], rest) =
        octets.split_first_chunk::<HEADER>().ok_or(StateError::Malformed)?;
    if *version != VERSION {
        return Err(StateError::Version(*version));
    }
    let [mappings, connections] = [[numbers[0], numbers[1]], [numbers[2], numbers[3]]]
        .map(|number| usize::from(u16::from_be_bytes(number)));
    if mappings > MAX_MAPPINGS {
        return Err(StateError::TooManyMappings(mappings));
    }
    if connections > MAX_CONNECTIONS {
        return Err(StateError::TooMany(connections));
    }
    let (mappings, rest) = take(mappings, rest)?;
    Ok((mappings, connections, rest))
}

/// This number of values, and the octets after them.
fn take<T: DeserializeOwned>(count: usize, mut octets: &[u8]) -> Result<(Vec<T>, &[u8]), StateError> {
    let mut values = Vec::new();
    for _ in 0..count {
        let (value, rest) = postcard::take_from_bytes(octets).map_err(|_| StateError::Malformed)?;
        values.push(value);
        octets = rest;
    }
    Ok((values, octets))
}

/// The version, and the numbers of translations and of connections.
const HEADER: usize = 5;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_state_without_connections_is_read_and_other_versions_and_false_numbers_are_refused() {
        let (octets, left_out) = encode(Vec::new(), &[]);
        assert_eq!((decode(&octets), left_out.len()), (Ok(Vec::new()), 0));
        assert_eq!(decode(&[VERSION + 1, 0, 0, 0, 0]), Err(StateError::Version(VERSION + 1)));
        assert_eq!(decode(&[VERSION, 0, 0, 0xff, 0xff]), Err(StateError::TooMany(0xffff)));
        assert_eq!(mappings(&[VERSION, 0xff, 0xff, 0, 0]), Err(StateError::TooManyMappings(0xffff)));
        for malformed in [&[][..], &[VERSION, 0], &[VERSION, 0, 0, 0, 1], &[VERSION, 0, 0, 0, 0, 7]] {
            assert_eq!(decode(malformed), Err(StateError::Malformed), "{malformed:?}");
        }
        assert_eq!(mappings(&[VERSION, 0, 1, 0, 0]), Err(StateError::Malformed));
        let long = vec![VERSION; MAX_STATE + 1];
        assert_eq!(decode(&long), Err(StateError::TooLarge(long.len())));
    }

    #[test]
    fn a_false_length_takes_no_more_memory_than_the_octets_allow() {
        // IPv4 endpoints, and schemes of almost 2^32 octets.
        let key =
            [&[0, 192, 0, 2, 1, 80, 0, 10, 0, 0, 7, 1, 0][..], &[0xff, 0xff, 0xff, 0xff, 0x0f]].concat();
        let octets = [&[VERSION, 0, 0, 0, 1][..], &key].concat();
        let info = allocation_counter::measure(|| assert!(decode(&octets).is_err()));
        assert!(info.bytes_max < 2 << 20, "{info:?}");
    }

    proptest! {
        #[test]
        fn garbage_is_read_without_harm(mut garbage in prop::collection::vec(any::<u8>(), 5..300)) {
            (garbage[0], garbage[1], garbage[3]) = (VERSION, 0, 0);
            let info = allocation_counter::measure(|| drop(decode(&garbage)));
            prop_assert!(info.bytes_max < 4 << 20, "{info:?}");
        }
    }
}
