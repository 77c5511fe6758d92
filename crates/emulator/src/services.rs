//! Relays to services of this machine that the client cannot reach directly, such as those that
//! listen only on the loopback device: each gets a listener at the gateway's address.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use lasthop_packet::Instant;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::net::sockopt::ip_original_dst;
use rustix::time::Timespec;

use super::client_side::ClientSide;
use super::dns_relay::DnsRelay;
use super::machine::Machine;
use super::relay::{Relays, descriptors};
use lasthop_linux::clock;

/// The interval at which the services are listed.
const EVERY: Duration = Duration::from_millis(250);

/// Listeners for services of this machine, open during the lifetime of this value.
#[derive(Debug)]
pub struct Services {
    stop: Arc<OwnedFd>,
    thread: Option<JoinHandle<Vec<String>>>,
}

impl Services {
    /// Opens the requested listeners. Must be called in the network namespace of this machine's end
    /// of the hop. Only the client may connect.
    pub fn open(hop: &ClientSide, machine: Arc<Machine>, listeners: Wanted) -> io::Result<Self> {
        let Wanted { resolvers, localhost, elsewhere } = listeners;
        let stop = Arc::new(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?);
        let mut listeners = Listeners {
            gateways: addresses(hop.gateway, hop.gateway_v6),
            clients: addresses(hop.address, hop.address_v6),
            machine,
            localhost,
            resolver: resolvers.first().copied(),
            dns: DnsRelay::open(hop.gateway, resolvers),
            open: BTreeMap::new(),
            elsewhere,
            looked_at: clock::now(),
            relays: Relays::new()?,
            closed: BTreeSet::new(),
        };
        listeners.look();
        let waker = Arc::clone(&stop);
        let thread =
            thread::Builder::new().name("services".to_owned()).spawn(move || listeners.serve(&waker))?;
        Ok(Self { stop, thread: Some(thread) })
    }

    /// Closes the listeners when the services have received all that the client sent before its
    /// end, or after a timeout. Returns what could not be done, each a sentence.
    pub fn close(&mut self) -> Vec<String> {
        let signaled = rustix::io::write(&*self.stop, &1u64.to_ne_bytes());
        match (signaled, self.thread.take()) {
            (Ok(_), Some(thread)) => thread.join().unwrap_or_default(),
            _ => Vec::new(),
        }
    }
}

impl Drop for Services {
    fn drop(&mut self) {
        self.close();
    }
}

/// The listeners to open.
#[derive(Debug, Default)]
pub struct Wanted {
    /// One for these resolvers, which are queried in this order.
    pub resolvers: Vec<SocketAddr>,
    /// One for each service that listens for TCP on the loopback device, now or later.
    pub localhost: bool,
    /// The socket to which connections to other hosts are redirected. They are relayed to their
    /// original destinations.
    pub elsewhere: Option<TcpListener>,
}

struct Listeners {
    gateways: Vec<IpAddr>,
    /// The addresses that may connect.
    clients: Vec<IpAddr>,
    machine: Arc<Machine>,
    localhost: bool,
    /// The resolver that has a listener for TCP.
    resolver: Option<SocketAddr>,
    dns: Option<DnsRelay>,
    /// For each listening address, the listener and its service.
    open: BTreeMap<SocketAddr, (TcpListener, SocketAddr)>,
    /// The socket to which connections to other hosts are redirected.
    elsewhere: Option<TcpListener>,
    /// The time at which the services were last listed.
    looked_at: Instant,
    /// Connections and DNS queries in progress.
    relays: Relays,
    /// Ports without a listener for lack of descriptors.
    closed: BTreeSet<u16>,
}

/// The destination to which a connection is relayed.
#[derive(Clone, Copy, Debug)]
enum Target {
    /// A service of this machine.
    Service(SocketAddr),
    /// The original destination, before a rule of the kernel redirected the connection.
    Original,
}

impl Listeners {
    #[expect(clippy::disallowed_methods, reason = "no packet of the link waits in this thread")]
    fn serve(mut self, stop: &OwnedFd) -> Vec<String> {
        loop {
            match self.wait(stop) {
                // A signal or a lack of memory is handled elsewhere.
                Err(_) => thread::sleep(Duration::from_millis(10)),
                Ok(true) => return self.end(),
                Ok(false) => {}
            }
            if let Some(dns) = &self.dns {
                dns.answer(&self.clients, &self.machine, &self.relays);
            }
            for (listener, service) in self.open.values() {
                self.accept(listener, Target::Service(*service));
            }
            if let Some(listener) = &self.elsewhere {
                self.accept(listener, Target::Original);
            }
            if clock::now().since(self.looked_at) >= EVERY {
                self.look();
            }
        }
    }

    /// Waits for a connection, a query or the next listing. Returns whether to end.
    fn wait(&self, stop: &OwnedFd) -> io::Result<bool> {
        let listeners = self.open.values().map(|(listener, _)| listener.as_fd());
        let dns = self.dns.iter().map(AsFd::as_fd);
        let elsewhere = self.elsewhere.iter().map(AsFd::as_fd);
        let all = std::iter::once(stop.as_fd()).chain(dns).chain(listeners).chain(elsewhere);
        let mut files: Vec<PollFd<'_>> =
            all.map(|file| PollFd::from_borrowed_fd(file, PollFlags::IN)).collect();
        let every = Timespec { tv_sec: 0, tv_nsec: i64::from(EVERY.subsec_nanos()) };
        poll(&mut files, Some(&every))?;
        Ok(files[0].revents().contains(PollFlags::IN))
    }

    /// Opens listeners for new services and closes those for services that have ended: a new
    /// service on the same port may listen at all addresses.
    fn look(&mut self) {
        self.looked_at = clock::now();
        let mut services = Vec::new();
        if self.localhost || !self.machine.is_here() {
            // If the services cannot be listed now, the listeners stay as they are.
            let Ok(found) = self.machine.services(self.localhost) else { return };
            services.extend(found);
        }
        services.extend(self.resolver);
        let wanted = listeners_for(&services, &self.gateways);
        self.open.retain(|address, (_, target)| wanted.get(address) == Some(target));
        for (address, target) in wanted {
            if self.open.contains_key(&address) {
                continue;
            }
            // Relays and the emulator need the other descriptors.
            if self.open.len() >= descriptors() / 4 {
                self.closed.insert(address.port());
                continue;
            }
            // This fails for a service that listens at all addresses, which needs no listener here.
            let listener = TcpListener::bind(address)
                .and_then(|listener| listener.set_nonblocking(true).map(|()| listener));
            if let Ok(listener) = listener {
                self.open.insert(address, (listener, target));
            }
        }
    }

    /// Closes all listeners and relays.
    fn end(self) -> Vec<String> {
        let Self { relays, machine, closed, open, .. } = self;
        drop(open);
        let mut notes = relays.end();
        if !closed.is_empty() {
            notes.push(format!(
                "services that could not be reached, because this process may not open more files (`ulimit -n`): {}",
                closed.len()
            ));
        }
        if machine.is_gone() {
            notes.push("the process in this machine's network has ended, and with it all relays".to_owned());
        }
        notes
    }

    fn accept(&self, listener: &TcpListener, target: Target) {
        loop {
            let (stream, from) = match listener.accept() {
                Ok(accepted) => accepted,
                // This connection is gone; the next one may be waiting.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                Err(error) => {
                    if error.kind() != io::ErrorKind::WouldBlock {
                        // Without descriptors the client waits, and so does this thread, briefly.
                        thread::park_timeout(Duration::from_millis(10));
                    }
                    return;
                }
            };
            if !self.clients.contains(&from.ip()) {
                continue;
            }
            let target = match target {
                Target::Service(service) => service,
                // A connection that was not redirected has no other destination.
                Target::Original => match original_destination(&stream) {
                    Some(destination) => destination,
                    None => continue,
                },
            };
            let machine = Arc::clone(&self.machine);
            self.relays.connect(stream, move || machine.connect(target));
        }
    }
}

/// The listening address for each service at each gateway address. A port may have one service for
/// each address family; if it has only one, that service gets the listeners of both families.
fn listeners_for(services: &[SocketAddr], gateways: &[IpAddr]) -> BTreeMap<SocketAddr, SocketAddr> {
    let mut listeners = BTreeMap::new();
    for gateway in gateways {
        let (same, other): (Vec<&SocketAddr>, _) =
            services.iter().partition(|service| service.is_ipv4() == gateway.is_ipv4());
        // Later entries replace earlier ones.
        let all = other.into_iter().chain(same);
        listeners.extend(all.map(|service| (SocketAddr::new(*gateway, service.port()), *service)));
    }
    listeners
}

/// The original destination of an IPv4 connection (`SO_ORIGINAL_DST`), if it is another host.
fn original_destination(client: &TcpStream) -> Option<SocketAddr> {
    let sent_to = SocketAddr::V4(ip_original_dst(client).ok()?);
    client.local_addr().is_ok_and(|own| own != sent_to && is_another_host(sent_to.ip())).then_some(sent_to)
}

/// Whether an address may belong to another host. A host whose user has root privileges there can
/// send to loopback addresses across a link; here they would reach services that are private to
/// this machine.
pub(super) fn is_another_host(address: IpAddr) -> bool {
    let address = address.to_canonical();
    let is_this_host = match address {
        // RFC 1122, section 3.2.1.3: "this host on this network".
        IpAddr::V4(v4) => v4.octets()[0] == 0,
        IpAddr::V6(v6) => v6.is_unspecified(),
    };
    !is_this_host && !address.is_loopback()
}

fn addresses(v4: Ipv4Addr, v6: Option<Ipv6Addr>) -> Vec<IpAddr> {
    std::iter::once(IpAddr::from(v4)).chain(v6.map(IpAddr::from)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_addresses_are_not_other_hosts() {
        let is_another = |text: &str| is_another_host(text.parse().expect("an address"));
        for own in ["127.0.0.1", "127.9.9.9", "0.0.0.0", "0.1.2.3", "::1", "::", "::ffff:127.0.0.1"] {
            assert!(!is_another(own), "{own}");
        }
        assert!(is_another("192.0.2.1") && is_another("2001:db8::1") && is_another("10.0.0.1"));
    }

    #[test]
    fn a_port_leads_to_the_service_of_the_same_family_if_there_is_one() {
        let address = |text: &str| -> SocketAddr { text.parse().expect("an address") };
        let services = ["127.0.0.1:80", "[::1]:80", "127.0.0.1:81", "[::1]:82"].map(address);
        let gateways = ["100.64.0.1", "fd6c:6f70::1"].map(|text| text.parse().expect("an address"));
        let listeners = listeners_for(&services, &gateways);
        for (listener, service) in [
            ("100.64.0.1:80", "127.0.0.1:80"),
            ("[fd6c:6f70::1]:80", "[::1]:80"),
            ("[fd6c:6f70::1]:81", "127.0.0.1:81"),
            ("100.64.0.1:82", "[::1]:82"),
        ] {
            assert_eq!(listeners[&address(listener)], address(service), "{listener}");
        }
        assert_eq!(listeners.len(), 6);
    }
}
