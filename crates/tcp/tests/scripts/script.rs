//! Segment scripts: what goes in, what must come out, and when.
//!
//! A line is a time and an event; `#` begins a comment. Times are relative to the line before
//! (`+100ms`) or absolute (`1.5s`).
//!
//! ```text
//! +0    write 3000                               the application writes; also: close, abort, read, stall
//! +0    > 1:1001(1000) ack 1                     the endpoint sends this now, and nothing else
//! +0    >> 1001:5001(4000)                       it sends these octets in full segments
//! +10ms < . ack 1001 win 4000 <sack 2001:3001>   a segment arrives; `bits 1`: with these reserved bits
//! +0    icmp 1001                                an ICMP error message about the segment at 1001 arrives;
//!                                                `icmp 1001 mtu 640`: that its 1,500 octets are too many
//! +0    cwnd 2000 ssthresh 65535 state Established
//! ```
//!
//! Sequence numbers count from the initial ones. Flags are `S F R P E W .` (E is ECE, W is CWR);
//! without flags an ACK is meant. `ect0`, `ce` and `not-ect` are the ECN field of the IP header. What a `>` line does not name is not compared (PSH never is); a `<` line continues behind
//! the data injected last, with the last ACK and window. The application reads at once unless it is
//! stalled. Every script runs again with initial numbers just below 2^32.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::time::Duration;

use bytes::Bytes;
use lasthop_packet::{Icmp, Instant, Ip, Packet, Payload, Seq, Tcp, TcpFlags, Transport, units};
use lasthop_tcp::{Config, Connection, Handshake};

use crate::segment::{Wanted, flags, number, read_options, show_options};

const LOCAL: (IpAddr, u16) = (IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1)), 40000);
const REMOTE: (IpAddr, u16) = (IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2)), 80);
/// The simulated stream that our application writes, and below the one that the peer sends.
const OURS: u32 = 1;
const PEERS: u32 = 2;

/// How a script begins.
#[derive(Clone, Copy)]
pub enum Open {
    Established,
    Connect,
    Listen,
    /// In the place of the end whose SYN was the first of these, seen at 0; the other's was seen at
    /// 10 ms, when the script begins.
    Adopt(&'static str, &'static str),
}

/// A script with the endpoint that it is for.
pub struct Script {
    open: Open,
    config: Config,
    peer: Config,
    dress: fn(Connection) -> Connection,
}

/// The default configuration with segments of 1,000 octets.
pub fn config() -> Config {
    Config { mss: 1000, ..Config::default() }
}

impl Script {
    pub fn new(open: Open, config: Config) -> Self {
        Self {
            open,
            peer: Config { window: 65_535, ..config.clone() },
            config,
            dress: |connection| connection,
        }
    }

    pub fn established(config: Config) -> Self {
        Self::new(Open::Established, config)
    }

    /// The window of the peer, for connections that begin established.
    pub fn peer_window(mut self, window: u32) -> Self {
        self.peer.window = window;
        self
    }

    pub fn dress(mut self, dress: fn(Connection) -> Connection) -> Self {
        self.dress = dress;
        self
    }

    /// Runs the script, with small initial numbers and with numbers that wrap.
    #[track_caller]
    pub fn run(&self, text: &str) {
        for (iss, irs) in [(1_000, 50_000), (u32::MAX, u32::MAX), (u32::MAX - 1700, u32::MAX - 2300)] {
            let (iss, irs) = (Seq(iss), Seq(irs));
            let connection = match self.open {
                Open::Established => {
                    Connection::established(self.config.clone(), &self.peer, LOCAL, REMOTE, iss, irs)
                }
                Open::Connect => Connection::connect(self.config.clone(), LOCAL, REMOTE, iss),
                Open::Listen => Connection::listen(self.config.clone(), LOCAL, iss),
                Open::Adopt(ours, peers) => adopted(self.config.clone(), (ours, iss), (peers, irs)),
            };
            let mut runner = Runner::new((self.dress)(connection), iss, irs);
            if matches!(self.open, Open::Adopt(..)) {
                runner.now = SEEN;
                runner.peer = (1, 1, 65_535);
            }
            if let Err(error) = runner.run(text) {
                panic!("with ISS {iss} and IRS {irs}:\n{error}");
            }
        }
    }
}

/// When the second SYN of a handshake that is taken over was seen.
const SEEN: Instant = Instant::from_millis(10);

fn adopted(config: Config, (ours, iss): (&str, Seq), (peers, irs): (&str, Seq)) -> Connection {
    let read = |text: &str| Wanted::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let (ours, peers) = (header(&read(ours), iss, irs, (0, 0)), header(&read(peers), irs, iss, (0, 0)));
    let handshake = Handshake { ours: &ours, sent: Some(Instant::ZERO), peers: &peers };
    Connection::adopt(config, LOCAL, REMOTE, handshake, SEEN).expect("a handshake")
}

/// The header of a segment whose numbers count from `seq` and `ack`; what it leaves open is 0 or
/// given.
fn header(what: &Wanted, seq: Seq, ack: Seq, (from, acked): (u32, u32)) -> Tcp {
    let has = |flag| what.flags.contains(flag);
    let flags = [('F', 1), ('S', 2), ('R', 4), ('P', 8), ('.', 16), ('E', 64), ('W', 128)];
    Tcp {
        seq: seq + what.range.map_or(from, |range| range.0),
        ack: if has('.') { ack + what.ack.unwrap_or(acked) } else { Seq(0) },
        flags: TcpFlags(flags.iter().filter(|(flag, _)| has(*flag)).map(|(_, bit)| bit).sum()),
        window: what.window.unwrap_or(65_535),
        options: read_options(what.options.as_deref().unwrap_or_default(), ack),
        ..Tcp::default()
    }
}

struct Runner {
    connection: Connection,
    now: Instant,
    iss: Seq,
    irs: Seq,
    sent: VecDeque<(Instant, Packet)>,
    is_stalled: bool,
    written: u64,
    received: u64,
    /// What a `<` line leaves open: where the peer stands, its last ACK and window.
    peer: (u32, u32, u16),
}

type Outcome = Result<(), String>;

impl Runner {
    fn new(connection: Connection, iss: Seq, irs: Seq) -> Self {
        let peer = u32::from(matches!(connection.state(), lasthop_tcp::State::Established));
        Self {
            connection,
            now: Instant::ZERO,
            iss,
            irs,
            sent: VecDeque::new(),
            is_stalled: false,
            written: 0,
            received: 0,
            peer: (peer, peer, 65_535),
        }
    }

    fn run(&mut self, text: &str) -> Outcome {
        self.settle();
        for (number, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if !line.is_empty() {
                self.line(line).map_err(|error| format!("line {}: {line}\n  {error}", number + 1))?;
            }
        }
        self.nothing_more().map_err(|error| format!("at the end: {error}"))
    }

    fn line(&mut self, line: &str) -> Outcome {
        let (time, event) = line.split_once(' ').ok_or("expected a time and an event")?;
        let time = match time.strip_prefix('+') {
            Some("0") => self.now,
            Some(delay) => self.now + units::parse_duration(delay).map_err(|e| e.to_string())?,
            None => Instant::ZERO + units::parse_duration(time).map_err(|e| e.to_string())?,
        };
        let (verb, rest) = event.trim().split_once(' ').unwrap_or((event.trim(), ""));
        // Only a segment, or a look at the state, may find something that is sent and not yet
        // spoken of.
        let is_look = !matches!(
            verb,
            "<" | "write"
                | "close"
                | "abort"
                | "stall"
                | "read"
                | "icmp"
                | "set-cwnd"
                | "hold-fin"
                | "accept-fin"
                | "tell-timestamp"
        );
        if !is_look || time > self.now && !matches!(verb, ">" | ">>") {
            self.nothing_more()?;
        }
        self.advance(time);
        if !is_look {
            self.nothing_more()?;
        }
        match verb {
            ">" => return self.expect(&Wanted::parse(rest)?),
            ">>" => return self.expect_full_segments(&Wanted::parse(rest)?),
            "<" => self.inject(&Wanted::parse(rest)?),
            "write" => {
                let octets = number(rest)?;
                self.connection.write_stream(OURS, self.written, u64::from(octets));
                self.written += u64::from(octets);
            }
            "close" => self.connection.close(),
            "abort" => self.connection.abort(),
            "set-cwnd" => self.connection.set_cwnd(number(rest)?),
            "hold-fin" => self.connection.hold_fin(),
            "accept-fin" => self.connection.accept_fin(self.now),
            "tell-timestamp" => self.connection.tell_timestamp(number(rest)?),
            "stall" => self.is_stalled = true,
            "read" => self.read()?,
            "icmp" => self.inject_icmp(rest)?,
            _ => return self.check(event),
        }
        if !self.is_stalled {
            self.read()?;
        }
        self.settle();
        Ok(())
    }

    /// Lets timers expire up to and with `until`.
    fn advance(&mut self, until: Instant) {
        while let Some(deadline) = self.connection.deadline()
            && deadline.at <= until
        {
            self.now = self.now.max(deadline.at);
            self.connection.on_deadline(self.now);
            self.settle();
        }
        self.now = until;
    }

    fn settle(&mut self) {
        while let Some(packet) = self.connection.poll_transmit(self.now) {
            self.sent.push_back((self.now, packet));
            assert!(self.sent.len() < 10_000, "the endpoint does not stop sending");
        }
    }

    fn read(&mut self) -> Outcome {
        while let Some(payload) = self.connection.read() {
            let len = payload.len() as u32;
            if payload != (Payload::Stream { stream: PEERS, offset: self.received, len }) {
                return Err(format!("octets {} to +{len} are not what was sent", self.received));
            }
            self.received += u64::from(len);
        }
        Ok(())
    }

    fn nothing_more(&self) -> Outcome {
        match self.sent.front() {
            None => Ok(()),
            Some((at, packet)) => {
                Err(format!("expected nothing to be sent\n  got at {at}: {}", self.show(packet)))
            }
        }
    }

    fn expect(&mut self, wanted: &Wanted) -> Outcome {
        let Some((at, packet)) = self.sent.pop_front() else {
            return Err(format!("nothing was sent; the next deadline is {:?}", self.connection.deadline()));
        };
        let shown = self.show(&packet);
        let tcp = packet.tcp().ok_or("sent something that is no TCP segment")?;
        let seq = tcp.seq - self.iss;
        let len = packet.payload().len() as u32;
        let stream = Payload::Stream { stream: OURS, offset: u64::from(seq.wrapping_sub(1)), len };
        let is_wanted = at == self.now
            && flags(tcp.flags) == wanted.flags.replace('P', "")
            && wanted.range.is_none_or(|(from, to)| from == seq && to == seq + len)
            && wanted.ack.is_none_or(|ack| ack == tcp.ack - self.irs)
            && wanted.window.is_none_or(|window| window == tcp.window)
            && wanted.ecn.is_none_or(|ecn| ecn == packet.ip().ecn())
            && wanted.bits.is_none_or(|bits| bits == packet.tcp_reserved_bits())
            && wanted.options.as_ref().is_none_or(|options| *options == show_options(&tcp.options, self.irs))
            && (len == 0 || *packet.payload() == stream);
        if is_wanted { Ok(()) } else { Err(format!("expected at {}\n  got at {at}: {shown}", self.now)) }
    }

    fn expect_full_segments(&mut self, wanted: &Wanted) -> Outcome {
        let (mut from, end) = wanted.range.ok_or("expected FROM:TO")?;
        while from != end {
            let to = from.wrapping_add(self.connection.flight().mss.min(end.wrapping_sub(from)));
            self.expect(&Wanted { range: Some((from, to)), ..wanted.clone() })?;
            from = to;
        }
        Ok(())
    }

    fn inject(&mut self, what: &Wanted) {
        let (from, to) = what.range.unwrap_or((self.peer.0, self.peer.0));
        let has = |flag| what.flags.contains(flag);
        let control = u32::from(has('S')) + u32::from(has('F'));
        self.peer.0 = self.peer.0.max(to.wrapping_add(control));
        self.peer.1 = what.ack.unwrap_or(self.peer.1);
        self.peer.2 = what.window.unwrap_or(self.peer.2);
        let tcp = Tcp {
            source_port: REMOTE.1,
            destination_port: LOCAL.1,
            window: self.peer.2,
            ..header(what, self.irs, self.iss, (from, self.peer.1))
        };
        let payload = Payload::Stream {
            stream: PEERS,
            offset: u64::from(from.wrapping_sub(1)),
            len: to.wrapping_sub(from),
        };
        let mut ip = Ip::new(REMOTE.0, LOCAL.0);
        ip.set_ecn(what.ecn.unwrap_or_default());
        let mut packet = Packet::tcp_segment(ip, tcp, payload);
        packet.set_tcp_reserved_bits(what.bits.unwrap_or_default());
        self.connection.on_segment(&packet, self.now);
    }

    /// `icmp SEQ`, or with `foreign` (of another connection) or `short` (a quotation cut off)
    /// behind it.
    fn inject_icmp(&mut self, rest: &str) -> Outcome {
        let (seq, manner) = rest.split_once(' ').unwrap_or((rest, ""));
        let mtu = manner.strip_prefix("mtu").map(number).transpose()?;
        let [a, b] = if mtu.is_some() { 1500u16 } else { 40 }.to_be_bytes();
        let mut octets = vec![0x45, 0, a, b, 0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        let port: u16 = if manner == "foreign" { 40001 } else { LOCAL.1 };
        octets.extend(port.to_be_bytes());
        octets.extend(REMOTE.1.to_be_bytes());
        octets.extend((self.iss + number(seq)?).0.to_be_bytes());
        if manner == "short" {
            octets.pop();
        }
        let (code, rest_of_header) = mtu.map_or((1, [0; 4]), |mtu| (4, mtu.to_be_bytes()));
        let icmp = Icmp { kind: 3, code, rest_of_header };
        let ip = Ip::new(IpAddr::from([10, 0, 0, 9]), LOCAL.0);
        let packet = Packet::new(ip, Transport::Icmp(icmp), Payload::Bytes(Bytes::from(octets)));
        self.connection.on_icmp(&packet, self.now);
        Ok(())
    }

    /// Pairs of a name and the value that it must have.
    fn check(&self, event: &str) -> Outcome {
        let words: Vec<&str> = event.split_whitespace().collect();
        for pair in words.chunks(2) {
            let [name, wanted] = pair else { return Err("expected names and values".into()) };
            let (c, stats) = (&self.connection, self.connection.stats());
            let got = match *name {
                "cwnd" => c.flight().cwnd.to_string(),
                "ssthresh" => c.flight().ssthresh.to_string(),
                "mss" => c.flight().mss.to_string(),
                "window" => c.flight().peer_window.to_string(),
                "una" => (c.flight().una - self.iss).to_string(),
                "nxt" => (c.flight().nxt - self.iss).to_string(),
                "max" => (c.flight().max - self.iss).to_string(),
                "rto" => format!("{:?}", c.rtt().rto()),
                "srtt" => c.rtt().srtt().map_or("none".into(), |srtt| format!("{srtt:?}")),
                "state" => format!("{:?}", c.state()),
                "received" => self.received.to_string(),
                "unacknowledged" => c.unacknowledged().to_string(),
                "peer_has_closed" => c.peer_has_closed().to_string(),
                "timeouts" => stats.timeouts.to_string(),
                "spared" => stats.timeouts_spared.to_string(),
                "retransmits" => stats.retransmits.to_string(),
                "fast_retransmits" => stats.fast_retransmits.to_string(),
                "duplicates" => stats.duplicate_acks.to_string(),
                "echoes" => stats.congestion_echoes.to_string(),
                "icmp_accepted" => stats.icmp_accepted.to_string(),
                "tail_loss_probes" => stats.tail_loss_probes.to_string(),
                "undone" => stats.undone.to_string(),
                "sacked" => c.queue().sacked().to_string(),
                "lost" => c.queue().lost().to_string(),
                "again" => c.queue().again().to_string(),
                "in_network" => c.queue().in_network().to_string(),
                "reason" => c.deadline().map_or("none".into(), |d| d.reason.replace(' ', "-")),
                "timer" => c.deadline().map_or("none".into(), |d| format!("{:?}", d.at.since(self.now))),
                other => return Err(format!("{other:?} is no event and no value")),
            };
            if got != *wanted {
                return Err(format!("expected {name} {wanted}\n  got {name} {got}"));
            }
        }
        Ok(())
    }

    fn show(&self, packet: &Packet) -> String {
        let Some(tcp) = packet.tcp() else { return format!("{packet:?}") };
        let (from, len) = (tcp.seq - self.iss, packet.payload().len() as u32);
        let (to, ack) = (from.wrapping_add(len), tcp.ack - self.irs);
        let options = show_options(&tcp.options, self.irs);
        let (flags, bits) = (flags(tcp.flags), packet.tcp_reserved_bits());
        format!("{flags} {from}:{to}({len}) ack {ack} win {} bits {bits} <{options}>", tcp.window)
    }
}

/// An RTO configuration in milliseconds: initial, minimum, granularity.
pub fn rto(initial: u64, minimum: u64, granularity: u64) -> lasthop_tcp::RtoConfig {
    lasthop_tcp::RtoConfig {
        initial: Duration::from_millis(initial),
        minimum: Duration::from_millis(minimum),
        granularity: Duration::from_millis(granularity),
        ..lasthop_tcp::RtoConfig::default()
    }
}

/// RACK with these parts of it in front of Linux's Reno, ten segments at first.
pub fn rack(parts: lasthop_tcp::RackConfig) -> Config {
    Config {
        initial_window: 10,
        recovery: lasthop_tcp::Recovery::Rack(parts),
        sack: true,
        congestion: lasthop_tcp::Congestion::RenoAbc,
        slow_start_limit: Some(u32::MAX),
        rto: rto(1000, 1000, 0),
        ..config()
    }
}

/// RACK without anything that belongs to it.
pub const ALONE: lasthop_tcp::RackConfig = lasthop_tcp::RackConfig {
    tail_loss_probe: false,
    proportional_reduction: false,
    f_rto: false,
    undo: false,
};
