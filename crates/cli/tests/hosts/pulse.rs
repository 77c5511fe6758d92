//! A connection with traffic both ways, each octet of which is looked at.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use portable_atomic::AtomicU64;

use super::{PATIENCE, SERVER, Site};

/// Octet `at` of a stream.
fn octet(stream: u64, at: u64) -> u8 {
    ((at ^ stream << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
}

/// What a stream has from `at` on.
pub fn fill(stream: u64, at: u64, octets: &mut [u8]) {
    for (at, to) in (at..).zip(octets) {
        *to = octet(stream, at);
    }
}

/// Whether these are the octets of a stream from `at` on.
pub fn check(stream: u64, at: u64, octets: &[u8]) -> bool {
    (at..).zip(octets).all(|(at, came)| *came == octet(stream, at))
}

/// A connection that is in use until [`Pulse::end`]: a lot from the server to the client, and a
/// little the other way.
pub struct Pulse {
    stop: Arc<AtomicBool>,
    down: Arc<AtomicU64>,
    ends: [JoinHandle<(u64, Duration)>; 4],
}

/// What went over a connection.
#[derive(Clone, Copy, Debug)]
pub struct Beats {
    pub down: u64,
    pub up: u64,
    /// The longest that the client waited for anything to come.
    pub longest_gap: Duration,
}

const DOWN: u64 = 1;
const UP: u64 = 2;

impl Pulse {
    /// Opens a connection from the client to the server, and puts it to use.
    pub fn start(site: &Site) -> Self {
        Self::at_pace(site, 16 * 1024, Duration::from_millis(1))
    }

    /// The same, with pieces of so many octets and so much time between them.
    pub fn at_pace(site: &Site, piece: usize, pause: Duration) -> Self {
        let (client, server) = open(site).expect("the server is reachable");
        let clone = |stream: &TcpStream| stream.try_clone().expect("a descriptor");
        let (stop, down) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let sender = |stream: TcpStream, kind, piece, pause| {
            let stop = Arc::clone(&stop);
            thread::spawn(move || send(stream, kind, piece, pause, &stop))
        };
        let receiver = |stream: TcpStream, kind, count: Arc<AtomicU64>| {
            thread::spawn(move || receive(stream, kind, &count))
        };
        let ends = [
            receiver(clone(&client), DOWN, Arc::clone(&down)),
            receiver(clone(&server), UP, Arc::default()),
            sender(server, DOWN, piece, pause),
            sender(client, UP, 500, Duration::from_millis(5)),
        ];
        Self { stop, down, ends }
    }

    /// Octets that the client has so far.
    pub fn down(&self) -> u64 {
        self.down.load(Relaxed)
    }

    /// Waits until more comes than what is under way already.
    pub fn assert_it_goes_on(&self) {
        let before = self.down();
        super::soon(|| if self.down() > before + 200_000 { Ok(()) } else { Err("nothing comes".into()) });
    }

    /// Ends the connection in good order. Whatever was sent has arrived.
    pub fn end(self) -> Beats {
        self.stop.store(true, Relaxed);
        let [down, up, sent_down, sent_up] = self.ends.map(|end| end.join().expect("this end is well"));
        assert_eq!((down.0, up.0), (sent_down.0, sent_up.0), "all that was sent arrives");
        Beats { down: down.0, up: up.0, longest_gap: down.1 }
    }
}

fn send(
    mut stream: TcpStream,
    kind: u64,
    piece: usize,
    pause: Duration,
    stop: &AtomicBool,
) -> (u64, Duration) {
    let (mut at, mut octets) = (0, vec![0; piece]);
    while !stop.load(Relaxed) {
        fill(kind, at, &mut octets);
        stream.write_all(&octets).expect("the other end reads");
        at += piece as u64;
        thread::sleep(pause);
    }
    stream.shutdown(Shutdown::Write).expect("it is open");
    (at, Duration::ZERO)
}

fn receive(mut stream: TcpStream, kind: u64, count: &AtomicU64) -> (u64, Duration) {
    let (mut at, mut longest, mut last) = (0, Duration::ZERO, Instant::now());
    let mut octets = vec![0; 65_536];
    loop {
        let len = match stream.read(&mut octets) {
            // With a time-out it is interrupted where the whole machine was stopped for a moment.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            came => came.expect("it goes on"),
        };
        let now = Instant::now();
        longest = longest.max(now - last);
        last = now;
        if len == 0 {
            return (at, longest);
        }
        assert!(check(kind, at, &octets[..len]), "what arrives is what was sent");
        at += len as u64;
        count.store(at, Relaxed);
    }
}

/// A connection from the client to the server: its two ends.
pub fn open(site: &Site) -> io::Result<(TcpStream, TcpStream)> {
    let address: SocketAddr = SERVER.parse().expect("an address");
    let listener = site.server.enter(|| TcpListener::bind(address))??;
    let client = site.client.enter(|| TcpStream::connect_timeout(&address, PATIENCE))??;
    let (server, _) = listener.accept()?;
    for stream in [&client, &server] {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
    }
    Ok((client, server))
}

/// So many connections at a time, each of which takes so many octets there and back again.
pub fn echo(site: &Site, connections: u64, octets: usize) {
    let address: SocketAddr = SERVER.parse().expect("an address");
    let listener = site.server.enter(|| TcpListener::bind(address)).expect("enter").expect("it is free");
    thread::scope(|scope| {
        for stream in 1..=connections {
            scope.spawn(move || {
                let client = site.client.enter(|| TcpStream::connect_timeout(&address, PATIENCE));
                let mut client = client.expect("enter").expect("the server is reachable");
                client.set_read_timeout(Some(PATIENCE)).expect("a timeout");
                let mut sent = vec![0; octets];
                fill(stream, 0, &mut sent);
                let mut half = client.try_clone().expect("a descriptor");
                let sender = thread::spawn(move || half.write_all(&sent).expect("the other end reads"));
                let mut came = vec![0; octets];
                client.read_exact(&mut came).expect("it comes back");
                assert!(check(stream, 0, &came), "as it was sent");
                sender.join().expect("it is well");
            });
        }
        for _ in 0..connections {
            let (server, _) = listener.accept().expect("a connection");
            scope.spawn(move || {
                server.set_read_timeout(Some(PATIENCE)).expect("a timeout");
                io::copy(&mut &server, &mut &server).expect("it goes on");
            });
        }
    });
}
