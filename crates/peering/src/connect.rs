//! The end of a channel that connects.

use std::net::{SocketAddr, TcpStream};

use super::channel::Channel;
use super::enrolment;
use super::error::Error;
use super::fingerprint::Fingerprint;
use super::identity::Identity;
use super::settings::Settings;
use super::site_key::SiteKey;
use super::tls;
use super::transport::Deadline;
use super::verdict::Verdict;

/// Opens a channel to the access point with a key, for one of its services. When this returns, both ends know each
/// other. It takes at most [`Settings::handshake_time`], which is not
/// zero.
///
/// # Errors
/// [`Error::WrongKey`] if another one answers; it has not been shown our key. [`Error::UnknownKey`] if the access point
/// does not know our key: it may have to be enrolled ([`enrol`]).
pub fn connect(
    address: SocketAddr,
    identity: &Identity,
    expected: Fingerprint,
    service: &str,
    settings: &Settings,
) -> Result<Channel, Error> {
    let deadline = Deadline::after(settings.handshake_time);
    let mut channel = open(address, identity, Some(expected), service, settings, deadline)?;
    let verdict = channel.receive(deadline.left())?.ok_or(Error::TimedOut)?;
    Verdict::read(&verdict)?;
    Ok(channel)
}

/// Lets an access point record our key, for a name of 1 to 64 octets. Returns its own key, unless it is another one than
/// expected: it has shown that it has the site key as well, so it may be trusted as much as anybody with that key.
///
/// # Errors
/// [`Error::WrongSiteKey`], [`Error::NotRecorded`], [`Error::Paused`]. If the answer is lost, repeating the call is
/// safe.
pub fn enrol(
    address: SocketAddr,
    identity: &Identity,
    expected: Option<Fingerprint>,
    site_key: &SiteKey,
    name: &str,
    settings: &Settings,
) -> Result<Fingerprint, Error> {
    let deadline = Deadline::after(settings.handshake_time);
    let settings = Settings { message_octets: enrolment::LONGEST_MESSAGE, ..*settings };
    let mut channel = open(address, identity, expected, enrolment::SERVICE, &settings, deadline)?;
    enrolment::request(&mut channel, identity.fingerprint(), site_key, name, deadline)
}

fn open(
    address: SocketAddr,
    identity: &Identity,
    expected: Option<Fingerprint>,
    service: &str,
    settings: &Settings,
    deadline: Deadline,
) -> Result<Channel, Error> {
    let tls = tls::client(identity, expected, service).map_err(Error::Tls)?;
    let stream =
        TcpStream::connect_timeout(&address, settings.handshake_time).map_err(|error| {
            match error.kind() {
                std::io::ErrorKind::TimedOut => Error::TimedOut,
                _ => Error::Network(error),
            }
        })?;
    Channel::open(stream, tls, settings, deadline)
}
