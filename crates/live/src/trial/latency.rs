//! What a small packet feels beside a transfer: echoes over UDP. No agent sees them: they begin with
//! the high octet of a time, which is 0, and so not as RTP does.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::socket::is_passing;
use crate::clock;
use crate::namespace::Namespace;

/// Between two echo requests. Each takes air as a segment does, or nearly: 50 a second cost a
/// download among ten 802.11b stations a quarter of its goodput, for they have to get the medium as
/// often.
const INTERVAL: Duration = Duration::from_millis(200);
/// Between two looks at whether the work is done.
const LOOK: Duration = Duration::from_millis(20);
const PORT: u16 = 7;
/// A reply that takes longer counts as lost.
const LONGEST: Duration = Duration::from_secs(2);

/// Round-trip times of small packets, while something else ran.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoundTrips {
    sorted: Vec<Duration>,
    /// Requests sent.
    pub sent: u64,
}

impl RoundTrips {
    /// The time that a share of the replies took at most; `None` without replies.
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        let last = self.sorted.len().checked_sub(1)?;
        self.sorted.get((share.clamp(0.0, 1.0) * last as f64).round() as usize).copied()
    }

    /// Replies received.
    pub fn received(&self) -> u64 {
        self.sorted.len() as u64
    }
}

/// Sends an echo request every 200 ms from one host to another while `work` runs; returns what both
/// brought.
pub fn beside<R: Send>(
    from: &Namespace,
    to: (&Namespace, IpAddr),
    work: impl FnOnce() -> R + Send,
) -> io::Result<(R, RoundTrips)> {
    let over = AtomicBool::new(false);
    let echo = to.0.enter(|| UdpSocket::bind((to.1, PORT)))??;
    let any = if to.1.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let probe = from.enter(|| UdpSocket::bind(any))??;
    probe.connect(SocketAddr::new(to.1, PORT))?;
    for socket in [&echo, &probe] {
        socket.set_read_timeout(Some(LOOK))?;
    }
    thread::scope(|scope| {
        scope.spawn(|| reply(&echo, &over));
        let probing = scope.spawn(|| request(&probe, &over));
        let result = work();
        over.store(true, Ordering::Relaxed);
        let round_trips = probing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok((result, round_trips))
    })
}

fn reply(socket: &UdpSocket, over: &AtomicBool) {
    let mut octets = [0; 64];
    while !over.load(Ordering::Relaxed) {
        if let Ok((len, peer)) = socket.recv_from(&mut octets) {
            // A reply that cannot be sent is a reply lost.
            let _ = socket.send_to(&octets[..len], peer);
        }
    }
}

fn request(socket: &UdpSocket, over: &AtomicBool) -> io::Result<RoundTrips> {
    let begin = clock::now();
    let mut round_trips = RoundTrips::default();
    let mut next = begin;
    while !over.load(Ordering::Relaxed) {
        let now = clock::now();
        if now >= next {
            next = now + INTERVAL;
            let stamp = now.since(begin).as_nanos() as u64;
            match socket.send(&stamp.to_be_bytes()) {
                Ok(_) => round_trips.sent += 1,
                Err(error) if is_passing(&error) => {}
                Err(error) => return Err(error),
            }
        }
        let wait = next.since(clock::now()).clamp(Duration::from_micros(100), LOOK);
        socket.set_read_timeout(Some(wait))?;
        let mut octets = [0; 8];
        match socket.recv(&mut octets) {
            Ok(8) => {
                let sent = Duration::from_nanos(u64::from_be_bytes(octets));
                if let Some(took) = clock::now().since(begin).checked_sub(sent).filter(|took| *took < LONGEST)
                {
                    round_trips.sorted.push(took);
                }
            }
            Ok(_) => {}
            Err(error) if is_passing(&error) => {}
            Err(error) => return Err(error),
        }
    }
    round_trips.sorted.sort_unstable();
    Ok(round_trips)
}
