//! Many small connections from the client to the server, each octet of which is looked at, on one
//! thread for each of the hosts.

use std::fmt;
use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use lasthop_linux::namespace::Namespace;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, listen, socket_with};

use crate::hosts::{SERVER, Site, check, fill};

/// A stream of numbers that is the same for the same seed (Knuth's LCG).
pub struct Draw(u64);

impl Draw {
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// Between two looks at a connection.
const TURN: Duration = Duration::from_millis(50);
/// A connection that gets on by nothing for so long has failed.
const LONGEST_STALL: Duration = Duration::from_secs(60);
/// What a connection says first: its number and its length, each 8 octets.
const GREETING: usize = 16;

/// One end of a connection.
struct End {
    stream: TcpStream,
    number: u64,
    /// Octets each way, the greeting aside.
    len: u64,
    out: u64,
    came: u64,
    is_client: bool,
    greeting: Vec<u8>,
    has_shut_down: bool,
    last: Instant,
    longest_stall: Duration,
    /// When the next piece is due.
    due: Instant,
    pace: Duration,
}

enum Outcome {
    GoesOn,
    Done,
}

impl End {
    fn client(stream: TcpStream, number: u64, len: u64, draw: &mut Draw) -> Self {
        let greeting = [number.to_be_bytes(), len.to_be_bytes()].concat();
        let mut end = Self::server(stream);
        (end.number, end.len, end.greeting, end.is_client) = (number, len, greeting, true);
        end.pace = Duration::from_millis(150 + draw.below(200));
        end
    }

    fn server(stream: TcpStream) -> Self {
        let now = Instant::now();
        Self {
            stream,
            number: 0,
            len: 0,
            out: 0,
            came: 0,
            is_client: false,
            greeting: Vec::new(),
            has_shut_down: false,
            last: now,
            longest_stall: Duration::ZERO,
            due: now,
            pace: Duration::from_millis(250),
        }
    }

    fn progress(&mut self, now: Instant) {
        self.longest_stall = self.longest_stall.max(now - self.last);
        self.last = now;
    }

    /// Reads and writes what can be.
    fn turn(&mut self, now: Instant) -> io::Result<Outcome> {
        let error = |text: &str| io::Error::other(text.to_owned());
        if !self.is_client && self.greeting.len() < GREETING {
            let mut octets = [0; GREETING];
            let missing = GREETING - self.greeting.len();
            match passing(self.stream.read(&mut octets[..missing]))? {
                Some(0) => return Err(error("the end before the greeting")),
                Some(len) => self.greeting.extend(&octets[..len]),
                None => {}
            }
            if self.greeting.len() < GREETING {
                return self.patience(now);
            }
            let word = |at| u64::from_be_bytes(self.greeting[at..at + 8].try_into().expect("8 octets"));
            (self.number, self.len) = (word(0), word(8));
            self.progress(now);
        }
        if self.is_client && !self.greeting.is_empty() {
            if let Some(len) = passing(self.stream.write(&self.greeting))? {
                self.greeting.drain(..len);
                self.progress(now);
            }
            if !self.greeting.is_empty() {
                return self.patience(now);
            }
        }
        if self.out < self.len && now >= self.due {
            let mut octets = [0; 600];
            let octets = &mut octets[..(self.len - self.out).min(600) as usize];
            fill(2 * self.number + u64::from(self.is_client), self.out, octets);
            if let Some(len) = passing(self.stream.write(octets))? {
                self.out += len as u64;
                self.due = now + self.pace;
            }
        }
        if self.out == self.len && !self.has_shut_down {
            self.stream.shutdown(Shutdown::Write)?;
            self.has_shut_down = true;
        }
        let mut octets = [0; 8_192];
        match passing(self.stream.read(&mut octets))? {
            Some(0) if self.came < self.len => Err(error("the end before the last octet")),
            Some(0) if self.has_shut_down => Ok(Outcome::Done),
            Some(0) | None => self.patience(now),
            Some(len) => {
                if !check(2 * self.number + u64::from(!self.is_client), self.came, &octets[..len]) {
                    return Err(error("octets that were not sent"));
                }
                self.came += len as u64;
                self.progress(now);
                Ok(Outcome::GoesOn)
            }
        }
    }

    fn patience(&self, now: Instant) -> io::Result<Outcome> {
        if now - self.last < LONGEST_STALL {
            return Ok(Outcome::GoesOn);
        }
        Err(io::Error::new(ErrorKind::TimedOut, format!("nothing since octet {} of {}", self.came, self.len)))
    }
}

/// `None` if it has to be tried again.
fn passing(result: io::Result<usize>) -> io::Result<Option<usize>> {
    match result {
        Ok(len) => Ok(Some(len)),
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::NotConnected
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Connections, always so many, each of some seconds.
pub struct Load {
    connections: u64,
    seconds: u64,
    seed: u64,
}

/// What became of them.
#[derive(Debug, Default)]
pub struct Report {
    pub completed: u64,
    pub failed: Vec<String>,
    octets: u64,
    most: usize,
    /// The longest that each one waited for anything to come, in milliseconds.
    stalls: Vec<u64>,
    longest_turn: Duration,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut stalls = self.stalls.clone();
        stalls.sort_unstable();
        let quantile =
            |share: usize| stalls.get((stalls.len().max(1) - 1) * share / 100).copied().unwrap_or(0);
        write!(
            f,
            "{} ends completed, {} failed, {} octets received, {} at a time; longest wait of a connection for its next octet: median {} \
             ms, 99% {} ms, most {} ms; longest turn of the load itself {:?}",
            self.completed,
            self.failed.len(),
            self.octets,
            self.most,
            quantile(50),
            quantile(99),
            quantile(100),
            self.longest_turn
        )
    }
}

impl Report {
    fn and(mut self, other: Self) -> Self {
        self.completed += other.completed;
        self.octets += other.octets;
        self.failed.extend(other.failed);
        self.stalls.extend(other.stalls);
        self.longest_turn = self.longest_turn.max(other.longest_turn);
        self
    }
}

impl Load {
    pub const fn new(connections: u64, seconds: u64, seed: u64) -> Self {
        Self { connections, seconds, seed }
    }

    /// Opens connections until it is over, and waits for the last ones.
    pub fn run(&self, site: &Site, over: &AtomicBool) -> Report {
        let address: SocketAddr = SERVER.parse().expect("an address");
        let listener = site.server.enter(|| listen_at(&address)).expect("enter").expect("it is free");
        let is_open = AtomicBool::new(true);
        let opened = AtomicUsize::new(0);
        thread::scope(|scope| {
            let server = scope.spawn(|| {
                let mut ends = Ends::default();
                let mut served = 0;
                while is_open.load(Relaxed) || !ends.0.is_empty() {
                    while let Ok((stream, _)) = listener.accept() {
                        stream.set_nonblocking(true).expect("a setting");
                        ends.0.push(End::server(stream));
                        served += 1;
                    }
                    ends.turn();
                    opened.store(served, Relaxed);
                }
                ends.1
            });
            let client = site.client.enter(|| {
                let (mut ends, mut draw, mut number) = (Ends::default(), Draw::new(self.seed), 0);
                while !over.load(Relaxed) || !ends.0.is_empty() {
                    // Not all at once: the hop has a queue, and the server a backlog.
                    for _ in 0..50 {
                        if over.load(Relaxed) || ends.0.len() as u64 >= self.connections {
                            break;
                        }
                        number += 1;
                        // About 2 kB a second.
                        let len = 1_000 + draw.below(2_000 * (self.seconds / 2).clamp(2, 15));
                        ends.0.push(End::client(start(&address).expect("a socket"), number, len, &mut draw));
                    }
                    ends.turn();
                }
                ends.1
            });
            is_open.store(false, Relaxed);
            client.expect("enter").and(server.join().expect("the server is well"))
        })
    }
}

/// The standard library's listener has room for 128, which a machine with other work overruns: then
/// the kernel answers with cookies, and resets connections whose first packets are lost.
fn listen_at(address: &SocketAddr) -> io::Result<TcpListener> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket: OwnedFd = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
    bind(&socket, address)?;
    listen(&socket, 4_096)?;
    Ok(socket.into())
}

/// What a host's TCP says about connections that it did not take: names and numbers of
/// `/proc/net/netstat`.
pub fn refusals(host: &Namespace) -> String {
    let text = host.enter(|| fs::read_to_string("/proc/thread-self/net/netstat"));
    let text = text.ok().and_then(Result::ok).unwrap_or_default();
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("TcpExt:"));
    let (names, numbers) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let wanted = [
        "ListenOverflows",
        "ListenDrops",
        "SyncookiesSent",
        "SyncookiesFailed",
        "TCPAbortOnData",
        "TCPAbortOnMemory",
    ];
    let pairs = names.split_whitespace().zip(numbers.split_whitespace());
    let pairs: Vec<String> = pairs
        .filter(|(name, _)| wanted.contains(name))
        .map(|(name, number)| [name, number].join(" "))
        .collect();
    pairs.join(", ")
}

/// A connection that is being opened.
fn start(to: &SocketAddr) -> io::Result<TcpStream> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket: OwnedFd = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
    match connect(&socket, to) {
        Ok(()) | Err(rustix::io::Errno::INPROGRESS) => Ok(socket.into()),
        Err(error) => Err(error.into()),
    }
}

/// One host's ends, and what became of earlier ones.
#[derive(Default)]
struct Ends(Vec<End>, Report);

impl Ends {
    /// Each has its turn, and then there is a pause.
    fn turn(&mut self) {
        let Self(ends, report) = self;
        let began = Instant::now();
        report.most = report.most.max(ends.len());
        ends.retain_mut(|end| {
            let now = Instant::now();
            let before = end.came;
            let outcome = end.turn(now);
            report.octets += end.came - before;
            match outcome {
                Ok(Outcome::GoesOn) => return true,
                Ok(Outcome::Done) => {
                    report.completed += 1;
                    report.stalls.push(end.longest_stall.as_millis() as u64);
                }
                Err(error) => report.failed.push(format!(
                    "{} {}: {error}, {} of {} came, {} went",
                    if end.is_client { "client" } else { "server" },
                    end.number,
                    end.came,
                    end.len,
                    end.out
                )),
            }
            false
        });
        let took = began.elapsed();
        report.longest_turn = report.longest_turn.max(took);
        thread::sleep(TURN.saturating_sub(took));
    }
}
