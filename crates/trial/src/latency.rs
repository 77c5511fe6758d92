//! The latency of a small packet beside a transfer: echoes over UDP. No agent sees them: they begin with
//! the high octet of a time, which is 0, and so not as RTP does.
//!
//! A busy machine takes part of a round trip: the two threads here get a processor late. How late is
//! measured beside it: the kernel notes when a datagram has come in, and the thread looks at the clock
//! when it has it. The echo tells in its reply how long the request waited for it.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::socket::{self, is_passing};
use lasthop_linux::clock;
use lasthop_linux::namespace::Namespace;
use lasthop_packet::time::nanos;

/// Between two echo requests. Each takes air as a segment does, or nearly: 50 a second cost a
/// download among ten 802.11b stations a quarter of its goodput, for they have to get the medium as
/// often.
const INTERVAL: Duration = Duration::from_millis(200);
/// Between two looks at whether the work is done.
const LOOK: Duration = Duration::from_millis(20);
const PORT: u16 = 7;
/// A reply that takes longer counts as lost.
const LONGEST: Duration = Duration::from_secs(2);

/// Octets of a request: the time at which it was sent and, for the reply, the time that it waited for the
/// echo; nanoseconds, most significant octet first.
type Octets = [u8; 16];

/// Round-trip times of small packets, while something else ran.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoundTrips {
    /// In order.
    times: Vec<Duration>,
    /// The same without the time that datagrams waited for the two hosts' threads, in order.
    without_hosts: Vec<Duration>,
    /// Requests sent.
    pub sent: u64,
}

impl RoundTrips {
    /// The time that a share of the replies took at most; `None` without replies.
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        quantile(&self.times, share)
    }

    /// How much of [`Self::quantile`] comes from the hosts' threads, which got a processor late.
    pub fn lateness(&self, share: f64) -> Duration {
        let without = quantile(&self.without_hosts, share);
        self.quantile(share)
            .zip(without)
            .map_or(Duration::ZERO, |(time, without)| time.saturating_sub(without))
    }

    /// Replies received.
    pub fn received(&self) -> u64 {
        self.times.len() as u64
    }

    /// Of round trips and of the part of each that the hosts took.
    pub(super) fn of(mut times: Vec<(Duration, Duration)>, sent: u64) -> Self {
        let mut without_hosts: Vec<Duration> =
            times.iter().map(|(took, late)| took.saturating_sub(*late)).collect();
        times.sort_unstable();
        without_hosts.sort_unstable();
        Self { times: times.into_iter().map(|(took, _)| took).collect(), without_hosts, sent }
    }
}

fn quantile(sorted: &[Duration], share: f64) -> Option<Duration> {
    let last = sorted.len().checked_sub(1)?;
    sorted.get((share.clamp(0.0, 1.0) * last as f64).round() as usize).copied()
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
        // From now on the kernel notes when datagrams come.
        let _ = waited(socket);
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
    let mut octets: Octets = [0; 16];
    while !over.load(Ordering::Relaxed) {
        if let Ok((16, peer)) = socket.recv_from(&mut octets) {
            octets[8..].copy_from_slice(&nanos(waited(socket)).to_be_bytes());
            // A reply that cannot be sent is a reply lost.
            let _ = socket.send_to(&octets, peer);
        }
    }
}

fn request(socket: &UdpSocket, over: &AtomicBool) -> io::Result<RoundTrips> {
    let begin = clock::now();
    let (mut times, mut sent) = (Vec::new(), 0);
    let mut next = begin;
    while !over.load(Ordering::Relaxed) {
        let now = clock::now();
        if now >= next {
            next = now + INTERVAL;
            let mut octets: Octets = [0; 16];
            octets[..8].copy_from_slice(&nanos(now.since(begin)).to_be_bytes());
            match socket.send(&octets) {
                Ok(_) => sent += 1,
                Err(error) if is_passing(&error) => {}
                Err(error) => return Err(error),
            }
        }
        let wait = next.since(clock::now()).clamp(Duration::from_micros(100), LOOK);
        socket.set_read_timeout(Some(wait))?;
        let mut octets: Octets = [0; 16];
        match socket.recv(&mut octets) {
            Ok(16) => {
                let arrived = clock::now().since(begin);
                let [sent, echo] = [&octets[..8], &octets[8..]].map(duration);
                if let Some(took) = arrived.checked_sub(sent).filter(|took| *took < LONGEST) {
                    times.push((took, echo + waited(socket)));
                }
            }
            Ok(_) => {}
            Err(error) if is_passing(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(RoundTrips::of(times, sent))
}

fn duration(octets: &[u8]) -> Duration {
    octets.first_chunk().map_or(Duration::ZERO, |octets| Duration::from_nanos(u64::from_be_bytes(*octets)))
}

/// How long the datagram that was read last had waited in the kernel. The first question has the kernel
/// note the times of those to come.
fn waited(socket: &UdpSocket) -> Duration {
    // Its clock may be set meanwhile; then nothing is known of this one.
    let arrived = socket::arrival(socket);
    arrived.map_or(Duration::ZERO, |arrived| clock::time_of_day().saturating_sub(arrived))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_part_of_the_hosts_is_told_for_each_quantile() {
        let ms = Duration::from_millis;
        let trips = RoundTrips::of((1..=100).map(|number| (ms(50 + number % 2), ms(0))).collect(), 100);
        assert_eq!((trips.quantile(0.95), trips.lateness(0.95)), (Some(ms(51)), ms(0)));
        let late = (1..=100).map(|number| if number > 90 { (ms(555), ms(500)) } else { (ms(50), ms(0)) });
        let trips = RoundTrips::of(late.collect(), 100);
        assert_eq!((trips.lateness(0.5), trips.lateness(0.95)), (ms(0), ms(500)));
        assert_eq!(RoundTrips::default().lateness(0.95), ms(0));
    }

    #[test]
    fn a_datagram_that_waits_to_be_read_is_seen_to_have_waited() {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a free port");
        socket.connect(socket.local_addr().expect("it is bound")).expect("to itself");
        let _ = waited(&socket);
        // The kernel may take a moment until it notes times.
        let was_seen = (0..50).any(|_| {
            socket.send(&[0]).expect("there is room");
            thread::park_timeout(Duration::from_millis(20));
            socket.recv(&mut [0]).expect("it has come");
            waited(&socket) >= Duration::from_millis(1)
        });
        assert!(was_seen);
    }
}
