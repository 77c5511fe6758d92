//! TLS 1.3 with raw public keys (RFC 7250) at both ends.
//!
//! There are no certificates: a key is recognized by its fingerprint. Both ends show that they have the private key.
//! The client closes the connection before it shows its own key if the server has another key than the one expected.
//! The server admits every key here, and looks at it after the handshake: an unknown one may be enrolled.
//!
//! Sessions are never resumed, and there is no early data: each connection shows both keys, and nothing of it can be
//! replayed.

use std::sync::Arc;

use ring::rand::SystemRandom;
use ring::signature::{ED25519, UnparsedPublicKey};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{AlwaysResolvesClientRawPublicKeys, Resumption};
use rustls::crypto::ring::{cipher_suite, kx_group};
use rustls::crypto::{CryptoProvider, GetRandomFailed, KeyProvider, SecureRandom, WebPkiSupportedAlgorithms};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::AlwaysResolvesServerRawPublicKeys;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::sign::SigningKey;
use rustls::version::TLS13;
use rustls::{
    CertificateError, ClientConfig, ClientConnection, Connection, DigitallySignedStruct, DistinguishedName,
    Error, ServerConfig, SignatureScheme,
};

use super::fingerprint::Fingerprint;
use super::identity::Identity;

/// What precedes a public key of Ed25519 in its `SubjectPublicKeyInfo` (RFC 8410, section 4).
const ED25519_PREFIX: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

/// A server's half of TLS for some services.
pub fn server(identity: &Identity, services: &[&str]) -> Result<Arc<ServerConfig>, Error> {
    let config = ServerConfig::builder_with_provider(provider()).with_protocol_versions(&[&TLS13])?;
    let config = config.with_client_cert_verifier(Arc::new(Verifier { expected: None }));
    let key = Arc::new(AlwaysResolvesServerRawPublicKeys::new(identity.certified_key()));
    let mut config = config.with_cert_resolver(key);
    config.alpn_protocols = services.iter().map(|service| service.as_bytes().to_vec()).collect();
    config.send_tls13_tickets = 0;
    Ok(Arc::new(config))
}

/// A client's half of a connection. The server must have the expected key; any, if none is expected.
pub fn client(
    identity: &Identity,
    expected: Option<Fingerprint>,
    service: &str,
) -> Result<Connection, Error> {
    let config = ClientConfig::builder_with_provider(provider()).with_protocol_versions(&[&TLS13])?;
    let verifier = Arc::new(Verifier { expected });
    let config = config.dangerous().with_custom_certificate_verifier(verifier);
    let key = Arc::new(AlwaysResolvesClientRawPublicKeys::new(identity.certified_key()));
    let mut config = config.with_client_cert_resolver(key);
    config.alpn_protocols = vec![service.as_bytes().to_vec()];
    config.resumption = Resumption::disabled();
    // Access points have addresses, and are told apart by their keys.
    config.enable_sni = false;
    let name = ServerName::from(std::net::IpAddr::from([0, 0, 0, 0]));
    Ok(ClientConnection::new(Arc::new(config), name)?.into())
}

/// The key of the other end.
pub fn peer_key(tls: &Connection) -> Option<Fingerprint> {
    let [key] = tls.peer_certificates()? else { return None };
    Some(Fingerprint::of(key))
}

/// What is used of ring. Its whole provider would bring RSA and further curves into a router's flash.
fn provider() -> Arc<CryptoProvider> {
    Arc::new(CryptoProvider {
        cipher_suites: vec![
            cipher_suite::TLS13_AES_128_GCM_SHA256,
            cipher_suite::TLS13_CHACHA20_POLY1305_SHA256,
        ],
        kx_groups: vec![kx_group::X25519],
        // There are no certificates; `Verifier` checks signatures.
        signature_verification_algorithms: WebPkiSupportedAlgorithms { all: &[], mapping: &[] },
        secure_random: &Parts,
        key_provider: &Parts,
    })
}

/// Parts of a provider.
#[derive(Debug)]
struct Parts;

impl SecureRandom for Parts {
    fn fill(&self, octets: &mut [u8]) -> Result<(), GetRandomFailed> {
        ring::rand::SecureRandom::fill(&SystemRandom::new(), octets).map_err(|_| GetRandomFailed)
    }
}

impl KeyProvider for Parts {
    fn load_private_key(&self, _key: PrivateKeyDer<'static>) -> Result<Arc<dyn SigningKey>, Error> {
        Err(Error::General("keys are those of an Identity".to_owned()))
    }
}

/// Admits the expected key, or every key of Ed25519, if none is expected.
#[derive(Debug)]
struct Verifier {
    expected: Option<Fingerprint>,
}

impl Verifier {
    fn admit(&self, key: &CertificateDer<'_>) -> Result<(), Error> {
        public_key(key)?;
        match self.expected {
            Some(expected) if expected != Fingerprint::of(key) => {
                Err(CertificateError::ApplicationVerificationFailure.into())
            }
            _ => Ok(()),
        }
    }
}

/// The octets of a public key of Ed25519.
fn public_key(key: &CertificateDer<'_>) -> Result<[u8; 32], Error> {
    let octets = key.strip_prefix(&ED25519_PREFIX).and_then(|octets| octets.try_into().ok());
    octets.ok_or(CertificateError::BadEncoding.into())
}

fn verify(
    message: &[u8],
    key: &CertificateDer<'_>,
    signature: &DigitallySignedStruct,
) -> Result<HandshakeSignatureValid, Error> {
    let key = UnparsedPublicKey::new(&ED25519, public_key(key)?);
    if signature.scheme != SignatureScheme::ED25519 || key.verify(message, signature.signature()).is_err() {
        return Err(CertificateError::BadSignature.into());
    }
    Ok(HandshakeSignatureValid::assertion())
}

fn no_tls12() -> Error {
    Error::General("TLS 1.2 is not offered".to_owned())
}

macro_rules! raw_public_keys {
    () => {
        fn verify_tls12_signature(
            &self,
            _message: &[u8],
            _key: &CertificateDer<'_>,
            _signature: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            Err(no_tls12())
        }

        fn verify_tls13_signature(
            &self,
            message: &[u8],
            key: &CertificateDer<'_>,
            signature: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            verify(message, key, signature)
        }

        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            vec![SignatureScheme::ED25519]
        }

        fn requires_raw_public_keys(&self) -> bool {
            true
        }
    };
}

impl ClientCertVerifier for Verifier {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        key: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.admit(key).map(|()| ClientCertVerified::assertion())
    }

    raw_public_keys!();
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        key: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.admit(key).map(|()| ServerCertVerified::assertion())
    }

    raw_public_keys!();
}
