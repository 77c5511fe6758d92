//! The names of public keys.

use std::fmt;
use std::str::FromStr;

use ring::digest;
use serde::{Deserialize, Serialize};

/// The prefix of the text.
const PREFIX: &str = "sha256:";

/// The SHA-256 of a public key (of its `SubjectPublicKeyInfo`, as in RFC 7469, section 2.4). Whoever has the
/// fingerprint of a key recognizes the key. As text: `sha256:` and 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Fingerprint([u8; 32]);

/// A text is not a fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a fingerprint is sha256: and 64 hexadecimal digits")]
pub struct NotAFingerprint;

impl Fingerprint {
    /// The fingerprint with these octets, as from a message.
    pub const fn new(octets: [u8; 32]) -> Self {
        Self(octets)
    }

    /// The fingerprint of a public key: of a DER-encoded `SubjectPublicKeyInfo`.
    pub(crate) fn of(public_key: &[u8]) -> Self {
        let mut octets = [0; 32];
        octets.copy_from_slice(digest::digest(&digest::SHA256, public_key).as_ref());
        Self(octets)
    }

    /// Its octets.
    pub const fn octets(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", to_hexadecimal(&self.0))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Fingerprint {
    type Err = NotAFingerprint;

    fn from_str(text: &str) -> Result<Self, NotAFingerprint> {
        let digits = text.strip_prefix(PREFIX).ok_or(NotAFingerprint)?;
        from_hexadecimal(digits).map(Self).ok_or(NotAFingerprint)
    }
}

/// 64 hexadecimal digits from 32 octets.
pub(crate) fn to_hexadecimal(octets: &[u8; 32]) -> String {
    let digit = |value: u8| char::from_digit(value.into(), 16).unwrap_or_default();
    octets.iter().flat_map(|octet| [digit(octet >> 4), digit(octet & 15)]).collect()
}

/// 32 octets from 64 hexadecimal digits.
pub(crate) fn from_hexadecimal(digits: &str) -> Option<[u8; 32]> {
    let digits = digits.as_bytes();
    if digits.len() != 64 {
        return None;
    }
    let value = |digit: u8| char::from(digit).to_digit(16);
    let mut octets = [0; 32];
    for (octet, pair) in octets.iter_mut().zip(digits.chunks_exact(2)) {
        *octet = (value(pair[0])? << 4 | value(pair[1])?) as u8;
    }
    Some(octets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_is_read_as_it_is_written() {
        let fingerprint = Fingerprint::of(b"a key");
        let text = fingerprint.to_string();
        assert_eq!(text.len(), 71);
        assert_eq!(text.parse(), Ok(fingerprint));
        assert_eq!(text.to_uppercase().replace("SHA", "sha").parse(), Ok(fingerprint));
    }

    #[test]
    fn other_texts_are_no_fingerprints() {
        let long = format!("sha256:{}", "0".repeat(65));
        let sign = format!("sha256:{}", "+1".repeat(32));
        let wide = format!("sha256:{}", "é".repeat(32));
        for text in ["", "sha256:", &"0".repeat(64), &long, &sign, &wide] {
            assert_eq!(text.parse::<Fingerprint>(), Err(NotAFingerprint), "{text}");
        }
    }
}
