//! Nodes that translate addresses, and which of their links are inside.
//!
//! A packet that leaves by an outside link is translated last, after the agents that watch inside links,
//! and one for an outside address of the node first, before them. So an agent at an access point with
//! address translation sees the addresses of its cell in both directions: the gateway's agents do, because
//! its BPF programs are at the radio ports only, and Linux translates between those and the wired ports. An
//! agent that watches an outside link sees outside addresses in both directions.
//!
//! A node has two kinds of links, as a home router or an access point has. The clients of an access point are
//! inside. A packet is from inside if its
//! source has mappings, or if the way to its source leads through an inside link, whatever link it came by
//! (the strict reverse path of RFC 3704), or if its source has been a client of the node. Packets between two outside links pass unchanged. One from outside for an inside address that was
//! not translated is dropped: it could not have been routed to the node.
//!
//! Addresses are those of the whole world: two cells cannot use the same ones.
//!
//! Flows over TCP and UDP, dialogues and calls work across translation in both directions; flows that begin
//! as established ones do not, because a translator sees no SYN of theirs, and neither do those over
//! another transport than TCP, whose receiver does not learn the address that its sender has outside. A
//! server inside, and a party of a call, is reached through static forwardings, which are made on all
//! levels when a flow to it or a call is added, or a dialogue opens its first connection to it: as if it
//! had learned its outside address and told its peers, by STUN (RFC 8489) and the call's signaling.
//!
//! Losses of chosen packets ([`crate::Loss`]) are those of flows with the addresses of their ends: a link on
//! which the addresses are translated does not find them.
//!
//! # What translation hides, and what not
//!
//! Outside of the site, no packet carries an address of the distribution system or of a cell; in the
//! distribution system, none carries an address of a cell; this includes packets that ICMP messages quote.
//! Not hidden are: when packets are sent and how large they are; the number of connections; ports, where
//! they are kept; TCP's initial sequence numbers, timestamps and other options, by which several
//! connections are seen to be one host's; the IP identification and the TTL; what the payload says.

use lasthop_nat::{ConfigError, Endpoint, Nat, Refusal, Verdict};
use lasthop_packet::{Instant, Packet};
use thiserror::Error;

use crate::id::{LinkId, NodeId};

/// Why a node cannot translate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum TranslateError {
    /// Only routers translate: a host's or an external node's packets are its own.
    #[error("only a router translates addresses")]
    NotARouter,
    /// It does already.
    #[error("the node translates addresses already")]
    Twice,
    /// The link has no end at that node.
    #[error("the link has no end at that node")]
    NotItsLink(LinkId),
    /// An outside address belongs to another node.
    #[error("{0} is another node's address")]
    NotItsAddress(std::net::Ipv4Addr),
    /// The settings are impossible.
    #[error("{0}")]
    Config(#[from] ConfigError),
}

/// By node.
#[derive(Default)]
pub(crate) struct Translators(Vec<Option<Box<Translator>>>);

struct Translator {
    nat: Nat,
    /// Whether the interface of each number is inside; those without an entry are outside.
    is_inside: Vec<bool>,
}

impl Translators {
    /// Whether any node translates.
    #[inline]
    pub(crate) const fn are_any(&self) -> bool {
        !self.0.is_empty()
    }

    /// Whether a node translates.
    pub(crate) fn has(&self, node: NodeId) -> bool {
        self.get(node).is_some()
    }

    /// A node translates from now on.
    pub(crate) fn add(&mut self, node: NodeId, inside: &[usize], nat: Nat) {
        if self.0.len() <= node.index() {
            self.0.resize_with(node.index() + 1, || None);
        }
        self.0[node.index()] = Some(Box::new(Translator { nat, is_inside: Vec::new() }));
        for interface in inside {
            self.add_inside(node, *interface);
        }
    }

    /// An interface of a node is inside, if the node translates.
    pub(crate) fn add_inside(&mut self, node: NodeId, interface: usize) {
        let Some(Some(Translator { is_inside, .. })) = self.0.get_mut(node.index()).map(Option::as_deref_mut)
        else {
            return;
        };
        if is_inside.len() <= interface {
            is_inside.resize(interface + 1, false);
        }
        is_inside[interface] = true;
    }

    fn get(&self, node: NodeId) -> Option<&Translator> {
        self.0.get(node.index())?.as_deref()
    }

    pub(crate) fn nat(&self, node: NodeId) -> Option<&Nat> {
        self.get(node).map(|translator| &translator.nat)
    }

    pub(crate) fn nat_mut(&mut self, node: NodeId) -> Option<&mut Nat> {
        self.0.get_mut(node.index())?.as_deref_mut().map(|translator| &mut translator.nat)
    }

    /// Whether an interface of a node that translates is inside.
    pub(crate) fn is_inside(&self, node: NodeId, interface: usize) -> bool {
        self.get(node).is_some_and(|it| it.is_inside.get(interface).copied().unwrap_or(false))
    }

    /// The endpoint that an outside one belongs to, if a node translates it there.
    pub(crate) fn inside_of(&self, node: NodeId, outside: Endpoint) -> Option<Endpoint> {
        self.nat(node)?.inside_of(outside)
    }

    /// A node translates a packet from inside, or else from outside.
    pub(crate) fn translate(
        &mut self,
        node: NodeId,
        is_from_inside: bool,
        packet: &mut Packet,
        now: Instant,
    ) -> Result<(), Refusal> {
        let Some(nat) = self.nat_mut(node) else { return Ok(()) };
        let verdict = if is_from_inside { nat.outbound(packet, now) } else { nat.inbound(packet, now) };
        match verdict {
            Verdict::Translated | Verdict::Pass => Ok(()),
            Verdict::Drop(refusal) => Err(refusal),
        }
    }
}
