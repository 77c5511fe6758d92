//! Server, gateway and client on this machine, and a packet loop in the gateway that forwards all
//! frames.
#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(clippy::disallowed_methods, reason = "real hosts take real time")]

pub mod sockets;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::{ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use lasthop_agent::Side;
use lasthop_gateway::frame::{Frame, LinkHeader};
use lasthop_gateway::io::{PacketIo, Port, Sent};
use lasthop_linux::clock;
use lasthop_linux::namespace::Namespace;
use lasthop_packet::wire::emit;
use lasthop_packet::{FlowKey, Ip, Packet, Payload, SackBlocks, Tcp, Transport};
use portable_atomic::AtomicU64;
use rustix::net::{AddressFamily, Protocol, RawProtocol, SocketFlags, SocketType, socket_with};

pub const SERVER: &str = "10.77.1.2:5000";
pub const SERVER_V6: &str = "[fd77:1::2]:5000";

/// Needs `nft`, for [`Hosts::masquerade`].
pub fn nft() -> Result<(), String> {
    lasthop_needs::program("nft")
}

/// The length of an IPv4 header, a TCP header, and the payload of [`Hosts::send_tagged`].
const SEGMENT_LEN: usize = 20 + 20 + 50;

/// server -- core [gateway] radio -- client
pub struct Hosts {
    pub server: Namespace,
    pub gateway: Namespace,
    pub client: Namespace,
}

impl Hosts {
    /// Hosts with wires between them, without addresses.
    pub fn wired() -> Self {
        let host = |name| Namespace::new(name).expect("root may make namespaces");
        let hosts = Self { server: host("server"), gateway: host("gateway"), client: host("client") };
        for host in [&hosts.server, &hosts.gateway, &hosts.client] {
            // No other host has these addresses, and duplicate address detection takes a second.
            host.sysctl("ipv6/conf/default/accept_dad", "0").expect("a setting");
        }
        for (name, peer) in [("core", &hosts.server), ("radio", &hosts.client)] {
            let add = format!("link add {name} type veth peer name eth netns {}", peer.path());
            hosts.gateway.ip(&[&add, &format!("link set {name} up")]).expect("veth");
            peer.ip(&["link set eth up"]).expect("the other end");
        }
        hosts
    }

    /// Hosts whose gateway routes between two networks, for both address families.
    pub fn routed() -> Self {
        let hosts = Self::wired();
        let commands = [
            "address add 10.77.1.1/24 dev core",
            "address add 10.77.2.1/24 dev radio",
            "address add fd77:1::1/64 dev core nodad",
            "address add fd77:2::1/64 dev radio nodad",
        ];
        hosts.gateway.ip(&commands).expect("addresses");
        hosts.gateway.sysctl("ipv4/ip_forward", "1").expect("forwarding");
        hosts.gateway.sysctl("ipv6/conf/all/forwarding", "1").expect("forwarding");
        for (host, network) in [(&hosts.server, 1), (&hosts.client, 2)] {
            let commands = [
                format!("address add 10.77.{network}.2/24 dev eth"),
                format!("address add fd77:{network}::2/64 dev eth nodad"),
                format!("route add default via 10.77.{network}.1"),
                format!("route add default via fd77:{network}::1"),
            ];
            host.ip(&commands.each_ref().map(String::as_str)).expect("addresses and routes");
        }
        hosts
    }

    /// Hosts in one network, whose gateway is a bridge.
    pub fn bridged() -> Self {
        let hosts = Self::wired();
        let commands = [
            "link add lan type bridge",
            "link set lan up",
            "link set core master lan",
            "link set radio master lan",
        ];
        hosts.gateway.ip(&commands).expect("a bridge");
        hosts.server.ip(&["address add 10.77.1.2/24 dev eth"]).expect("an address");
        hosts.client.ip(&["address add 10.77.1.3/24 dev eth"]).expect("an address");
        hosts
    }

    /// A host beyond the client, which routes to it over a link with this MTU, for both address
    /// families. Both endpoints accept larger packets.
    pub fn beyond_client(&self, mtu: u32) -> Namespace {
        let far = Namespace::new("far").expect("root may make namespaces");
        far.sysctl("ipv6/conf/default/accept_dad", "0").expect("a setting");
        self.client.sysctl("ipv4/ip_forward", "1").expect("forwarding");
        self.client.sysctl("ipv6/conf/all/forwarding", "1").expect("forwarding");
        let commands = [
            &format!("link add far type veth peer name eth netns {}", far.path()),
            "address add 10.77.3.1/24 dev far",
            "address add fd77:3::1/64 dev far nodad",
            "link set far up",
            &format!("route replace 10.77.3.0/24 dev far mtu {mtu}"),
            &format!("route replace fd77:3::/64 dev far metric 256 mtu {mtu}"),
        ];
        self.client.ip(&commands).expect("a link");
        let commands = [
            "address add 10.77.3.2/24 dev eth",
            "address add fd77:3::2/64 dev eth nodad",
            "link set eth up",
            "route add default via 10.77.3.1",
            "route add default via fd77:3::1",
        ];
        far.ip(&commands).expect("addresses and routes");
        let commands = ["route add 10.77.3.0/24 via 10.77.2.2", "route add fd77:3::/64 via fd77:2::2"];
        self.gateway.ip(&commands).expect("routes");
        far
    }

    /// Sets the server's minimum retransmission time-out to 20 ms instead of 200 ms, so that a gap
    /// in a transfer corresponds to the gap in the path.
    pub fn with_hasty_server(self) -> Self {
        self.server.ip(&["route add 10.77.2.0/24 via 10.77.1.1 rto_min 20ms"]).expect("a route");
        self
    }

    /// Disables super-packets, which the hosts' interfaces send by default.
    pub fn without_super_packets(self) -> Self {
        let command = ["link set eth gso_max_segs 1"];
        self.server.ip(&command).expect("a setting of the link");
        self.client.ip(&command).expect("a setting of the link");
        self
    }

    /// Sends this number of octets from the server to the client, which checks each octet.
    pub fn download(&self, server: &str, octets: usize) {
        Flow::open(self, server).download(octets);
    }
}

impl Hosts {
    /// Has connections from the client to the server use the gateway's address.
    pub fn masquerade(&self) {
        let rule = "add table ip nat; add chain ip nat out { type nat hook postrouting priority 100; }; \
                    add rule ip nat out oifname core masquerade";
        let nft = self.gateway.enter(|| Command::new("nft").arg(rule).output()).expect("enter");
        let output = nft.expect("it is installed");
        assert!(output.status.success(), "{output:?}");
    }

    /// Sends a datagram from the client to the server, with port 7000 on both sides, and back.
    pub fn exchange_datagrams(&self, octets: &[u8]) -> UdpSocket {
        let socket = |host: &Namespace| bound(host, || UdpSocket::bind("0.0.0.0:7000"));
        let (server, client) = (socket(&self.server), socket(&self.client));
        let received = |socket: &UdpSocket| {
            socket.set_read_timeout(Some(TIMEOUT)).expect("a timeout");
            let mut buffer = [0; 2000];
            let (len, from) = socket.recv_from(&mut buffer).expect("it arrives");
            assert_eq!(&buffer[..len], octets);
            from
        };
        client.send_to(octets, "10.77.1.2:7000").expect("it is sent");
        let from = received(&server);
        server.send_to(octets, from).expect("it is sent");
        received(&client);
        client
    }

    /// Sends traffic that is not TCP, both ways.
    pub fn ping_and_datagram(&self) {
        // Without this, the kernel sends at most six errors in a row.
        self.server.sysctl("ipv4/icmp_ratelimit", "0").expect("a setting");
        let client = self.exchange_datagrams(b"datagram");
        // The port has no listener: an ICMP error is returned.
        client.connect("10.77.1.2:7001").expect("it has an address");
        client.send(b"datagram").expect("it is sent");
        let error = client.recv(&mut [0; 100]).expect_err("nobody answers");
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused, "the ICMP error arrives");
    }

    /// Sends a TCP segment with these VLAN tags from the server to the client, and asserts that it
    /// arrives unchanged.
    pub fn send_tagged(&self, tags: &[u8]) {
        self.send_with(&[tags, &[8, 0]].concat());
    }

    /// A function that sends a TCP segment of an unknown connection to the gateway's radio
    /// interface.
    pub fn segments_up(&self) -> impl Fn() + use<> {
        let (client, frame) = (raw_socket(&self.client), frame_with_a_segment(&[8, 0]));
        move || {
            // A segment for which there is no room is lost.
            let _ = rustix::io::write(&client, &frame);
        }
    }

    /// Sends a TCP segment in a session of `PPPoE` (RFC 2516), like [`Hosts::send_tagged`].
    pub fn send_in_pppoe(&self) {
        // Type and version, code, session, length, and the protocol of PPP: IPv4.
        let len = (SEGMENT_LEN as u16 + 2).to_be_bytes();
        self.send_with(&[&[0x88, 0x64, 0x11, 0, 0, 1], &len[..], &[0, 0x21]].concat());
    }

    /// Sends a TCP segment from the server to the client, with `between` after the Ethernet
    /// addresses.
    fn send_with(&self, between: &[u8]) {
        let frame = frame_with_a_segment(between);
        let (from, to) = (raw_socket(&self.server), raw_socket(&self.client));
        rustix::io::write(&from, &frame).expect("it is sent");
        // The socket strips the outer tag, which the kernel stores outside the frame.
        let stripped = [&frame[..12], &frame[16..]].concat();
        let deadline = Instant::now() + TIMEOUT;
        let mut received = [0; 2000];
        loop {
            match rustix::io::read(&to, &mut received) {
                Ok(len) if received[..len] == frame || received[..len] == stripped => return,
                Ok(_) => {}
                Err(_) => thread::sleep(Duration::from_millis(1)),
            }
            assert!(Instant::now() < deadline, "it does not arrive");
        }
    }

    /// Starts another process of this test's program in the gateway, with this task.
    pub fn child(&self, task: &str) -> Child {
        let spawn = || {
            Command::new(std::env::current_exe().expect("we run"))
                .env(CHILD, task)
                .stdout(Stdio::piped())
                .spawn()
        };
        let mut process = self.gateway.enter(spawn).expect("enter").expect("it starts");
        let mut lines = BufReader::new(process.stdout.take().expect("a pipe"));
        let mut line = String::new();
        while !line.contains("ready") {
            line.clear();
            assert!(lines.read_line(&mut line).expect("it talks") > 0, "it ended");
        }
        Child { process, lines, seen: 0 }
    }
}

const CHILD: &str = "LASTHOP_TEST_CHILD";

/// A loop in a process of its own.
pub struct Child {
    process: std::process::Child,
    lines: BufReader<ChildStdout>,
    seen: u64,
}

impl Child {
    /// Kills the process (SIGKILL).
    pub fn kill(&mut self) {
        self.process.kill().expect("it is ours");
        self.process.wait().expect("it ends");
        let lines = self.lines.by_ref().lines().map_while(Result::ok);
        self.seen = lines.filter_map(|line| line.trim().parse().ok()).last().unwrap_or(0);
    }

    /// The number of frames that it had seen.
    pub const fn has_seen(&self) -> u64 {
        self.seen
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The task of this process, if the tests started it as a child.
pub fn task_of_child() -> Option<String> {
    std::env::var(CHILD).ok()
}

/// Runs until it is killed, and regularly prints the number of frames that it has seen.
#[allow(clippy::print_stdout, reason = "the parent reads it")]
pub fn be_child(io: &mut dyn PacketIo) -> ! {
    let seen = Seen::default();
    io.heartbeat(clock::now());
    println!("\nready");
    thread::scope(|scope| {
        scope.spawn(|| {
            loop {
                println!("{}", Seen::count(&seen.frames));
                thread::sleep(Duration::from_millis(20));
            }
        });
        seen.run(io, None);
    });
    unreachable!("nobody ends it but by killing it");
}

/// A frame with a TCP segment, and with `between` after the Ethernet addresses.
fn frame_with_a_segment(between: &[u8]) -> Vec<u8> {
    let address = |octets: [u8; 4]| IpAddr::from(octets);
    let tcp = Tcp { source_port: 1, destination_port: 2, ..Tcp::default() };
    let ip = Ip::new(address([10, 99, 0, 1]), address([10, 99, 0, 2]));
    let segment = emit(&Packet::tcp_segment(ip, tcp, Payload::Stream { stream: 1, offset: 0, len: 50 }));
    assert_eq!(segment.len(), SEGMENT_LEN);
    [&[0xff; 6][..], &[2, 0, 0, 0, 0, 9], between, &segment].concat()
}

/// A socket for complete frames of the host's only interface.
#[allow(unsafe_code, reason = "rustix has no address type for packet sockets")]
fn raw_socket(host: &Namespace) -> OwnedFd {
    let open = || {
        let protocol = Protocol::from_raw(RawProtocol::new(u32::from(3_u16.to_be())).expect("not zero"));
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket =
            socket_with(AddressFamily::PACKET, SocketType::RAW, flags, Some(protocol)).expect("root");
        let index = lasthop_linux::device::Interface::named("eth").expect("it is there").index();
        let address = libc::sockaddr_ll {
            sll_family: libc::AF_PACKET as u16,
            sll_protocol: 3_u16.to_be(),
            sll_ifindex: index.cast_signed(),
            sll_hatype: 0,
            sll_pkttype: 0,
            sll_halen: 0,
            sll_addr: [0; 8],
        };
        // SAFETY: a whole structure of the kind and length that the kernel expects.
        let result = unsafe {
            libc::bind(
                socket.as_raw_fd(),
                std::ptr::from_ref(&address).cast(),
                size_of_val(&address) as libc::socklen_t,
            )
        };
        assert_eq!(result, 0, "bind");
        socket
    };
    host.enter(open).expect("enter")
}

/// A socket bound to a host's address, which another process may still hold: see [`assert_soon`].
fn bound<Socket: Send>(host: &Namespace, bind: impl Fn() -> io::Result<Socket> + Sync) -> Socket {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        match host.enter(&bind).expect("enter") {
            Ok(socket) => return socket,
            Err(error) => {
                let may_wait = error.kind() == io::ErrorKind::AddrInUse && Instant::now() < deadline;
                assert!(may_wait, "{error}");
            }
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// Asserts that this holds before a time-out. A test that starts a process at the same time briefly
/// holds our files, between fork and exec.
pub fn assert_soon(mut holds: impl FnMut() -> Result<(), String>) {
    let deadline = Instant::now() + TIMEOUT;
    while let Err(message) = holds() {
        assert!(Instant::now() < deadline, "{message}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Removes the SACK blocks of an acknowledgment.
pub fn without_sack(packet: &mut Packet) -> bool {
    let is_acknowledgment = packet.payload().is_empty();
    match packet.tcp_mut() {
        Some(tcp) if is_acknowledgment => {
            tcp.options.sack = SackBlocks::NONE;
            true
        }
        _ => false,
    }
}

/// The time-out, longer than any operation here takes on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);

fn pattern(octets: usize) -> Vec<u8> {
    (0..octets as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

/// Both endpoints of a connection.
pub struct Flow {
    pub server: TcpStream,
    pub client: TcpStream,
}

impl Flow {
    pub fn open(hosts: &Hosts, server: &str) -> Self {
        Self::between(&hosts.server, &hosts.client, server)
    }

    /// Opens a connection between a server and a client.
    pub fn between(server: &Namespace, client: &Namespace, address: &str) -> Self {
        Self::through((server, address), client, address)
    }

    /// Opens a connection to a server for which the client uses another address.
    pub fn through(server: (&Namespace, &str), client: &Namespace, address: &str) -> Self {
        let [own, address] = [server.1, address].map(|text| text.parse::<SocketAddr>().expect("an address"));
        let listener = bound(server.0, || TcpListener::bind(own));
        let client = client.enter(|| TcpStream::connect_timeout(&address, TIMEOUT)).expect("enter");
        let client = client.expect("the server is reachable");
        let (server, _) = listener.accept().expect("a connection");
        client.set_read_timeout(Some(TIMEOUT)).expect("a timeout");
        Self { server, client }
    }

    /// Sends this number of octets from the server to the client, which checks each octet.
    pub fn download(self, octets: usize) {
        let Self { server, mut client } = self;
        server.set_write_timeout(Some(TIMEOUT)).expect("a timeout");
        thread::scope(|scope| {
            let mut server = &server;
            scope.spawn(move || server.write_all(&pattern(octets)).expect("it is read"));
            let mut received = vec![0; octets];
            client.read_exact(&mut received).expect("it arrives");
            assert!(received == pattern(octets), "it arrives as it was sent");
        });
    }

    /// Sends data both ways.
    pub fn exchange(&mut self) {
        self.server.write_all(b"question").expect("it is sent");
        self.client.read_exact(&mut [0; 8]).expect("it arrives");
        self.client.write_all(b"answer").expect("it is sent");
        self.server.read_exact(&mut [0; 6]).expect("it arrives");
    }

    /// Sends for this time, and calls `meanwhile` in the middle. Returns the longest time without
    /// arrivals, and the number of received octets.
    pub fn longest_gap(self, duration: Duration, meanwhile: impl FnOnce()) -> (Duration, usize) {
        let Self { mut server, mut client } = self;
        let (stop, stopped) = mpsc::channel::<()>();
        let sender = thread::spawn(move || {
            let block = [7; 16_384];
            while matches!(stopped.try_recv(), Err(mpsc::TryRecvError::Empty)) {
                server.write_all(&block).expect("the other end reads");
                // Below the capacity of the path, so that no frame is lost for lack of it.
                thread::sleep(Duration::from_micros(200));
            }
        });
        let receiver = thread::spawn(move || {
            let (mut octets, mut longest, mut last) = (0, Duration::ZERO, Instant::now());
            let mut block = vec![0; 65_536];
            loop {
                let count = client.read(&mut block).expect("it goes on");
                let now = Instant::now();
                longest = longest.max(now - last);
                last = now;
                octets += count;
                if count == 0 {
                    return (longest, octets);
                }
            }
        });
        thread::sleep(duration / 2);
        meanwhile();
        thread::sleep(duration / 2);
        drop(stop);
        sender.join().expect("the sender is well");
        receiver.join().expect("the receiver is well")
    }
}

/// The radio interfaces of a gateway.
pub fn radio() -> Vec<String> {
    vec!["radio".to_owned()]
}

/// The ports of a gateway that takes frames at ingress.
pub fn ports() -> Vec<Port> {
    let port = |name: &str, side| Port { name: name.into(), side, ethernet: true, copies_of: None };
    vec![port("core", Side::Core), port("radio", Side::Radio)]
}

/// The counters and controls of a loop.
#[derive(Default)]
pub struct Seen {
    pub frames: AtomicU64,
    pub super_packets: AtomicU64,
    pub not_tcp: AtomicU64,
    pub untouched: AtomicU64,
    pub edited: AtomicU64,
    pub lost: AtomicU64,
    /// Connections, keyed from the core side to the radio side, with the sides from which their
    /// packets arrived.
    pub connections: Mutex<BTreeMap<FlowKey, BTreeSet<Side>>>,
    hangs: AtomicBool,
    ends: AtomicBool,
}

impl Seen {
    pub fn count(counter: &AtomicU64) -> u64 {
        counter.load(Relaxed)
    }

    /// Has the loop do nothing from now on.
    pub fn hang(&self) {
        self.hangs.store(true, Relaxed);
    }

    /// Runs the loop until it is ended.
    pub fn run(&self, io: &mut dyn PacketIo, edit: Option<fn(&mut Packet) -> bool>) {
        let mut frames = Vec::new();
        while !self.ends.load(Relaxed) {
            if self.hangs.load(Relaxed) {
                thread::sleep(Duration::from_millis(1));
                continue;
            }
            io.heartbeat(clock::now());
            io.wait(None).expect("waiting works");
            io.receive(&mut frames).expect("reading works");
            io.heartbeat(clock::now());
            for (port, frame) in frames.drain(..) {
                let frame = self.look_at(frame, &io.ports()[usize::from(port.0)], edit);
                if io.send(port, &frame).expect("writing works") == Sent::Lost {
                    self.lost.fetch_add(1, Relaxed);
                }
            }
        }
    }

    /// The servers of the connections of the client at this address. Asserts that there are no
    /// other connections, and that packets of each arrived from both sides.
    pub fn two_way(&self, client: &str) -> Vec<SocketAddr> {
        let client: IpAddr = client.parse().expect("an address");
        let connections = self.connections.lock().expect("nobody panicked");
        let both_ways = connections.iter().map(|(key, sides)| {
            assert_eq!((key.destination.0, sides.len()), (client, 2), "{connections:?}");
            key.source.into()
        });
        both_ways.collect()
    }

    fn look_at(&self, frame: Frame, port: &Port, edit: Option<fn(&mut Packet) -> bool>) -> Frame {
        self.frames.fetch_add(1, Relaxed);
        if frame.segment_size.is_some() {
            self.super_packets.fetch_add(1, Relaxed);
        }
        let parsed: Result<(LinkHeader, Packet), _> = frame.parse(port.ethernet);
        let Ok((link, mut packet)) = parsed else {
            self.untouched.fetch_add(1, Relaxed);
            return frame;
        };
        if !matches!(packet.transport(), Transport::Tcp(_)) {
            self.not_tcp.fetch_add(1, Relaxed);
        }
        if let Some(key) = packet.flow_key().map(|key| port.side.connection(key)) {
            self.connections.lock().expect("nobody panicked").entry(key).or_default().insert(port.side);
        }
        if edit.is_some_and(|edit| edit(&mut packet)) {
            self.edited.fetch_add(1, Relaxed);
        }
        Frame::from_packet(&packet, &link, Some(&frame)).expect("it is not larger than it came")
    }
}

/// A packet loop on a thread in the gateway.
pub struct Loop {
    pub seen: Arc<Seen>,
    thread: Option<JoinHandle<()>>,
}

impl Loop {
    pub fn start<Io: PacketIo>(
        gateway: &Namespace,
        edit: Option<fn(&mut Packet) -> bool>,
        open: impl FnOnce() -> Io + Send + 'static,
    ) -> Self {
        let seen = Arc::new(Seen::default());
        let file = std::fs::File::open(gateway.path()).expect("the namespace is there");
        let (ready, is_ready) = mpsc::channel();
        let of_thread = Arc::clone(&seen);
        let thread = thread::spawn(move || {
            let network = Some(rustix::thread::LinkNameSpaceType::Network);
            rustix::thread::move_into_link_name_space(std::os::fd::AsFd::as_fd(&file), network)
                .expect("setns");
            let mut io = open();
            io.heartbeat(clock::now());
            ready.send(()).expect("somebody waits");
            of_thread.run(&mut io, edit);
        });
        is_ready.recv().expect("the backend opens");
        Self { seen, thread: Some(thread) }
    }

    /// Ends the loop and waits for it.
    pub fn end(mut self) {
        self.seen.ends.store(true, Relaxed);
        self.thread.take().expect("it was started").join().expect("the loop is well");
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        self.seen.ends.store(true, Relaxed);
    }
}
