//! Tests of a running gateway with ports in memory.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use lasthop_agent::{Fate, LinkEvent, LinkSenses, Side};
use lasthop_packet::{FlowKey, Ip, Packet, Payload, Seq, Tcp, TcpFlags};
use serde::de::DeserializeOwned;

use super::clients::ClientReport;
use super::config::{self, Backend};
use super::control::{AskError, Command, Drained, Reloaded, SetAside, Status, ask, parse_flow};
use super::engine::{FlowReport, SavedConnection};
use super::listing::Query;
use super::ports::OpenPorts;
use super::{Gateway, GatewayError, Start, handover, metrics};
use crate::frame::Frame;
use crate::io::memory::Memory;
use crate::io::steering::worker_of;
use crate::io::{Port, PortId};
use lasthop_linux::clock;

fn ports() -> Vec<Port> {
    let port = |name: &str, side| Port { name: name.into(), side, ethernet: true, copies_of: None };
    vec![port("eth0", Side::Core), port("wlan0", Side::Radio)]
}

/// Opens these ports, each for a worker.
fn open(workers: &[Memory]) -> impl FnOnce() -> Result<OpenPorts, GatewayError> + Send + use<> {
    let workers = workers.to_vec();
    move || {
        let workers = workers.into_iter().map(|io| Box::new(io) as _).collect();
        Ok(OpenPorts { workers, backend: Backend::Auto, notes: Vec::new() })
    }
}

struct Running {
    directory: tempfile::TempDir,
    gateway: Gateway,
    /// The first worker's ports.
    memory: Memory,
    /// The ports of all workers.
    workers: Vec<Memory>,
    metrics: u16,
}

impl Running {
    fn start() -> Self {
        Self::start_with("")
    }

    /// Starts a gateway whose file begins with these lines.
    fn start_with(lines: &str) -> Self {
        Self::start_in(tempfile::tempdir().expect("a directory"), lines)
    }

    /// Starts a gateway in an existing directory.
    fn start_in(directory: tempfile::TempDir, lines: &str) -> Self {
        Self::start_workers(1, directory, lines)
    }

    fn start_workers(workers: usize, directory: tempfile::TempDir, lines: &str) -> Self {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let metrics = free.expect("a free port").port();
        let file = directory.path().join("gateway.toml");
        let socket = directory.path().join("gateway.sock");
        let text = format!(
            "{lines}[metrics]\nlisten = \"127.0.0.1:{metrics}\"\nclients = 8\n[control]\nsocket = \"{}\"\n[[rule]]\nscheme = \"snoop\"\n",
            socket.display()
        );
        fs::write(&file, text).expect("a file");
        let workers: Vec<Memory> = (0..workers).map(|_| Memory::new(ports())).collect();
        let config = config::read(&file, LinkSenses::empty()).expect("it is right");
        let start = Start { config, file: Some(file), owns_process: false };
        let open = open(&workers);
        let gateway = start.run(move |_| Ok(open)).expect("nothing is in the way");
        Self { directory, gateway, memory: workers[0].clone(), workers, metrics }
    }

    fn file(&self) -> PathBuf {
        self.directory.path().join("gateway.toml")
    }

    fn ask<T: DeserializeOwned>(&self, command: &Command) -> Result<T, AskError> {
        ask(&self.directory.path().join("gateway.sock"), command)
    }

    fn http(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.metrics)).expect("it listens");
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        answer
    }

    fn wait_for(&self, what: impl Fn(&Self) -> bool) {
        let start = clock::now();
        while !what(self) {
            assert!(clock::now().since(start) < Duration::from_secs(60), "it does not come");
            thread::yield_now();
        }
    }
}

#[test]
fn frames_are_forwarded_and_requests_are_answered() {
    let running = Running::start();
    let frame = Frame::plain(vec![7; 60].into());
    running.memory.push(PortId(1), frame.clone());
    let mut sent = Vec::new();
    let start = clock::now();
    while sent.is_empty() && clock::now().since(start) < Duration::from_secs(10) {
        sent = running.memory.take_sent();
    }
    assert_eq!(sent, [(PortId(1), frame)]);
    assert!(running.memory.last_heartbeat().is_some());

    let status: Status = running.ask(&Command::Status).expect("it runs");
    assert_eq!((status.ports[1].name.as_str(), status.ports[1].side.as_str()), ("wlan0", "radio"));
    assert_eq!(status.report.engine.counters.counts.received, 1);
    assert_eq!(status.report.engine.rules[0].name, "snoop");
    assert_eq!(running.ask::<Vec<FlowReport>>(&Command::Flows(Query::default())).expect("it runs"), []);
    let aside = |flow: &str| running.ask::<SetAside>(&Command::Aside { flow: flow.into() });
    let refused = aside("1.2.3.4:5-6.7.8.9:10").expect_err("there is none").to_string();
    assert!(refused.contains("unknown connection"), "{refused}");
    let refused = aside("nonsense").expect_err("it is none").to_string();
    assert!(refused.contains("two endpoints such as"), "{refused}");

    assert_eq!(running.ask::<Drained>(&Command::Drain).expect("it runs"), Drained::default());
    assert!(running.gateway.report().expect("it runs").engine.drained);
    let report = running.gateway.stop().expect("it ends well");
    assert_eq!((report.sent, report.engine.counters.counts.received), (1, 1));
    assert!(!running.directory.path().join("gateway.sock").exists(), "it cleans up");
}

#[test]
fn an_invalid_file_changes_nothing_and_a_valid_one_is_applied() {
    let running = Running::start();
    let text = fs::read_to_string(running.file()).expect("it is there");
    fs::write(running.file(), format!("{text}settings = {{ reordering = \"many\" }}\n")).expect("a file");
    let refused = running.ask::<Reloaded>(&Command::Reload).expect_err("it is wrong").to_string();
    assert!(
        refused.contains(":8: rule[0].settings.reordering: ") && refused.contains("stays in force"),
        "{refused}"
    );
    fs::write(running.file(), format!("{text}name = \"other\"\n[traffic]\nports = [80]\n")).expect("a file");
    let Reloaded { notes } = running.ask(&Command::Reload).expect("it is right");
    assert!(notes.is_empty(), "less than the kernel gives: {notes:?}");
    let more = format!("{text}name = \"other\"\n[traffic]\nexclude-ports = []\n");
    fs::write(running.file(), more).expect("a file");
    let Reloaded { notes } = running.ask(&Command::Reload).expect("it is right");
    assert!(
        matches!(&notes[..], [note] if note.starts_with("[traffic] is in force; ")),
        "the rest is in force: {notes:?}"
    );
    assert_eq!(running.gateway.report().expect("it runs").engine.rules[0].name, "other");
}

#[test]
fn the_metrics_are_prometheus_text() {
    let running = Running::start_workers(2, tempfile::tempdir().expect("a directory"), "");
    running.memory.push(PortId(0), Frame::plain(vec![7; 60].into()));
    running.wait_for(|running| running.gateway.report().is_ok_and(|report| report.sent == 1));
    let answer = running.http("GET /metrics HTTP/1.1\r\n\r\n");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    assert!(head.starts_with("HTTP/1.1 200 OK") && head.contains("text/plain; version=0.0.4"), "{head}");
    let page = metrics::tests::read(body);
    let sample = |name: &str| page.samples.get(name).copied();
    assert_eq!(sample("lasthop_passed_frames_total{reason=\"not-understood\"}"), Some(1.0));
    assert_eq!(sample("lasthop_rule_seen_packets_total{rule=\"snoop\",index=\"0\"}"), Some(0.0));
    assert!(running.http("GET /healthz HTTP/1.0\r\n\r\n").ends_with("\r\n\r\nok\n"));
    assert!(running.http("POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405"));
    assert!(running.http("\0\0\0 nonsense\r\n\r\n").starts_with("HTTP/1.1 400"));
}

#[test]
fn the_hop_is_measured_once_and_a_replaced_connection_counts_for_its_client() {
    let running = Running::start();
    let reset = segment(client(7), SERVER, TcpFlags::RST, (1, 0), 0);
    let frames = handshake(7).into_iter().chain([(PortId(1), reset), (PortId(1), syn_of(7))]);
    // One after the other, because they arrive on two ports.
    for ((port, frame), sent) in frames.zip(1..) {
        running.memory.push(port, frame);
        running.wait_for(|running| running.gateway.report().is_ok_and(|report| report.sent == sent));
    }
    let engine = running.gateway.report().expect("it runs").engine;
    assert_eq!(engine.hop_rtts.counts.iter().sum::<u64>(), 1);
    // The second connection has taken the place of the first, between the same ports.
    let clients = engine.clients.expect("the file asks for them");
    let counters = clients.by_address[&client(7)];
    assert_eq!((counters.connections, counters.connections_now), (2, 1));
    assert_eq!((counters.carried.packets_down, counters.carried.packets_up), (2, 4));
    let rows: Vec<ClientReport> = running.ask(&Command::Clients(Query::default())).expect("they are counted");
    assert_eq!(rows, clients.rows());
    let unknown = Query { sort: Some("mood".to_owned()), ..Query::default() };
    let error = running.ask::<Vec<ClientReport>>(&Command::Clients(unknown)).expect_err("no column");
    assert!(error.to_string().contains("unknown column \"mood\""), "{error}");
    assert_eq!(clients.other.connections, 0);
}

#[test]
fn the_hop_is_measured_once_if_the_server_opens_and_the_client_answers_twice() {
    let running = Running::start();
    let both = TcpFlags::SYN.with(TcpFlags::ACK);
    let down = |flags, seq, ack| (PortId(0), segment(SERVER, client(7), flags, (seq, ack), 0));
    let answer = || (PortId(1), segment(client(7), SERVER, both, (0, 1), 0));
    let frames = [down(TcpFlags::SYN, 0, 0), answer(), answer(), down(TcpFlags::ACK, 1, 1)];
    // One after the other, because they arrive on two ports.
    for ((port, frame), count) in frames.into_iter().zip(1..) {
        running.memory.push(port, frame);
        let received =
            |running: &Running| Some(running.gateway.report().ok()?.engine.counters.counts.received);
        running.wait_for(|running| received(running) == Some(count));
    }
    let engine = running.gateway.report().expect("it runs").engine;
    assert_eq!(engine.hop_rtts.counts.iter().sum::<u64>(), 1);
}

#[test]
fn the_metrics_are_refused_for_another_host_name() {
    let running = Running::start();
    let get = |host: &str| running.http(&format!("GET /metrics HTTP/1.1\r\nHost: {host}\r\n\r\n"));
    assert!(get("localhost:9477").starts_with("HTTP/1.1 200"));
    assert!(get("evil.example").starts_with("HTTP/1.1 421"));
}

#[test]
fn a_second_gateway_with_the_same_control_socket_is_refused() {
    let running = Running::start();
    let config = config::read(&running.file(), LinkSenses::empty()).expect("it is right");
    let start = Start { config, file: None, owns_process: false };
    let io = Memory::new(Vec::new());
    let open = open(&[io]);
    let refused = start.run(move |_| Ok(open));
    let refused = refused.expect_err("the socket is taken").to_string();
    assert!(refused.contains("already in use by process "), "{refused}");
}

#[test]
fn a_failed_start_runs_no_turn_and_leaves_no_socket() {
    let directory = tempfile::tempdir().expect("a directory");
    let socket = directory.path().join("gateway.sock");
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let metrics = taken.local_addr().expect("it is bound");
    let text = format!("[metrics]\nlisten = \"{metrics}\"\n[control]\nsocket = \"{}\"\n", socket.display());
    let config = config::parse(&text, "test", LinkSenses::empty()).expect("it is right");
    let memory = Memory::new(Vec::new());
    let io = memory.clone();
    let start = Start { config, file: None, owns_process: false };
    let open = open(&[io]);
    let refused = start.run(move |_| Ok(open));
    assert!(refused.expect_err("the address is taken").to_string().contains(&metrics.to_string()));
    assert_eq!(memory.last_heartbeat(), None);
    assert!(!socket.exists());
}

#[test]
fn a_start_that_fails_after_the_ports_are_open_runs_no_turn_and_tells_nobody_that_it_is_ready() {
    let config = config::parse(
        "[control]\nsocket = \"off\"\n[metrics]\nlisten = \"off\"\n",
        "test",
        LinkSenses::empty(),
    );
    let memory = Memory::new(ports());
    let open = open(std::slice::from_ref(&memory));
    let start = Start { config: config.expect("it is right"), file: None, owns_process: false };
    let refused = start.run_after(
        move |_| Ok(open),
        |ports, _| -> Result<(), GatewayError> {
            assert!(!ports.is_empty());
            Err(GatewayError::Ended)
        },
    );
    assert!(matches!(refused, Err(GatewayError::Ended)), "{refused:?}");
    assert_eq!(memory.last_heartbeat(), None);
}

#[test]
fn a_gateway_starts_without_a_damaged_state_file() {
    let directory = tempfile::tempdir().expect("a directory");
    let state = handover::file_of(&directory.path().join("gateway.sock"));
    handover::save(&state, &ports(), Vec::new(), clock::now()).expect("there is room");
    let file = fs::OpenOptions::new().write(true).open(&state).expect("it is ours");
    let whole = file.metadata().expect("it is there").len();
    file.set_len(whole - 1).expect("it is ours");
    let running = Running::start_in(directory, "");
    let report = running.gateway.report().expect("it runs").engine;
    assert_eq!((report.connections, report.counters.counts.taken_over), (0, 0));
    assert!(!state.exists(), "the next start does not find it");
    running.gateway.stop().expect("it ends well");
}

#[test]
fn slow_clients_delay_neither_other_clients_nor_the_end() {
    let running = Running::start();
    let mut slow: Vec<TcpStream> = (0..10)
        .map(|_| {
            let mut stream = TcpStream::connect(("127.0.0.1", running.metrics)).expect("it listens");
            stream.write_all(b"G").expect("there is room");
            stream.set_nonblocking(true).expect("a socket");
            stream
        })
        .collect();
    assert!(running.http("GET /healthz HTTP/1.1\r\n\r\n").ends_with("ok\n"));
    running.ask::<Status>(&Command::Status).expect("it runs");
    let still_waited_for = |stream: &mut TcpStream| {
        stream.read(&mut [0]).is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    };
    assert!(slow.iter_mut().all(still_waited_for), "others were answered before their time was over");
    running.gateway.stop().expect("it ends well");
}

const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

const fn client(number: u16) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 0, (number >> 8) as u8, number as u8))
}

/// The first frame of a client's connection, from the radio side.
fn syn_of(number: u16) -> Frame {
    segment(client(number), SERVER, TcpFlags::SYN, (0, 0), 0)
}

/// A handshake, and the first data, without an acknowledgment.
fn handshake(number: u16) -> Vec<(PortId, Frame)> {
    let both = TcpFlags::SYN.with(TcpFlags::ACK);
    let up = |flags, seq, ack| (PortId(1), segment(client(number), SERVER, flags, (seq, ack), 0));
    let down = |flags, seq, ack, len| (PortId(0), segment(SERVER, client(number), flags, (seq, ack), len));
    vec![
        up(TcpFlags::SYN, 0, 0),
        down(both, 0, 1, 0),
        up(TcpFlags::ACK, 1, 1),
        down(TcpFlags::ACK, 1, 1, 100),
    ]
}

fn segment(from: IpAddr, to: IpAddr, flags: TcpFlags, (seq, ack): (u32, u32), len: u32) -> Frame {
    let ports = if from == SERVER { (80, 5000) } else { (5000, 80) };
    let tcp = Tcp {
        source_port: ports.0,
        destination_port: ports.1,
        seq: Seq(seq),
        ack: Seq(ack),
        flags,
        window: 1000,
        ..Tcp::default()
    };
    let packet =
        Packet::tcp_segment(Ip::new(from, to), tcp, Payload::Stream { stream: 1, offset: seq.into(), len });
    let link = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
    Frame::plain([&link[..], &lasthop_packet::wire::emit(&packet)].concat().into())
}

#[test]
fn each_worker_has_its_clients_and_requests_go_to_all_workers() {
    let running =
        Running::start_workers(3, tempfile::tempdir().expect("a directory"), "[bounds]\nflows = 900\n");
    let mut expected = [0; 3];
    for number in 0..600 {
        let worker = worker_of(client(number), 3);
        expected[worker] += 1;
        running.workers[worker].push(PortId(1), syn_of(number));
    }
    running.wait_for(|running| running.gateway.report().is_ok_and(|report| report.engine.connections == 600));
    let report = running.gateway.report().expect("it runs");
    assert_eq!(report.threads.iter().map(|thread| thread.connections).collect::<Vec<_>>(), expected);
    assert_eq!((report.sent, report.engine.most_connections, report.engine.rules.len()), (600, 900, 1));
    assert!(running.workers.iter().all(|worker| worker.last_heartbeat().is_some()));

    let flows: Vec<FlowReport> = running.ask(&Command::Flows(Query::default())).expect("it runs");
    let clients: BTreeSet<IpAddr> = flows.iter().map(|flow| flow.radio.ip()).collect();
    assert_eq!((flows.len(), clients.len()), (600, 600));
    for number in 0..6 {
        let flow = format!("{}:5000-{SERVER}:80", client(number));
        running.ask::<SetAside>(&Command::Aside { flow }).expect("whichever worker has it");
    }
    assert_eq!(running.gateway.report().expect("it runs").engine.counters.counts.aside_asked, 6);
    running.ask::<Drained>(&Command::Drain).expect("it runs");
    assert!(running.gateway.report().expect("it runs").engine.drained);
    let Reloaded { notes } = running.ask(&Command::Reload).expect("the file is as it was");
    assert_eq!(notes, Vec::<String>::new());
    assert!(!running.gateway.report().expect("it runs").engine.drained);
    let text = fs::read_to_string(running.file()).expect("it is there");
    fs::write(running.file(), format!("{text}ports = [1]\n")).expect("a file");
    let Reloaded { notes } = running.ask(&Command::Reload).expect("the file is right");
    assert_eq!(notes, ["no rule selects any of the 600 connections that the gateway tracks"]);
    assert_eq!(running.gateway.stop().expect("it ends well").threads.len(), 3);
}

#[test]
fn a_passive_gateway_says_that_there_is_nothing_to_drain_or_to_set_aside() {
    let running = Running::start_with("passive = true\n");
    let refused = running.ask::<Drained>(&Command::Drain).expect_err("it holds nothing").to_string();
    assert!(refused.contains("is passive") && refused.contains("nothing to drain"), "{refused}");
    assert!(!running.gateway.report().expect("it runs").engine.drained, "it still measures");
    let flow = format!("{}:5000-{SERVER}:80", client(0));
    let refused = running.ask::<SetAside>(&Command::Aside { flow }).expect_err("it has no agents");
    assert!(refused.to_string().contains("accelerates no connection"), "{refused}");
}

#[test]
fn when_one_worker_fails_all_end_and_the_error_is_returned() {
    let running = Running::start_workers(2, tempfile::tempdir().expect("a directory"), "");
    running.workers[1].break_ports(|| io::Error::other("a port vanished"));
    let error = running.gateway.wait().expect_err("its ports broke");
    assert!(matches!(error, GatewayError::Broken(_)), "{error}");
}

#[test]
fn the_connections_of_other_workers_are_saved_when_one_panics() {
    let running = Running::start_workers(2, tempfile::tempdir().expect("a directory"), "");
    let of_worker =
        |worker| (0..u16::MAX).find(|number| worker_of(client(*number), 2) == worker).expect("there is one");
    for worker in [0, 1] {
        for (port, frame) in handshake(of_worker(worker)) {
            running.workers[worker].push(port, frame);
        }
    }
    running.wait_for(|running| {
        running.gateway.report().is_ok_and(|report| report.engine.agents.packets.seen == 8)
    });
    let Running { directory, gateway, workers, .. } = running;
    workers[1].break_ports(|| panic!("a fault"));
    gateway.wait().expect_err("a worker panicked");
    let state = handover::file_of(&directory.path().join("gateway.sock"));
    let saved = handover::load(&state, &ports(), clock::now()).expect("it is whole");
    let clients: Vec<IpAddr> = saved.iter().map(SavedConnection::client).collect();
    assert_eq!(clients, [client(of_worker(0))]);
}

#[test]
fn link_layer_events_reach_the_workers_of_their_clients() {
    let running = Running::start_workers(2, tempfile::tempdir().expect("a directory"), "");
    let reporter = running.gateway.link_layer(1000).expect("it runs");
    for number in 0..100 {
        let payload = Payload::Stream { stream: 1, offset: 0, len: 100 };
        reporter.report(&LinkEvent::Frame {
            packet: &Packet::tcp_segment(Ip::new(SERVER, client(number)), Tcp::default(), payload),
            fate: Fate::Delivered,
            transmissions: 1,
            queueing: Duration::ZERO,
            access: None,
            air_time: Duration::ZERO,
        });
    }
    let received = || running.gateway.report().expect("it runs").link.expect("it listens").heard;
    running.wait_for(|_| received() == 100);
}

#[test]
fn a_list_of_many_connections_is_complete() {
    let running = Running::start();
    for number in 0..3000 {
        running.memory.push(PortId(1), syn_of(number));
    }
    running
        .wait_for(|running| running.gateway.report().is_ok_and(|report| report.engine.connections == 3000));
    let flows: Vec<FlowReport> = running.ask(&Command::Flows(Query::default())).expect("it runs");
    let clients = flows.iter().map(|flow| flow.radio);
    assert_eq!(clients.collect::<BTreeSet<_>>().len(), 3000);
    assert_eq!(running.gateway.flows(7).expect("it runs").len(), 7);
    let few = |query: Query| -> Vec<SocketAddr> {
        let flows: Vec<FlowReport> = running.ask(&Command::Flows(query)).expect("it runs");
        flows.into_iter().map(|flow| flow.radio).collect()
    };
    let filter = vec![format!("{}/32", client(17)), "80".to_owned(), "opening".to_owned()];
    assert_eq!(few(Query { filter, ..Query::default() }), [(client(17), 5000).into()]);
    let mut last: Vec<SocketAddr> = (0..3000).map(|number| (client(number), 5000).into()).collect();
    last.sort_unstable_by(|one, other| other.cmp(one));
    let sort = Some("radio".to_owned());
    let three = Query { sort: sort.clone(), reverse: true, limit: Some(3), ..Query::default() };
    assert_eq!(few(three), last[..3], "the gateway picks them of all pages");
    let filter = vec!["idle_s<0".to_owned()];
    assert_eq!(few(Query { filter, sort, limit: Some(3), ..Query::default() }), []);
}

#[test]
fn connections_are_parsed_with_addresses_ports_and_protocol() {
    let key = parse_flow("192.0.2.1:443-10.0.0.7:50000").expect("it is one");
    assert_eq!((key.source.1, key.destination.1), (443, 50_000));
    assert!(parse_flow("[2001:db8::1]:443-[::1]:5").is_ok());
    let datagrams = parse_flow("udp:192.0.2.1:443-10.0.0.7:50000").expect("it is one");
    assert_eq!(datagrams, FlowKey::udp(key.source, key.destination));
    for wrong in [
        "",
        "-",
        "1.2.3.4-5.6.7.8",
        "1.2.3.4:1",
        "1.2.3.4:99999-5.6.7.8:1",
        "udp:",
        "tcp:1.2.3.4:1-5.6.7.8:1",
    ] {
        assert!(parse_flow(wrong).is_err(), "{wrong}");
    }
    assert!(ask::<Status>(Path::new("/nowhere"), &Command::Status).is_err());
}

/// The scheduling policies of this process's threads of this name, 0 for ordinary ones and 1 for
/// `SCHED_FIFO`: the 41st field of `/proc/PID/stat` (proc(5)).
fn policies(thread: &str) -> Vec<u32> {
    let mut policies = Vec::new();
    for entry in fs::read_dir("/proc/self/task").expect("Linux").flatten() {
        // The thread may have ended since.
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else { continue };
        let Some((head, fields)) = stat.rsplit_once(") ") else { continue };
        if head.ends_with(&format!("({thread}")) {
            policies.push(fields.split(' ').nth(38).and_then(|field| field.parse().ok()).expect("a policy"));
        }
    }
    policies
}

#[test]
fn the_packet_loop_has_real_time_scheduling_only_if_the_file_sets_it() {
    let running = Running::start_with("[process]\nrealtime = true\n");
    let notes = running.gateway.report().expect("it runs").notes;
    assert_eq!(notes.is_empty(), policies("packets").contains(&1), "what is refused is told: {notes:?}");
    assert!(policies("housekeeping").iter().all(|policy| *policy == 0), "that can wait");
    drop(running);
    let _ordinary = Running::start();
    assert!(!policies("packets").contains(&1));
}

#[test]
fn the_punctuality_of_the_loop_is_reported() {
    let running = Running::start();
    let mut report = running.gateway.report().expect("it runs");
    // In its first turn, the absence of the loop equals its uptime.
    while report.turns < 2 {
        report = running.gateway.report().expect("it runs");
    }
    assert!(report.punctuality.longest_absence_s < report.uptime_s, "{report:?}");
    let page = running.http("GET /metrics HTTP/1.1\r\n\r\n");
    assert!(
        page.contains("\nlasthop_stalls_total ") && page.contains("\nlasthop_stalled_seconds_total "),
        "{page}"
    );
}

#[test]
fn a_link_layer_event_wakes_the_packet_loop_at_once() {
    let running = Running::start();
    let reporter = running.gateway.link_layer(100).expect("it runs");
    let host = IpAddr::from([192, 0, 2, 1]);
    let payload = Payload::Stream { stream: 1, offset: 0, len: 100 };
    let packet = Packet::tcp_segment(Ip::new(host, host), Tcp::default(), payload);
    for _ in 0..20 {
        reporter.report(&LinkEvent::Frame {
            packet: &packet,
            fate: Fate::Delivered,
            transmissions: 1,
            queueing: Duration::ZERO,
            access: None,
            air_time: Duration::ZERO,
        });
        // The loop answers when it is awake, and then sleeps.
        running.gateway.report().expect("it runs");
    }
    let link = || running.gateway.report().expect("it runs").link.expect("it listens");
    running.wait_for(|_| link().heard == 20);
    let link = link();
    assert_eq!(link.lost, 0);
    let at_once = link.delay.median_us < 10_000.0;
    assert!(at_once || lasthop_needs::quiet().is_err(), "it waits for a wait to end by itself: {link:?}");
}
