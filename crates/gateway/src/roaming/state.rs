//! The connections of a client, as octets that move from one access point to another.
//!
//! A version, the number of connections, and the connections as postcard encodes them. Decoding needs memory in
//! proportion to the octets, whatever they say.

use bytes::Bytes;
use thiserror::Error;

use crate::engine::SavedConnection;

/// The version of the form. Another version is refused: connections of which nothing is owed go on without it.
pub const VERSION: u8 = 1;

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
    /// It ends too early, or too late, or is no state.
    #[error("the state is malformed")]
    Malformed,
}

/// The state with the connections for which there is room, those with octets at risk first; and the number of
/// connections that it does not have.
pub fn encode(mut connections: Vec<SavedConnection>) -> (Bytes, Vec<SavedConnection>) {
    connections.sort_by_key(|connection| connection.owed().is_free());
    let mut octets = Vec::new();
    let (mut count, mut left_out) = (0_u16, Vec::new());
    for connection in connections {
        let encoded = postcard::to_allocvec(&connection).unwrap_or_default();
        let fits = octets.len() + encoded.len() + HEADER <= MAX_STATE;
        if encoded.is_empty() || !fits || usize::from(count) >= MAX_CONNECTIONS {
            left_out.push(connection);
        } else {
            octets.extend(encoded);
            count += 1;
        }
    }
    let [high, low] = count.to_be_bytes();
    (Bytes::from([&[VERSION, high, low], &*octets].concat()), left_out)
}

/// The connections of a state, which may have been sent by anybody.
pub fn decode(octets: &[u8]) -> Result<Vec<SavedConnection>, StateError> {
    if octets.len() > MAX_STATE {
        return Err(StateError::TooLarge(octets.len()));
    }
    let ([version, high, low], mut rest) = octets.split_first_chunk().ok_or(StateError::Malformed)?;
    if *version != VERSION {
        return Err(StateError::Version(*version));
    }
    let count = usize::from(u16::from_be_bytes([*high, *low]));
    if count > MAX_CONNECTIONS {
        return Err(StateError::TooMany(count));
    }
    let mut connections = Vec::new();
    for _ in 0..count {
        let (connection, after) = postcard::take_from_bytes(rest).map_err(|_| StateError::Malformed)?;
        connections.push(connection);
        rest = after;
    }
    if rest.is_empty() { Ok(connections) } else { Err(StateError::Malformed) }
}

/// The version and the number of connections.
const HEADER: usize = 3;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_state_without_connections_is_read_and_other_versions_and_false_numbers_are_refused() {
        let (octets, left_out) = encode(Vec::new());
        assert_eq!((decode(&octets), left_out.len()), (Ok(Vec::new()), 0));
        assert_eq!(decode(&[VERSION + 1, 0, 0]), Err(StateError::Version(VERSION + 1)));
        assert_eq!(decode(&[VERSION, 0xff, 0xff]), Err(StateError::TooMany(0xffff)));
        for malformed in [&[][..], &[VERSION, 0], &[VERSION, 0, 1], &[VERSION, 0, 0, 7]] {
            assert_eq!(decode(malformed), Err(StateError::Malformed), "{malformed:?}");
        }
        let long = vec![VERSION; MAX_STATE + 1];
        assert_eq!(decode(&long), Err(StateError::TooLarge(long.len())));
    }

    #[test]
    fn a_false_length_takes_no_more_memory_than_the_octets_allow() {
        // IPv4 endpoints, and schemes of almost 2^32 octets.
        let key =
            [&[0, 192, 0, 2, 1, 80, 0, 10, 0, 0, 7, 1, 0][..], &[0xff, 0xff, 0xff, 0xff, 0x0f]].concat();
        let octets = [&[VERSION, 0, 1][..], &key].concat();
        let info = allocation_counter::measure(|| assert!(decode(&octets).is_err()));
        assert!(info.bytes_max < 2 << 20, "{info:?}");
    }

    proptest! {
        #[test]
        fn garbage_is_read_without_harm(mut garbage in prop::collection::vec(any::<u8>(), 3..300)) {
            (garbage[0], garbage[1]) = (VERSION, 0);
            let info = allocation_counter::measure(|| drop(decode(&garbage)));
            prop_assert!(info.bytes_max < 4 << 20, "{info:?}");
        }
    }
}
