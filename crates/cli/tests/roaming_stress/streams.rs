//! Connections on which one end sends without a stop, at a bounded rate, and the other checks each octet.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::net::sockopt::set_tcp_congestion;

use crate::testbed::{SERVER, Testbed};

/// How long a write or a read may take: longer than any hand-off, and than the retransmissions after it.
const PATIENCE: Duration = Duration::from_secs(15);

/// What is sent at a time, and how often.
const PIECE: u64 = 1200;
const PACE: Duration = Duration::from_millis(20);

/// A pause is longer than this.
const PAUSE: Duration = Duration::from_millis(25);

/// Connections that send until they are told to end.
pub struct Streams {
    ends: Arc<AtomicBool>,
    streams: Vec<(JoinHandle<io::Result<u64>>, JoinHandle<Ended>)>,
}

/// What became of a connection.
pub struct Ended {
    /// Octets that were received.
    pub received: u64,
    /// Why it ended early, if it did.
    pub failure: Option<String>,
    /// Whether an octet came that was not sent.
    pub is_wrong: bool,
    /// The times without an octet: when each began and ended.
    pub pauses: Vec<(Instant, Instant)>,
    /// When the last octet came.
    pub last: Instant,
}

impl Streams {
    /// Even ones are downloads, odd ones uploads.
    pub fn start(site: &Testbed, connections: usize) -> Self {
        let ends = Arc::new(AtomicBool::new(false));
        let start = |index: usize| {
            let address = format!("{SERVER}:{}", 5000 + index);
            let listener =
                site.server.enter(|| TcpListener::bind(&address)).expect("enter").expect("a listener");
            let near =
                site.client.enter(|| TcpStream::connect(&address)).expect("enter").expect("it connects");
            let (far, _) = listener.accept().expect("it accepts");
            let congestion = if (index / 2).is_multiple_of(2) { "cubic" } else { "bbr" };
            for end in [&near, &far] {
                end.set_read_timeout(Some(PATIENCE)).expect("a time-out");
                end.set_write_timeout(Some(PATIENCE)).expect("a time-out");
                end.set_nodelay(true).expect("a setting");
                // Without BBR the kernel's default does.
                let _ = set_tcp_congestion(end, congestion);
            }
            let (from, to) = if index.is_multiple_of(2) { (far, near) } else { (near, far) };
            let ends = Arc::clone(&ends);
            (thread::spawn(move || send(from, &ends)), thread::spawn(move || receive(to)))
        };
        Self { streams: (0..connections).map(start).collect(), ends: Arc::clone(&ends) }
    }

    /// Ends all in good order, and returns what became of each.
    pub fn end(self) -> Vec<Ended> {
        self.ends.store(true, Relaxed);
        let end =
            |(number, (sender, receiver)): (usize, (JoinHandle<io::Result<u64>>, JoinHandle<Ended>))| {
                let (sent, mut ended) = (sender.join().expect("it ends"), receiver.join().expect("it ends"));
                let failure = match (sent, ended.failure.take()) {
                    (_, Some(failure)) => Some(format!("the receiver: {failure}")),
                    (Err(error), None) => Some(format!("the sender: {error}")),
                    (Ok(sent), None) if sent != ended.received => {
                        Some(format!("{sent} octets sent, {} received", ended.received))
                    }
                    (Ok(_), None) => None,
                };
                ended.failure = failure.map(|failure| format!("connection {number}, {failure}"));
                ended
            };
        self.streams.into_iter().enumerate().map(end).collect()
    }
}

/// The octet of a stream at this place.
fn octet(place: u64) -> u8 {
    (place.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
}

fn send(mut stream: TcpStream, ends: &AtomicBool) -> io::Result<u64> {
    let mut sent = 0;
    while !ends.load(Relaxed) {
        let piece: Vec<u8> = (sent..sent + PIECE).map(octet).collect();
        stream.write_all(&piece)?;
        sent += PIECE;
        thread::sleep(PACE);
    }
    stream.shutdown(Shutdown::Write)?;
    Ok(sent)
}

fn receive(mut stream: TcpStream) -> Ended {
    let now = Instant::now();
    let mut ended = Ended { received: 0, failure: None, is_wrong: false, pauses: Vec::new(), last: now };
    let mut buffer = [0; 16 * 1024];
    loop {
        let len = match stream.read(&mut buffer) {
            Ok(0) => return ended,
            Ok(len) => len,
            Err(error) => {
                ended.failure = Some(format!("{error} after {} octets", ended.received));
                return ended;
            }
        };
        let (now, since) = (Instant::now(), ended.last);
        if now - since > PAUSE {
            ended.pauses.push((since, now));
        }
        ended.last = now;
        for value in &buffer[..len] {
            ended.is_wrong |= *value != octet(ended.received);
            ended.received += 1;
        }
    }
}
