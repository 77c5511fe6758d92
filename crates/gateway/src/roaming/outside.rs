//! What hand-offs need from what is outside of them: the channel, the registry, the engine, and the kernel's translations.

use std::net::SocketAddr;

use bytes::Bytes;
use lasthop_handoff::Query;

use super::channel::{Destination, Pending};
use super::nat::access_point::TakenUp;
use super::nat::mapping::Moved;
use crate::frame::MacAddress;

/// What hand-offs have done to the outside of them. Each call returns at once, or in the time that the packet loop
/// needs for a turn.
pub trait Outside {
    /// Sends a message to an access point. It may be lost.
    fn send(&mut self, to: &Destination<'_>, octets: Vec<u8>) -> Pending;

    /// Octets that came from the access point with this name so far, also those of a message that is not complete.
    fn arrived_from(&self, name: &str) -> u64;

    /// Asks the registry about a client; the answer comes to [`Handoffs::on_answer`](super::Handoffs::on_answer), with this number. A question
    /// replaces earlier ones about the client.
    fn ask(&mut self, client: MacAddress, number: u64, query: Query);

    /// The state of the client's connections is awaited ([`crate::Engine::await_client`]).
    fn await_state(&mut self, client: MacAddress);

    /// The client is served here, with this state if there is one ([`crate::Engine::serve_client`]).
    fn serve(&mut self, client: MacAddress, state: Option<Bytes>);

    /// The client is no longer served here. Returns the state of its connections
    /// ([`crate::Engine::give_client`]).
    fn give(&mut self, client: MacAddress) -> Bytes;

    /// The client is elsewhere, and a state that is here is lost ([`crate::Engine::lose_client`]).
    fn lose(&mut self, client: MacAddress);

    /// Nothing need be known of the client any more ([`crate::Engine::forget_client`]).
    fn forget(&mut self, client: MacAddress);

    /// The translations of this state go on here, if this access point translates.
    fn take_up(&mut self, client: MacAddress, state: &Bytes) -> TakenUp;

    /// The client is elsewhere: its translations that were given are no longer needed here.
    fn release(&mut self, client: MacAddress);

    /// Redirects connections of the client to the access point with this name, which serves it at this epoch. Returns
    /// their number; `None` if this is not the central translator, or they are not an access point's, or another one
    /// has served the client since.
    fn redirect(&mut self, client: MacAddress, to: &str, epoch: u64, moved: &[Moved]) -> Option<u64>;
}

/// An answer of the registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RegistryAnswer {
    /// Where the client is.
    Found(Option<Holder>),
    /// The client was claimed.
    Won(u64),
    /// There was no answer.
    Away,
}

/// Who has a client, as the registry names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The name of the access point.
    pub name: String,
    /// Where it is reached.
    pub address: SocketAddr,
    /// The epoch of its claim.
    pub epoch: u64,
}
