//! Channels between access points: messages over TLS 1.3, between ends that know each other's keys.
//!
//! | module | contents |
//! |---|---|
//! | [`channel`] | [`Channel`], [`Sender`], [`Receiver`]: whole messages, with time limits |
//! | [`connect()`], [`enrol`] | the end that connects |
//! | [`listener`] | [`Listener`], the end that waits; what strangers may cost |
//! | [`identity`] | [`Identity`], the key of an access point, in a file |
//! | [`fingerprint`] | [`Fingerprint`], the name of a public key |
//! | [`peers`] | [`Peers`], whose keys are known |
//! | [`site_key`] | [`SiteKey`], by which new access points are enrolled |
//! | [`framing`] | messages in a sequence of octets; it knows no sockets |
//! | [`settings`] | [`Settings`], limits and times |
//!
//! Everything blocks, with a limit of time; there is no runtime. Whoever uses a channel opens another one when it
//! fails.
//!
//! # Who may lie, and what it gains
//!
//! - *A stranger* can connect. It learns that something with a public key listens there, and takes one of the handshakes
//!   that there may be at a time. It can keep enrolments paused, and keep new channels from being opened as long as it
//!   connects faster than its handshakes fail. It never gets a channel.
//! - *Somebody on the path* can cut a channel, and sees when and how much is sent. It cannot read, change, insert or
//!   replay messages. What it records can be read by nobody later without a break of X25519: there is no
//!   post-quantum key exchange.
//! - *Somebody with the site key* can enrol keys of his own for names that have none, and can pretend to be the
//!   listener of an enrolment. It cannot take the place of an access point that is known, nor read its channels. A site
//!   key can be replaced at any time; keys that were recorded stay, and [`Peers::list`] shows them.
//! - *An access point that is known* may say whatever the service lets it say, and can keep as many channels and
//!   octets as [`Settings`] admits. The service has to check what it says; [`Channel::peer`] says who it is.
//! - *Whoever reads the file of an [`Identity`]* is this access point, until its key is removed everywhere.
//!
//! # Why ring
//!
//! TLS is rustls. Of its cryptographic providers, `ring` builds with a C compiler alone, for all processors that routers
//! have, and adds least. `aws-lc-rs` needs `CMake` and several times the build; `rustls-rustcrypto` is an alpha
//! version; Graviola needs processors with AVX2 or of 64-bit ARM.

mod connect;
mod counters;
mod enrolment;
mod error;
mod gate;
mod private_file;
mod tls;
mod transport;
mod verdict;

pub mod channel;
pub mod fingerprint;
pub mod framing;
pub mod identity;
pub mod listener;
pub mod peers;
pub mod settings;
pub mod site_key;

pub use channel::{Channel, Receiver, Sender};
pub use connect::{connect, enrol};
pub use counters::Counts;
pub use error::Error;
pub use fingerprint::{Fingerprint, NotAFingerprint};
pub use framing::FramingError;
pub use identity::{Identity, IdentityError};
pub use listener::Listener;
pub use peers::{Peer, Peers, PeersError};
pub use settings::Settings;
pub use site_key::{NotASiteKey, SiteKey};
