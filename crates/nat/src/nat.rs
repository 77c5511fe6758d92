//! The translator.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddrV4};

use lasthop_packet::{End, Instant, Packet, Rng, TcpFlags};
use thiserror::Error;

use crate::config::{ConfigError, Filtering, NatConfig};
use crate::counts::{Counts, Refusal};
use crate::endpoint::{Endpoint, Protocol};
use crate::flow::{self, Content, Flow};
use crate::ports;
use crate::session::{From, Session, is_opening};
use crate::table::{Entry, Table};

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is translated: it goes to the destination that it has now.
    Translated,
    /// It is none of the translator's, and unchanged: it is over IPv6.
    Pass,
    /// It is dropped. Its contents no longer matter.
    Drop(Refusal),
}

/// A translator of addresses and ports. See the [crate's documentation](crate) for its rules.
///
/// Its owner knows which packets come from inside and which are for an outside address, and shows it only
/// those. The time never goes back.
#[derive(Debug)]
pub struct Nat {
    config: NatConfig,
    table: Table,
    /// Until when.
    held: BTreeMap<Ipv4Addr, Instant>,
    rng: Rng,
    counts: Counts,
}

/// Why there is no static forwarding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ForwardError {
    /// No host can have this endpoint, or it is an outside address of the translator.
    #[error("{0} cannot be an endpoint of an inside host")]
    Impossible(Endpoint),
    /// The outside port belongs to another endpoint, or the inside endpoint has another outside port.
    #[error("the port is in use")]
    InUse,
    /// There is no room, or no port.
    #[error("no room for another mapping")]
    Full,
}

impl Nat {
    /// An empty translator. It draws ports from `rng`.
    pub fn new(config: NatConfig, rng: Rng) -> Result<Self, ConfigError> {
        config.check()?;
        let table = Table::new(config.limits);
        Ok(Self { config, table, held: BTreeMap::new(), rng, counts: Counts::default() })
    }

    /// Its settings.
    pub const fn config(&self) -> &NatConfig {
        &self.config
    }

    /// The number of packets by their fate.
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// The number of mappings and of sessions at this time.
    pub fn len(&mut self, now: Instant) -> (usize, usize) {
        self.expire(now);
        self.table.len()
    }

    /// Whether an address is one of its outside addresses.
    pub fn has_address(&self, address: Ipv4Addr) -> bool {
        self.config.outside.contains(&address)
    }

    /// Whether a host is known to be inside: it has mappings, or is held.
    pub fn has_host(&self, host: Ipv4Addr) -> bool {
        self.table.address_of(host).is_some() || self.held.contains_key(&host)
    }

    /// The outside endpoint of an inside endpoint; of the last packet's time.
    pub fn outside_of(&self, inside: Endpoint) -> Option<Endpoint> {
        self.table.mapping(inside).map(|entry| entry.outside)
    }

    /// The inside endpoint of an outside endpoint; of the last packet's time.
    pub fn inside_of(&self, outside: Endpoint) -> Option<Endpoint> {
        self.table.inside(outside)
    }

    /// All mappings of the last packet's time: inside endpoint, outside endpoint.
    pub fn mappings(&self) -> impl Iterator<Item = (Endpoint, Endpoint)> {
        self.table.mappings().map(|(inside, entry)| (inside, entry.outside))
    }

    /// Drops the packets of an inside host in both directions until this time, or until [`Nat::resume`].
    /// The host comes, and its state is to come, too: a packet before that would get a mapping of its own.
    /// Or it has gone, and packets of it may still be under way. `false` if too many hosts are held.
    pub fn hold(&mut self, host: Ipv4Addr, until: Instant, now: Instant) -> bool {
        let limit = self.config.limits.held as usize;
        if self.held.len() >= limit && !self.held.contains_key(&host) {
            self.held.retain(|_, until| *until > now);
            if self.held.len() >= limit {
                return false;
            }
        }
        self.held.insert(host, until);
        true
    }

    /// Translates the packets of an inside host again. Whether it was held.
    pub fn resume(&mut self, host: Ipv4Addr) -> bool {
        self.held.remove(&host).is_some()
    }

    /// Adds a static mapping, which admits packets from everywhere and does not expire: a forwarding. The
    /// outside port is the one given, or one that the translator chooses. Returns the outside endpoint, which
    /// is the present one if the inside endpoint has a mapping.
    pub fn forward(
        &mut self,
        inside: Endpoint,
        port: Option<u16>,
        now: Instant,
    ) -> Result<Endpoint, ForwardError> {
        self.expire(now);
        if !inside.is_possible() || self.has_address(inside.address) {
            return Err(ForwardError::Impossible(inside));
        }
        if let Some(Entry { outside, .. }) = self.table.mapping(inside) {
            if port.is_some_and(|port| port != outside.port) {
                return Err(ForwardError::InUse);
            }
            self.table.make_static(inside);
            return Ok(outside);
        }
        if !self.table.has_room(inside.address, 1, 0) {
            return Err(ForwardError::Full);
        }
        let outside = match port {
            Some(port) => {
                let address = self.outside_address(inside.address);
                let outside = Endpoint::new(inside.protocol, SocketAddrV4::new(address, port));
                if self.table.inside(outside).is_some() {
                    return Err(ForwardError::InUse);
                }
                outside
            }
            None => self.free_endpoint(inside).ok_or(ForwardError::Full)?,
        };
        self.table.add_mapping(inside, outside, true);
        Ok(outside)
    }
}

/// Packets.
impl Nat {
    /// A packet from inside leaves to the outside, or is for an outside address of the translator: then it is
    /// hairpinned (RFC 4787, REQ-9), and goes to an inside host from the sender's outside endpoint.
    pub fn outbound(&mut self, packet: &mut Packet, now: Instant) -> Verdict {
        self.expire(now);
        let verdict = flow::read(packet).and_then(|seen| match seen {
            Content::OtherFamily => Ok(Verdict::Pass),
            Content::Flow(flow) => {
                let is_hairpinned = self.has_address(*flow.destination.ip());
                if is_hairpinned && flow.protocol == Protocol::Icmp {
                    // A query names no host but the translator, which answers none.
                    return Err(Refusal::NoMapping);
                }
                let outside = self.send(packet, flow, now)?;
                if is_hairpinned {
                    self.receive(packet, Flow { source: outside.socket(), ..flow }, now)?;
                }
                Ok(Verdict::Translated)
            }
            Content::Error { source, destination, quoted } => {
                self.send_error(packet, [source, destination], quoted, now)?;
                if self.has_address(destination)
                    && let Ok(Content::Error { destination, quoted, .. }) = flow::read(packet)
                {
                    self.receive_error(packet, destination, quoted, now)?;
                }
                Ok(Verdict::Translated)
            }
        });
        self.count(verdict)
    }

    /// A packet from outside is for an outside address.
    pub fn inbound(&mut self, packet: &mut Packet, now: Instant) -> Verdict {
        self.expire(now);
        let verdict = flow::read(packet).and_then(|seen| match seen {
            Content::OtherFamily => Ok(Verdict::Pass),
            Content::Flow(flow) => self.receive(packet, flow, now).map(|()| Verdict::Translated),
            Content::Error { destination, quoted, .. } => {
                self.receive_error(packet, destination, quoted, now).map(|()| Verdict::Translated)
            }
        });
        self.count(verdict)
    }

    fn count(&mut self, verdict: Result<Verdict, Refusal>) -> Verdict {
        let verdict = verdict.unwrap_or_else(Verdict::Drop);
        match verdict {
            Verdict::Translated => self.counts.translated += 1,
            Verdict::Pass => {}
            Verdict::Drop(refusal) => *self.counts.dropped.entry(refusal).or_default() += 1,
        }
        verdict
    }

    /// Gives a packet its outside source, and returns it.
    fn send(&mut self, packet: &mut Packet, flow: Flow, now: Instant) -> Result<Endpoint, Refusal> {
        let inside = Endpoint::new(flow.protocol, flow.source);
        self.check_held(inside.address, now)?;
        if !inside.is_possible() || self.has_address(inside.address) {
            return Err(Refusal::Unsupported);
        }
        let remote = flow.remote(flow.destination);
        let session = match self.table.session(inside, remote) {
            Some(session) => session,
            None => self.new_session(flow, now)?,
        };
        let entry = self.table.mapping(inside);
        let adds = (usize::from(entry.is_none()), usize::from(self.table.session(inside, remote).is_none()));
        if adds != (0, 0) && !self.table.has_room(inside.address, adds.0, adds.1) {
            return Err(Refusal::Full);
        }
        let outside = if let Some(entry) = entry {
            entry.outside
        } else {
            let outside = self.free_endpoint(inside).ok_or(Refusal::Full)?;
            self.table.add_mapping(inside, outside, false);
            self.counts.mapped += 1;
            outside
        };
        //= RFC 7857, section 7.1: a reset from inside does not refresh.
        let refreshes = !flow.flags.has(TcpFlags::RST);
        self.pass((inside, remote), session, From::Inside, (flow, refreshes), now);
        packet.readdress(End::Source, outside.socket());
        Ok(outside)
    }

    /// Gives a packet its inside destination.
    fn receive(&mut self, packet: &mut Packet, flow: Flow, now: Instant) -> Result<(), Refusal> {
        let outside = Endpoint::new(flow.protocol, flow.destination);
        let inside = self.table.inside(outside).ok_or(Refusal::NoMapping)?;
        self.check_held(inside.address, now)?;
        let remote = flow.remote(flow.source);
        let (session, refreshes) = if let Some(session) = self.table.session(inside, remote) {
            (session, self.config.inbound_refresh || flow.protocol == Protocol::Tcp)
        } else {
            if !self.admits(inside, remote) {
                return Err(Refusal::Filtered);
            }
            let session = self.new_session(flow, now)?;
            if !self.table.has_room(inside.address, 0, 1) {
                return Err(Refusal::Full);
            }
            (session, true)
        };
        self.pass((inside, remote), session, From::Outside, (flow, refreshes), now);
        packet.readdress(End::Destination, inside.socket());
        Ok(())
    }

    /// A packet of a session passes.
    fn pass(
        &mut self,
        (inside, remote): (Endpoint, SocketAddrV4),
        mut session: Session,
        from: From,
        (flow, refreshes): (Flow, bool),
        now: Instant,
    ) {
        session.on_packet(from, (flow.protocol, flow.flags), refreshes, (&self.config.timeouts, now));
        self.table.set_session(inside, remote, session);
    }

    /// The session that a packet opens.
    fn new_session(&self, flow: Flow, now: Instant) -> Result<Session, Refusal> {
        match flow.protocol {
            Protocol::Tcp if is_opening(flow.flags) => Ok(Session::new(now)),
            Protocol::Tcp if self.config.picks_up && !flow.flags.has(TcpFlags::RST) => {
                Ok(Session::picked_up(now))
            }
            Protocol::Udp => Ok(Session::new(now)),
            Protocol::Icmp if !flow.is_answer => Ok(Session::new(now)),
            Protocol::Tcp | Protocol::Icmp => Err(Refusal::NoSession),
        }
    }

    /// Whether the filter of an inside endpoint admits a remote end that it has no session with.
    fn admits(&self, inside: Endpoint, remote: SocketAddrV4) -> bool {
        let is_static = self.table.mapping(inside).is_some_and(|entry| entry.is_static);
        is_static
            || match self.config.filtering {
                Filtering::Open => true,
                Filtering::Address => self.table.knows(inside, *remote.ip()),
                Filtering::AddressAndPort => false,
            }
    }

    fn check_held(&self, host: Ipv4Addr, now: Instant) -> Result<(), Refusal> {
        let is_held = self.held.get(&host).is_some_and(|until| now < *until);
        if is_held { Err(Refusal::Held) } else { Ok(()) }
    }
}

/// ICMP errors (RFC 5508, section 4). They neither refresh nor end a session (REQ-5b), and must be about one.
impl Nat {
    /// An inside host, or a router on the way to it, reports about a packet from outside. Its own address
    /// becomes that of the host's mapping (REQ-5): no inside address is shown.
    fn send_error(
        &self,
        packet: &mut Packet,
        [source, destination]: [Ipv4Addr; 2],
        quoted: Flow,
        now: Instant,
    ) -> Result<(), Refusal> {
        self.check_held(source, now)?;
        let inside = Endpoint::new(quoted.protocol, quoted.destination);
        let entry = self.table.mapping(inside).ok_or(Refusal::NoMapping)?;
        if destination != *quoted.source.ip() || !self.has_session(inside, quoted.remote(quoted.source)) {
            return Err(Refusal::NoMapping);
        }
        packet.readdress_quoted(End::Destination, entry.outside.socket());
        packet.set_icmp_address(End::Source, entry.outside.address);
        Ok(())
    }

    /// A host or a router outside reports about a packet from inside.
    fn receive_error(
        &self,
        packet: &mut Packet,
        destination: Ipv4Addr,
        quoted: Flow,
        now: Instant,
    ) -> Result<(), Refusal> {
        let outside = Endpoint::new(quoted.protocol, quoted.source);
        let inside = self.table.inside(outside).ok_or(Refusal::NoMapping)?;
        self.check_held(inside.address, now)?;
        if destination != outside.address || !self.has_session(inside, quoted.remote(quoted.destination)) {
            return Err(Refusal::NoMapping);
        }
        packet.readdress_quoted(End::Source, inside.socket());
        packet.set_icmp_address(End::Destination, inside.address);
        Ok(())
    }

    fn has_session(&self, inside: Endpoint, remote: SocketAddrV4) -> bool {
        self.table.session(inside, remote).is_some()
    }
}

/// Its tables.
impl Nat {
    pub(crate) fn expire(&mut self, now: Instant) {
        self.counts.expired += self.table.expire(now);
    }

    pub(crate) const fn table(&self) -> &Table {
        &self.table
    }

    pub(crate) const fn table_mut(&mut self) -> &mut Table {
        &mut self.table
    }

    /// A free outside endpoint for an inside one.
    pub(crate) fn free_endpoint(&mut self, inside: Endpoint) -> Option<Endpoint> {
        let address = self.outside_address(inside.address);
        ports::choose(&self.config, &self.table, (inside, address), &mut self.rng)
    }

    /// The outside address of a host: the one that it has, otherwise the one that fewest hosts have.
    fn outside_address(&self, host: Ipv4Addr) -> Ipv4Addr {
        self.table.address_of(host).unwrap_or_else(|| match self.config.outside.as_slice() {
            [only] => *only,
            several => {
                let rarest = several.iter().min_by_key(|address| self.table.hosts_with(**address));
                rarest.copied().unwrap_or(Ipv4Addr::UNSPECIFIED)
            }
        })
    }
}
