//! Why a channel failed.

use std::io;

use super::framing::FramingError;

/// Why a channel could not be opened, or does not continue.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The network failed.
    #[error("the network failed")]
    Network(#[from] io::Error),
    /// What arrived is not TLS 1.3 with a raw public key, or the peers have no service in common.
    #[error("the handshake failed, or what arrived is not from the peer")]
    Tls(#[source] rustls::Error),
    /// What arrived is no message, or a message is too long.
    #[error(transparent)]
    Message(#[from] FramingError),
    /// The peer has closed the channel, or somebody has cut it.
    #[error("the channel is closed")]
    Closed,
    /// The channel ended in the middle of a message.
    #[error("the channel ended in the middle of a message")]
    Incomplete,
    /// The peer took too long: for the handshake, to send the rest of a message, or to read one.
    #[error("the peer took too long")]
    TimedOut,
    /// The peer has another key than the one expected.
    #[error("the peer has another key than the one expected")]
    WrongKey,
    /// The key of one end is not known to the other, which was reached.
    #[error("the key is not known")]
    UnknownKey,
    /// The peer has as many channels as it may have.
    #[error("the peer has no room for another channel")]
    TooManyChannels,
    /// One end does not have the site key.
    #[error("not the same site key")]
    WrongSiteKey,
    /// The peer enrols nobody for a while, after too many attempts without the site key.
    #[error("enrolment is paused after too many wrong site keys")]
    Paused,
    /// The peer has the site key, but does not record the key: the name has another one, or there are too many.
    #[error("the key was not recorded: the name has another one, or there are too many")]
    NotRecorded,
    /// A name of an access point is not one.
    #[error("a name has 1 to 64 octets, and no spaces or control characters")]
    Name,
    /// An answer has an unknown form.
    #[error("the peer's answer has an unknown form")]
    Answer,
}
