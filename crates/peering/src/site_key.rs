//! The key that all access points of a site share, and what shows that one has it.

use std::fmt;
use std::io;
use std::path::Path;
use std::str::FromStr;

use ring::hmac;
use ring::rand::{SecureRandom as _, SystemRandom};

use super::channel::Channel;
use super::error::Error;
use super::fingerprint::{Fingerprint, from_hexadecimal, to_hexadecimal};
use super::private_file;

/// The purpose for which a connection exports octets (RFC 5705, section 4).
const EXPORTER: &[u8] = b"EXPERIMENTAL lasthop enrolment";

/// The key that all access points of a site share: 32 random octets, 64 hexadecimal digits in a file. It serves for
/// enrolment only. Whoever is asked for a proof can try keys without further questions, so a word that somebody
/// remembers would not do.
#[derive(Clone)]
pub struct SiteKey(hmac::Key);

/// A text is not a site key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a site key is 64 hexadecimal digits")]
pub struct NotASiteKey;

/// Octets of a proof.
pub(crate) const PROOF: usize = 32;

/// Which end a proof is from. They differ, so that none can be sent back.
#[derive(Clone, Copy, Debug)]
pub(crate) enum End {
    Client,
    Server,
}

/// What a proof is bound to: the connection, the keys of both ends, and the client's name.
#[derive(Clone, Debug)]
pub(crate) struct Occasion {
    exported: [u8; 32],
    client: Fingerprint,
    server: Fingerprint,
    name: Box<str>,
}

impl SiteKey {
    /// The key in a file, to which only its owner may have access.
    pub fn open(path: &Path) -> io::Result<Self> {
        let content = private_file::read(path, 128)?.ok_or(io::ErrorKind::NotFound)?;
        let text = str::from_utf8(&content).map_err(|_| io::ErrorKind::InvalidData)?;
        text.trim_end().parse().map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }

    /// Writes a new key to a file.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] if there is one.
    pub fn create(path: &Path) -> io::Result<Self> {
        let mut octets = [0; 32];
        SystemRandom::new().fill(&mut octets).map_err(|_| io::Error::other("no random numbers"))?;
        private_file::create(path, format!("{}\n", to_hexadecimal(&octets)).as_bytes())?;
        Ok(Self::new(&octets))
    }

    fn new(octets: &[u8; 32]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, octets))
    }

    pub(crate) fn prove(&self, end: End, occasion: &Occasion) -> [u8; PROOF] {
        let mut proof = [0; PROOF];
        proof.copy_from_slice(hmac::sign(&self.0, &occasion.octets(end)).as_ref());
        proof
    }

    /// Whether a proof is right. Takes the same time for all wrong ones.
    pub(crate) fn is_proof(&self, end: End, occasion: &Occasion, proof: &[u8]) -> bool {
        hmac::verify(&self.0, &occasion.octets(end), proof).is_ok()
    }
}

impl Occasion {
    pub fn new(
        channel: &Channel,
        client: Fingerprint,
        server: Fingerprint,
        name: &str,
    ) -> Result<Self, Error> {
        Ok(Self { exported: channel.export(EXPORTER)?, client, server, name: name.into() })
    }

    /// Only the name, which is last, has a variable length.
    fn octets(&self, end: End) -> Vec<u8> {
        let end: &[u8] = match end {
            End::Client => b"client",
            End::Server => b"server",
        };
        let keys = [self.client.octets(), self.server.octets()];
        [end, &self.exported, keys[0], keys[1], self.name.as_bytes()].concat()
    }
}

impl FromStr for SiteKey {
    type Err = NotASiteKey;

    fn from_str(text: &str) -> Result<Self, NotASiteKey> {
        from_hexadecimal(text).map(|octets| Self::new(&octets)).ok_or(NotASiteKey)
    }
}

/// Without the key.
impl fmt::Debug for SiteKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SiteKey")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn occasion() -> Occasion {
        let [client, server] = [2, 3].map(|number| Fingerprint::new([number; 32]));
        Occasion { exported: [1; 32], client, server, name: "lobby".into() }
    }

    #[test]
    fn a_proof_is_for_one_end_one_connection_two_keys_and_a_name() {
        let key: SiteKey = "5".repeat(64).parse().expect("64 digits");
        let proof = key.prove(End::Client, &occasion());
        assert!(key.is_proof(End::Client, &occasion(), &proof));
        assert!(!key.is_proof(End::Server, &occasion(), &proof));
        let others = [
            Occasion { exported: [9; 32], ..occasion() },
            Occasion { client: Fingerprint::new([9; 32]), ..occasion() },
            Occasion { server: Fingerprint::new([9; 32]), ..occasion() },
            Occasion { name: "hall".into(), ..occasion() },
        ];
        for other in others {
            assert!(!key.is_proof(End::Client, &other, &proof), "{other:?}");
        }
        assert!(!key.is_proof(End::Client, &occasion(), &proof[..31]));
        let other_key: SiteKey = "6".repeat(64).parse().expect("64 digits");
        assert!(!other_key.is_proof(End::Client, &occasion(), &proof));
    }

    #[test]
    fn a_key_is_read_as_it_was_created_and_never_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("site-key");
        let created = SiteKey::create(&path).expect("it is new");
        let proof = created.prove(End::Client, &occasion());
        assert!(SiteKey::open(&path).expect("it is there").is_proof(End::Client, &occasion(), &proof));
        assert_eq!(SiteKey::create(&path).expect_err("it exists").kind(), io::ErrorKind::AlreadyExists);
        assert_eq!("word".parse::<SiteKey>().map(drop), Err(NotASiteKey));
    }
}
