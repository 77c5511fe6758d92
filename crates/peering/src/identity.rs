//! The key of an access point.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use ring::rand::SystemRandom;
use ring::signature::Ed25519KeyPair;
use rustls::crypto::ring::sign::any_eddsa_type;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::sign::CertifiedKey;

use super::fingerprint::Fingerprint;
use super::private_file;

/// More than a key of Ed25519 takes (RFC 8410, section 10.3), in octets.
const LONGEST: u64 = 256;

/// The key of an access point: a private key of Ed25519, and its public key, by which others know it.
#[derive(Clone)]
pub struct Identity {
    key: Arc<CertifiedKey>,
    fingerprint: Fingerprint,
}

/// Why a key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// Its file cannot be read or written, or others may read it.
    #[error("the file of the key")]
    File(#[from] io::Error),
    /// It is no private key of Ed25519 in PKCS #8.
    #[error("not a private key of Ed25519 in PKCS #8, DER")]
    NotAKey,
    /// The system gives no random numbers.
    #[error("no random numbers")]
    NoRandomness,
}

impl Identity {
    /// The key in a file (PKCS #8 in DER), which is created on first use. Only its owner may have access to it.
    pub fn open(path: &Path) -> Result<Self, IdentityError> {
        if let Some(key) = private_file::read(path, LONGEST)? {
            return Self::from_pkcs8(&key);
        }
        let key = generate()?;
        match private_file::create(path, &key) {
            // Another process was faster: its key counts.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let key = private_file::read(path, LONGEST)?.ok_or(error)?;
                Self::from_pkcs8(&key)
            }
            created => {
                created?;
                Self::from_pkcs8(&key)
            }
        }
    }

    /// A new key that is kept in memory only.
    pub fn ephemeral() -> Result<Self, IdentityError> {
        Self::from_pkcs8(&generate()?)
    }

    fn from_pkcs8(key: &[u8]) -> Result<Self, IdentityError> {
        let key = any_eddsa_type(&PrivatePkcs8KeyDer::from(key)).map_err(|_| IdentityError::NotAKey)?;
        let public_key = key.public_key().ok_or(IdentityError::NotAKey)?.to_vec();
        let fingerprint = Fingerprint::of(&public_key);
        // Where raw public keys are used, the public key takes the place of the certificate (RFC 7250, section 3).
        let key = CertifiedKey::new(vec![CertificateDer::from(public_key)], key);
        Ok(Self { key: Arc::new(key), fingerprint })
    }

    /// The name of its public key.
    pub const fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    pub(crate) fn certified_key(&self) -> Arc<CertifiedKey> {
        Arc::clone(&self.key)
    }
}

fn generate() -> Result<Vec<u8>, IdentityError> {
    let key =
        Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).map_err(|_| IdentityError::NoRandomness)?;
    Ok(key.as_ref().to_vec())
}

/// Without the private key.
impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity({})", self.fingerprint)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_key_is_created_on_first_use_and_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("key");
        let created = Identity::open(&path).expect("it is new");
        let mode = fs::metadata(&path).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(Identity::open(&path).expect("it is there").fingerprint(), created.fingerprint());
        let other = Identity::ephemeral().expect("random numbers");
        assert_ne!(other.fingerprint(), created.fingerprint());
    }

    #[test]
    fn a_key_that_others_may_read_and_a_file_that_is_no_key_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("key");
        Identity::open(&path).expect("it is new");
        fs::set_permissions(&path, Permissions::from_mode(0o644)).expect("it is ours");
        assert!(matches!(Identity::open(&path), Err(IdentityError::File(_))));
        fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("it is ours");
        fs::write(&path, b"no key").expect("it is ours");
        assert!(matches!(Identity::open(&path), Err(IdentityError::NotAKey)));
    }
}
