//! UDP of the host behind the hop, for an emulator in an empty network. Its datagrams go to a device of
//! ours, and each pair of ends has a connected socket of this machine's network. All of one end behind the
//! hop have the same port there, so that peers that hear of it from each other reach it (RFC 4787,
//! section 4.1), and each hears from its own peer alone.
//!
//! What crosses are the datagrams' octets: not the time to live, nor the traffic class. Fragments are
//! relayed where the kernel puts them together for the rules of `nft` or `iptables`.

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
use super::device::{Device, LONGEST_FRAME, Received};
use super::machine::Machine;
use super::relay::descriptors;
use super::services::is_another_host;
use super::tool;
use lasthop_linux::clock;
use lasthop_linux::device::Kind;

/// The device to which datagrams go.
const DEVICE: &str = "datagrams";
/// The routing table that leads there.
const TABLE: &str = "77";
/// A pair of ends that says nothing for so long is forgotten (RFC 4787, section 4.3: at least two
/// minutes).
const SILENCE: Duration = Duration::from_secs(120);
/// How often it is asked who has said nothing.
const LOOK: Duration = Duration::from_secs(5);
/// Datagrams of one file before the others are served.
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

    fn of(error: &io::Error) -> Option<Self> {
        match error.kind() {
            io::ErrorKind::ConnectionRefused => Some(Self::Port),
            io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => Some(Self::Host),
            _ => None,
        }
    }
}

/// A relay at work, as long as this value lives.
#[derive(Debug)]
pub struct Datagrams {
    stop: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Datagrams {
    /// Has the datagrams of the host behind the hop relayed: those to the gateway to services of this
    /// machine, with `localhost` to those on its loopback device, too; those to other hosts over IPv4.
    /// The error is a sentence for the user.
    pub fn start(hop: &ClientSide, machine: Arc<Machine>, localhost: bool) -> Result<Self, String> {
        let failed = |why: String| format!("no UDP is relayed: {why}");
        let opened = hop.outside.enter(|| Device::open(DEVICE, Kind::Tun));
        let device =
            opened.map_err(|error| failed(error.to_string()))?.map_err(|error| failed(error.to_string()))?;
        lead_to_device(hop).map_err(failed)?;
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
            most: descriptors() / 4,
        };
        let waker = Arc::clone(&stop);
        let thread = thread::Builder::new().name("datagrams".to_owned()).spawn(move || relay.run(&waker));
        Ok(Self { stop, thread: Some(thread.map_err(|error| failed(error.to_string()))?) })
    }
}

impl Drop for Datagrams {
    fn drop(&mut self) {
        let told = rustix::io::write(&*self.stop, &1u64.to_ne_bytes());
        if let (Ok(_), Some(thread)) = (told, self.thread.take()) {
            let _ = thread.join();
        }
    }
}

/// Routes what comes from the hop over UDP to the device, those to the gateway among it: the rule that
/// leads there goes before the table of local addresses, which is the kernel's first one elsewhere.
fn lead_to_device(hop: &ClientSide) -> Result<(), String> {
    let ip = |words: &str| {
        let words: Vec<&str> = std::iter::once("ip").chain(words.split_whitespace()).collect();
        tool::run(&hop.outside, &words, "").map(drop)
    };
    let set = |key: &str, value: &str| hop.outside.sysctl(key, value).map_err(|error| error.to_string());
    let ClientSide { device, gateway, .. } = hop;
    ip(&format!("link set {DEVICE} up mtu 65535"))?;
    set("ipv4/ip_forward", "1")?;
    // What comes from the device has the addresses of all hosts, this one's among them.
    for (key, value) in [
        ("all/rp_filter", "0"),
        (&format!("{DEVICE}/rp_filter"), "0"),
        (&format!("{device}/rp_filter"), "0"),
        (&format!("{DEVICE}/accept_local"), "1"),
    ] {
        set(&format!("ipv4/conf/{key}"), value)?;
    }
    let lead = |family: &str| {
        ip(&format!("{family} route add default dev {DEVICE} table {TABLE}"))?;
        ip(&format!("{family} rule add pref 10 lookup local"))?;
        ip(&format!("{family} rule del pref 0"))?;
        ip(&format!("{family} rule add pref 5 iif {device} ipproto udp lookup {TABLE}"))
    };
    // Resolvers have a door of their own.
    ip(&format!("-4 rule add pref 4 iif {device} to {gateway} ipproto udp dport 53 lookup local"))?;
    lead("-4")?;
    if hop.gateway_v6.is_some() {
        set("ipv6/conf/all/forwarding", "1")?;
        lead("-6")?;
    }
    Ok(())
}

/// An end behind the hop, and where it sends to.
type Pair = (SocketAddr, SocketAddr);

struct Flow {
    socket: UdpSocket,
    last: Instant,
}

struct Relay {
    device: Device,
    machine: Arc<Machine>,
    localhost: bool,
    gateways: Vec<IpAddr>,
    clients: Vec<IpAddr>,
    pairs: BTreeMap<Pair, Flow>,
    /// Pairs at a time; beyond that the one that has said nothing for longest is forgotten.
    most: usize,
}

impl Relay {
    fn run(&mut self, stop: &OwnedFd) {
        let mut buffer = vec![0; LONGEST_FRAME];
        let mut looked_at = clock::now();
        loop {
            let ready = match self.wait(stop) {
                Ok((true, ..)) => return,
                Ok((false, device, pairs)) => (device, pairs),
                // A signal is for somebody else, and so is the end of memory.
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
            if now.since(looked_at) >= LOOK {
                looked_at = now;
                self.pairs.retain(|_, flow| now.since(flow.last) < SILENCE);
            }
        }
    }

    /// Waits for the end, for the device, and for pairs whose sockets have something.
    fn wait(&self, stop: &OwnedFd) -> io::Result<(bool, bool, Vec<Pair>)> {
        let own = [stop.as_fd(), self.device.as_fd()];
        let all = own.into_iter().chain(self.pairs.values().map(|flow| flow.socket.as_fd()));
        let mut files: Vec<PollFd<'_>> =
            all.map(|file| PollFd::from_borrowed_fd(file, PollFlags::IN)).collect();
        poll(&mut files, Some(&Timespec { tv_sec: LOOK.as_secs().cast_signed(), tv_nsec: 0 }))?;
        let is_ready = |file: &PollFd<'_>| !file.revents().is_empty();
        let pairs = self.pairs.keys().zip(&files[2..]).filter(|(_, file)| is_ready(file));
        Ok((is_ready(&files[0]), is_ready(&files[1]), pairs.map(|(pair, _)| *pair).collect()))
    }

    /// Sends a datagram of the host behind the hop on.
    fn on_packet(&mut self, octets: Bytes, now: Instant) {
        // A link that corrupts packets has the receiver refuse them.
        let Some(packet) = parse(octets).ok().filter(wire::transport_checksum_is_right) else { return };
        let Transport::Udp(udp) = packet.transport() else { return };
        let ip = packet.ip();
        let pair @ (client, wanted) = (
            SocketAddr::new(ip.source, udp.source_port),
            SocketAddr::new(ip.destination, udp.destination_port),
        );
        if !self.clients.contains(&client.ip()) {
            return;
        }
        if !self.pairs.contains_key(&pair) {
            match self.target(wanted).and_then(|target| self.open(client, target)) {
                Ok(socket) => self.keep(pair, Flow { socket, last: now }),
                Err(error) => return self.refuse(&packet, &error),
            }
        }
        let Some(flow) = self.pairs.get_mut(&pair) else { return };
        flow.last = now;
        let payload = packet.payload().octets();
        // The first error is that of a datagram before this one.
        let sent = flow.socket.send(&payload).or_else(|_| flow.socket.send(&payload));
        if let Err(error) = sent {
            self.refuse(&packet, &error);
        }
    }

    /// Where a datagram to this end is to go.
    fn target(&self, wanted: SocketAddr) -> io::Result<SocketAddr> {
        if self.gateways.contains(&wanted.ip()) {
            let service = self.machine.datagram_service(wanted.port(), self.localhost)?;
            return service.ok_or_else(|| io::ErrorKind::ConnectionRefused.into());
        }
        if wanted.is_ipv4() && is_another_host(wanted.ip()) {
            return Ok(wanted);
        }
        Err(io::ErrorKind::HostUnreachable.into())
    }

    /// A socket to a target, with the port that the guest has already towards others of its kind.
    fn open(&self, client: SocketAddr, target: SocketAddr) -> io::Result<UdpSocket> {
        let of_guest = self.pairs.range((client, SocketAddr::from(([0, 0, 0, 0], 0)))..);
        let others = of_guest.take_while(|((other, _), _)| *other == client);
        let is_alike = |own: &SocketAddr| {
            own.is_ipv4() == target.is_ipv4() && own.ip().is_loopback() == target.ip().is_loopback()
        };
        let port = others.filter_map(|(_, flow)| flow.socket.local_addr().ok()).find(is_alike);
        self.machine.datagram_socket(target, port.map_or(0, |own| own.port()))
    }

    fn keep(&mut self, pair: Pair, flow: Flow) {
        if self.pairs.len() >= self.most {
            let oldest = self.pairs.iter().min_by_key(|(_, flow)| flow.last).map(|(pair, _)| *pair);
            oldest.map(|oldest| self.pairs.remove(&oldest));
        }
        self.pairs.insert(pair, flow);
    }

    /// Passes on what has come for a pair.
    fn on_answers(&mut self, pair: Pair, buffer: &mut [u8], now: Instant) {
        let (client, wanted) = pair;
        for _ in 0..AT_A_TIME {
            let Some(flow) = self.pairs.get_mut(&pair) else { return };
            match flow.socket.recv(buffer) {
                Ok(len) => {
                    flow.last = now;
                    self.send(&datagram(wanted, client, Bytes::copy_from_slice(&buffer[..len])));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) => self.refuse(&datagram(client, wanted, Bytes::new()), &error),
            }
        }
    }

    /// Tells the host behind the hop that its datagram was not delivered, if that is known of the error.
    fn refuse(&self, packet: &Packet, error: &io::Error) {
        let is_v4 = packet.ip().source.is_ipv4();
        let reporter = if Unreachable::of(error) == Some(Unreachable::Port) {
            Some(packet.ip().destination)
        } else {
            self.gateways.iter().copied().find(|gateway| gateway.is_ipv4() == is_v4)
        };
        let message = Unreachable::of(error).zip(reporter).and_then(|(why, reporter)| {
            let (kind, code) = why.kind_and_code(is_v4);
            quote::error_about(packet, reporter, kind, code)
        });
        if let Some(message) = message {
            self.send(&message);
        }
    }

    /// Sends a packet to the host behind the hop; what has no room is lost.
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

/// Takes "don't fragment" out of an IPv4 header (RFC 791), whose checksum becomes greater by as much as the
/// word becomes less (RFC 1624).
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
    fn a_datagram_of_ours_may_be_fragmented_and_its_checksums_are_right() {
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
