//! Transfers between a server and a client that moves.
#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(clippy::disallowed_methods, reason = "real hosts take real time")]

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use lasthop_linux::namespace::Namespace;

/// How long a write or a read may take: longer than any hand-off, and than the retransmissions after it.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A connection on which one end sends without a stop, at a bounded rate, and the other checks each octet.
pub struct Transfer {
    sender: JoinHandle<io::Result<u64>>,
    receiver: JoinHandle<io::Result<(u64, Duration)>>,
}

impl Transfer {
    /// A connection that a client opens to a server at this address.
    pub fn start(
        server: &Namespace,
        client: &Namespace,
        address: &str,
        is_download: bool,
        ends: &Arc<AtomicBool>,
    ) -> Self {
        let listener = server.enter(|| TcpListener::bind(address)).expect("enter").expect("a listener");
        let near = client.enter(|| TcpStream::connect(address)).expect("enter").expect("it connects");
        let (far, _) = listener.accept().expect("it accepts");
        let (from, to) = if is_download { (far, near) } else { (near, far) };
        let ends = Arc::clone(ends);
        Self {
            sender: thread::spawn(move || send(from, &ends)),
            receiver: thread::spawn(move || receive(to)),
        }
    }

    /// Returns the longest time without an octet.
    pub fn finish(self) -> Duration {
        let sent = self.sender.join().expect("it runs").expect("it sends all");
        let (received, longest) = self.receiver.join().expect("it runs").expect("it receives all");
        assert!(sent > 0 && sent == received, "{sent} octets sent, {received} received");
        longest
    }

    /// Returns the error of the sender.
    pub fn failure(self) -> io::Error {
        self.sender.join().expect("it runs").expect_err("the connection does not go on")
    }
}

/// The octet of a transfer at this place.
fn octet(place: u64) -> u8 {
    (place.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
}

fn send(mut stream: TcpStream, ends: &AtomicBool) -> io::Result<u64> {
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut sent = 0;
    while !ends.load(Relaxed) {
        let chunk: Vec<u8> = (sent..sent + 4000).map(octet).collect();
        stream.write_all(&chunk)?;
        sent += chunk.len() as u64;
        thread::sleep(Duration::from_millis(10));
    }
    Ok(sent)
}

fn receive(mut stream: TcpStream) -> io::Result<(u64, Duration)> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let (mut received, mut longest, mut last) = (0, Duration::ZERO, Instant::now());
    let mut buffer = [0; 16 * 1024];
    loop {
        let len = stream.read(&mut buffer)?;
        longest = longest.max(last.elapsed());
        last = Instant::now();
        if len == 0 {
            return Ok((received, longest));
        }
        for value in &buffer[..len] {
            assert_eq!(*value, octet(received), "octet {received}");
            received += 1;
        }
    }
}
