//! Enrolment: an access point whose key is not known shows that it has the site key.
//!
//! ```text
//! client                                     listener
//!        ---- HMAC (client, occasion), name ---->      checks it, and records key and name
//!        <--- welcome, HMAC (server, occasion) ---     or a refusal
//! ```
//!
//! The *occasion* is what both ends know of the connection: octets that TLS exports for it (RFC 8446, section 7.5), the
//! keys of both ends, and the name. So a proof is worth nothing on another connection, for another key or for
//! another name: somebody between two ends has two connections, with keys of his own.

use std::time::Duration;

use super::channel::Channel;
use super::error::Error;
use super::fingerprint::Fingerprint;
use super::peers::{Peer, Peers, is_name};
use super::site_key::{End, Occasion, PROOF, SiteKey};
use super::transport::Deadline;
use super::verdict::Verdict;

/// The service of enrolment.
pub const SERVICE: &str = "lasthop-enrolment/1";

/// More than the longest message of an enrolment, in octets.
pub const LONGEST_MESSAGE: u32 = 256;

/// The listener's part. `paused` refuses without a look at the proof.
pub fn admit(
    channel: &mut Channel,
    server: Fingerprint,
    site_key: &SiteKey,
    peers: &Peers,
    paused: bool,
    deadline: Deadline,
) -> Result<Peer, Verdict> {
    let request = channel.receive(deadline.left()).ok().flatten();
    if paused {
        return Err(Verdict::Paused);
    }
    let client = channel.peer();
    let request = request.unwrap_or_default();
    let (proof, name) = request.split_at_checked(PROOF).ok_or(Verdict::WrongSiteKey)?;
    let name = str::from_utf8(name).map_err(|_| Verdict::WrongSiteKey)?;
    let occasion = Occasion::new(channel, client, server, name).map_err(|_| Verdict::WrongSiteKey)?;
    if !site_key.is_proof(End::Client, &occasion, proof) {
        return Err(Verdict::WrongSiteKey);
    }
    peers.enrol(client, name).map_err(|_| Verdict::NotRecorded)?;
    let proof = site_key.prove(End::Server, &occasion);
    // Whether it arrives does not matter: an enrolment can be repeated.
    let _ = channel.send(&[&[Verdict::Welcome.octet()][..], &proof].concat());
    peers.get(&client).ok_or(Verdict::NotRecorded)
}

/// The client's part. Returns the key of the listener, which has the site key as well.
pub fn request(
    channel: &mut Channel,
    client: Fingerprint,
    site_key: &SiteKey,
    name: &str,
    deadline: Deadline,
) -> Result<Fingerprint, Error> {
    if !is_name(name) {
        return Err(Error::Name);
    }
    let server = channel.peer();
    let occasion = Occasion::new(channel, client, server, name)?;
    channel.send(&[&site_key.prove(End::Client, &occasion), name.as_bytes()].concat())?;
    let answer = channel.receive(deadline.left())?.ok_or(Error::TimedOut)?;
    let proof = Verdict::read(&answer)?;
    if site_key.is_proof(End::Server, &occasion, proof) { Ok(server) } else { Err(Error::WrongSiteKey) }
}

/// Pauses enrolments after too many wrong proofs. It reads no clock: times are since any fixed moment.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    most: u32,
    period: Duration,
    wrong: u32,
    since: Duration,
}

impl Pace {
    pub const fn new(most: u32, period: Duration) -> Self {
        Self { most, period, wrong: 0, since: Duration::ZERO }
    }

    pub fn is_paused(&mut self, now: Duration) -> bool {
        if now.saturating_sub(self.since) >= self.period {
            self.wrong = 0;
            self.since = now;
        }
        self.wrong >= self.most
    }

    pub fn note_wrong(&mut self) {
        self.wrong = self.wrong.saturating_add(1);
    }
}

#[cfg(test)]
mod tests;
