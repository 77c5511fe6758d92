//! A relay for the client's UDP, for an emulator in an empty network namespace. The client's
//! datagrams are routed to a TUN device, and each pair of client endpoint and remote endpoint has a
//! connected socket in this machine's network. All sockets of one client endpoint have the same
//! port, so that peers that learn it from each other can reach it (RFC 4787, section 4.1:
//! endpoint-independent mapping), and each socket receives from its own peer only.
//!
//! Only the payload of the datagrams is relayed, not the time to live or the traffic class.
//! Fragments are relayed if the kernel reassembles them for the rules of `nft` or `iptables`.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use bytes::Bytes;
use lasthop_packet::wire::{self, emit, parse};
use lasthop_packet::{Instant, Ip, Packet, Payload, Transport, Udp, quote};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

use super::client_side::ClientSide;
use super::device::Device;
use super::framing::{LONGEST_FRAME, Received};
use super::machine::Machine;
use super::relay::descriptors;
use super::services::is_another_host;
use lasthop_linux::clock;
use lasthop_linux::device::Kind;
use lasthop_linux::tool;

/// The device to which datagrams are routed.
const DEVICE: &str = "datagrams";
/// The routing table with the route to the device.
const TABLE: &str = "77";
/// The mapping timeout: a pair without datagrams for this long is removed (RFC 4787, section 4.3:
/// at least two minutes).
const MAPPING_TIMEOUT: Duration = Duration::from_secs(120);
/// The interval between checks for expired pairs.
const CHECK_INTERVAL: Duration = Duration::from_secs(5);
/// The maximum number of datagrams read from one file before the others are served.
const AT_A_TIME: usize = 64;

/// Why a datagram was not delivered, as the type and code of an ICMP message, and of an `ICMPv6` message
/// (RFC 792; RFC 4443, section 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unreachable {
    Port,
    Host,
}

impl Unreachable {
    const fn kind_and_code(self, is_v4: bool) -> (u8, u8) {
        match (self, is_v4) {
            (Self::Port, true) => (3, 3),
            (Self::Port, false) => (1, 4),
            (Self::Host, true) => (3, 1),
            (Self::Host, false) => (1, 3),
        }
    }

    fn from_error(error: &io::Error) -> Option<Self> {
        match error.kind() {
            io::ErrorKind::ConnectionRefused => Some(Self::Port),
            io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => Some(Self::Host),
            _ => None,
        }
    }
}

/// A relay; it runs during the lifetime of this value.
#[derive(Debug)]
pub struct Datagrams {
    stop: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Datagrams {
    /// Starts to relay the client's datagrams: those to the gateway's address to services of this
    /// machine, with `localhost` also to those on its loopback device; those to other hosts over
    /// IPv4 only. The error is a sentence for the user.
    pub fn start(hop: &ClientSide, machine: Arc<Machine>, localhost: bool) -> Result<Self, String> {
        let failed = |why: String| format!("no UDP is relayed: {why}");
        let opened = hop.outside.enter(|| Device::open(DEVICE, Kind::Tun));
        let device =
            opened.map_err(|error| failed(error.to_string()))?.map_err(|error| failed(error.to_string()))?;
        route_to_device(hop).map_err(failed)?;
        let stop = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC);
        let stop = Arc::new(stop.map_err(|error| failed(io::Error::from(error).to_string()))?);
        let of = |v4: std::net::Ipv4Addr, v6: Option<std::net::Ipv6Addr>| -> Vec<IpAddr> {
            std::iter::once(v4.into()).chain(v6.map(IpAddr::from)).collect()
        };
        let mut relay = Relay {
            device,
            machine,
            localhost,
            gateways: of(hop.gateway, hop.gateway_v6),
            clients: of(hop.address, hop.address_v6),
            pairs: BTreeMap::new(),
            max_pairs: descriptors() / 4,
        };
        let waker = Arc::clone(&stop);
        let thread = thread::Builder::new().name("datagrams".to_owned()).spawn(move || relay.run(&waker));
        Ok(Self { stop, thread: Some(thread.map_err(|error| failed(error.to_string()))?) })
    }
}

impl Drop for Datagrams {
    fn drop(&mut self) {
        let signaled = rustix::io::write(&*self.stop, &1u64.to_ne_bytes());
        if let (Ok(_), Some(thread)) = (signaled, self.thread.take()) {
            let _ = thread.join();
        }
    }
}

/// Routes all UDP packets from the hop to the device, also those to the gateway: the rule for the
/// device precedes the table of local addresses, which the kernel consults first by default.
fn route_to_device(hop: &ClientSide) -> Result<(), String> {
    let ip = |words: &str| {
        let words: Vec<&str> = std::iter::once("ip").chain(words.split_whitespace()).collect();
        tool::run(&hop.outside, &words, "").map(drop)
    };
    let set = |key: &str, value: &str| hop.outside.sysctl(key, value).map_err(|error| error.to_string());
    let ClientSide { device, gateway, .. } = hop;
    ip(&format!("link set {DEVICE} up mtu 65535"))?;
    set("ipv4/ip_forward", "1")?;
    // Packets from the device may have any host's source address, also this host's.
    for (key, value) in [
        ("all/rp_filter", "0"),
        (&format!("{DEVICE}/rp_filter"), "0"),
        (&format!("{device}/rp_filter"), "0"),
        (&format!("{DEVICE}/accept_local"), "1"),
    ] {
        set(&format!("ipv4/conf/{key}"), value)?;
    }
    let route = |family: &str| {
        ip(&format!("{family} route add default dev {DEVICE} table {TABLE}"))?;
        ip(&format!("{family} rule add pref 10 lookup local"))?;
        ip(&format!("{family} rule del pref 0"))?;
        ip(&format!("{family} rule add pref 5 iif {device} ipproto udp lookup {TABLE}"))
    };
    // Resolvers have their own listener.
    ip(&format!("-4 rule add pref 4 iif {device} to {gateway} ipproto udp dport 53 lookup local"))?;
    route("-4")?;
    if hop.gateway_v6.is_some() {
        set("ipv6/conf/all/forwarding", "1")?;
        route("-6")?;
    }
    Ok(())
}

/// A client endpoint and the remote endpoint to which it sends.
type Pair = (SocketAddr, SocketAddr);

struct Flow {
    socket: UdpSocket,
    /// The time of the last datagram in either direction.
    last: Instant,
}

struct Relay {
    device: Device,
    machine: Arc<Machine>,
    localhost: bool,
    gateways: Vec<IpAddr>,
    clients: Vec<IpAddr>,
    pairs: BTreeMap<Pair, Flow>,
    /// The maximum number of pairs. A further one replaces the one that has been idle for longest.
    max_pairs: usize,
}

impl Relay {
    fn run(&mut self, stop: &OwnedFd) {
        let mut buffer = vec![0; LONGEST_FRAME];
        let mut checked_at = clock::now();
        loop {
            let ready = match self.wait(stop) {
                Ok((true, ..)) => return,
                Ok((false, device, pairs)) => (device, pairs),
                // A signal or a lack of memory is handled elsewhere.
                Err(_) => {
                    thread::park_timeout(Duration::from_millis(10));
                    continue;
                }
            };
            let now = clock::now();
            if ready.0 {
                for _ in 0..AT_A_TIME {
                    match self.device.receive(&mut buffer) {
                        Ok(Some(Received::Packet(octets))) => self.on_packet(octets, now),
                        Ok(Some(Received::NotIp)) => {}
                        Ok(None) | Err(_) => break,
                    }
                }
            }
            for pair in ready.1 {
                self.on_answers(pair, &mut buffer, now);
            }
            if now.since(checked_at) >= CHECK_INTERVAL {
                checked_at = now;
                self.pairs.retain(|_, flow| now.since(flow.last) < MAPPING_TIMEOUT);
            }
        }
    }

    /// Waits for a file to be ready or for the next check. Returns whether to end, whether the
    /// device is ready, and the pairs whose sockets are ready.
    fn wait(&self, stop: &OwnedFd) -> io::Result<(bool, bool, Vec<Pair>)> {
        let own = [stop.as_fd(), self.device.as_fd()];
        let all = own.into_iter().chain(self.pairs.values().map(|flow| flow.socket.as_fd()));
        let mut files: Vec<PollFd<'_>> =
            all.map(|file| PollFd::from_borrowed_fd(file, PollFlags::IN)).collect();
        poll(&mut files, Some(&Timespec { tv_sec: CHECK_INTERVAL.as_secs().cast_signed(), tv_nsec: 0 }))?;
        let is_ready = |file: &PollFd<'_>| !file.revents().is_empty();
        let pairs = self.pairs.keys().zip(&files[2..]).filter(|(_, file)| is_ready(file));
        Ok((is_ready(&files[0]), is_ready(&files[1]), pairs.map(|(pair, _)| *pair).collect()))
    }

    /// Forwards a datagram of the client.
    fn on_packet(&mut self, octets: Bytes, now: Instant) {
        // Drop packets that the link has corrupted, as a receiver does.
        let Some(packet) = parse(octets).ok().filter(wire::transport_checksum_is_right) else { return };
        let Transport::Udp(udp) = packet.transport() else { return };
        let ip = packet.ip();
        let pair @ (client, destination) = (
            SocketAddr::new(ip.source, udp.source_port),
            SocketAddr::new(ip.destination, udp.destination_port),
        );
        if !self.clients.contains(&client.ip()) {
            return;
        }
        if !self.pairs.contains_key(&pair) {
            match self.target(destination).and_then(|target| self.open(client, target)) {
                Ok(socket) => self.keep(pair, Flow { socket, last: now }),
                Err(error) => return self.refuse(&packet, &error),
            }
        }
        let Some(flow) = self.pairs.get_mut(&pair) else { return };
        flow.last = now;
        let payload = packet.payload().octets();
        // The first error may be about an earlier datagram.
        let sent = flow.socket.send(&payload).or_else(|_| flow.socket.send(&payload));
        if let Err(error) = sent {
            self.refuse(&packet, &error);
        }
    }

    /// The address to which datagrams for a destination are relayed.
    fn target(&self, destination: SocketAddr) -> io::Result<SocketAddr> {
        if self.gateways.contains(&destination.ip()) {
            let service = self.machine.datagram_service(destination.port(), self.localhost)?;
            return service.ok_or_else(|| io::ErrorKind::ConnectionRefused.into());
        }
        if destination.is_ipv4() && is_another_host(destination.ip()) {
            return Ok(destination);
        }
        Err(io::ErrorKind::HostUnreachable.into())
    }

    /// Opens a socket to a target. Its port is that of the client endpoint's other sockets of the
    /// same address family and scope, if there are any.
    fn open(&self, client: SocketAddr, target: SocketAddr) -> io::Result<UdpSocket> {
        let from_client = self.pairs.range((client, SocketAddr::from(([0, 0, 0, 0], 0)))..);
        let others = from_client.take_while(|((other, _), _)| *other == client);
        let is_alike = |own: &SocketAddr| {
            own.is_ipv4() == target.is_ipv4() && own.ip().is_loopback() == target.ip().is_loopback()
        };
        let port = others.filter_map(|(_, flow)| flow.socket.local_addr().ok()).find(is_alike);
        self.machine.datagram_socket(target, port.map_or(0, |own| own.port()))
    }

    fn keep(&mut self, pair: Pair, flow: Flow) {
        if self.pairs.len() >= self.max_pairs {
            let oldest = self.pairs.iter().min_by_key(|(_, flow)| flow.last).map(|(pair, _)| *pair);
            oldest.map(|oldest| self.pairs.remove(&oldest));
        }
        self.pairs.insert(pair, flow);
    }

    /// Delivers the datagrams that a pair's socket has received.
    fn on_answers(&mut self, pair: Pair, buffer: &mut [u8], now: Instant) {
        let (client, remote) = pair;
        for _ in 0..AT_A_TIME {
            let Some(flow) = self.pairs.get_mut(&pair) else { return };
            match flow.socket.recv(buffer) {
                Ok(len) => {
                    flow.last = now;
                    self.send(&datagram(remote, client, Bytes::copy_from_slice(&buffer[..len])));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) => self.refuse(&datagram(client, remote, Bytes::new()), &error),
            }
        }
    }

    /// Sends the client an ICMP error about its datagram, if the error shows why it was not
    /// delivered.
    fn refuse(&self, packet: &Packet, error: &io::Error) {
        let is_v4 = packet.ip().source.is_ipv4();
        let reporter = if Unreachable::from_error(error) == Some(Unreachable::Port) {
            Some(packet.ip().destination)
        } else {
            self.gateways.iter().copied().find(|gateway| gateway.is_ipv4() == is_v4)
        };
        let message = Unreachable::from_error(error).zip(reporter).and_then(|(why, reporter)| {
            let (kind, code) = why.kind_and_code(is_v4);
            quote::error_about(packet, reporter, kind, code)
        });
        if let Some(message) = message {
            self.send(&message);
        }
    }

    /// Sends a packet to the client. It is lost if the device's queue is full.
    fn send(&self, packet: &Packet) {
        let mut octets = emit(packet).to_vec();
        may_be_fragmented(&mut octets);
        let _ = self.device.send(&octets);
    }
}

fn datagram(from: SocketAddr, to: SocketAddr, payload: Bytes) -> Packet {
    let udp = Udp { source_port: from.port(), destination_port: to.port() };
    Packet::new(Ip::new(from.ip(), to.ip()), Transport::Udp(udp), Payload::Bytes(payload))
}

/// Clears "don't fragment" in an IPv4 header (RFC 791). The checksum increases by the amount by
/// which the flags decrease (RFC 1624).
fn may_be_fragmented(octets: &mut [u8]) {
    const DO_NOT: u16 = 0x4000;
    let Some(header) = octets.first_chunk_mut::<20>().filter(|header| header[0] >> 4 == 4) else { return };
    let flags = u16::from_be_bytes([header[6], header[7]]);
    if flags & DO_NOT == 0 {
        return;
    }
    let checksum = u16::from_be_bytes([header[10], header[11]]);
    let (sum, carry) = checksum.overflowing_add(DO_NOT);
    header[6..8].copy_from_slice(&(flags & !DO_NOT).to_be_bytes());
    header[10..12].copy_from_slice(&(sum + u16::from(carry)).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relayed_datagrams_may_be_fragmented_and_have_correct_checksums() {
        let end = |text: &str| -> SocketAddr { text.parse().expect("an end") };
        for number in 0..300u32 {
            let [a, b] = [number as u8, (number >> 8) as u8];
            let from = SocketAddr::from(([198, 51, a, b], 53));
            let packet = datagram(from, end("100.64.0.2:40000"), Bytes::from(vec![7; 10]));
            let mut octets = emit(&packet).to_vec();
            may_be_fragmented(&mut octets);
            assert_eq!(octets[6] & 0x40, 0);
            assert!(wire::checksums_are_right(&octets), "{octets:?}");
        }
        let mut v6 = emit(&datagram(end("[fd6c::1]:53"), end("[fd6c::2]:7"), Bytes::new())).to_vec();
        let before = v6.clone();
        may_be_fragmented(&mut v6);
        assert_eq!(v6, before);
    }
}
