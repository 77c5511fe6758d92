//! The keys of clients.

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The maximum length of a key, in octets.
const LONGEST: usize = 32;

/// A client: its MAC address, or another key of 1 to 32 octets, such as a keyed hash of the address.
/// Keys are in lexicographic order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Vec<u8>", into = "Vec<u8>")]
pub struct Client {
    /// Zero after the key.
    octets: [u8; LONGEST],
    length: u8,
}

/// A key is empty, or longer than 32 octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a client's key has 1 to {LONGEST} octets, not {0}")]
pub struct WrongLength(usize);

impl Client {
    /// The client with this key, of 1 to 32 octets.
    pub fn new(key: &[u8]) -> Result<Self, WrongLength> {
        if key.is_empty() || key.len() > LONGEST {
            return Err(WrongLength(key.len()));
        }
        let mut octets = [0; LONGEST];
        octets[..key.len()].copy_from_slice(key);
        Ok(Self { octets, length: key.len() as u8 })
    }

    /// The key.
    pub fn key(&self) -> &[u8] {
        &self.octets[..usize::from(self.length)]
    }
}

/// A MAC address.
impl From<[u8; 6]> for Client {
    fn from(address: [u8; 6]) -> Self {
        let mut octets = [0; LONGEST];
        octets[..address.len()].copy_from_slice(&address);
        Self { octets, length: address.len() as u8 }
    }
}

impl TryFrom<Vec<u8>> for Client {
    type Error = WrongLength;

    fn try_from(key: Vec<u8>) -> Result<Self, WrongLength> {
        Self::new(&key)
    }
}

impl From<Client> for Vec<u8> {
    fn from(client: Client) -> Self {
        client.key().to_vec()
    }
}

/// In hexadecimal digits, with colons if the key is as long as a MAC address.
impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let separator = if self.length == 6 { ":" } else { "" };
        for (index, octet) in self.key().iter().enumerate() {
            let separator = if index == 0 { "" } else { separator };
            write!(f, "{separator}{octet:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Client({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_1_to_32_octets() {
        assert_eq!(Client::new(&[]), Err(WrongLength(0)));
        assert_eq!(Client::new(&[7; 33]), Err(WrongLength(33)));
        assert_eq!(Client::new(&[7; 32]).map(|client| client.key().len()), Ok(32));
    }

    #[test]
    fn an_address_is_shown_with_colons() {
        assert_eq!(Client::from([2, 0, 0, 0, 0xab, 1]).to_string(), "02:00:00:00:ab:01");
        assert_eq!(Client::new(&[0xab, 1]).expect("a key").to_string(), "ab01");
    }

    #[test]
    fn keys_are_in_lexicographic_order() {
        let keys: [&[u8]; 4] = [&[1], &[1, 0], &[1, 0, 2], &[2]];
        let clients = keys.map(|key| Client::new(key).expect("a key"));
        assert!(clients.is_sorted_by(|a, b| a < b));
    }
}
